// Package podsize plans the requests of pods. It asks no API server.
//
//   - Resizes: requests of running pods are changed in place. No change takes a pod into another class of service, adds a missing
//     request or limit, or restarts a second pod while another pod is not ready (resize.go).
//   - Creation: the patch by which a created pod starts with its recommended requests, and more CPU until it is ready. The patch never
//     adds a request, limit or variable that the owner has not set, and leaves a pod changed by others alone (newpod.go).
//   - Room: whether pods fit into the LimitRanges of their namespace and into the rest of its ResourceQuotas, for CPU and memory and
//     by the rules of the API server for created pods. Quotas with scopes count only for some pods and are not checked (room.go).
//   - Numbers: the present requests of pods beside the recommended ones: those that are applied, and the saving (actual.go).
package podsize

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
		request, limit := workload.FitLimit(claim.Limits, claim.Value, own.Requests.Of(of), own.Limits.Of(of))
		to.Requests.Set(of, request)
		to.Limits.Set(of, limit)
		any = any || request > 0
	}
	return any
}
