package freeze

import (
	"flyball.dev/flyball/engine/workload"
)

// OfGoverned is the part of a request that concerns an object which the request's object governs: the same user, at the same
// instant, scales it. facts are what the object is now, since the request leaves it as it is; nil: it does not exist, or nobody
// knows, and policies that select by labels do not select it. A governor that is being deleted, and whose deletion is asked
// for again, scales nothing, and neither does a request that is no change.
func (req Request) OfGoverned(target workload.Ref, facts *Facts) Request {
	actions := req.Actions
	if req.Deleting {
		actions &^= workload.ChangeDelete
	}
	req.Kind, req.Namespace, req.Name = target.GroupKind, target.Namespace, target.Name
	req.Old, req.New, req.Deleting = facts, facts, false
	req.Actions = 0
	if actions != 0 {
		req.Actions = workload.ChangeScale
	}
	return req
}
