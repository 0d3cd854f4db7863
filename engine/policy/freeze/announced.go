package freeze

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

// announcing keeps the denial of a namespaced rule through changes of calendars. Calendars are the cluster's, so a namespaced rule
// cannot guard them. Instead the status has the next denial, and a guarded rule keeps the announced denial. All replicas and a
// restarted manager read the same status, and agree (docs/decisions: 0054).
type announcing struct {
	// on is true for a namespaced rule with calendars. generation is the generation of the spec.
	on         bool
	generation int64
	// last is the denial in the status, from since to until (zero: without bound); nil: none for the generation.
	last         *v1alpha1.AnnouncedDenial
	since, until time.Time
	// afresh is on while changes are surely denied by the present calendars alone.
	afresh timeline.Timeline
}

// takeAnnounced adds the announced denial to the times when a namespaced rule with calendars denies.
func (r *Rule) takeAnnounced(d draft) {
	if r.id.Namespace == "" || len(r.calendars) == 0 {
		return
	}
	a := announcing{on: true, generation: d.generation, afresh: r.surely}
	if last := d.status.Announced; last != nil && last.Generation == d.generation {
		a.last, a.since, a.until = last, last.StartTime.Time, last.EndTime.Time
		kept := timeline.Between(a.since, a.until)
		r.denies, r.surely = timeline.Any(r.denies, kept), timeline.Any(r.surely, kept)
	}
	r.announcing = a
}

// Announced returns the denial for the status of a namespaced rule with calendars: the current or else the next one; nil: none. The
// present calendars decide until the rule is guarded.
func (r *Rule) Announced(now time.Time) *v1alpha1.AnnouncedDenial {
	a := &r.announcing
	if !a.on {
		return nil
	}
	if r.keeps(now) {
		return a.last
	}
	st := a.afresh.At(now)
	if !st.Active && !st.Until.IsZero() {
		st = a.afresh.At(st.Until)
	}
	if !st.Active {
		return nil
	}
	return &v1alpha1.AnnouncedDenial{Generation: a.generation,
		Period: v1alpha1.Period{StartTime: metav1.NewTime(st.Since).Rfc3339Copy(), EndTime: metav1.NewTime(st.Until).Rfc3339Copy()}}
}

// keeps reports whether the announced denial stays through changes of calendars: while the rule is guarded.
func (r *Rule) keeps(now time.Time) bool {
	a := &r.announcing
	return a.last != nil && !now.Before(a.since.Add(-r.guardAhead)) && (a.until.IsZero() || now.Before(a.until))
}

// KeepsMore reports whether the rule keeps a denial beyond the days of the present calendars.
func (r *Rule) KeepsMore(now time.Time) bool {
	if !r.keeps(now) {
		return false
	}
	a := &r.announcing
	if now.Before(a.since) {
		now = a.since
	}
	st := a.afresh.At(now)
	return !st.Active || !st.Until.IsZero() && (a.until.IsZero() || st.Until.Before(a.until))
}
