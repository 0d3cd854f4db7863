package resize

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/pods"
	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// giveBack restores the changed pods below a target to the requests of their template, if no policy claims them any
// more.
func (l *Actuator) giveBack(ctx context.Context, ref workload.Ref) error {
	var failures []error
	groups := l.members.Groups(ref)
	if !slices.Contains(groups, ref) {
		l.forgetGroup(ref) // the object owns no pods any more
	}
	for _, group := range groups {
		pods := l.members.ResizedPods(group)
		if len(pods) == 0 {
			l.forgetGroup(group)
			continue
		}
		s := l.ownershipIn(group)
		if s.kept || s.unknown != "" { // these pods must not be restored now
			continue
		}
		err := l.giveBackGroup(ctx, s, group, pods)
		l.setFailure(group, err)
		if err != nil && !errors.Is(err, errFrozen) {
			failures = append(failures, err)
		}
	}
	return errors.Join(failures...)
}

// errFrozen is the error while a freeze denies the restore of pods.
var errFrozen = errors.New("a freeze denies it")

// giveBackGroup restores the pods of one owner.
func (l *Actuator) giveBackGroup(ctx context.Context, s ownership, group workload.Ref, pods []*workload.Pod) error {
	o, err := l.leftoversOf(group, s, pods)
	if err != nil {
		return err
	}
	l.tellKept(group, o)
	if len(o.changes) == 0 {
		return nil
	}
	if why, again := l.frozen(s.chain); why != "" {
		l.queue.AddAfter(group, again)
		return fmt.Errorf("%w: %s", errFrozen, why)
	}
	turn := podsize.InTurn(pods, o.changes, l.watch.Now())
	if len(turn) < len(o.changes) {
		l.queue.AddAfter(group, restartRetry)
	}
	done, refused, err := l.writeAll(ctx, group, workload.Policy{}, turn)
	if err == nil && done+refused < len(turn) {
		l.queue.AddAfter(group, calm)
	}
	return err
}

// forgetGroup drops the record of a group's restore: the last failure, and the pods that could not be restored. It is
// called when the group has no pods to restore. A group is an object that controls pods directly.
func (l *Actuator) forgetGroup(group workload.Ref) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.failures, group)
	delete(l.keeping, group)
}

func (l *Actuator) setFailure(group workload.Ref, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil {
		delete(l.failures, group)
	} else {
		l.failures[group] = err.Error()
	}
}

// ownership describes whether the pods of an owner stay as they are, and the requests to restore.
type ownership struct {
	// chain is the owner of the pods and the owners above it, the nearest first.
	chain []workload.Ref
	// kept is true if a policy claims the pods' requests, or may claim them. unknown explains why kept could not be
	// determined; otherwise it is empty.
	kept    bool
	unknown string
	// from is the nearest object above the pods that has their template. templateOwner is its kind. original has the
	// requests of that template; nil: the object is gone.
	templateOwner *decide.Kind
	from          *workload.Object
	original      podsize.Sizes
}

func (l *Actuator) ownershipIn(group workload.Ref) ownership {
	snapshot := l.world.Snapshot()
	var s ownership
	s.chain, s.unknown = l.base.Chain(group)
	broken := snapshot.HasBroken(group.Namespace, func(p *world.Policy) bool { return p.Tuner != nil }) // pods stay as they are
	for _, ref := range s.chain {
		known, adapted := snapshot.AdaptedKind(ref.GroupKind)
		k := snapshot.InUse(ref.GroupKind)
		switch {
		case !adapted || !known.Requests:
		case k == nil || !k.Live.HasSynced():
			s.unknown = fmt.Sprintf("the adapter of %s is not ready", ref.GroupKind)
		case k.Adapter.SizesPods():
			s.kept = s.kept || broken && !k.Releasing || l.keeps(snapshot, ref)
			s.takeFrom(k.Kind, snapshot.Object(ref))
		}
	}
	if s.templateOwner == nil && broken {
		s.kept = true // the fault of the policy may be the fault of the adapter
	}
	return s
}

// takeFrom takes the original requests from the template of an object, unless an object below it has given them
// already.
func (s *ownership) takeFrom(k *decide.Kind, obj *workload.Object) {
	if s.templateOwner != nil || obj == nil {
		return
	}
	s.templateOwner, s.from, s.original = k, obj, podsize.Sizes{}
	for _, a := range k.Adapter.Observe(obj).Allocations {
		s.original[a.Component] = resourcesOf(a)
	}
	if len(s.original) == 0 {
		s.unknown = fmt.Sprintf("the template of %s is not read yet", k.Ref(obj))
	}
}

// keeps reports whether a policy claims the requests of a target's pods. If it claims them in the template, a roll-out
// replaces the pods. While nothing is known yet, pods stay as they are.
func (l *Actuator) keeps(s *world.Snapshot, ref workload.Ref) bool {
	v := decide.Target(s, ref, l.opts.Clock.Now(), nil)
	if asksOfRequests(v.Plan) {
		return true
	}
	return slices.ContainsFunc(v.Opinions, func(o decide.Opinion) bool {
		return o.Policy.Tuner != nil && !o.Left && !o.OnBehalf && v.Plan.Keep[o.Policy.ID]
	})
}

// left returns the number of an owner's pods that are not restored yet, or the reason why it is unknown.
func (l *Actuator) left(group workload.Ref) (count int, unknown string) {
	s := l.ownershipIn(group)
	if s.kept || s.unknown != "" {
		return 0, s.unknown
	}
	return l.owed(group, s)
}

// owed returns the number of an owner's pods that differ from their template and can be restored, or the reason why it
// is unknown.
func (l *Actuator) owed(group workload.Ref, s ownership) (count int, unknown string) {
	o, err := l.leftoversOf(group, s, l.members.ResizedPods(group))
	if err != nil {
		return 0, err.Error()
	}
	return len(o.changes), ""
}

// Owes reports whether pods of a target may still have to be restored.
func (l *Actuator) Owes(ref workload.Ref) bool {
	if _, known := l.members.Fleet(ref); !known {
		return true
	}
	return slices.ContainsFunc(l.members.Groups(ref), l.mayBeOwed)
}

// OwesAny reports whether pods of any target may still have to be restored.
func (l *Actuator) OwesAny() bool {
	if _, known := l.members.Fleet(workload.Ref{}); !known {
		return true
	}
	return slices.ContainsFunc(l.groups(""), l.mayBeOwed)
}

// mayBeOwed reports whether pods of an owner have still to be restored or reported by an event. It returns true as well
// if this is unknown.
func (l *Actuator) mayBeOwed(group workload.Ref) bool {
	pods := l.members.ResizedPods(group)
	if len(pods) == 0 {
		return false
	}
	s := l.ownershipIn(group)
	if s.kept || s.unknown != "" {
		return !s.kept
	}
	o, err := l.leftoversOf(group, s, pods)
	return err != nil || len(o.changes) > 0 || l.isUntold(group, o)
}

// groups returns the direct owners of pods that Flyball has changed in place, in a namespace or in all.
func (l *Actuator) groups(namespace string) []workload.Ref {
	return pods.GroupsIn(l.members.Resized(), namespace, l.members.ResizedPods)
}

// Leftover implements reconcile.Actuator.
func (l *Actuator) Leftover(p *world.Policy) string {
	if p.Tuner == nil {
		return ""
	}
	if why := l.base.Unread("pods changed in place cannot be restored"); why != "" {
		return why
	}
	count, why := 0, ""
	for _, group := range l.groups(p.ID.Namespace) {
		pods, unknown := l.left(group)
		if count += pods; pods > 0 {
			l.queue.Add(group)
			l.mu.Lock()
			why = l.failures[group]
			l.mu.Unlock()
		}
		if unknown != "" {
			return "there may be pods that were changed in place and have to be given back: " + unknown
		}
	}
	if count == 0 {
		return ""
	}
	text := workload.Count(count, "pod") + " changed in place have still to get the requests of their template"
	if why != "" {
		text += ": " + why
	}
	return text
}

// ChangedOn implements reconcile.Actuator. It counts the objects of a kind whose template must restore pods below them. Pods
// that were changed for an object of another kind further above count too, because the nearest template restores them.
func (l *Actuator) ChangedOn(gk schema.GroupKind) (n int, unread string) {
	found := map[*workload.Object]bool{}
	for _, group := range l.groups("") {
		s := l.ownershipIn(group)
		if s.from == nil || s.templateOwner.GroupKind != gk || s.kept {
			continue
		}
		if pods, unknown := l.owed(group, s); pods > 0 || unknown != "" {
			found[s.from] = true
		}
	}
	return len(found), ""
}
