package controller

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// ledgersPage is the page size of lists.
const ledgersPage = 500

// usedBy searches the API server for an object of an adapter's kind with a ledger of a policy. It is for kinds
// without a watch. It returns the name of such an object, or "" if there is no such object. An object being deleted
// does not count, because nothing needs to be restored on it. Only metadata is read. A policy being deleted gets no
// new ledgers, so an empty answer stays valid.
func (c *Policies) usedBy(ctx context.Context, a *v1alpha1.Adapter, id workload.Policy) (string, error) {
	gk := a.Spec.Target.GroupKind()
	mapping, err := c.Client.RESTMapper().RESTMapping(gk)
	if err != nil {
		return "", fmt.Errorf("find out how %s is served: %w", gk, err)
	}
	if id.Namespace != "" && mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return "", nil // a namespaced policy never changes a cluster-scoped object
	}
	quoted := `"` + id.String() + `"`
	list := c.Objects.Resource(mapping.Resource).List
	if id.Namespace != "" {
		list = c.Objects.Resource(mapping.Resource).Namespace(id.Namespace).List // a namespaced policy changes nothing elsewhere
	}
	for page := (metav1.ListOptions{Limit: ledgersPage}); ; {
		found, err := list(ctx, page)
		if err != nil {
			return "", fmt.Errorf("list the objects changed through the adapter %s: %w", a.Name, err)
		}
		for i := range found.Items {
			if o := &found.Items[i]; o.DeletionTimestamp.IsZero() && strings.Contains(o.Annotations[v1alpha1.AnnotationLedger], quoted) {
				return workload.Ref{GroupKind: gk, Namespace: o.Namespace, Name: o.Name}.String(), nil
			}
		}
		if page.Continue = found.Continue; page.Continue == "" {
			return "", nil
		}
	}
}

// generationsUnedited is the highest generation of an object that is being deleted and whose spec was never edited.
// The creation counts as one generation, and the deletion as another.
const generationsUnedited = 2

// neverReached reports whether the spec of a policy proves that the policy has never changed an object of an
// adapter's kind. The spec was then never edited, and it selects no object of the kind, not even as an autoscaler of
// a selected object.
func neverReached(a *v1alpha1.Adapter, p *world.Policy, obj policy.Object) bool {
	if p == nil || p.IsBroken() || obj.GetGeneration() > generationsUnedited || a.Spec.Governs != "" {
		return false
	}
	gk := a.Spec.Target.GroupKind()
	t := p.Template
	return !p.Target.MatchesKind(gk) && (t == nil || t.GroupKind() != gk)
}
