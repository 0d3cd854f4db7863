package recommend

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise/optimize"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/spelling"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// subject is the workload that is recommended for, as its adapter reads it.
type subject struct {
	ref workload.Ref
	// requests by container, in milli-CPU and bytes; zero is none.
	requests map[string]tune.Request
	// governor is the autoscaler that governs the workload; nil: there is none.
	governor *policy.SeenGovernor
	// scalable is true where it has a count of replicas.
	scalable bool
	// scaled is the container whose CPU is scaled by replicas.
	scaled string
}

// newSubject reads a target and what governs it.
func newSubject(w *source.World, memory *world.Memory, target source.Target) (_ *subject, err error) {
	s := &subject{ref: target.Ref, requests: map[string]tune.Request{}}
	var found *workload.Observed
	for _, a := range w.Adapters {
		compiled, errs := adapter.Compile(a.Name, a.Spec, adapter.Keys{Amounts: true})
		if len(errs) > 0 {
			continue // the world has a note on it
		}
		if compiled.GroupKind() == target.GroupKind {
			if found, err = observe(memory, compiled, target.Ref); err != nil {
				return nil, err
			}
		}
		if compiled.CanGovern() {
			if err := s.governedBy(memory, compiled); err != nil {
				return nil, err
			}
		}
	}
	if found == nil {
		return nil, w.Missing(target.Ref)
	}
	s.scalable = len(found.Components) > 0
	for _, a := range found.Allocations {
		s.requests[a.Component] = tune.Request{CPU: a.Requests.MilliCPU, Memory: a.Requests.MemoryBytes}
	}
	if len(s.requests) == 0 {
		return nil, fmt.Errorf("%s: its adapter finds no container, or other component, that requests resources", target.Ref)
	}
	return s, nil
}

// observe gives what the owner of an object wants; nil: there is no such object.
func observe(memory *world.Memory, a *adapter.Adapter, ref workload.Ref) (*workload.Observed, error) {
	raw := memory.Raw(ref)
	if raw == nil {
		return nil, nil
	}
	obj, err := a.Project(raw)
	if err != nil {
		return nil, err
	}
	if fault := a.AmountFault(obj); fault != "" {
		return nil, fmt.Errorf("%s: %s", ref, fault)
	}
	o := a.Observe(obj)
	return &o, nil
}

// governedBy looks for the autoscaler among the objects of a kind.
func (s *subject) governedBy(memory *world.Memory, a *adapter.Adapter) error {
	var refs []workload.Ref
	memory.EachObject(func(ref workload.Ref) {
		if ref.GroupKind == a.GroupKind() && ref.Namespace == s.ref.Namespace {
			refs = append(refs, ref)
		}
	})
	slices.SortFunc(refs, func(a, b workload.Ref) int { return cmp.Compare(a.Name, b.Name) })
	for _, ref := range refs {
		obj, err := a.Project(memory.Raw(ref))
		if err != nil {
			return err
		}
		if governed, ok := a.Governs(obj); ok && memory.Referent(governed) == s.ref && s.governor == nil {
			if fault := a.AmountFault(obj); fault != "" {
				return fmt.Errorf("%s: %s", ref, fault)
			}
			o := a.Observe(obj)
			s.governor = &policy.SeenGovernor{Ref: ref, Bounds: o.Bounds, Utilisation: o.Utilisation}
		}
	}
	return nil
}

// names of the containers.
func (s *subject) names() []string { return slices.Sorted(maps.Keys(s.requests)) }

// scale chooses the container whose CPU is scaled by replicas: the one that was asked for, by a flag or a Tortoise, else the autoscaler's, else the one that requests
// most.
func (s *subject) scale(asked string, rules v1alpha1.TortoiseRules) error {
	for _, r := range rules.Resources {
		if _, ok := s.requests[r.Container]; ok && asked == "" && r.CPU == v1alpha1.ScaleHorizontal {
			asked = r.Container
		}
	}
	if asked != "" {
		if _, ok := s.requests[asked]; !ok {
			return fmt.Errorf("--container: %s has no container %q%s", s.ref, asked, spelling.Hint(asked, s.names()))
		}
		s.scaled = asked
		return nil
	}
	if u := s.target(); u != nil && u.Container != "" {
		if _, ok := s.requests[u.Container]; ok {
			s.scaled = u.Container
			return nil
		}
		return fmt.Errorf("%s has a target for the container %q, which %s does not have%s", s.governor.Ref, u.Container, s.ref, spelling.Hint(u.Container, s.names()))
	}
	for _, name := range s.names() {
		if s.scaled == "" || s.requests[name].CPU > s.requests[s.scaled].CPU {
			s.scaled = name
		}
	}
	return nil
}

// target is the CPU target of the autoscaler; nil: it has none.
func (s *subject) target() *workload.Utilisation {
	if s.governor == nil {
		return nil
	}
	for i, u := range s.governor.Utilisation {
		if u.Resource == workload.CPU {
			return &s.governor.Utilisation[i]
		}
	}
	return nil
}

// newTarget is what an autoscaler gets for CPU in percent that has no target.
const newTarget = 70

// autoscaler is the one that governs the workload, or one as would be made; nil: it has no replicas.
func (s *subject) autoscaler(b optimize.Bounds) *policy.SeenGovernor {
	if s.governor != nil || !s.scalable {
		return s.governor
	}
	low, top := int64(b.Min), int64(b.Max)
	return &policy.SeenGovernor{Bounds: workload.Bounds{Min: &low, Max: &top}, Utilisation: []workload.Utilisation{{Container: s.scaled, Resource: workload.CPU, Percent: newTarget}}}
}
