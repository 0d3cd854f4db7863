package tuning

import (
	"k8s.io/apimachinery/pkg/api/resource"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// IsAsked reports whether a plan has requests for pods rather than for the target.
func IsAsked(p workload.Plan) bool {
	for key := range p.Amounts {
		if key.Kind == workload.AmountInPlace || key.Kind == workload.AmountOnCreate {
			return true
		}
	}
	return false
}

// Add adds the requests of a plan to the numbers for created pods; n may be nil.
func Add(n *v1alpha1.NewPods, p workload.Plan, containers []v1alpha1.RecommendedContainer) *v1alpha1.NewPods {
	for _, of := range containers {
		c := v1alpha1.NewContainer{Name: of.Name}
		cpu, memory := claimOf(p, of.Name, workload.CPU), claimOf(p, of.Name, workload.Memory)
		if cpu == nil && memory == nil {
			continue
		}
		if n == nil {
			n = &v1alpha1.NewPods{}
		}
		if cpu != nil {
			c.CPU, n.Limits = resource.NewMilliQuantity(cpu.Value, resource.DecimalSI), policy.LimitsName(cpu.Limits)
		}
		if memory != nil {
			c.Memory, n.Limits = resource.NewQuantity(memory.Value, resource.BinarySI), policy.LimitsName(memory.Limits)
		}
		n.Containers = with(n.Containers, c)
	}
	return n
}

// claimOf returns the claim for a container of created pods, or nil if the template decides.
func claimOf(p workload.Plan, container string, of workload.Resource) *workload.Claim[int64] {
	for _, kind := range []workload.AmountKind{workload.AmountInPlace, workload.AmountOnCreate} {
		if claim, asked := p.Amounts[workload.Amount{Kind: kind, Component: container, Resource: of}]; asked {
			return &claim
		}
	}
	return nil
}

// with returns the containers with c: it replaces the container of the same name, or is appended.
func with(all []v1alpha1.NewContainer, c v1alpha1.NewContainer) []v1alpha1.NewContainer {
	for i := range all {
		if all[i].Name == c.Name {
			all[i] = c
			return all
		}
	}
	return append(all, c)
}

// Unable returns the reason why pods get no boost, or "". unserved reports that no webhook for pods is served. stays is
// the reason why a pod could not come down from a boost, or "".
func Unable(unserved bool, stays string) string {
	if unserved {
		return "this manager serves no webhook for pods (--webhook, --webhook-pods)"
	}
	return stays
}
