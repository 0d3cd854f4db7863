package world_test

import (
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// withLost is a calendar with an event on 10 June 2026 that can be read, and an event on 17 June 2026 in an unknown zone.
func withLost(name string, rest ...string) *v1alpha1.Calendar {
	c := including(name, 1)
	c.Spec.ICS = &v1alpha1.CalendarICS{Inline: strings.Join(append([]string{
		"BEGIN:VCALENDAR", "BEGIN:VEVENT", "UID:a", "SUMMARY:read", "DTSTART;VALUE=DATE:20260610", "END:VEVENT",
		"BEGIN:VEVENT", "UID:b", "SUMMARY:lost", "DTSTART;TZID=Nowhere:20260617T100000", "DURATION:PT1H"}, append(rest, "END:VEVENT",
		"END:VCALENDAR")...), "\r\n")}
	return c
}

// A freeze denies changes while a lost event of its calendar may be on, and says that it cannot tell whether changes are frozen.
// A calendar passes its lost events on to the calendars that include it.
func TestALostEventOpensNoFreeze(t *testing.T) {
	noon := func(day int) time.Time { return time.Date(2026, 6, day, 12, 0, 0, 0, time.UTC) }
	asked := func(now time.Time) freeze.UserChange {
		return freeze.UserChange{Actions: workload.ChangeRollOut, Kind: deployments, Namespace: "shop", Name: "web", Now: now}
	}
	for reason, test := range map[string]struct {
		effect    v1alpha1.FreezeEffect
		calendars []*v1alpha1.Calendar
		// days are letters for the days from 9 June on: o open, F frozen, ? not known and denied.
		days string
	}{
		"on the day":           {v1alpha1.EffectFrozen, []*v1alpha1.Calendar{withLost("a")}, "oFooooo???oo"},
		"of an include":        {v1alpha1.EffectFrozen, []*v1alpha1.Calendar{including("a", 1, "bb"), withLost("bb")}, "oFooooo???oo"},
		"without an end":       {v1alpha1.EffectFrozen, []*v1alpha1.Calendar{withLost("a", "RRULE:FREQ=WEEKLY")}, "oFooooo?????"},
		"at any time":          {v1alpha1.EffectFrozen, []*v1alpha1.Calendar{withLost("a", "RDATE:20260701T100000")}, "?F??????????"},
		"that opens":           {v1alpha1.EffectChangesOpen, []*v1alpha1.Calendar{withLost("a")}, "FoFFFFF???FF"},
		"in an unreadable one": {v1alpha1.EffectFrozen, []*v1alpha1.Calendar{including("a", 1, "nowhere")}, "????????????"},
	} {
		w := world.New(selector.Scope{})
		f, id := onDaysOf("a", test.effect)
		w.Update(func(tx *world.Tx) {
			tx.SetPolicy(kind(freeze.Kind), f)
			for _, c := range test.calendars {
				tx.SetCalendar(c)
			}
		})
		got := ""
		for day := range len(test.days) {
			switch v := w.Set().Decide(asked(noon(9 + day))); {
			case v.Allowed:
				got += "o"
			case v.Undecided():
				got += "?"
			default:
				got += "F"
			}
		}
		if got != test.days {
			t.Errorf("%s: %s, want %s", reason, got, test.days)
		}
		why := `Calendar ` + test.calendars[len(test.calendars)-1].Name + `: "lost", line 10: DTSTART: the time zone "Nowhere" is no IANA name`
		if strings.Contains(reason, "unreadable") {
			why = "Calendar a cannot be read, as its status says"
		}
		if v := w.Set().Decide(asked(noon(17))); !strings.Contains(v.Message, why) {
			t.Errorf("%s: the refusal is %q", reason, v.Message)
		}
		p := w.Snapshot().Find(id)
		if state := p.State(noon(9)); !strings.Contains(state.Message, why) {
			t.Errorf("%s: the state is %q", reason, state.Message)
		}
		if got := w.Snapshot().Warnings(p.Policy.Policy, p.Calendars, noon(9)); len(got) != 1 || !strings.Contains(got[0], why) {
			t.Errorf("%s: warns %q", reason, got)
		}
	}
}
