package analysis

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Subject is a workload, as its adapter describes it.
type Subject struct {
	Ref workload.Ref
	// Requests are the requests of the containers, in milli-CPU and bytes. Zero means no request.
	Requests map[string]tune.Requests
	// Autoscaler is the autoscaler of the workload, or nil.
	Autoscaler *policy.SeenAutoscaler
	// Scalable is true if the workload has a replica count.
	Scalable bool
	// Scaled is the container whose CPU usage sets the number of replicas.
	Scaled string
}

// NewSubject reads a target and its autoscaler.
func NewSubject(w *source.World, memory *world.Memory, target source.Target) (_ *Subject, err error) {
	s := &Subject{Ref: target.Ref, Requests: map[string]tune.Requests{}}
	var found *workload.Observed
	for _, a := range w.Adapters {
		compiled, errs := adapter.Compile(a.Name, a.Spec, adapter.Keys{Amounts: true})
		if len(errs) > 0 {
			continue // the world already has a note about this adapter
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
	s.Scalable = len(found.Components) > 0
	for _, a := range found.Allocations {
		s.Requests[a.Component] = tune.Requests{CPU: a.Requests.MilliCPU, Memory: a.Requests.MemoryBytes}
	}
	if len(s.Requests) == 0 {
		return nil, fmt.Errorf("%s: its adapter finds no container, or other component, that requests resources", target.Ref)
	}
	return s, nil
}

// observe returns the values that the owner wants for an object. It returns nil if the object does not exist.
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

// governedBy searches the objects of a kind for the autoscaler of the workload.
func (s *Subject) governedBy(memory *world.Memory, a *adapter.Adapter) error {
	var refs []workload.Ref
	memory.EachObject(func(ref workload.Ref) {
		if ref.GroupKind == a.GroupKind() && ref.Namespace == s.Ref.Namespace {
			refs = append(refs, ref)
		}
	})
	slices.SortFunc(refs, func(a, b workload.Ref) int { return cmp.Compare(a.Name, b.Name) })
	for _, ref := range refs {
		obj, err := a.Project(memory.Raw(ref))
		if err != nil {
			return err
		}
		if governed, ok := a.Governs(obj); ok && memory.Referent(governed) == s.Ref && s.Autoscaler == nil {
			if fault := a.AmountFault(obj); fault != "" {
				return fmt.Errorf("%s: %s", ref, fault)
			}
			o := a.Observe(obj)
			s.Autoscaler = &policy.SeenAutoscaler{Ref: ref, Bounds: o.Bounds, Utilisation: o.Utilisation}
		}
	}
	return nil
}

// Names returns the names of the containers.
func (s *Subject) Names() []string { return slices.Sorted(maps.Keys(s.Requests)) }

// Scale chooses the container whose CPU usage sets the number of replicas. This is the container of a flag or a
// Tortoise, else the container of the autoscaler's target, else the container with the largest CPU request.
func (s *Subject) Scale(asked string, rules v1alpha1.TortoiseRules) error {
	for _, r := range rules.Resources {
		if _, ok := s.Requests[r.Container]; ok && asked == "" && r.CPU == v1alpha1.ScaleHorizontal {
			asked = r.Container
		}
	}
	if asked != "" {
		if _, ok := s.Requests[asked]; !ok {
			return fmt.Errorf("--container: %s has no container %q%s", s.Ref, asked, workload.Hint(asked, s.Names()))
		}
		s.Scaled = asked
		return nil
	}
	if u := s.Target(); u != nil && u.Container != "" {
		if _, ok := s.Requests[u.Container]; ok {
			s.Scaled = u.Container
			return nil
		}
		return fmt.Errorf("%s has a target for the container %q, which %s does not have%s", s.Autoscaler.Ref, u.Container, s.Ref,
			workload.Hint(u.Container, s.Names()))
	}
	for _, name := range s.Names() {
		if s.Scaled == "" || s.Requests[name].CPU > s.Requests[s.Scaled].CPU {
			s.Scaled = name
		}
	}
	return nil
}

// Target returns the CPU target of the autoscaler, or nil.
func (s *Subject) Target() *workload.Utilisation {
	if s.Autoscaler == nil {
		return nil
	}
	for i, u := range s.Autoscaler.Utilisation {
		if u.Resource == workload.CPU {
			return &s.Autoscaler.Utilisation[i]
		}
	}
	return nil
}

// AutoscalerWith returns the workload's autoscaler, or an autoscaler as Flyball would create it. It returns nil if the
// workload has no replicas.
func (s *Subject) AutoscalerWith(b tune.Bounds) *policy.SeenAutoscaler {
	if s.Autoscaler != nil || !s.Scalable {
		return s.Autoscaler
	}
	low, top := int64(b.Min), int64(b.Max)
	return &policy.SeenAutoscaler{Bounds: workload.Bounds{Min: &low, Max: &top},
		Utilisation: []workload.Utilisation{{Container: s.Scaled, Resource: workload.CPU, Percent: defaultTarget}}}
}
