package status

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/world"
)

// Ailment is a fault of an adapter whose kind is served: objects of the kind are not changed.
type Ailment struct {
	Kind         schema.GroupKind
	Capabilities []v1alpha1.Capability
	// Reason describes the fault.
	Reason string
	// Listing is true if there is no fault: the objects of the kind are being listed for the first time.
	Listing bool
	// Outside is true for a cluster-scoped kind: only cluster-scoped policies that list the kind select its objects.
	Outside bool
	// Unwatched is true if the kind is in use but changes of its objects are not seen.
	Unwatched bool
}

// AdapterHealth holds the faults of adapters, for the status of affected policies.
type AdapterHealth struct {
	mu sync.RWMutex
	// ailments has the faults by adapter name.
	ailments map[string]Ailment
}

// NewAdapterHealth returns an AdapterHealth without faults.
func NewAdapterHealth() *AdapterHealth { return &AdapterHealth{ailments: map[string]Ailment{}} }

// Set stores the fault of an adapter; nil: no fault. It reports whether the fault is new.
func (h *AdapterHealth) Set(name string, a *Ailment) (changed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before, ailed := h.ailments[name]
	if a == nil {
		delete(h.ailments, name)
		return ailed
	}
	h.ailments[name] = *a
	return !ailed || !reflect.DeepEqual(before, *a)
}

// list returns the faults of adapters, in the order of the adapters' names.
func (h *AdapterHealth) list() []Ailment {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var out []Ailment
	for _, name := range slices.Sorted(maps.Keys(h.ailments)) {
		out = append(out, h.ailments[name])
	}
	return out
}

// unready returns the reason, in an adapter, why a policy's objects are not changed or changes are not judged; empty:
// no reason. listing names the kinds that are being listed for the first time.
func (h *AdapterHealth) unready(s *world.Snapshot, p *world.Policy) (why, listing string) {
	var missed, underWay []string
	ailments := h.list()
	for _, a := range ailments {
		switch {
		case a.Outside && (p.ID.Namespace != "" || !p.Target.ListsKind(a.Kind)):
		case a.Listing && s.InUse(a.Kind) == nil && mayNeed(p.Policy.Policy, a):
			underWay = append(underWay, a.Kind.String())
		case !a.Listing && misses(s, p.Policy.Policy, a) && (a.Unwatched || len(p.Target.Kinds()) == 0):
			missed = append(missed, a.Reason)
		}
	}
	listing = strings.Join(underWay, ", ")
	if why := unreadyListed(s, p, underWay); why != "" {
		return why, listing
	}
	return strings.Join(missed, "; "), listing
}

// unreadyListed returns the reason why objects of a kind that the policy lists cannot be changed or judged; empty: no
// reason.
func unreadyListed(s *world.Snapshot, p *world.Policy, underWay []string) string {
	for _, gk := range p.Target.Kinds() {
		k := s.InUse(gk)
		switch {
		case k == nil && slices.Contains(underWay, gk.String()):
		case k == nil:
			return notAdapted(gk)
		case k.Blocked != "":
			return fmt.Sprintf("the adapter for %s: %s", gk, k.Blocked)
		case !k.Can(p.Needs):
			return fmt.Sprintf("the adapter for %s can do none of %v, which this policy needs", gk, p.Needs)
		}
	}
	if p.Denies() {
		for _, gk := range p.Judge.JudgedBy().Kinds() {
			if s.InUse(gk) == nil {
				return notAdapted(gk)
			}
		}
	}
	return ""
}

func notAdapted(gk schema.GroupKind) string {
	return fmt.Sprintf("no adapter for %s is ready; see kubectl get adapters.flyball.dev", gk)
}

// misses reports whether an adapter's fault affects a policy without listed kinds. For a kind that is not in use, the
// objects are unknown, so misses returns whether the policy could act on the kind.
func misses(s *world.Snapshot, p *policy.Policy, a Ailment) bool {
	if !p.Target.MatchesKind(a.Kind) {
		return false
	}
	if k := s.InUse(a.Kind); k != nil {
		return (k.Blocked != "" || a.Unwatched) && s.Selects(p, k)
	}
	return mayNeed(p, a)
}

// mayNeed reports whether a policy could act on objects of a kind, by the capabilities of the adapter.
func mayNeed(p *policy.Policy, a Ailment) bool {
	if !p.Target.MatchesKind(a.Kind) {
		return false
	}
	needed := func(n v1alpha1.Capability) bool { return slices.Contains(a.Capabilities, n) }
	return len(p.Needs) == 0 || len(a.Capabilities) == 0 || slices.ContainsFunc(p.Needs, needed)
}
