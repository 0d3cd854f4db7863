package status

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/world"
)

// Ailment is what is wrong with an adapter whose kind is there: objects of the kind are left as they are.
type Ailment struct {
	Kind         schema.GroupKind
	Capabilities []v1alpha1.Capability
	// Reason says what is wrong.
	Reason string
}

// AdapterHealth knows what is wrong with adapters, for the policies that suffer from it.
type AdapterHealth struct {
	mu sync.RWMutex
	// by the adapter's name.
	ailments map[string]Ailment
}

func newAdapterHealth() *AdapterHealth { return &AdapterHealth{ailments: map[string]Ailment{}} }

// Set remembers what is wrong with an adapter; nil: nothing is.
func (h *AdapterHealth) Set(name string, a *Ailment) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if a == nil {
		delete(h.ailments, name)
		return
	}
	h.ailments[name] = *a
}

// list gives what is wrong with adapters, in the order of their names.
func (h *AdapterHealth) list() []Ailment {
	h.mu.RLock()
	defer h.mu.RUnlock()
	names := make([]string, 0, len(h.ailments))
	for name := range h.ailments {
		names = append(names, name)
	}
	slices.Sort(names)
	out := make([]Ailment, len(names))
	for i, name := range names {
		out[i] = h.ailments[name]
	}
	return out
}

// unready says why objects that a policy selects are left as they are, or changes are not judged, because of an adapter;
// empty: none is.
func (h *AdapterHealth) unready(s *world.Snapshot, p *world.Policy) string {
	listed := p.Target.Kinds()
	for _, gk := range listed {
		k := s.InUse(gk)
		switch {
		case k == nil:
			return notAdapted(gk)
		case k.Blocked != "":
			return fmt.Sprintf("the adapter for %s: %s", gk, k.Blocked)
		case !k.Can(p.Needs):
			return fmt.Sprintf("the adapter for %s can do none of %v, which this policy needs", gk, p.Needs)
		}
	}
	if judge, ok := p.Extras.(policy.Judge); ok {
		for _, gk := range judge.JudgedKinds() {
			if s.InUse(gk) == nil {
				return notAdapted(gk)
			}
		}
	}
	if len(listed) > 0 {
		return ""
	}
	var missed []string
	for _, a := range h.list() {
		if misses(s, p.Policy.Policy, a) {
			missed = append(missed, a.Reason)
		}
	}
	return strings.Join(missed, "; ")
}

func notAdapted(gk schema.GroupKind) string {
	return fmt.Sprintf("no adapter for %s is ready; see kubectl get adapters.flyball.dev", gk)
}

// misses says whether a policy that lists no kinds is the worse for what is wrong with an adapter. Where the kind is not in use,
// nobody can see whether the policy selects any object of it.
func misses(s *world.Snapshot, p *policy.Policy, a Ailment) bool {
	if !p.Target.MatchesKind(a.Kind) {
		return false
	}
	if k := s.InUse(a.Kind); k != nil {
		return k.Blocked != "" && s.Selects(p, k)
	}
	needed := func(n v1alpha1.Capability) bool { return slices.Contains(a.Capabilities, n) }
	return len(p.Needs) == 0 || len(a.Capabilities) == 0 || slices.ContainsFunc(p.Needs, needed)
}
