package podsize

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Room has the bounds of a namespace.
type Room struct {
	// Ranges are the bounds of all LimitRanges.
	Ranges []Range
	// Quotas are the ResourceQuotas that bound CPU or memory.
	Quotas []Quota
}

// Range is one bound of a LimitRange.
type Range struct {
	Name string
	corev1.LimitRangeItem
}

// Quota is the unused part of a ResourceQuota.
type Quota struct {
	Name string
	Left corev1.ResourceList
}

// IsBounded reports whether the namespace has any bound for pods.
func (r Room) IsBounded() bool { return len(r.Ranges) > 0 || len(r.Quotas) > 0 }

// computed are the checked resources.
var computed = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}

// RangesOf returns the bounds of a LimitRange for CPU and memory. A LimitRange that is not JSON is an error.
func RangesOf(raw []byte) (all []corev1.LimitRangeItem, err error) {
	var found corev1.LimitRange
	if err := json.Unmarshal(raw, &found); err != nil {
		return nil, fmt.Errorf("read a LimitRange: %w", err)
	}
	for _, item := range found.Spec.Limits {
		said := []corev1.ResourceList{item.Min, item.Max, item.MaxLimitRequestRatio, item.Default, item.DefaultRequest}
		if slices.ContainsFunc(said, func(l corev1.ResourceList) bool { return len(only(l, computed)) > 0 }) {
			all = append(all, item)
		}
	}
	return all, nil
}

// Headroom returns the unused CPU and memory of a ResourceQuota, or nothing if the quota bounds neither. A ResourceQuota
// that is not JSON is an error.
func Headroom(raw []byte) (corev1.ResourceList, error) {
	var found corev1.ResourceQuota
	if err := json.Unmarshal(raw, &found); err != nil {
		return nil, fmt.Errorf("read a ResourceQuota: %w", err)
	}
	if len(found.Spec.Scopes) > 0 || found.Spec.ScopeSelector != nil {
		return nil, nil
	}
	left := only(found.Status.Hard, slices.Collect(maps.Keys(usage(nil, nil))))
	for name, hard := range left {
		hard.Sub(found.Status.Used[name])
		left[name] = hard
	}
	return left, nil
}

func only(all corev1.ResourceList, names []corev1.ResourceName) corev1.ResourceList {
	some := all.DeepCopy()
	maps.DeleteFunc(some, func(name corev1.ResourceName, _ resource.Quantity) bool { return !slices.Contains(names, name) })
	return some
}

// usage returns requests and limits by the resource names of quotas.
func usage(requests, limits corev1.ResourceList) map[corev1.ResourceName]resource.Quantity {
	return map[corev1.ResourceName]resource.Quantity{
		corev1.ResourceCPU: requests[corev1.ResourceCPU], corev1.ResourceRequestsCPU: requests[corev1.ResourceCPU],
		corev1.ResourceLimitsCPU: limits[corev1.ResourceCPU],
		corev1.ResourceMemory:    requests[corev1.ResourceMemory], corev1.ResourceRequestsMemory: requests[corev1.ResourceMemory],
		corev1.ResourceLimitsMemory: limits[corev1.ResourceMemory],
	}
}

// sized has the read fields of a pod.
type sized struct {
	Spec struct {
		Containers     []sizedContainer    `json:"containers"`
		InitContainers []sizedContainer    `json:"initContainers"`
		Overhead       corev1.ResourceList `json:"overhead"`
	} `json:"spec"`
}

type sizedContainer struct {
	Name          string                         `json:"name"`
	RestartPolicy *corev1.ContainerRestartPolicy `json:"restartPolicy"`
	Resources     corev1.ResourceRequirements    `json:"resources"`
}

func containers(all []sizedContainer) []corev1.Container {
	list := make([]corev1.Container, len(all))
	for i, c := range all {
		list[i] = corev1.Container{Name: c.Name, RestartPolicy: c.RestartPolicy, Resources: c.Resources}
	}
	return list
}

// Refuses returns the reason why a pod does not fit, or "" if it fits. The pod must not have pod-level resources. A pod
// that is not JSON is an error.
func (r Room) Refuses(pod []byte) (string, error) {
	var read sized
	if err := json.Unmarshal(pod, &read); err != nil {
		return "", fmt.Errorf("read the resources of a pod: %w", err)
	}
	p := &corev1.Pod{Spec: corev1.PodSpec{Containers: containers(read.Spec.Containers), InitContainers: containers(read.Spec.InitContainers),
		Overhead: read.Spec.Overhead}}
	for _, item := range r.Ranges {
		if why := outside(item, p); why != "" {
			return why, nil
		}
	}
	var o resourcehelper.PodResourcesOptions
	used := usage(resourcehelper.PodRequests(p, o), resourcehelper.PodLimits(p, o))
	for _, q := range r.Quotas {
		for _, name := range slices.Sorted(maps.Keys(q.Left)) {
			if needs, rest := used[name], q.Left[name]; needs.Cmp(rest) > 0 {
				return fmt.Sprintf("ResourceQuota %s has %s of %s left, less than %s", q.Name, rest.String(), name, needs.String()), nil
			}
		}
	}
	return "", nil
}

// outside returns the reason why a pod is outside a bound of a LimitRange.
func outside(item Range, p *corev1.Pod) string {
	switch item.Type {
	case corev1.LimitTypeContainer:
		for _, c := range slices.Concat(p.Spec.Containers, p.Spec.InitContainers) {
			if why := beyond(item, c.Resources.Requests, c.Resources.Limits); why != "" {
				return "container " + c.Name + ": " + why
			}
		}
	case corev1.LimitTypePod:
		o := resourcehelper.PodResourcesOptions{ExcludeOverhead: true}
		return beyond(item, resourcehelper.PodRequests(p, o), resourcehelper.PodLimits(p, o))
	}
	return ""
}

// beyond returns the reason why requests and limits are outside a bound.
func beyond(item Range, requests, limits corev1.ResourceList) string {
	for _, name := range computed {
		request, limit := requests[name], limits[name]
		_, limited := limits[name]
		if least, ok := item.Min[name]; ok && (request.Cmp(least) < 0 || limited && limit.Cmp(least) < 0) {
			return fmt.Sprintf("%s of %s, below the %s of LimitRange %s", request.String(), name, least.String(), item.Name)
		}
		if most, ok := item.Max[name]; ok && (!limited || limit.Cmp(most) > 0 || request.Cmp(most) > 0) {
			return fmt.Sprintf("%s of %s, limited to %s, above the %s of LimitRange %s", request.String(), name, limit.String(), most.String(),
				item.Name)
		}
		if most, ok := item.MaxLimitRequestRatio[name]; ok &&
			(request.IsZero() || limit.IsZero() || 1000*float64(limit.MilliValue())/float64(request.MilliValue()) > float64(most.MilliValue())) {
			return fmt.Sprintf("%s of %s, limited to %s, more than %s times that, which LimitRange %s allows", request.String(), name,
				limit.String(), most.String(), item.Name)
		}
	}
	return ""
}
