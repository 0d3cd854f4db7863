package tuning

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// announced is what events have told of a target, and of its autoscaler. They are apart, because they are written one after the other:
// what is told of one must not silence the other.
type announced struct{ target, autoscaler told }

// told is what events have told of one object.
type told struct {
	// values are the numbers in place as last told, by what they are of; nil: nothing is known of before. One that is not known for a while, as
	// when the pods differ in it, stays as it was. At is when that was.
	values map[string]string
	at     time.Time
}

// announceEvery is the least time between two events on what has changed in one target: what changes meanwhile is told together.
const announceEvery = 10 * time.Minute

// announcePhase sends an event on a change of phase.
func (l *Loop) announcePhase(ref workload.Ref, p *world.Policy, x *subject, st v1alpha1.RecommendationStatus) {
	if x.phase == st.Phase || x.phase == "" || l.opts.Events == nil {
		return
	}
	kind := corev1.EventTypeNormal
	if st.Phase == "Emergency" {
		kind = corev1.EventTypeWarning
	}
	l.opts.Events.Eventf(p.Object, l.reference(ref), kind, "PhaseChanged", "Enter"+st.Phase, "%s: from %s to %s: %s", ref, x.phase, st.Phase,
		cmp.Or(strings.TrimPrefix(st.PhaseReason, st.Phase+": "), "no reason"))
}

// announceChanges sends an event on what has come to be in place, or has gone, since the last one. What a manager finds is no news.
func (l *Loop) announceChanges(ref workload.Ref, p *world.Policy, x *subject, st v1alpha1.RecommendationStatus, now time.Time) {
	l.announceChange(ref, p, x.announced.target.next(x.has.InUse(&st), now))
	if a := st.Autoscaler; a != nil && a.Name != "" {
		governor := workload.Ref{GroupKind: schema.ParseGroupKind(a.Kind), Namespace: ref.Namespace, Name: a.Name}
		l.announceChange(governor, p, x.announced.autoscaler.next(x.has.OfAutoscaler(), now))
	}
}

func (l *Loop) announceChange(changed workload.Ref, p *world.Policy, news []string) {
	if len(news) == 0 || l.opts.Events == nil {
		return
	}
	l.opts.Events.Eventf(p.Object, l.reference(changed), corev1.EventTypeNormal, "Tuned", "Tune", "%s: %s", changed, strings.Join(news, ", "))
}

// reference is what an event is related to. Without it the recorder of client-go takes events of one reason and action on one policy for
// repetitions, whatever object they tell of, and keeps the first note only.
func (l *Loop) reference(ref workload.Ref) *corev1.ObjectReference {
	related := &corev1.ObjectReference{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
	if k := l.world.Snapshot().Kind(ref.GroupKind); k != nil {
		related.APIVersion = k.Resource.GroupVersion().String()
	}
	return related
}

// held is how long a PodDisruptionBudget, LimitRange or ResourceQuota has kept requests from a target; zero: none does. Told says that an event has told it.
type held struct {
	since time.Time
	told  bool
}

// heldLong is after how long a budget that keeps requests from a target is told of by an event: nodes that are drained take less.
const heldLong = time.Hour

// announceHold sends one event on a target that one of these holds for long. Why is empty where none does.
func (l *Loop) announceHold(ref workload.Ref, p *world.Policy, x *subject, why string) {
	now := l.pods.Now()
	switch {
	case why == "":
		x.held = held{}
	case x.held.since.IsZero():
		x.held.since = now
	case !x.held.told && now.Sub(x.held.since) >= heldLong && l.opts.Events != nil:
		x.held.told = true
		l.opts.Events.Eventf(p.Object, l.reference(ref), corev1.EventTypeWarning, "Held", "Wait", "%s: %s, for an hour", ref, why)
	}
}

// next gives what is to be told, if it is time, and takes it for told.
func (a *told) next(values map[string]string, now time.Time) (news []string) {
	if len(values) == 0 {
		return nil
	}
	if a.values == nil {
		a.values = values
		return nil
	}
	if !a.at.IsZero() && now.Sub(a.at) < announceEvery {
		return nil
	}
	for _, of := range slices.Sorted(maps.Keys(values)) {
		if before, known := a.values[of]; known && before != values[of] {
			news = append(news, of+" "+before+" -> "+values[of])
		}
	}
	maps.Copy(a.values, values)
	if len(news) > 0 {
		a.at = now
	}
	return news
}
