package times_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
)

var at = field.NewPath("spec", "windows")

func berlin(t *testing.T) *time.Location {
	t.Helper()
	loc, errs := times.Zone("Europe/Berlin", at)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return loc
}

func TestZoneAcceptsOnlyIANANames(t *testing.T) {
	for name, want := range map[string]string{"Europe/Berlin": "Europe/Berlin", "UTC": "UTC", "": "UTC"} {
		if loc, errs := times.Zone(name, at); len(errs) > 0 || loc.String() != want {
			t.Errorf("%q: %v, %v", name, loc, errs)
		}
	}
	for _, name := range []string{"Local", "Europe/Berlim"} {
		if loc, errs := times.Zone(name, at); loc != nil || len(errs) != 1 || errs[0].Field != "spec.windows" || errs[0].BadValue != name {
			t.Errorf("%q: %v, %v", name, loc, errs)
		}
	}
}

// Each form of a window opens and closes at its times, in its zone.
func TestEachFormOfAWindowOpensAndClosesInItsZone(t *testing.T) {
	for _, test := range []struct {
		reason       string
		window       v1alpha1.Window
		open, closes string
	}{
		{"days, from and to", v1alpha1.Window{Name: "a", Days: []v1alpha1.Day{"Tue"}, From: "10:00", To: "12:00"}, "2026-05-12T08:00:00Z",
			"2026-05-12T10:00:00Z"},
		{"a zone of its own", v1alpha1.Window{Name: "a", TimeZone: "Asia/Tokyo", Days: []v1alpha1.Day{"Tue"}, From: "10:00", To: "12:00"},
			"2026-05-12T01:00:00Z", "2026-05-12T03:00:00Z"},
		{"whole days", v1alpha1.Window{Name: "a", Days: []v1alpha1.Day{"Sat", "Sun"}}, "2026-05-15T22:00:00Z", "2026-05-17T22:00:00Z"},
		{"months", v1alpha1.Window{Name: "a", Months: []int32{5}}, "2026-04-30T22:00:00Z", "2026-05-31T22:00:00Z"},
		{"every other week", v1alpha1.Window{Name: "a", Days: []v1alpha1.Day{"Fri"}, Weeks: &v1alpha1.Weeks{Every: 2, Starting: "2026-05-04"},
			From: "15:00", To: "18:00"},
			"2026-05-08T13:00:00Z", "2026-05-08T16:00:00Z"},
		{"the last day of the month", v1alpha1.Window{Name: "a", DayOfMonth: []v1alpha1.DayOfMonth{-1}}, "2026-05-30T22:00:00Z",
			"2026-05-31T22:00:00Z"},
		{"the last Friday", v1alpha1.Window{Name: "a", Nth: []v1alpha1.NthDay{{Week: -1, Day: "Fri"}}}, "2026-05-28T22:00:00Z",
			"2026-05-29T22:00:00Z"},
		{"cron and until", v1alpha1.Window{Name: "a", Cron: "0 20 * * 5", Until: "0 7 * * 1"}, "2026-05-15T18:00:00Z", "2026-05-18T05:00:00Z"},
		{"valid from a date until an instant", v1alpha1.Window{Name: "a", From: "00:00", To: "24:00", ValidFrom: "2026-06-01",
			ValidUntil: "2026-06-02T00:00:00Z"},
			"2026-05-31T22:00:00Z", "2026-06-02T00:00:00Z"},
		{"cron and duration", v1alpha1.Window{Name: "a", Cron: "0 2 * * 3", Duration: "90m"}, "2026-05-13T00:00:00Z", "2026-05-13T01:30:00Z"},
		{"dates, of which the last is included", v1alpha1.Window{Name: "a", Start: "2026-12-24", End: "2026-12-31"}, "2026-12-23T23:00:00Z",
			"2026-12-31T23:00:00Z"},
		{"instants, of which the last is not", v1alpha1.Window{Name: "a", Start: "2026-06-01T00:00:00Z", End: "2026-06-02T00:00:00Z"},
			"2026-06-01T00:00:00Z", "2026-06-02T00:00:00Z"},
	} {
		w, errs := timeline.ParseWindow(test.window, berlin(t), at.Index(0))
		if len(errs) > 0 {
			t.Fatalf("%s: %v", test.reason, errs)
		}
		state := w.At(instant(test.open))
		before := w.At(instant(test.open).Add(-time.Second))
		if !state.Active || state.Name != "a" || !state.Until.Equal(instant(test.closes)) || before.Active ||
			!before.Until.Equal(instant(test.open)) {
			t.Errorf("%s: %+v, a second before %+v", test.reason, state, before)
		}
	}
}

func instant(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return t
}

func TestWindowsNameTheField(t *testing.T) {
	good := v1alpha1.Window{Name: "a", From: "10:00", To: "12:00"}
	named := func(name string) v1alpha1.Window { return v1alpha1.Window{Name: name, From: "10:00", To: "12:00"} }
	for _, test := range []struct {
		reason string
		list   []v1alpha1.Window
		want   []string
	}{
		{"none", nil, nil},
		{"one", []v1alpha1.Window{good}, nil},
		{"two names", []v1alpha1.Window{good, named("b")}, nil},
		{"no names", []v1alpha1.Window{named(""), named("")}, nil},
		{"one name twice", []v1alpha1.Window{good, named("b"), good}, []string{`spec.windows[2].name: Duplicate value: "a"`}},
		{"one name three times", []v1alpha1.Window{good, good, good},
			[]string{`spec.windows[1].name: Duplicate value: "a"`, `spec.windows[2].name: Duplicate value: "a"`}},
		{"a bad time", []v1alpha1.Window{good, {From: "8", To: "20:00"}}, []string{"spec.windows[1].from: Invalid value"}},
		{"a bad day", []v1alpha1.Window{{Days: []v1alpha1.Day{"Someday"}, From: "08:00", To: "20:00"}}, []string{"spec.windows[0].days[0]"}},
		{"a bad zone", []v1alpha1.Window{good, {From: "08:00", To: "20:00", TimeZone: "Europe/Berlim"}},
			[]string{`spec.windows[1].timeZone: Invalid value: "Europe/Berlim"`}},
		{"a month that is none", []v1alpha1.Window{{Months: []int32{0}}},
			[]string{"spec.windows[0].months[0]: Invalid value: 0: must be 1 to 12"}},
		{"a duration of nothing", []v1alpha1.Window{{Cron: "0 2 * * *", Duration: "0s"}},
			[]string{`spec.windows[0].duration: Required value: how long the window stays open`}},
		{"no duration", []v1alpha1.Window{{Cron: "0 2 * * *"}}, []string{"spec.windows[0].duration: Required value"}},
		{"part of a second", []v1alpha1.Window{{Cron: "0 2 * * *", Duration: "1.5s"}}, []string{"spec.windows[0].duration: Invalid value"}},
		{"a duration in words", []v1alpha1.Window{good, {Cron: "0 2 * * *", Duration: "a day"}},
			[]string{`spec.windows[1].duration: Invalid value: "a day"`}},
		{"a bad duration and a bad cron", []v1alpha1.Window{{Cron: "nightly", Duration: "1y"}},
			[]string{`spec.windows[0].duration: Invalid value: "1y"`, "spec.windows[0].cron: Invalid value"}},
	} {
		windows, errs := times.Windows(test.list, time.UTC, at)
		if len(errs) != len(test.want) || len(windows) != len(test.list) {
			t.Errorf("%s: %d windows, want %v, got %v", test.reason, len(windows), test.want, errs)
			continue
		}
		for i, e := range errs {
			if !strings.HasPrefix(e.Error(), test.want[i]) {
				t.Errorf("%s: want %s, got %s", test.reason, test.want[i], e)
			}
		}
	}
}

// A calendar is on during its days, each from midnight to midnight of its zone.
func TestCalendarIsOnFromMidnightToMidnight(t *testing.T) {
	compiled, errs := times.Calendar("holidays", v1alpha1.CalendarSpec{
		TimeZone: "Europe/Berlin",
		Dates: []v1alpha1.CalendarDate{{Date: "2026-04-03", Name: "Good Friday"},
			{Start: "2026-12-27", End: "2026-12-29", Name: "works holidays"}},
		Yearly: []v1alpha1.CalendarYearly{{Month: 5, Day: 1, Name: "Labour Day"}},
	}, times.Sources{}, at)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	days := compiled.Days
	var got []string
	now := instant("2026-01-01T00:00:00Z")
	for range 8 {
		st := days.At(now)
		if st.Until.IsZero() {
			break
		}
		got = append(got, st.Until.UTC().Format(time.RFC3339)+" "+days.At(st.Until).Name)
		now = st.Until
	}
	want := []string{
		"2026-04-02T22:00:00Z holidays: Good Friday", "2026-04-03T22:00:00Z ", "2026-04-30T22:00:00Z holidays: Labour Day",
		"2026-05-01T22:00:00Z ",
		"2026-12-26T23:00:00Z holidays: works holidays", "2026-12-29T23:00:00Z ", "2027-04-30T22:00:00Z holidays: Labour Day",
		"2027-05-01T22:00:00Z ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, spec := range []v1alpha1.CalendarSpec{
		{TimeZone: "Nowhere"}, {Dates: []v1alpha1.CalendarDate{{Date: "2026-02-30"}}}, {Yearly: []v1alpha1.CalendarYearly{{Month: 13, Day: 1}}},
	} {
		if _, errs := times.Calendar("holidays", spec, times.Sources{}, at); len(errs) == 0 ||
			!slices.ContainsFunc(errs, func(e *field.Error) bool { return strings.HasPrefix(e.Field, "spec.windows") }) {
			t.Errorf("%+v: %v", spec, errs)
		}
	}
	if _, errs := times.Calendar("holidays", v1alpha1.CalendarSpec{}, times.Sources{}, at); len(errs) > 0 {
		t.Error(errs)
	}
	var _ times.Calendars = func(string) (timeline.Timeline, bool) { return days, true }
}

// The number of windows with a cron is limited, because other policies wait while they are checked. The number of other
// windows is limited only by the schema.
func TestCronsAreLimited(t *testing.T) {
	list := func(crons, others int) []v1alpha1.Window {
		return append(slices.Repeat([]v1alpha1.Window{{Cron: "0 0 1-30 * 1", Duration: "520w"}}, crons),
			slices.Repeat([]v1alpha1.Window{{From: "10:00", To: "12:00"}}, others)...)
	}
	if _, errs := times.EveryWindow(list(times.MaxCrons, 32), berlin(t), at); len(errs) > 0 {
		t.Errorf("as many as may be: %v", errs)
	}
	_, errs := times.EveryWindow(list(times.MaxCrons+1, 0), berlin(t), at)
	if len(errs) != 1 || errs[0].Field != "spec.windows" || !strings.Contains(errs[0].Detail, "33 windows have a cron, where at most 32 may") {
		t.Errorf("one more: %v", errs)
	}
}

// The test covers all forms of calendar entries that are repeated every year.
func TestEachFormOfAYearlyEntry(t *testing.T) {
	two := int32(-2)
	compiled, errs := times.Calendar("c", v1alpha1.CalendarSpec{Yearly: []v1alpha1.CalendarYearly{
		{Easter: &two, Name: "Good Friday"},
		{Month: 5, Nth: &v1alpha1.NthDay{Week: -1, Day: "Mon"}, Name: "Spring"},
		{Month: 8, Day: 1, InLieu: v1alpha1.InLieuMonday, Name: "August"},
		{Month: 12, Day: 24, Until: &v1alpha1.CalendarDay{Month: 1, Day: 2}, Name: "Christmas"},
	}}, times.Sources{}, at)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	days := compiled.Days
	var got []string
	for now := instant("2026-01-10T00:00:00Z"); len(got) < 8; {
		now = days.At(now).Until
		got = append(got, now.UTC().Format(time.DateOnly)+" "+days.At(now).Name)
	}
	want := []string{"2026-04-03 c: Good Friday", "2026-04-04 ", "2026-05-25 c: Spring", "2026-05-26 ", "2026-08-03 c: August", "2026-08-04 ",
		"2026-12-24 c: Christmas", "2027-01-03 "}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, errs = times.Calendar("c", v1alpha1.CalendarSpec{Yearly: []v1alpha1.CalendarYearly{{Month: 8, Day: 1, InLieu: "Friday"}}},
		times.Sources{}, at)
	if len(errs) != 1 || errs[0].Field != "spec.windows.yearly[0].inLieu" {
		t.Errorf("moved to a Friday: %v", errs)
	}
}
