package trigger

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
)

// calendarsOf returns two calendars: holidays is on 2 March and sales is on 3 March.
func calendarsOf(t *testing.T) times.Calendars {
	t.Helper()
	all := map[string]timeline.Timeline{}
	for name, date := range map[string]string{"holidays": "2026-03-02", "sales": "2026-03-03"} {
		days, errs := times.Calendar(name, v1alpha1.CalendarSpec{Dates: []v1alpha1.CalendarDate{{Date: date, Name: "a day"}}}, times.Sources{},
			field.NewPath("spec"))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		all[name] = days.Days
	}
	return func(name string) (timeline.Timeline, bool) {
		days, ok := all[name]
		return days, ok
	}
}

func using(tr v1alpha1.TimeTrigger, calendars ...v1alpha1.WindowCalendar) v1alpha1.TimeTrigger {
	return with(tr, func(tr *v1alpha1.TimeTrigger) { tr.Calendars = calendars })
}

// On the days of its calendars, a trigger is open or closed as they say, whatever its window says. Without a window, only
// a calendar opens the trigger.
func TestCalendarsOverruleTheWindow(t *testing.T) {
	closed, open := v1alpha1.WindowCalendar{Name: "holidays", Effect: v1alpha1.EffectClosed},
		v1alpha1.WindowCalendar{Name: "sales", Effect: v1alpha1.EffectOpen}
	peak := daily("peak", 0, "08:00", "12:00", values(5, 9))
	alone := v1alpha1.TimeTrigger{Name: "alone", During: values(5, 9)}
	for _, tc := range []struct {
		reason  string
		trigger v1alpha1.TimeTrigger
		want    string // state on three days, each at 10:00 and 15:00; the days are joined by "|"
	}{
		{"no calendar", peak, "x.|x.|x."},
		{"closed on holidays", using(peak, closed), "..|x.|x."},
		{"open on sales", using(peak, open), "x.|xx|x."},
		{"both", using(peak, closed, open), "..|xx|x."},
		{"open on holidays wins over closed", using(peak, closed, v1alpha1.WindowCalendar{Name: "holidays", Effect: v1alpha1.EffectOpen}), ""},
		{"no window", using(alone, open), "..|xx|.."},
	} {
		p, errs := Compile(object(rules(tc.trigger)), Context{Calendars: calendarsOf(t)})
		if tc.want == "" {
			if len(errs) != 1 || errs[0].Field != "spec.triggers[0].calendars[1].name" {
				t.Errorf("%s: %v", tc.reason, errs)
			}
			continue
		}
		if len(errs) > 0 {
			t.Fatal(tc.reason, errs)
		}
		got := ""
		for day := range 3 {
			for _, h := range []int{10, 15} {
				if p.State(hour(24*day+h)).Active != "" {
					got += "x"
				} else {
					got += "."
				}
			}
			got += "|"
		}
		if got = strings.Trim(got, "|"); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
		}
	}
}

func TestCalendarsAreChecked(t *testing.T) {
	for want, tr := range map[string]v1alpha1.TimeTrigger{
		`spec.triggers[0].window: Required value: set from and to, days, cron with duration or until, or start and end, or add a calendar with the effect Open`: using(v1alpha1.TimeTrigger{Name: "a", During: values(1, 2)},
			v1alpha1.WindowCalendar{Name: "holidays", Effect: v1alpha1.EffectClosed}),
		`spec.triggers[0].calendars[0].effect: Unsupported value: "Asleep": supported values: "Open", "Closed"`: using(daily("a", 0, "08:00",
			"12:00", values(1, 2)),
			v1alpha1.WindowCalendar{Name: "holidays", Effect: "Asleep"}),
		`spec.triggers[0].calendars[0].name: Not found: "holiday"`: using(daily("a", 0, "08:00", "12:00", values(1, 2)),
			v1alpha1.WindowCalendar{Name: "holiday", Effect: v1alpha1.EffectClosed}),
	} {
		_, errs := Compile(object(rules(tr)), Context{Calendars: calendarsOf(t)})
		if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), want) {
			t.Errorf("%v, want %s", errs, want)
		}
	}
}
