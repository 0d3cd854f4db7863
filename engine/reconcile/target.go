package reconcile

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// target makes a target that is missing, if a template asks for it, and brings it to what its policies agree on. It returns
// an error when the work has to be tried again soon.
func (e *Engine) target(ctx context.Context, ref workload.Ref) error {
	changed, missing, err := e.keepTemplate(ctx, ref)
	switch {
	case err != nil && missing:
		e.noteMissing(ref)
		return err
	case err != nil:
		return cmp.Or(e.decide(ctx, ref), err)
	case changed:
		return nil // the watch brings it back
	}
	return e.decide(ctx, ref)
}

// noteMissing counts an object that could not be made under the policies that want it.
func (e *Engine) noteMissing(ref workload.Ref) {
	var v verdict
	for _, en := range e.templates.Of(ref) {
		v.opinions = append(v.opinions, opinion{entry: en, class: workload.ClassKeep})
	}
	e.note(ref, v, outcome{})
}

// decide brings one target to what its policies agree on.
func (e *Engine) decide(ctx context.Context, ref workload.Ref) error {
	started := time.Now()
	now := e.opts.Clock.Now()
	e.mu.RLock()
	k := e.kinds[ref.GroupKind]
	var obj *workload.Object
	if k != nil && k.watch.HasSynced() {
		obj = k.watch.Get(ref.Namespace, ref.Name)
	}
	if obj == nil {
		e.mu.RUnlock()
		e.forget(ref)
		return nil
	}
	v := e.judge(k, obj, now)
	v.standing = e.stand(k, obj)
	governor, waits := e.waitsFor(k, obj, v, now)
	frozen, thaws := e.frozenOut(k, obj, v, now)
	e.mu.RUnlock()
	e.metrics.decision.Observe(time.Since(started).Seconds())

	if v.err != nil {
		// Trying again helps only once the object changes, and that comes by the watch.
		e.wakes.Set(wakeKey{target: ref}, v.wake)
		e.note(ref, v, outcome{failure: v.err.Error()})
		return nil //nolint:nilerr // told in the status; see above
	}
	if v.result.Patch == nil {
		e.wakes.Set(wakeKey{target: ref}, earliest(v.wake, e.contests.Calm(ref, now)))
		e.note(ref, v, outcome{contested: e.contests.Writer(ref)})
		return nil
	}
	if k.blocked != "" && !k.releasing {
		e.wakes.Set(wakeKey{target: ref}, v.wake)
		e.note(ref, v, outcome{waiting: k.blocked, failure: k.blocked})
		return nil
	}
	if waits {
		e.queue.Add(governor)
		e.wakes.Set(wakeKey{target: ref}, v.wake)
		e.note(ref, v, outcome{waiting: fmt.Sprintf("waits for %s to be held", governor)})
		return nil
	}
	if frozen != "" {
		e.wakes.Set(wakeKey{target: ref}, earliest(v.wake, thaws))
		e.note(ref, v, outcome{waiting: frozen})
		return nil
	}
	return e.write(ctx, k, obj, ref, v, now)
}

// outcome is what is to be told of a target besides the verdict.
type outcome struct {
	failure   string
	waiting   string
	contested string
}

// write lets a patch through the rate limits and sends it.
func (e *Engine) write(ctx context.Context, k *kind, obj *workload.Object, ref workload.Ref, v verdict, now time.Time) error {
	sum := digest(v.result)
	corrected := v.result.Corrected || e.contests.Repeated(ref, sum, now)
	if again := e.contests.Hold(ref, now, corrected); !again.IsZero() {
		e.wakes.Set(wakeKey{target: ref}, earliest(v.wake, again))
		e.note(ref, v, outcome{waiting: "another writer keeps changing it", contested: e.contests.Writer(ref)})
		return nil
	}
	putBack, ok, err := e.place(ctx, k, obj, ref, v, now)
	if !ok {
		return err
	}
	if err := e.markInUse(ctx, k); err != nil {
		putBack()
		e.note(ref, v, outcome{failure: err.Error()})
		return err
	}
	e.wakes.Set(wakeKey{target: ref}, v.wake)
	other := ""
	if corrected && e.contests.Unnamed(ref, now) {
		other = e.writer.OtherWriter(ctx, k.resource, obj, v.result.Changed)
	}
	result, err := e.writer.Apply(ctx, k.resource, obj, v.result.Patch)
	e.metrics.writes.WithLabelValues(k.name, v.result.Direction.String(), string(result)).Inc()
	switch result {
	case apply.Applied:
		e.written(ref, v)
		e.contests.Wrote(ref, sum, now)
		if corrected {
			e.contests.Corrected(ref, now, other)
		}
		return nil
	case apply.Stale, apply.Gone:
		putBack()
		// The watch brings the newer object; if it has done so already, the retry sees it.
		return errBehind
	default:
		putBack()
		e.note(ref, v, outcome{failure: refusal(k, v, now, err)})
		return err
	}
}

// place takes a place in the batch that a change is charged to, if there is a limit, and gives what puts it back. Where ok is
// false the target waits for a later batch, or is to be tried again as the error says.
func (e *Engine) place(ctx context.Context, k *kind, obj *workload.Object, ref workload.Ref, v verdict, now time.Time) (putBack func(), ok bool, err error) {
	key := apply.BatchKey{Policy: v.result.By, Direction: v.result.Direction}
	limit := e.limitOf(k, obj, v, key)
	if limit.Batch == 0 {
		return func() {}, true, nil
	}
	again, err := e.batches.Take(ctx, key, limit.Batch, limit.Delay, now)
	switch {
	case errors.Is(err, apply.ErrOpening):
		e.note(ref, v, outcome{waiting: "waits for its batch"})
		return nil, false, errSoon
	case err != nil:
		e.note(ref, v, outcome{failure: err.Error()})
		return nil, false, err
	case !again.IsZero():
		e.wakes.Set(wakeKey{target: ref}, earliest(v.wake, again))
		e.note(ref, v, outcome{waiting: "waits for its batch"})
		return nil, false, nil
	}
	return func() { e.batches.Return(key) }, true, nil
}

// limitOf is the limit that a change has to keep to. What a governor is set to for the sake of what it governs has none: it
// has to come with the change of that, which is limited itself.
func (e *Engine) limitOf(k *kind, obj *workload.Object, v verdict, key apply.BatchKey) policy.Limit {
	_, governs := k.adapter.Governs(obj)
	selects := func(o opinion) bool { return o.entry.id == key.Policy && !o.derived && !o.left }
	if governs && !slices.ContainsFunc(v.opinions, selects) {
		return policy.Limit{}
	}
	return e.limit(key)
}

// limit is the rate limit of a policy in one direction. What is given back for a policy that is gone has none.
func (e *Engine) limit(key apply.BatchKey) policy.Limit {
	e.mu.RLock()
	defer e.mu.RUnlock()
	en := e.index.all[key.Policy]
	switch {
	case en == nil || en.deleting:
		return policy.Limit{}
	case key.Direction == workload.DirectionDown:
		return en.policy.Down
	case key.Direction == workload.DirectionUp:
		return en.policy.Up
	default:
		return policy.Limit{}
	}
}

// written remembers when a policy last changed something, for its edge lag.
func (e *Engine) written(ref workload.Ref, v verdict) {
	if v.result.Direction == workload.DirectionNone {
		return
	}
	e.log.V(1).Info("changed", "target", ref.String(), "policy", v.result.By.String(), "direction", v.result.Direction.String(), "change", v.result.Message)
	e.rollup.Written(v.result.By)
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// note counts the target under each policy that selects it, and out of those that do not any more.
func (e *Engine) note(ref workload.Ref, v verdict, out outcome) {
	next := make([]underPolicy, 0, len(v.opinions))
	notes := make([]note, 0, len(v.opinions))
	for _, o := range v.opinions {
		n := describe(v, o, out)
		if why := e.templates.Failure(ref, o.entry.id); why != "" && n.failure == "" {
			n.failure, n.status = why, statusFailed
		}
		next = append(next, underPolicy{o.entry.id, o.entry.tally, n.status})
		notes = append(notes, n)
	}
	e.recordsMu.Lock()
	defer e.recordsMu.Unlock()
	old := e.records[ref].under
	for _, u := range old {
		if !contains(next, u.tally) {
			u.tally.move(ref, u.status, note{})
			e.rollup.Dirty(u.id)
		}
	}
	for i, u := range next {
		if u.tally.move(ref, statusUnder(old, u.tally), notes[i]) {
			e.rollup.Dirty(u.id)
		}
	}
	if len(next) == 0 {
		delete(e.records, ref)
		return
	}
	e.records[ref] = record{under: next}
}

// forget takes a target that is gone out of every count.
func (e *Engine) forget(ref workload.Ref) {
	e.wakes.Set(wakeKey{target: ref}, time.Time{})
	e.contests.Forget(ref)
	e.note(ref, verdict{}, outcome{})
}

func contains(list []underPolicy, t *tally) bool {
	for _, u := range list {
		if u.tally == t {
			return true
		}
	}
	return false
}

func statusUnder(list []underPolicy, t *tally) status {
	for _, u := range list {
		if u.tally == t {
			return u.status
		}
	}
	return statusNone
}

// describe says what a target is in under one policy.
func describe(v verdict, o opinion, out outcome) note {
	n := note{status: settled(v, o), applied: appliedBy(v, o, out), failure: out.failure, waiting: out.waiting, contested: out.contested}
	for _, c := range v.conflicts {
		switch o.entry.id {
		case c.Loser:
			n.status = statusOverridden
			n.conflict = fmt.Sprintf("overruled by %s on %s (%s)", c.Winner, c.Facet, c.Reason)
		case c.Winner:
			n.conflict = fmt.Sprintf("overrules %s on %s (%s)", c.Loser, c.Facet, c.Reason)
		}
	}
	if o.err != nil {
		n.failure = o.err.Error()
	}
	switch {
	case n.failure != "":
		n.status = statusFailed
	case o.derived:
		n.status = statusNone
	case v.result.Patch != nil && n.status != statusOverridden:
		n.status = statusPending
	case n.status == statusUnable:
		n.unable = v.result.Message
	}
	return n
}

func settled(v verdict, o opinion) status {
	switch o.class {
	case workload.ClassAwake:
		return statusAwake
	case workload.ClassKeep:
		if v.result.State == workload.StateAsleep {
			return statusAsleep
		}
		return statusAwake
	}
	switch v.result.State {
	case workload.StateAsleep:
		return statusAsleep
	case workload.StateUnable:
		if o.class == workload.ClassSet {
			return statusAwake // there is no place for what it sets
		}
		return statusUnable
	case workload.StateAlreadyAsleep:
		return statusAlreadyAsleep
	case workload.StateOverridden:
		return statusOverridden
	case workload.StateSet:
		return statusSet
	default:
		return statusAwake
	}
}
