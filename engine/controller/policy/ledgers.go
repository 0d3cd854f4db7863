package policy

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

// ledgersPage is how many objects are asked for at a time.
const ledgersPage = 500

// usedBy looks on the API server for objects of an adapter's kind that carry a ledger of a policy, where no watch shows them. It
// names one of them; empty: there is none. An object that is being deleted does not count: it needs no giving back. Only metadata is read.
// A policy that is being deleted gets no new ledgers, so that what is not there does not come.
func (c *Controllers) usedBy(ctx context.Context, a *v1alpha1.Adapter, id workload.Policy) (string, error) {
	gk := a.Spec.Target.GroupKind()
	mapping, err := c.Client.RESTMapper().RESTMapping(gk)
	if err != nil {
		return "", fmt.Errorf("find out how %s is served: %w", gk, err)
	}
	if id.Namespace != "" && mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return "", nil // what lives outside namespaces is never changed by a policy of one
	}
	quoted := `"` + id.String() + `"`
	list := c.Objects.Resource(mapping.Resource).List
	if id.Namespace != "" {
		list = c.Objects.Resource(mapping.Resource).Namespace(id.Namespace).List // a policy of a namespace changes nothing elsewhere
	}
	for page := (metav1.ListOptions{Limit: ledgersPage}); ; {
		found, err := list(ctx, page)
		if err != nil {
			return "", fmt.Errorf("look for what sleeps by the adapter %s: %w", a.Name, err)
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

// generationsUnedited is the highest generation of an object that is being deleted and whose spec was never edited: the
// deletion counts as one.
const generationsUnedited = 2

// neverReached says of a policy, by its spec alone, that it has never changed an object of an adapter's kind: its spec is as it
// was made, and reaches no such object, not even one that governs what it selects.
func neverReached(a *v1alpha1.Adapter, p *world.Policy, obj policy.Object) bool {
	if p == nil || p.IsBroken() || obj.GetGeneration() > generationsUnedited || a.Spec.Governs != "" {
		return false
	}
	gk := a.Spec.Target.GroupKind()
	t := p.Template()
	return !p.Target.MatchesKind(gk) && (t == nil || t.GroupKind() != gk)
}
