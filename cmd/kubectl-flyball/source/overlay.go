package source

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/workload"
)

// Overlay returns the world to which the policies, calendars and adapters of some manifests are applied. They replace
// objects of the same name.
func (w *World) Overlay(m *Manifests) (*World, error) {
	next := *w
	next.Notes = slices.Clone(w.Notes)
	if len(m.Others) > 0 {
		next.Note("left out of the edit, for being neither policy, calendar nor adapter: %s", workload.Count(len(m.Others), "object"))
	}
	for _, p := range m.Policies {
		if i := slices.IndexFunc(w.Policies, func(q policy.Object) bool { return IDOf(q) == IDOf(p) }); i >= 0 {
			applied(p, w.Policies[i])
		}
		next.SetPolicy(p)
	}
	next.Calendars = slices.DeleteFunc(slices.Clone(w.Calendars), func(c *v1alpha1.Calendar) bool {
		return slices.ContainsFunc(m.Calendars, func(n *v1alpha1.Calendar) bool { return n.Name == c.Name })
	})
	next.Calendars = append(next.Calendars, m.Calendars...)
	next.Adapters = slices.DeleteFunc(slices.Clone(w.Adapters), func(a *v1alpha1.Adapter) bool {
		return slices.ContainsFunc(m.Adapters, func(n *v1alpha1.Adapter) bool { return n.Name == a.Name })
	})
	next.Adapters = append(next.Adapters, m.Adapters...)
	return &next, next.Check(m)
}

// Edits reports whether the manifests have policies, calendars or adapters, so that Overlay changes the world.
func (m *Manifests) Edits() bool { return len(m.Policies)+len(m.Calendars)+len(m.Adapters) > 0 }

// applied completes the policy p from the policy over that it replaces. It copies the UID, the resourceVersion, the
// creation time and the status. It also copies the labels and annotations that p does not have.
func applied(p, over policy.Object) {
	p.SetUID(over.GetUID())
	p.SetResourceVersion(over.GetResourceVersion())
	p.SetCreationTimestamp(over.GetCreationTimestamp())
	p.SetLabels(labels.Merge(over.GetLabels(), p.GetLabels()))
	p.SetAnnotations(labels.Merge(over.GetAnnotations(), p.GetAnnotations()))
	if kind, ok := kinds.Find(IDOf(p).Kind); ok && kind.ActsOnTargets() {
		*kind.Status(p) = *kind.Status(over)
	}
}

// Deleted returns the world in which the policies and adapters of some manifests are being deleted. They are marked as
// an API server would mark them, so their changes are restored.
func (w *World) Deleted(m *Manifests, at metav1.Time) (*World, error) {
	next := *w
	next.Policies, next.Adapters = slices.Clone(w.Policies), slices.Clone(w.Adapters)
	for _, p := range m.Policies {
		i := slices.IndexFunc(next.Policies, func(q policy.Object) bool { return IDOf(q) == IDOf(p) })
		if i < 0 {
			return nil, fmt.Errorf("there is no %s to delete", IDOf(p))
		}
		next.Policies[i] = next.Policies[i].DeepCopyObject().(policy.Object)
		next.Policies[i].SetDeletionTimestamp(&at)
	}
	for _, a := range m.Adapters {
		i := slices.IndexFunc(next.Adapters, func(b *v1alpha1.Adapter) bool { return b.Name == a.Name })
		if i < 0 {
			return nil, fmt.Errorf("there is no adapter %s to delete", a.Name)
		}
		next.Adapters[i] = next.Adapters[i].DeepCopy()
		next.Adapters[i].DeletionTimestamp = &at
	}
	return &next, nil
}
