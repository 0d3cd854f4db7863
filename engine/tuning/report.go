package tuning

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/tuning/resize"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// reported is the last report of a target.
type reported struct {
	// numbers are the reported numbers as JSON. all is the whole report as JSON. at is the time of the report.
	numbers, all string
	at           time.Time
	phase        string
	made         bool
	// newPods are the reported numbers for created pods.
	newPods *v1alpha1.NewPods
	// takenBack is the time at which the last reported roll-out was taken back; zero: no roll-out was.
	takenBack metav1.Time
}

// reportEvery is the least time between two reports with the same numbers.
const reportEvery = 10 * time.Minute

// report writes the Recommendation: at once if a number or the phase has changed.
func (l *Actuator) report(ctx context.Context, ref workload.Ref, p *world.Policy, x *subject) {
	st := *x.found.Report.DeepCopy()
	st.Mode = v1alpha1.TortoiseMode(p.Tuner.Mode())
	note := l.resized.Note(ref)
	if note.Policy != p.ID {
		note = resize.Note{}
	}
	if x.pods = note.Resizing; x.found.Advice != nil && x.found.Advice.InPlace {
		st.Pods = policy.ResizedPods(note.Resizing)
	}
	v := decide.Target(l.world.Snapshot(), ref, l.opts.Clock.Now(), nil)
	if err := l.addNewPods(ctx, ref, &v, x, &st); err != nil {
		l.opts.Log.V(1).Info("Failed to read the last recommendation; will retry", "target", ref.String(), "reason", err.Error())
		return
	}
	x.has = l.markApplied(ref, p.ID, &v, &st, note)
	if p.Tuner.ActsOnTargets() {
		x.found.Saved = x.has.Saved(&v, p.ID, &st)
	}
	x.has.ForgetPods()
	x.found.Report = st // metrics have the numbers even without a new report
	numbers, all := numbersOf(st), text(st)
	now := l.opts.Clock.Now()
	l.announceChanges(ref, p, x, st, now)
	l.announceConstraint(ref, p, x, l.constraintOn(ref, st.Waiting))
	if x.made && numbers == x.numbers && (all == x.all || now.Sub(x.at) < reportEvery) {
		return
	}
	l.recommendations = append(l.recommendations, recommendation{ref: ref, by: p, of: x, status: st,
		reported: reported{numbers: numbers, all: all, at: now, phase: st.Phase, made: true, newPods: st.NewPods}})
}

// recommendation is a report to be written at the end of the round.
type recommendation struct {
	ref      workload.Ref
	by       *world.Policy
	of       *subject
	status   v1alpha1.RecommendationStatus
	reported reported
}

// recommend writes the reports of the round, several at once: a round over thousands of targets must not take longer than the
// pause between rounds.
func (l *Actuator) recommend(ctx context.Context) {
	var writers errgroup.Group
	writers.SetLimit(keepers)
	for _, r := range l.recommendations {
		writers.Go(func() error {
			if err := l.store.Tell(ctx, r.ref, r.of.uid, r.by.ID, r.status, r.of.made); err != nil {
				r.of.made = false
				l.opts.Log.V(1).Info("Failed to write the recommendation; will retry", "target", r.ref.String(), "reason", err.Error())
				return nil
			}
			l.announcePhase(r.ref, r.by, r.of, r.status)
			l.announceTakenBack(r.ref, r.by, r.of, r.status)
			r.of.reported = r.reported
			if r.status.TakenBack != nil {
				r.of.takenBack = r.status.TakenBack.Time
			}
			return nil
		})
	}
	_ = writers.Wait() // none gives an error
	l.recommendations = nil
}

// numbersOf returns the parts of a status that are reported at once.
func numbersOf(st v1alpha1.RecommendationStatus) string {
	bare := *st.DeepCopy()
	bare.Reasons, bare.Demand, bare.PhaseReason = nil, nil, ""
	if bare.Pods != nil {
		bare.Pods.Message = ""
	}
	for i := range bare.Containers {
		for _, r := range []*v1alpha1.RecommendedRequest{bare.Containers[i].CPU, bare.Containers[i].Memory} {
			if r != nil {
				r.Reason = ""
			}
		}
	}
	if a := bare.Autoscaler; a != nil {
		a.MinByHour, a.Min.Reason, a.Max.Reason = nil, "", ""
		if a.Utilisation != nil {
			a.Utilisation.Reason = ""
		}
	}
	return text(bare)
}

func text(v any) string {
	raw, _ := json.Marshal(v) // an API type always encodes
	return string(raw)
}

// constraintOn returns the PodDisruptionBudget that a target waits for, or "".
func (l *Actuator) constraintOn(ref workload.Ref, waiting string) string {
	if why := l.rollouts.Constraint(ref); waiting != "" && waiting == why {
		return why
	}
	return ""
}

// markApplied marks the numbers that the policy has in place, and the reason for waiting. It returns the present
// numbers of pods and autoscaler.
func (l *Actuator) markApplied(ref workload.Ref, id workload.Policy, own *decide.Verdict, st *v1alpha1.RecommendationStatus,
	pods resize.Note) podsize.Numbers {
	f, known := l.members.Fleet(ref)
	if !known {
		f = &workload.Fleet{}
	}
	h := podsize.NumbersOf(f.Pods, known)
	st.Waiting = cmp.Or(pods.Frozen, pods.Turn)
	if own.Result.Patch != nil {
		st.Waiting = cmp.Or(own.Gate.Reason, l.rollouts.Waiting(ref), st.Waiting)
	}
	st.Waiting = cmp.Or(st.Waiting, h.Behind(own, id, st))
	h.Mark(own, id, st)
	a := st.Autoscaler
	if a == nil || a.Name == "" {
		return h
	}
	s, now := l.world.Snapshot(), l.opts.Clock.Now()
	for _, g := range s.Autoscalers(ref) {
		if g.Name != a.Name || g.GroupKind.String() != a.Kind {
			continue
		}
		v := decide.Target(s, g, now, nil)
		h.MarkAutoscaler(&v, id, a)
	}
	return h
}
