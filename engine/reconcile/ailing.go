package reconcile

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// ailment is what is wrong with an adapter whose kind is there: objects of it are left as they are.
type ailment struct {
	gk           schema.GroupKind
	capabilities []capability
	why          string
}

// diagnose remembers what the checks of an adapter came to, for the policies that list no kinds and would select objects of its
// kind. A kind that is not served has none, one outside namespaces is selected only where it is listed, an adapter that stands
// back for another is not missed, and a first list takes its time.
func (e *Engine) diagnose(a *v1alpha1.Adapter, f *finding) {
	e.adapters.ails(a.Name, nil)
	_, watchErr := e.watchError(a.Name)
	if f.failed == "" || isGone(f.served.Absence) || f.failed == v1alpha1.ConditionWatching && watchErr == nil {
		return
	}
	c := meta.FindStatusCondition(f.status.Conditions, f.failed)
	gk := schema.GroupKind{Group: a.Spec.Target.Group, Kind: a.Spec.Target.Kind}
	if c.Reason == duplicateKind || e.opts.Scope.ClusterScoped != nil && e.opts.Scope.ClusterScoped(gk) {
		return
	}
	e.adapters.ails(a.Name, &ailment{
		gk:           gk,
		capabilities: f.status.Capabilities,
		why:          fmt.Sprintf("the adapter %s is not ready (%s), so that objects of its kind are left as they are: %s", a.Name, f.failed, c.Message),
	})
}

// ails remembers what is wrong with an adapter; nil: nothing is.
func (s *adapterState) ails(name string, with *ailment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if with == nil {
		delete(s.ailing, name)
		return
	}
	s.ailing[name] = *with
}

// ailments lists what is wrong with adapters, in the order of their names.
func (s *adapterState) ailments() []ailment {
	s.mu.RLock()
	defer s.mu.RUnlock()
	names := make([]string, 0, len(s.ailing))
	for name := range s.ailing {
		names = append(names, name)
	}
	slices.Sort(names)
	out := make([]ailment, len(names))
	for i, name := range names {
		out[i] = s.ailing[name]
	}
	return out
}

// unready says why objects that a policy selects are left as they are because of an adapter; empty: none is.
func (e *Engine) unready(p *policy.Policy) string {
	ailments := e.adapters.ailments()
	e.mu.RLock()
	defer e.mu.RUnlock()
	for _, gk := range p.Target.Kinds() {
		k := e.kinds[gk]
		switch {
		case k == nil:
			return fmt.Sprintf("no adapter for %s is ready; see kubectl get adapters.flyball.dev", gk)
		case k.blocked != "":
			return fmt.Sprintf("the adapter for %s: %s", gk, k.blocked)
		case !k.can(p.Needs):
			return fmt.Sprintf("the adapter for %s can do none of %v, which this policy needs", gk, p.Needs)
		}
	}
	if len(p.Target.Kinds()) > 0 {
		return ""
	}
	var missed []string
	for _, a := range ailments {
		if e.misses(p, a) {
			missed = append(missed, a.why)
		}
	}
	return strings.Join(missed, "; ")
}

// misses says whether a policy that lists no kinds is the worse for what is wrong with an adapter. Where the kind is not in use,
// nobody can see whether the policy selects any object of it.
func (e *Engine) misses(p *policy.Policy, a ailment) bool {
	if !p.Target.MatchesKind(a.gk) {
		return false
	}
	if k := e.kinds[a.gk]; k != nil {
		found := false
		if k.blocked != "" {
			e.eachSelected(p, k, func(workload.Ref) { found = true })
		}
		return found
	}
	return len(p.Needs) == 0 || len(a.capabilities) == 0 || slices.ContainsFunc(p.Needs, func(n capability) bool { return slices.Contains(a.capabilities, n) })
}
