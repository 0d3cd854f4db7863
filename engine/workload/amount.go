package workload

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Resource is what a container requests of its node.
type Resource string

// Resources.
const (
	CPU    Resource = "cpu"
	Memory Resource = "memory"
)

// Requests is what a pod or a container asks of a node. Zero is no request.
type Requests struct {
	// MilliCPU is in thousandths of a core.
	MilliCPU    int64
	MemoryBytes int64
}

// Of is the request of one resource, in thousandths of a core or in bytes.
func (r Requests) Of(name Resource) int64 {
	if name == CPU {
		return r.MilliCPU
	}
	return r.MemoryBytes
}

// Set sets the request of one resource.
func (r *Requests) Set(name Resource, n int64) {
	if name == CPU {
		r.MilliCPU = n
	} else {
		r.MemoryBytes = n
	}
}

// Allocation is what one component of a target, such as a container, requests and is limited to.
type Allocation struct {
	Component string
	Requests  Requests
	// Limits are zero where there are none.
	Limits Requests
}

// Allocations are those of all components, in the order of their names.
type Allocations []Allocation

// Set notes a request, or a limit, of a component.
func (all Allocations) Set(component string, limit bool, name Resource, n int64) Allocations {
	i, found := slices.BinarySearchFunc(all, component, func(a Allocation, c string) int { return cmp.Compare(a.Component, c) })
	if !found {
		all = slices.Insert(all, i, Allocation{Component: component})
	}
	if limit {
		all[i].Limits.Set(name, n)
	} else {
		all[i].Requests.Set(name, n)
	}
	return all
}

// Utilisation is one target of an autoscaler: how much of what is requested is to be used.
type Utilisation struct {
	// Container whose use counts; empty: all of the pod.
	Container string
	Resource  Resource
	Percent   int64
}

// AmountKind says what an Amount is an amount of.
type AmountKind uint8

// Kinds of amounts.
const (
	// AmountRequest is a request of a component, in thousandths of a core or in bytes. Limits follow it.
	AmountRequest AmountKind = iota
	// AmountUtilisation is a target utilisation, in percent.
	AmountUtilisation
	// AmountInPlace is a request as AmountRequest is, for the pods that run and not for the target: they are changed in place.
	AmountInPlace
	// AmountOnCreate is the same for pods that are yet to come only.
	AmountOnCreate
)

// LimitRule says what becomes of the limit of a container whose request is set.
type LimitRule uint8

// Rules for limits.
const (
	// LimitsFollow keeps the owner's ratio of the limit to the request.
	LimitsFollow LimitRule = iota
	// LimitsStay leaves the owner's limit as it is, and the request never goes above it.
	LimitsStay
	// LimitsGo removes the limit.
	LimitsGo
)

// Amount names one number that policies can set beside counts and bounds.
type Amount struct {
	Kind AmountKind
	// Component is the component of a request, or the container of a utilisation, which is empty where that is of whole pods.
	Component string
	Resource  Resource
}

// String names the amount as a facet: requests/web/cpu, utilisation/cpu, in-place/web/cpu, on-create/web/cpu.
func (a Amount) String() string {
	facet := [...]string{AmountRequest: "requests/", AmountUtilisation: "utilisation/", AmountInPlace: "in-place/", AmountOnCreate: "on-create/"}[a.Kind]
	if a.Component != "" {
		facet += a.Component + "/"
	}
	return facet + string(a.Resource)
}

// Text is a value of the amount for people: 250m, 1Gi, 70%.
func (a Amount) Text(value int64) string {
	switch {
	case a.Kind == AmountUtilisation:
		return fmt.Sprintf("%d%%", value)
	case a.Resource == CPU:
		return resource.NewMilliQuantity(value, resource.DecimalSI).String()
	}
	return resource.NewQuantity(value, resource.BinarySI).String()
}

// Compare orders amounts by kind, component and resource.
func (a Amount) Compare(b Amount) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Component, b.Component), cmp.Compare(a.Resource, b.Resource))
}

// Capacity orders values of the amount by the capacity that they leave: a higher request is more, and so is a lower utilisation, since the
// autoscaler makes more replicas then.
func (a Amount) Capacity(value int64) int64 {
	if a.Kind == AmountUtilisation {
		return -value
	}
	return value
}
