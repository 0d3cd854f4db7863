package tuning

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// announced is what events have told of a target.
type announced struct {
	// values are the numbers in place as last told, by what they are of; nil: nothing is known of before. At is when that was.
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
	l.opts.Events.Eventf(p.Object, nil, kind, "PhaseChanged", "Tune", "%s: from %s to %s: %s", ref, x.phase, st.Phase,
		cmp.Or(strings.TrimPrefix(st.PhaseReason, st.Phase+": "), "no reason"))
}

// announceChanges sends an event on what has come to be in place, or has gone, since the last one. What a manager finds is no news.
func (l *Loop) announceChanges(ref workload.Ref, p *world.Policy, x *subject, st v1alpha1.RecommendationStatus, now time.Time) {
	news := x.announced.next(valuesOf(st), now)
	if len(news) > 0 && l.opts.Events != nil {
		l.opts.Events.Eventf(p.Object, nil, corev1.EventTypeNormal, "Tuned", "Tune", "%s: %s", ref, strings.Join(news, ", "))
	}
}

// next gives what is to be told, if it is time, and takes it for told.
func (a *announced) next(values map[string]string, now time.Time) (news []string) {
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
	a.values = values
	if len(news) > 0 {
		a.at = now
	}
	return news
}

// valuesOf gives the numbers that are in place: those recommended where they are applied, else those of the owner.
func valuesOf(st v1alpha1.RecommendationStatus) map[string]string {
	values := map[string]string{}
	for i := range st.Containers {
		c := &st.Containers[i]
		for name, r := range map[string]*v1alpha1.RecommendedRequest{"cpu": c.CPU, "memory": c.Memory} {
			switch {
			case r == nil:
			case r.Applied:
				values[c.Name+" "+name] = r.Recommended.String()
			case r.Own != nil:
				values[c.Name+" "+name] = r.Own.String()
			}
		}
	}
	if a := st.Autoscaler; a != nil && a.Name != "" {
		for name, n := range map[string]*v1alpha1.RecommendedNumber{"minimum": &a.Min, "maximum": &a.Max, "utilisation": a.Utilisation} {
			switch {
			case n == nil:
			case n.Applied:
				values[name] = strconv.Itoa(int(n.Recommended))
			case n.Own != nil:
				values[name] = strconv.Itoa(int(*n.Own))
			}
		}
	}
	return values
}
