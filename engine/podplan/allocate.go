package podplan

import (
	"slices"

	"flyball.dev/flyball/engine/workload"
)

// InTemplate returns the requests and limits of the containers in a template, from the claims for the template and the
// owner's allocations.
func InTemplate(amounts map[workload.Amount]workload.Claim[int64], own workload.Allocations) workload.Allocations {
	all := slices.Clone(own)
	for i := range all {
		_ = allocate(&all[i], amounts, workload.AmountRequest, own[i])
	}
	return all
}

// InPlace returns the requests and limits of each container, from the claims for pods and the owner's allocations. A
// zero means that the present value stays.
func InPlace(amounts map[workload.Amount]workload.Claim[int64], own workload.Allocations) map[string]workload.Allocation {
	all := map[string]workload.Allocation{}
	for _, a := range own {
		to := workload.Allocation{Component: a.Component}
		if allocate(&to, amounts, workload.AmountInPlace, a) {
			all[a.Component] = to
		}
	}
	return all
}

// allocate sets the requests in the claims of one kind, and the limits beside these requests. It reports whether it has
// set a request.
func allocate(to *workload.Allocation, amounts map[workload.Amount]workload.Claim[int64], kind workload.AmountKind,
	own workload.Allocation) (any bool) {
	for _, of := range []workload.Resource{workload.CPU, workload.Memory} {
		claim, asked := amounts[workload.Amount{Kind: kind, Component: own.Component, Resource: of}]
		if !asked {
			continue
		}
		request, limit := Fit(claim.Limits, claim.Value, own.Requests.Of(of), own.Limits.Of(of))
		to.Requests.Set(of, request)
		to.Limits.Set(of, limit)
		any = any || request > 0
	}
	return any
}
