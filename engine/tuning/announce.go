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
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/tuning/resize"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// announced has the announced numbers of a target and of its autoscaler. They are separate because the two are written
// one after the other: an event about the target must not suppress the event about the autoscaler.
type announced struct{ target, autoscaler told }

// told has the announced numbers of an object.
type told struct {
	// values are the last announced numbers by their subject; nil: none yet. A number that is unknown for a while, for
	// example while pods differ in it, keeps its value. at is the time of the announcement.
	values map[string]string
	at     time.Time
}

// announceEvery is the least time between two events on the changes of a target. Changes in between make one event.
const announceEvery = 10 * time.Minute

// announcePhase sends an event on a change of phase.
func (l *Actuator) announcePhase(ref workload.Ref, p *world.Policy, x *subject, st v1alpha1.RecommendationStatus) {
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

// announceTakenBack sends an event on a roll-out that was taken back. A new manager sends no event on a roll-out that
// an earlier manager took back.
func (l *Actuator) announceTakenBack(ref workload.Ref, p *world.Policy, x *subject, st v1alpha1.RecommendationStatus) {
	if t := st.TakenBack; t == nil || x.phase == "" || t.Time.Equal(&x.takenBack) || l.opts.Events == nil {
		return
	}
	l.opts.Events.Eventf(p.Object, l.reference(ref), corev1.EventTypeWarning, "TakenBack", "TakeBack",
		"%s: a roll-out of requests did not become ready and was taken back: %s", ref, st.TakenBack.Message)
}

// announceFrom stores the numbers in place before the first advice, from which events report changes. Advice may be written
// before the report is made, and would then count as the beginning.
func (l *Actuator) announceFrom(ref workload.Ref, p *world.Policy, x *subject) {
	st := x.found.Report.DeepCopy()
	governed := st.Autoscaler != nil && st.Autoscaler.Name != ""
	if x.announced.target.values != nil && (x.announced.autoscaler.values != nil || !governed) {
		return
	}
	now := l.opts.Clock.Now()
	v := decide.Target(l.world.Snapshot(), ref, now, nil)
	x.has = l.markApplied(ref, p.ID, &v, st, resize.Note{})
	l.announceChanges(ref, p, x, *st, now)
}

// announceChanges sends an event on the numbers that have been put in place, or removed, since the last event. A new
// manager sends no event on the numbers in place at its start.
func (l *Actuator) announceChanges(ref workload.Ref, p *world.Policy, x *subject, st v1alpha1.RecommendationStatus, now time.Time) {
	l.announceChange(ref, p, x.announced.target.next(x.has.InUse(&st), now))
	if a := st.Autoscaler; a != nil && a.Name != "" {
		autoscaler := workload.Ref{GroupKind: schema.ParseGroupKind(a.Kind), Namespace: ref.Namespace, Name: a.Name}
		l.announceChange(autoscaler, p, x.announced.autoscaler.next(x.has.OfAutoscaler(), now))
	}
}

func (l *Actuator) announceChange(changed workload.Ref, p *world.Policy, news []string) {
	if len(news) == 0 || l.opts.Events == nil {
		return
	}
	l.opts.Events.Eventf(p.Object, l.reference(changed), corev1.EventTypeNormal, "Tuned", "Tune", "%s: %s", changed, strings.Join(news, ", "))
}

// reference returns the related object of an event. Without it, client-go's recorder takes events of one reason and
// action on a policy for repetitions, whatever their object, and keeps only the first note.
func (l *Actuator) reference(ref workload.Ref) *corev1.ObjectReference {
	related := &corev1.ObjectReference{Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
	if k := l.world.Snapshot().Kind(ref.GroupKind); k != nil {
		related.APIVersion = k.Resource.GroupVersion().String()
	}
	return related
}

// constraint describes how a PodDisruptionBudget, LimitRange or ResourceQuota delays the requests of a target. since is the
// time from which it does; zero: the target is not constrained. told reports whether an event was sent.
type constraint struct {
	since time.Time
	told  bool
}

// constrainedLong is the time after which an event reports a constrained target. The drain of a node takes less.
const constrainedLong = time.Hour

// announceConstraint sends one event on a target that is constrained for long. why is empty if the target is not constrained.
func (l *Actuator) announceConstraint(ref workload.Ref, p *world.Policy, x *subject, why string) {
	now := l.pods.Now()
	switch {
	case why == "":
		x.constraint = constraint{}
	case x.constraint.since.IsZero():
		x.constraint.since = now
	case !x.constraint.told && now.Sub(x.constraint.since) >= constrainedLong && l.opts.Events != nil:
		x.constraint.told = true
		l.opts.Events.Eventf(p.Object, l.reference(ref), corev1.EventTypeWarning, "Constrained", "Wait", "%s: %s, for an hour", ref, why)
	}
}

// next returns the changed values if an event is due, and marks them as announced.
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
