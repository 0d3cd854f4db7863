package workload

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Resource is a resource of a node, requested by containers.
type Resource string

// Resources.
const (
	CPU    Resource = "cpu"
	Memory Resource = "memory"
)

// Requests are the requests of a pod or a container. Zero: no request.
type Requests struct {
	// MilliCPU is in thousandths of a core.
	MilliCPU    int64
	MemoryBytes int64
}

// Of returns the request of one resource, in thousandths of a core or in bytes.
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

// Allocation is the requests and limits of one component of a target, such as a container.
type Allocation struct {
	Component string
	Requests  Requests
	// Limits are zero if absent.
	Limits Requests
}

// Allocations are the allocations of all components, in the order of their names.
type Allocations []Allocation

// Set sets a request, or a limit, of a component.
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

// Utilisation is a target of an autoscaler: the percentage of requests to be used.
type Utilisation struct {
	// Container is the measured container; empty: the whole pod.
	Container string
	Resource  Resource
	Percent   int64
}

// AmountKind is the kind of an Amount.
type AmountKind uint8

// Kinds of amounts.
const (
	// AmountRequest is a request of a component, in thousandths of a core or in bytes. Limits follow it.
	AmountRequest AmountKind = iota
	// AmountUtilisation is a target utilisation, in percent.
	AmountUtilisation
	// AmountInPlace is a request for running pods, changed in place, and not for the pod template.
	AmountInPlace
	// AmountOnCreate is a request for new pods only.
	AmountOnCreate
)

// LimitRule is the rule for the limit of a container with a claimed request.
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

// Amount names one number set by policies besides counts and bounds.
type Amount struct {
	Kind AmountKind
	// Component is the component of a request, or the container of a utilisation; empty for a utilisation of
	// whole pods.
	Component string
	Resource  Resource
}

// String returns the amount's name as a facet: requests/web/cpu, utilisation/cpu, in-place/web/cpu, on-create/web/cpu.
func (a Amount) String() string {
	facet := [...]string{AmountRequest: "requests/", AmountUtilisation: "utilisation/", AmountInPlace: "in-place/",
		AmountOnCreate: "on-create/"}[a.Kind]
	if a.Component != "" {
		facet += a.Component + "/"
	}
	return facet + string(a.Resource)
}

// Text returns a value of the amount for messages: 250m, 1Gi, 70%.
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

// Capacity returns a number that orders values by capacity: a higher request is more, and so is a lower utilisation,
// because the autoscaler then runs more replicas.
func (a Amount) Capacity(value int64) int64 {
	if a.Kind == AmountUtilisation {
		return -value
	}
	return value
}
