package freeze_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// days returns the timeline of some dates.
func days(t *testing.T, dates ...string) timeline.Timeline {
	t.Helper()
	var spec timeline.CalendarSpec
	for _, date := range dates {
		spec.Dates = append(spec.Dates, v1alpha1.CalendarDate{Date: date})
	}
	line, errs := timeline.ParseCalendar("party", spec, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return line
}

// While a lost event may be on, the objects of suspend stay as they are: a surely frozen day puts them to sleep, a surely open day
// wakes them, and a day of a lost event does neither.
func TestALostEventLeavesSuspendedObjectsAsTheyAre(t *testing.T) {
	ctx := testContext
	ctx.Calendars = func(string) (timeline.Timeline, bool) { return days(t, "2026-06-10", "2026-06-12"), true }
	ctx.Lost = func(string) times.Loss {
		return times.Loss{During: days(t, "2026-06-11", "2026-06-12", "2026-06-13"), Events: []string{"the party"}}
	}
	rule, _, errs := freeze.CompileObject(parse(t, `
kind: ChangeFreeze
metadata: {name: party, namespace: shop}
spec: {deny: [RollOut], calendars: [{name: party, effect: Frozen}], suspend: [{group: batch, kind: CronJob}]}
`), ctx)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	got := ""
	for now := at("2026-06-09T12:00:00Z"); now.Before(at("2026-06-15T00:00:00Z")); now = now.AddDate(0, 0, 1) {
		d := decide(t, rule.Policy(), now)
		letter := "-"
		if len(d.Intents) == 1 {
			letter = map[workload.Class]string{workload.ClassSleep: "S", workload.ClassKeep: "k"}[d.Intents[0].Class]
		}
		if got += letter; letter != "-" && !d.Wake.Equal(now.Truncate(24*time.Hour).AddDate(0, 0, 1)) {
			t.Errorf("after %s it is looked at again at %s", now, d.Wake)
		}
	}
	if diff := cmp.Diff("-SkSk-", got); diff != "" {
		t.Error(diff)
	}
}
