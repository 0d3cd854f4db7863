package cost

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/fleet"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// clean removes the costs that Flyball has set on pods of a target where nobody asks for them any more.
func (l *Loop) clean(ctx context.Context, ref workload.Ref, f *fleet.Fleet) error {
	costed := map[string][]*fleet.Pod{}
	for _, p := range f.Pods {
		if p.Writer == f.Own {
			costed[p.Group] = append(costed[p.Group], p)
		}
	}
	if len(costed) == 0 {
		return nil
	}
	for _, group := range l.members.Groups(ref) {
		pods := costed[group.String()]
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
		for _, p := range pods {
			if err := l.write(ctx, workload.Policy{}, p, nil); err != nil {
				return fmt.Errorf("remove the deletion cost of %s/%s: %w", p.Namespace, p.Name, err)
			}
		}
	}
	return nil
}

// isUnclaimed says that neither an object that owns pods nor any object above it has pods that are to get costs, and how long costs have to stay
// even so. It is false where that cannot be said.
func (l *Loop) isUnclaimed(group workload.Ref) (unclaimed bool, wait time.Duration) {
	snapshot := l.world.Snapshot()
	above, sure := l.members.Above(group)
	if !sure || keepsCosts(snapshot, group.Namespace) {
		return false, 0
	}
	for _, ref := range append([]workload.Ref{group}, above...) {
		if !isDecidable(snapshot, ref.GroupKind) || l.claimOn(ref) != nil {
			return false, 0
		}
		wait = max(wait, l.book.lingers(ref, l.clock.Now()))
	}
	return true, wait
}

// keepsCosts says whether there is a policy that cannot be read and may have asked for costs in a namespace: then all stay.
func keepsCosts(s *world.Snapshot, namespace string) bool {
	for p := range s.Policies {
		if p.PodOrderer() != nil && p.IsBroken() && !p.Deleting && (p.ID.Namespace == "" || p.ID.Namespace == namespace) {
			return true
		}
	}
	return false
}

// isDecidable says whether it can be said what is asked of objects of a kind: either nothing can be, or the kind is in use and its objects
// are known.
func isDecidable(s *world.Snapshot, gk schema.GroupKind) bool {
	if k := s.InUse(gk); k != nil {
		return k.Live.HasSynced()
	}
	known, ok := s.AdaptedKind(gk)
	return !ok || !known.HeedsCosts
}

// CostedOn counts the objects of a kind that own pods with a cost of Flyball. While that is not known it is one.
func (l *Loop) CostedOn(gk schema.GroupKind) int {
	if _, known := l.members.Fleet(workload.Ref{}); !known {
		for p := range l.world.Snapshot().Policies {
			if p.PodOrderer() != nil {
				return 1
			}
		}
		return 0
	}
	n := 0
	for _, ref := range l.members.Costed() {
		if ref.GroupKind == gk {
			n++
		}
	}
	return n
}

// Leftover says why costs may still have to be removed for a policy that is being deleted; empty: none have.
func (l *Loop) Leftover(p *world.Policy) string {
	if p.PodOrderer() == nil {
		return ""
	}
	if _, known := l.members.Fleet(workload.Ref{}); !known {
		if why := l.members.Trouble(); why != "" {
			return "the pods are not known, so deletion costs cannot be removed: " + why
		}
		return "the pods are not known yet"
	}
	groups := map[workload.Ref]bool{}
	for _, ref := range l.members.Costed() {
		if p.ID.Namespace == "" || p.ID.Namespace == ref.Namespace {
			for _, group := range l.members.Groups(ref) {
				groups[group] = true
			}
		}
	}
	left := 0
	for group := range groups {
		f, _ := l.members.Fleet(group)
		n := 0
		for _, pod := range f.Pods {
			if pod.Writer == f.Own && pod.Group == group.String() {
				n++
			}
		}
		if n == 0 {
			continue
		}
		if unclaimed, _ := l.isUnclaimed(group); unclaimed {
			l.queue.Add(group)
			left += n
		}
	}
	if left > 0 {
		return "the deletion costs of " + workload.Count(left, "pod") + " have still to be removed"
	}
	return ""
}
