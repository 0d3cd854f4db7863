package cost

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/pods"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// clean removes Flyball's costs without a claim from the pods of a target. A failure on a pod does not
// affect the others.
func (l *Actuator) clean(ctx context.Context, ref workload.Ref) error {
	var failures []error
	for _, group := range l.members.Groups(ref) {
		pods := l.members.CostedPods(group)
		if len(pods) == 0 {
			continue
		}
		unclaimed, wait := l.isUnclaimed(group)
		if wait > 0 {
			l.queue.AddAfter(group, wait)
		}
		if !unclaimed || wait > 0 {
			continue
		}
		failures = append(failures, l.cleanGroup(ctx, group, pods))
	}
	err := errors.Join(failures...)
	if err != nil {
		l.log.Info("Failed to remove deletion costs; will retry", "target", ref.String(), "reason", err.Error())
	}
	return err
}

// cleanGroup removes the costs of one owner's pods. It returns the error of the first failed pod.
func (l *Actuator) cleanGroup(ctx context.Context, group workload.Ref, costed []*workload.Pod) error {
	changes := make([]workload.CostChange, len(costed))
	for i, p := range costed {
		changes[i].Pod = p
	}
	now := l.clock.Now()
	l.written.sortRefusedIn(changes, now)
	_, err := pods.Each(l.base, group, nil, l.clock.Now, changes, func(c workload.CostChange) error {
		err := l.write(ctx, workload.Policy{}, c.Pod, nil)
		if err == nil {
			return nil
		}
		if !errors.Is(err, apply.ErrBehind) {
			l.written.refuse(c.Pod, now, err)
		}
		return fmt.Errorf("remove the deletion cost of %s/%s: %w", c.Pod.Namespace, c.Pod.Name, err)
	})
	return err
}

// isUnclaimed reports whether no claim keeps the costs of an owner's pods; it is false while claims are unknown. wait is the grace
// period of unclaimed costs, or the time until the next look at unknown claims.
func (l *Actuator) isUnclaimed(group workload.Ref) (unclaimed bool, wait time.Duration) {
	s := l.ownershipOf(group)
	if len(s.claimants) > 0 {
		return false, 0
	}
	if s.unknown != "" {
		return false, unknownRetry
	}
	for _, ref := range s.chain {
		wait = max(wait, l.book.gracePeriod(ref, l.clock.Now()))
	}
	return true, wait
}

// ownership has the claims that keep the costs of pods.
type ownership struct {
	// chain has the direct owner of the pods and all owners above it, the nearest first.
	chain []workload.Ref
	// claimants are the objects of the chain with a claim for costs, or with a possible claim of an unreadable policy.
	claimants []workload.Ref
	// undecided are the objects of the chain whose claims are unknown. unknown is the reason; empty: all claims are
	// known.
	undecided []workload.Ref
	unknown   string
}

func (l *Actuator) ownershipOf(group workload.Ref) ownership {
	snapshot := l.world.Snapshot()
	var s ownership
	s.chain, s.unknown = l.base.Chain(group)
	// an unreadable policy keeps its costs
	broken := snapshot.HasBroken(group.Namespace, func(p *world.Policy) bool { return p.PodOrderer != nil })
	for _, ref := range s.chain {
		switch {
		case !isDecidable(snapshot, ref.GroupKind):
			s.undecided = append(s.undecided, ref)
			s.unknown = fmt.Sprintf("the adapter of %s is not ready", ref.GroupKind)
		case broken && heeds(snapshot, ref.GroupKind), l.claimOn(ref) != nil:
			s.claimants = append(s.claimants, ref)
		}
	}
	return s
}

// isDecidable reports whether the claims on objects of a kind are known: the kind can have no claims, or it is in use
// and its objects are known.
func isDecidable(s *world.Snapshot, gk schema.GroupKind) bool {
	if k := s.InUse(gk); k != nil {
		return k.Live.HasSynced()
	}
	known, ok := s.AdaptedKind(gk)
	return !ok || !known.HeedsCosts
}

// heeds reports whether costs can be claimed on objects of a kind. There are no claims while its adapter is
// being deleted.
func heeds(s *world.Snapshot, gk schema.GroupKind) bool {
	k := s.InUse(gk)
	return k != nil && !k.Releasing && k.Adapter.Can(v1alpha1.CapabilityDeletionCost)
}

// ChangedOn implements reconcile.Actuator. It counts the objects of a kind that are the only reason for costs of pods.
func (l *Actuator) ChangedOn(gk schema.GroupKind) (n int, unread string) {
	snapshot := l.world.Snapshot()
	if k := snapshot.InUse(gk); k == nil || !k.Adapter.Can(v1alpha1.CapabilityDeletionCost) {
		return 0, ""
	}
	if why := l.base.Unread("deletion costs cannot be removed"); why != "" {
		for p := range snapshot.Policies {
			if p.PodOrderer != nil {
				return 0, why
			}
		}
		return 0, ""
	}
	ofOthers := func(ref workload.Ref) bool { return ref.GroupKind != gk }
	found := map[workload.Ref]struct{}{}
	for _, group := range l.costedGroups("") {
		s := l.ownershipOf(group)
		if slices.ContainsFunc(s.claimants, ofOthers) || slices.ContainsFunc(s.undecided, ofOthers) {
			continue
		}
		for _, ref := range s.chain {
			if !ofOthers(ref) {
				found[ref] = struct{}{}
			}
		}
	}
	return len(found), ""
}

// costedGroups returns the direct owners, in a namespace or all, of pods with a cost of Flyball.
func (l *Actuator) costedGroups(namespace string) []workload.Ref {
	return pods.GroupsIn(l.members.Costed(), namespace, l.members.CostedPods)
}

// Leftover implements reconcile.Actuator: costs may still have to be removed.
func (l *Actuator) Leftover(p *world.Policy) string {
	if p.PodOrderer == nil {
		return ""
	}
	if why := l.base.Unread("deletion costs cannot be removed"); why != "" {
		return why
	}
	var left []*workload.Pod
	unknown := ""
	for _, group := range l.costedGroups(p.ID.Namespace) {
		s := l.ownershipOf(group)
		switch {
		case len(s.claimants) > 0: // the claims of other policies keep these costs
		case s.unknown != "":
			unknown = s.unknown
		default:
			l.queue.Add(group)
			left = append(left, l.members.CostedPods(group)...)
		}
	}
	if len(left) == 0 && unknown == "" {
		return ""
	}
	if len(left) == 0 {
		return "there may be deletion costs to be removed: " + unknown
	}
	text := "the deletion costs of " + workload.Count(len(left), "pod") + " have still to be removed"
	if why := l.written.refusalOf(left); why != "" {
		text += ": " + why
	}
	return text
}
