package freeze_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// dayWindow is a window with its meaning on the wall clock, for the property test.
type dayWindow struct {
	spec     v1alpha1.Window
	day      func(time.Time) bool
	from, to int // minutes of the day; to may be on the next day
}

func (w dayWindow) covers(reading time.Time) bool {
	minute := reading.Hour()*60 + reading.Minute()
	return w.day(reading) && minute >= w.from && minute < w.to ||
		w.day(reading.AddDate(0, 0, -1)) && minute+24*60 >= w.from && minute+24*60 < w.to
}

func drawDayWindow(t *rapid.T) dayWindow {
	last := func(d time.Time) bool { return d.AddDate(0, 0, 1).Day() == 1 }
	w := rapid.SampledFrom([]dayWindow{
		{spec: v1alpha1.Window{Days: []v1alpha1.Day{"Fri"}}, day: func(d time.Time) bool { return d.Weekday() == time.Friday }},
		{spec: v1alpha1.Window{Days: []v1alpha1.Day{"Sat", "Sun"}},
			day: func(d time.Time) bool { return d.Weekday() == time.Saturday || d.Weekday() == time.Sunday }},
		{spec: v1alpha1.Window{DayOfMonth: []v1alpha1.DayOfMonth{-1}}, day: last},
		{spec: v1alpha1.Window{Nth: []v1alpha1.NthDay{{Week: -1, Day: "Sun"}}},
			day: func(d time.Time) bool { return d.Weekday() == time.Sunday && d.AddDate(0, 0, 7).Month() != d.Month() }},
		{spec: v1alpha1.Window{Months: []int32{3, 11}}, day: func(d time.Time) bool {
			return d.Month() == time.March ||
				d.Month() == time.November
		}},
	}).Draw(t, "window")
	w.to = 24 * 60
	if rapid.Bool().Draw(t, "times") {
		times := []string{"00:00", "01:30", "02:00", "02:15", "02:30", "03:00", "15:00", "23:30"}
		i := rapid.IntRange(0, len(times)-1).Draw(t, "from")
		j := (i + rapid.IntRange(1, len(times)-1).Draw(t, "length")) % len(times)
		minutes := func(text string) int { c, _ := time.Parse("15:04", text); return c.Hour()*60 + c.Minute() }
		w.spec.From, w.spec.To, w.from, w.to = times[i], times[j], minutes(times[i]), minutes(times[j])
		if w.to <= w.from {
			w.to += 24 * 60
		}
	}
	return w
}

// A freeze with windows and calendars is compared with a walk in steps of five minutes around both changes of clocks. The
// walk uses only the readings of the zone's clock. In a repeated hour, the state is that of the highest reading so far.
func TestRecurringFreezesEqualAWalkOverTheClock(t *testing.T) {
	holidays := v1alpha1.CalendarSpec{Yearly: []v1alpha1.CalendarYearly{{Month: 3, Day: 29}, {Month: 11, Day: 1},
		{Month: 10, Day: 4, Until: &v1alpha1.CalendarDay{Month: 10, Day: 25}}}}
	isHoliday := func(d time.Time) bool {
		return d.Month() == 3 && d.Day() == 29 || d.Month() == 11 && d.Day() == 1 || d.Month() == 10 && d.Day() >= 4 && d.Day() <= 25
	}
	rapid.Check(t, func(t *rapid.T) {
		zone := rapid.SampledFrom([]string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe"}).Draw(t, "zone")
		loc, err := time.LoadLocation(zone)
		if err != nil {
			t.Fatal(err)
		}
		holidays.TimeZone = zone
		days, errs := times.Calendar("holidays", holidays, times.Sources{}, field.NewPath("spec"))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		f := &v1alpha1.ChangeFreeze{}
		f.Namespace, f.Name = "shop", "recurring"
		f.Spec.TimeZone, f.Spec.Deny = zone, []v1alpha1.Action{v1alpha1.ActionScale}
		var windows []dayWindow
		for range rapid.IntRange(1, 3).Draw(t, "windows") {
			w := drawDayWindow(t)
			windows, f.Spec.Windows = append(windows, w), append(f.Spec.Windows, w.spec)
		}
		effect := rapid.SampledFrom([]v1alpha1.FreezeEffect{"", v1alpha1.EffectFrozen, v1alpha1.EffectChangesOpen}).Draw(t, "effect")
		if effect != "" {
			f.Spec.Calendars = []v1alpha1.FreezeCalendar{{Name: "holidays", Effect: effect}}
		}
		ctx := testContext
		ctx.Calendars = func(string) (timeline.Timeline, bool) { return days.Days, true }
		rule, _, errs := freeze.CompileObject(f, ctx)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		begin := rapid.SampledFrom([]string{"2026-03-06", "2026-03-27", "2026-04-03", "2026-10-02", "2026-10-23", "2026-10-30"}).Draw(t, "begin")
		start, _ := time.Parse(time.DateOnly, begin)
		var highest time.Time
		for at := start; at.Before(start.AddDate(0, 0, 4)); at = at.Add(5 * time.Minute) {
			local := at.In(loc)
			reading := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), 0, 0, time.UTC)
			if reading.After(highest) {
				highest = reading
			}
			want := slices.ContainsFunc(windows, func(w dayWindow) bool { return w.covers(highest) })
			if effect != "" && isHoliday(highest) {
				want = effect == v1alpha1.EffectFrozen
			}
			if active, _, _ := rule.Active(at); active != want {
				t.Fatalf("%s: active is %t, want %t", local, active, want)
			}
		}
	})
}

const month = `
kind: ClusterChangeFreeze
metadata: {name: recurring}
spec:
  target: {namespaces: [shop]}
  timeZone: Europe/Berlin
  deny: [Scale]
`

func TestRecurringFreezeStates(t *testing.T) {
	for _, test := range []struct {
		reason, spec, now string
		state, message    string
		next              string
	}{
		{"before", `
  windows: [{name: month-end, dayOfMonth: [-2, -1]}]`, "2026-04-20T12:00:00Z", "Scheduled", "changes are allowed until 2026-04-29T00:00:00+02:00 (Europe/Berlin)", "2026-04-28T22:00:00Z"},
		{"inside", `
  windows: [{name: month-end, dayOfMonth: [-2, -1]}]`, "2026-04-29T12:00:00Z", "Frozen", "changes are denied until 2026-05-01T00:00:00+02:00 (Europe/Berlin) (month-end)", "2026-04-30T22:00:00Z"},
		{"a period beside windows", `
  startTime: 2026-04-20T00:00:00Z
  endTime: 2026-04-21T00:00:00Z
  windows: [{name: month-end, dayOfMonth: [-1]}]`, "2026-04-20T12:00:00Z", "Frozen", "changes are denied until 2026-04-21T02:00:00+02:00", "2026-04-21T00:00:00Z"},
		{"after the period the windows go on", `
  startTime: 2026-04-20T00:00:00Z
  endTime: 2026-04-21T00:00:00Z
  windows: [{name: month-end, dayOfMonth: [-1]}]`, "2026-04-22T12:00:00Z", "Scheduled", "changes are allowed until 2026-04-30T00:00:00+02:00", "2026-04-29T22:00:00Z"},
	} {
		rule := set(t, month+strings.TrimPrefix(test.spec, "\n")).Rules()[0]
		st := rule.Policy().State(at(test.now))
		if st.Name != test.state || !strings.HasPrefix(st.Message, test.message) || !st.Next.Equal(at(test.next)) ||
			rule.Over(at(test.now).AddDate(50, 0, 0)) {
			t.Errorf("%s: %+v", test.reason, st)
		}
	}
}

// A freeze whose Calendar was deleted still denies at its other times. Its state says that the Calendar is missing.
func TestAFreezeOutlivesItsCalendar(t *testing.T) {
	ctx := testContext
	ctx.Calendars = func(string) (timeline.Timeline, bool) { return timeline.Timeline{}, false }
	rule, _, errs := freeze.CompileObject(parse(t, month+`
  windows: [{days: [Fri], from: "15:00", to: "24:00"}]
  calendars: [{name: holidays, effect: Frozen}]`), ctx)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	friday := at("2026-12-18T16:00:00Z")
	if active, _, _ := rule.Active(friday); !active {
		t.Error("the freeze does not deny in its window")
	}
	if text := rule.Policy().State(friday).Message; !strings.Contains(text, "there is no Calendar holidays, so its days do not count") {
		t.Error(text)
	}
}

func TestSubjectsAreJudged(t *testing.T) {
	const only, but = `
  subjects: [{kind: Group, name: developers}, {kind: User, name: carol}, {kind: ServiceAccount, namespace: ci, name: deploy}]`, `
  excludeSubjects: [{kind: User, name: alice}, {kind: Group, name: release}]`
	for _, test := range []struct {
		reason, subjects string
		user             string
		groups           []string
		denied           bool
	}{
		{"everybody", "", "zoe", nil, true},
		{"a member of a group", only, "zoe", []string{"developers"}, true},
		{"a user", only, "carol", nil, true},
		{"a service account", only, "system:serviceaccount:ci:deploy", nil, true},
		{"an account of another namespace", only, "system:serviceaccount:lab:deploy", nil, false},
		{"somebody else", only, "zoe", []string{"testers"}, false},
		{"a group's name is no user", only, "developers", nil, false},
		{"an excluded user", but, "alice", nil, false},
		{"an excluded group", but, "zoe", []string{"release"}, false},
		{"all but the excluded", but, "zoe", []string{"testers"}, true},
		{"an exclusion overrides", only + but, "alice", []string{"developers"}, false},
	} {
		s := set(t, month+`
  windows: [{from: "00:00", to: "24:00"}]`+test.subjects)
		v := s.Decide(change(workload.ChangeScale, func(r *freeze.UserChange) { r.User, r.Groups = test.user, test.groups }))
		if v.Allowed == test.denied {
			t.Errorf("%s: allowed is %t", test.reason, v.Allowed)
		}
	}
}

func TestRecurringFreezesThatCannotBeMeant(t *testing.T) {
	for _, test := range []struct{ spec, want string }{
		{``, "the freeze has no time at which it denies changes"},
		{`
  calendars: [{name: holidays, effect: Open}]`, "the freeze has no time at which it denies changes"},
		{`
  startTime: 2026-04-20T00:00:00Z`, "startTime and endTime go together"},
		{`
  windows: [{days: [Someday]}]`, "spec.windows[0].days"},
		{`
  calendars: [{name: holidays, effect: Asleep}, {name: others, effect: Frozen}]`, "spec.calendars[0].effect: Unsupported value"},
		{`
  windows: [{days: [Fri]}]
  subjects: [{kind: ServiceAccount, name: deploy}]`, "spec.subjects[0].namespace: Invalid value: \"\": a ServiceAccount has a namespace"},
		{`
  windows: [{days: [Fri]}]
  excludeSubjects: [{kind: Team, name: deploy}]`, "spec.excludeSubjects[0].kind: Unsupported value"},
	} {
		_, _, errs := freeze.CompileObject(parse(t, month+test.spec), testContext)
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), test.want) {
			t.Errorf("%s: %v, want one error with %s", test.spec, errs, test.want)
		}
	}
}

func TestRecurringFreezesAreGuarded(t *testing.T) {
	fridays := month + `
  windows: [{days: [Fri], from: "15:00", to: "24:00"}]`
	for _, test := range []struct{ reason, before, after, field string }{
		{"another window", fridays, month + `
  windows: [{days: [Fri], from: "16:00", to: "24:00"}]`, "spec.windows"},
		{"days that are open", fridays, fridays + `
  calendars: [{name: holidays, effect: Open}]`, "spec.calendars"},
		{"fewer subjects", fridays, fridays + `
  subjects: [{kind: User, name: zoe}]`, "spec.subjects"},
		{"an excluded subject", fridays, fridays + `
  excludeSubjects: [{kind: User, name: zoe}]`, "spec.excludeSubjects"},
		{"a period that goes", month + `
  startTime: 2026-04-20T00:00:00Z
  endTime: 2026-04-21T00:00:00Z
  windows: [{days: [Fri], from: "15:00", to: "24:00"}]`, fridays, "spec.startTime"},
		{"a period that comes", fridays, fridays + `
  startTime: 2026-04-20T00:00:00Z
  endTime: 2026-04-21T00:00:00Z`, ""},
	} {
		fields, err := freeze.Weakens(parse(t, test.before), parse(t, test.after))
		if err != nil || (test.field == "") != (len(fields) == 0) || test.field != "" && !slices.Contains(fields, test.field) {
			t.Errorf("%s: weakens %v, %v", test.reason, fields, err)
		}
	}
}

// A calendar is guarded by every guarded rule that uses it.
func TestCalendarsAreGuarded(t *testing.T) {
	ctx := testContext
	ctx.Calendars = func(string) (timeline.Timeline, bool) { return timeline.Timeline{}, true }
	rule, _, errs := freeze.CompileObject(parse(t, month+`
  windows: [{days: [Fri], from: "15:00", to: "24:00"}]
  calendars: [{name: holidays, effect: Open}]`), ctx)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	s := (&freeze.Set{}).With(rule)
	for _, test := range []struct {
		reason, calendar, now string
		want                  int
	}{
		{"active", "holidays", "2026-12-18T16:00:00Z", 1},
		{"a day before", "holidays", "2026-12-17T16:00:00Z", 1},
		{"longer before", "holidays", "2026-12-16T12:00:00Z", 0},
		{"another calendar", "others", "2026-12-18T16:00:00Z", 0},
	} {
		if got := len(s.GuardingCalendar(test.calendar, sets.New(test.calendar), false, at(test.now))); got != test.want {
			t.Errorf("%s: %d rules guard it", test.reason, got)
		}
	}
}

// A policy with an empty list of denied actions only suspends.
func TestDenyNothing(t *testing.T) {
	nothing := edited(month, "deny: [Scale]", "deny: []") + `
  windows: [{from: "00:00", to: "24:00"}]`
	s := set(t, nothing+`
  suspend: [{group: batch, kind: CronJob}]`)
	rule, now := s.Rules()[0], at("2026-12-18T16:00:00Z")
	st := rule.Policy().State(now)
	if v := s.Decide(change(workload.ChangeScale | workload.ChangeDelete)); !v.Allowed || len(v.Denials) > 0 {
		t.Errorf("denies %v", v.Denials)
	}
	if !st.Asleep || !strings.HasPrefix(st.Message, "changes pass, and the kinds in spec.suspend sleep") {
		t.Errorf("state %+v", st)
	}
	if len(s.Guarding(deployments, false, now)) > 0 || len(s.Guarding(cronJobs, false, now)) != 1 {
		t.Error("the adapters that it depends on are not those of the kinds that it suspends")
	}
	if _, _, errs := freeze.CompileObject(parse(t, nothing), testContext); len(errs) != 1 ||
		!strings.Contains(errs[0].Error(), "spec.suspend lists nothing") {
		t.Errorf("a policy that does nothing: %v", errs)
	}
}
