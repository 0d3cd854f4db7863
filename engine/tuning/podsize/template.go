package podsize

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"flyball.dev/flyball/engine/workload"
)

// RefusesTemplate returns the reason why the namespace refuses pods of a template with the given requests and limits,
// or "" if it does not. pods are the target's present pods. New pods are expected to have the containers that the
// present pods have beside the template, such as injected containers. A quota has to cover only the increase over the
// present pods.
func (r Room) RefusesTemplate(to workload.Allocations, pods []*workload.Pod) string {
	will := make(map[string]workload.Container, len(to))
	for _, a := range to {
		c, why := r.withDefaults(containerOf(a))
		if why != "" {
			return "container " + a.Component + ": " + why
		}
		will[a.Component] = c
	}
	p := podOf(will, newest(pods))
	for _, item := range r.Ranges {
		if why := outside(item, p); why != "" {
			return why
		}
	}
	return r.overdrawn(will, pods)
}

func containerOf(a workload.Allocation) workload.Container {
	return workload.Container{Name: a.Component, Resources: workload.Resources{
		CPU: a.Requests.MilliCPU, Memory: a.Requests.MemoryBytes, CPULimit: a.Limits.MilliCPU, MemoryLimit: a.Limits.MemoryBytes,
	}}
}

// withDefaults fills in the requests and limits that the API server will add to a container. A default limit of a
// LimitRange does not follow the request: if it is below the request, the API server refuses the pod.
func (r Room) withDefaults(c workload.Container) (full workload.Container, why string) {
	for _, part := range []struct {
		name           corev1.ResourceName
		request, limit *int64
		amount         func(resource.Quantity) int64
	}{
		{corev1.ResourceCPU, &c.CPU, &c.CPULimit, func(q resource.Quantity) int64 { return q.MilliValue() }},
		{corev1.ResourceMemory, &c.Memory, &c.MemoryLimit, func(q resource.Quantity) int64 { return q.Value() }},
	} {
		*part.request = cmp.Or(*part.request, *part.limit)
		for _, item := range r.Ranges {
			if item.Type != corev1.LimitTypeContainer {
				continue
			}
			if q, has := item.Default[part.name]; has && *part.limit == 0 {
				*part.limit = part.amount(q)
				if *part.request > *part.limit {
					return c, fmt.Sprintf("%s of %s, above the limit of %s that LimitRange %s gives it", amountText(part.name, *part.request), part.name,
						q.String(), item.Name)
				}
			}
			if q, has := item.DefaultRequest[part.name]; has && *part.request == 0 {
				*part.request = part.amount(q)
			}
		}
	}
	return c, ""
}

func quantityOf(name corev1.ResourceName, n int64) resource.Quantity {
	if name == corev1.ResourceCPU {
		return *resource.NewMilliQuantity(n, resource.DecimalSI)
	}
	return *resource.NewQuantity(n, resource.BinarySI)
}

func amountText(name corev1.ResourceName, n int64) string {
	q := quantityOf(name, n)
	return q.String()
}

// podOf returns a pod with the containers of a template and the other containers of a present pod. It returns nil
// without a present pod.
func podOf(will map[string]workload.Container, now *workload.Pod) *corev1.Pod {
	p := &corev1.Pod{}
	for _, name := range slices.Sorted(maps.Keys(will)) {
		p.Spec.Containers = append(p.Spec.Containers, asContainer(will[name]))
	}
	if now == nil {
		return p
	}
	for _, c := range now.Containers {
		if _, known := will[c.Name]; !known {
			p.Spec.Containers = append(p.Spec.Containers, asContainer(c))
		}
	}
	return p
}

func asContainer(c workload.Container) corev1.Container {
	list := func(cpu, memory int64) corev1.ResourceList {
		l := corev1.ResourceList{}
		for name, n := range map[corev1.ResourceName]int64{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
			if n > 0 {
				l[name] = quantityOf(name, n)
			}
		}
		return l
	}
	return corev1.Container{Name: c.Name, Resources: corev1.ResourceRequirements{Requests: list(c.CPU, c.Memory),
		Limits: list(c.CPULimit, c.MemoryLimit)}}
}

func newest(pods []*workload.Pod) *workload.Pod {
	if len(pods) == 0 {
		return nil
	}
	return slices.MaxFunc(pods, func(a, b *workload.Pod) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.Name, b.Name))
	})
}

// overdrawn returns the quota that has too little left for the increase of all pods, or "". Only increases count, so
// that a used-up quota does not block a decrease.
func (r Room) overdrawn(will map[string]workload.Container, pods []*workload.Pod) string {
	var now, then workload.Resources
	for _, p := range pods {
		for _, has := range p.Containers {
			if c, known := will[has.Name]; known {
				now, then = sum(now, has.Resources), sum(then, c.Resources)
			}
		}
	}
	before, after := asContainer(workload.Container{Resources: now}).Resources, asContainer(workload.Container{Resources: then}).Resources
	had, needs := usage(before.Requests, before.Limits), usage(after.Requests, after.Limits)
	for _, q := range r.Quotas {
		for _, name := range slices.Sorted(maps.Keys(q.Left)) {
			more, left := needs[name].DeepCopy(), q.Left[name]
			more.Sub(had[name])
			if more.Sign() > 0 && more.Cmp(left) > 0 {
				return fmt.Sprintf("ResourceQuota %s has %s of %s left, and %s more would be needed for %s", q.Name, left.String(), name, more.String(),
					workload.Count(len(pods), "pod"))
			}
		}
	}
	return ""
}

func sum(a, b workload.Resources) workload.Resources {
	return workload.Resources{CPU: a.CPU + b.CPU, Memory: a.Memory + b.Memory, CPULimit: a.CPULimit + b.CPULimit, MemoryLimit: a.MemoryLimit +
		b.MemoryLimit}
}
