package freeze

import (
	"flyball.dev/flyball/engine/workload"
)

// OfGoverned returns the request for the scale target of the request's object: the same user scales the target at the same
// instant. facts are the current facts about the target, because the request does not change it. If facts is nil (the
// target is unknown or absent), policies that select by labels do not match. The returned request has no action if the
// given one has none, or only deletes an autoscaler that is already being deleted.
func (req UserChange) OfGoverned(target workload.Ref, facts *Facts) UserChange {
	actions := req.Actions
	if req.Deleting {
		actions &^= workload.ChangeDelete
	}
	req.Kind, req.Namespace, req.Name = target.GroupKind, target.Namespace, target.Name
	req.Old, req.New, req.Deleting = facts, facts, false
	req.Actions, req.Finishing = 0, 0
	if actions != 0 {
		req.Actions = workload.ChangeScale
	}
	return req
}
