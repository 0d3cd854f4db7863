package mercari

import (
	"slices"

	"flyball.dev/flyball/engine/policy/tortoise/tune"
)

// Scaling is the way in which a container gets more of a resource.
type Scaling string

// The ways of scaling.
const (
	ByReplicas Scaling = "Horizontal"
	BySize     Scaling = "Vertical"
	Never      Scaling = "Off"
)

// Scalings are the ways of scaling for both resources of a container. Empty means that the spec does not name the
// resource.
type Scalings struct{ CPU, Memory Scaling }

// Container is a container of a target. CPU and Memory are true if it requests the resource. CPUMetric and MemoryMetric
// are true if an attached autoscaler has a ContainerResource metric for the resource.
type Container struct {
	Name                    string
	CPU, Memory             bool
	CPUMetric, MemoryMetric bool
}

// Policies returns the ways of scaling by container. asked are the policies of the spec by container.
//
//	nothing is asked for                CPU by replicas, memory by size
//	... and an autoscaler is attached   resources with a metric by replicas, the rest by size
//	... and without a request           never
//	something is asked for              as asked, and unnamed resources never
func Policies(containers []Container, asked map[string]Scalings, attached bool) map[string]Scalings {
	all := map[string]Scalings{}
	for _, c := range containers {
		if len(asked) > 0 {
			all[c.Name] = Scalings{orNever(asked[c.Name].CPU), orNever(asked[c.Name].Memory)}
			continue
		}
		all[c.Name] = Scalings{
			CPU:    byDefault(c.CPU, !attached || c.CPUMetric),
			Memory: byDefault(c.Memory, attached && c.MemoryMetric),
		}
	}
	return all
}

func orNever(s Scaling) Scaling {
	if s == "" {
		return Never
	}
	return s
}

func byDefault(requested, horizontal bool) Scaling {
	switch {
	case !requested:
		return Never
	case horizontal:
		return ByReplicas
	}
	return BySize
}

// ResourcePhase returns the phase of one resource of a container: GatheringData, Working or Off. A resource scaled by
// size is Working once the VerticalPodAutoscaler recommends a value. A resource scaled by replicas is Working once every
// slot of the week or the day has a value.
func ResourcePhase(s Scaling, recommended, filled bool) tune.Phase {
	switch {
	case s == Never:
		return tune.Phase(Never)
	case s == BySize && recommended, s == ByReplicas && filled:
		return tune.Working
	}
	return tune.GatheringData
}

// TargetPhase returns the phase of a target from the phases of its resources. Resources that are Off do not count.
func TargetPhase(resources []tune.Phase) tune.Phase {
	gathering, working := slices.Contains(resources, tune.GatheringData), slices.Contains(resources, tune.Working)
	switch {
	case gathering && working:
		return tune.PartlyWorking
	case gathering:
		return tune.GatheringData
	}
	return tune.Working
}
