package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// maxFailures is how many failed targets a status names.
const maxFailures = 10

// rollup writes the status of policies: what their targets are in, gathered, and at most once an interval.
type rollup struct {
	e *Engine

	mu    sync.Mutex
	dirty map[workload.Policy]bool
	edges map[workload.Policy]*edge
	// wrote holds policies as the last status write left them, until the cache has them too.
	wrote  map[workload.Policy]client.Object
	signal chan struct{}
}

func newRollup(e *Engine) *rollup {
	return &rollup{e: e, dirty: map[workload.Policy]bool{}, edges: map[workload.Policy]*edge{}, wrote: map[workload.Policy]client.Object{}, signal: make(chan struct{}, 1)}
}

// Dirty has the status of a policy looked at again.
func (r *rollup) Dirty(p workload.Policy) {
	r.mu.Lock()
	r.dirty[p] = true
	r.mu.Unlock()
	select {
	case r.signal <- struct{}{}:
	default:
	}
}

// Forget drops a policy that is gone.
func (r *rollup) Forget(p workload.Policy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.dirty, p)
	delete(r.edges, p)
	delete(r.wrote, p)
}

// Run writes statuses until the context ends, and once more what is left then.
func (r *rollup) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			r.flush(last)
			cancel()
			return
		case <-r.signal:
		}
		r.flush(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(r.e.opts.StatusInterval):
		}
	}
}

func (r *rollup) flush(ctx context.Context) {
	r.mu.Lock()
	dirty := slices.SortedFunc(maps.Keys(r.dirty), workload.Policy.Compare)
	r.dirty = map[workload.Policy]bool{}
	r.mu.Unlock()
	for _, id := range dirty {
		if err := r.write(ctx, id); err != nil {
			r.e.log.V(1).Info("the status will be written again", "policy", id.String(), "reason", err.Error())
			time.AfterFunc(time.Second, func() { r.Dirty(id) })
		}
	}
}

// write brings the status of one policy up to date, if anything in it has changed.
func (r *rollup) write(ctx context.Context, id workload.Policy) error {
	e := r.e
	now := e.opts.Clock.Now()
	e.wakes.fireDue(e.fire) // so that every target that is due at this time counts as such
	e.mu.RLock()
	en := e.index.all[id]
	e.mu.RUnlock()
	if en == nil {
		return nil
	}
	state := en.policy.State(now)
	e.wakes.Set(wakeKey{policy: id}, state.Next)
	obj := en.object.DeepCopyObject().(client.Object)
	if err := e.client.Get(ctx, client.ObjectKeyFromObject(obj), obj); err != nil {
		return client.IgnoreNotFound(err)
	}
	obj = r.freshest(id, obj)
	cur := statusOf(obj)
	if cur == nil {
		return fmt.Errorf("the kind %s has no policy status", id.Kind)
	}
	before := obj.DeepCopyObject().(client.Object)
	old := cur.DeepCopy()
	r.fill(cur, en, state, now, obj.GetGeneration())
	was := report(obj, en.tally, state)
	reportFreeze(obj, state)
	r.metrics(en, id, state, cur)
	if equality.Semantic.DeepEqual(before, obj) {
		return nil
	}
	if err := e.client.Status().Patch(ctx, obj, client.MergeFrom(before)); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("write the status of %s: %w", id, err)
	}
	r.mu.Lock()
	r.wrote[id] = obj
	r.mu.Unlock()
	r.announce(obj, old, cur, state)
	r.announceHandOver(obj, old, cur, state, was)
	return nil
}

// freshest gives what was last written where the cache has not caught up with it: a difference taken from an older status
// would leave out what has changed back since.
func (r *rollup) freshest(id workload.Policy, cached client.Object) client.Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.wrote[id]
	if last == nil || last.GetUID() != cached.GetUID() || !isNewer(last, cached) {
		delete(r.wrote, id)
		return cached
	}
	return last.DeepCopyObject().(client.Object)
}

func (r *rollup) fill(st *v1alpha1.PolicyStatus, en *entry, state policy.State, now time.Time, generation int64) {
	unready := cmp.Or(r.e.unready(en.policy), r.unjudged(freezeParts(en.object).kinds))
	remaining := r.e.ledgers.OfPolicy(en.id)
	t := en.tally
	t.mu.Lock()
	defer t.mu.Unlock()
	st.ObservedGeneration = generation
	st.State = state.Name
	if en.deleting {
		st.State = "Restoring"
	}
	st.PreviousTransitionTime = timeOf(state.Since)
	st.NextTransitionTime = timeOf(state.Next)
	st.Targets = &v1alpha1.TargetCounts{
		Asleep: t.counts[statusAsleep], Awake: t.counts[statusAwake] + t.counts[statusSet], AlreadyAsleep: t.counts[statusAlreadyAsleep],
		Pending: t.counts[statusPending], Overridden: t.counts[statusOverridden], Failed: t.counts[statusFailed], Unable: t.counts[statusUnable],
	}
	for _, n := range t.counts {
		st.Targets.Total += n
	}
	st.Failures = nil
	for _, f := range first(t.failures, maxFailures) {
		st.Failures = append(st.Failures, v1alpha1.TargetFailure{
			Kind: f.ref.GroupKind.String(), Namespace: f.ref.Namespace, Name: f.ref.Name, Message: truncate(f.text, 512)})
	}
	set := func(kind string, is bool, reason, message string) {
		c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: truncate(message, 2048),
			ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(now)}
		if is {
			c.Status = metav1.ConditionTrue
		}
		meta.SetStatusCondition(&st.Conditions, c)
	}
	ok, reason, message := ready(en, st, state, remaining, unready)
	set(v1alpha1.ConditionReady, ok, reason, message)
	if condition := en.policy.Condition; condition != "" {
		set(condition, state.Active != "", state.Name, state.Message)
	} else {
		set(v1alpha1.ConditionAsleep, state.Asleep, state.Name, state.Message)
	}
	set(v1alpha1.ConditionContested, len(t.contested) > 0, word(len(t.contested) > 0, "OtherWriter", "None"), list(t.contested, "no other writer resets what this policy sets"))
	set(v1alpha1.ConditionConflicting, len(t.conflicts) > 0, word(len(t.conflicts) > 0, "OtherPolicy", "None"), list(t.conflicts, "no other policy asks for something else"))
}

// ready says whether the policy is valid and no target has failed. Work under way does not make it not ready.
func ready(en *entry, st *v1alpha1.PolicyStatus, state policy.State, remaining int, unready string) (bool, string, string) {
	switch {
	case en.deleting:
		message := fmt.Sprintf("being deleted: %d targets have still to be given back", remaining)
		if remaining == 0 && en.tally.held != "" {
			message = "being deleted: " + en.tally.held
		}
		if len(en.tally.failures) > 0 {
			message += ": " + list(en.tally.failures, "")
		}
		return false, "Restoring", message
	case en.refused != "":
		return false, "FinalizerRefused", en.refused
	case len(en.policy.Invalid) > 0:
		return false, "InvalidSpec", state.Message
	case st.Targets.Failed > 0:
		return false, "TargetsFailed", fmt.Sprintf("%d of %d targets failed: %s", st.Targets.Failed, st.Targets.Total, list(en.tally.failures, ""))
	case unready != "":
		return false, "AdapterNotReady", unready
	case state.Name == "Suspended":
		return true, "Suspended", state.Message
	case st.Targets.Pending > 0:
		return true, "Progressing", fmt.Sprintf("%d of %d targets have still to be looked at or changed: %s", st.Targets.Pending, st.Targets.Total, list(en.tally.waiting, "under way"))
	case st.Targets.Total == 0 && freezeParts(en.object).status != nil:
		return true, "AsExpected", state.Message
	case st.Targets.Unable > 0:
		return true, "AsExpected", fmt.Sprintf("%d targets are as they should be; %d left running, for what is asked cannot be done on them: %s",
			st.Targets.Total-st.Targets.Unable, st.Targets.Unable, list(en.tally.unable, ""))
	default:
		return true, "AsExpected", fmt.Sprintf("%d targets are as they should be", st.Targets.Total)
	}
}

// list says what is the matter with the first few targets.
func list(m map[workload.Ref]string, none string) string {
	if len(m) == 0 {
		return none
	}
	const few = 3
	var parts []string
	for _, n := range first(m, few) {
		parts = append(parts, n.ref.String()+": "+n.text)
	}
	if more := len(m) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

func word(is bool, yes, no string) string {
	if is {
		return yes
	}
	return no
}

func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n-3], "") + "..."
}

func timeOf(t time.Time) *metav1.Time {
	if t.IsZero() {
		return nil
	}
	return &metav1.Time{Time: t.Truncate(time.Second)}
}

// announce sends an event where something has happened, and only then.
func (r *rollup) announce(obj client.Object, old, cur *v1alpha1.PolicyStatus, state policy.State) {
	if r.e.recorder == nil {
		return
	}
	if old.State != cur.State && cur.State != "" {
		message := state.Message
		if message == "" {
			message = cur.State
		}
		r.e.recorder.Eventf(obj, nil, corev1.EventTypeNormal, cur.State, "Transition", "%s; %d targets", message, cur.Targets.Total)
	}
	for _, kind := range []string{v1alpha1.ConditionContested, v1alpha1.ConditionConflicting} {
		c := meta.FindStatusCondition(cur.Conditions, kind)
		if c != nil && c.Status == metav1.ConditionTrue && !meta.IsStatusConditionTrue(old.Conditions, kind) {
			r.e.recorder.Eventf(obj, nil, corev1.EventTypeWarning, kind, "Decide", "%s", c.Message)
		}
	}
	was := meta.FindStatusCondition(old.Conditions, v1alpha1.ConditionReady)
	is := meta.FindStatusCondition(cur.Conditions, v1alpha1.ConditionReady)
	if is.Status == metav1.ConditionFalse && is.Reason != "Restoring" && (was == nil || was.Reason != is.Reason) {
		r.e.recorder.Eventf(obj, nil, corev1.EventTypeWarning, is.Reason, "Reconcile", "%s", is.Message)
	}
}

// metrics publishes what the policy's targets are in, and the lag of an edge once its last write is through. A policy that has
// gone meanwhile is left out: nobody would remove its series any more.
func (r *rollup) metrics(en *entry, id workload.Policy, state policy.State, st *v1alpha1.PolicyStatus) {
	r.e.mu.RLock()
	if r.e.index.all[id] != nil {
		r.e.metrics.policy(en, id, state)
	}
	r.e.mu.RUnlock()
	r.observe(id, state, st.Targets.Pending)
}

// statusOf gives the status that all policies share.
func statusOf(obj client.Object) *v1alpha1.PolicyStatus {
	switch o := obj.(type) {
	case *v1alpha1.Schedule:
		return &o.Status
	case *v1alpha1.ClusterSchedule:
		return &o.Status
	case *v1alpha1.Trigger:
		return &o.Status.PolicyStatus
	case *v1alpha1.ClusterTrigger:
		return &o.Status.PolicyStatus
	default:
		if st := freezeParts(obj).status; st != nil {
			return &st.PolicyStatus
		}
		return nil
	}
}
