package timeline_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

func TestLoadZone(t *testing.T) {
	tests := []struct{ name, want, wantErr string }{
		{name: "", want: "UTC"},
		{name: "UTC", want: "UTC"},
		{name: "Europe/Skopje", want: "Europe/Skopje"},
		{name: "Local", wantErr: `"Local" depends on the machine`},
		{name: "localtime", wantErr: `"localtime" depends on the machine`},
		{name: "right/Europe/Skopje", wantErr: "depends on the machine"},
		{name: "Europe/Nowhere", wantErr: `load time zone "Europe/Nowhere"`},
		{name: "../etc/passwd", wantErr: `load time zone "../etc/passwd"`},
	}
	for _, tt := range tests {
		loc, err := timeline.LoadZone(tt.name)
		switch {
		case tt.wantErr == "" && (err != nil || loc.String() != tt.want):
			t.Errorf("%q: got %v, %v, want %s", tt.name, loc, err, tt.want)
		case tt.wantErr != "" && (err == nil || !strings.Contains(err.Error(), tt.wantErr)):
			t.Errorf("%q: got %v, %v, want an error with %q", tt.name, loc, err, tt.wantErr)
		}
	}
}

// problems returns errors in the form "field: type". If there is only one error, detail is its detail.
func problems(errs field.ErrorList) (list []string, detail string) {
	for _, err := range errs {
		list = append(list, err.Field+": "+string(err.Type))
		detail = err.Detail
	}
	return list, detail
}

func TestParseWindowRefuses(t *testing.T) {
	const hour = time.Hour
	tests := []struct {
		reason string
		spec   v1alpha1.Window
		want   []string
		detail string
	}{
		{"no form", v1alpha1.Window{Name: "w"}, []string{"w: FieldValueRequired"}, "set from and to"},
		{"two forms", v1alpha1.Window{From: "08:00", To: "09:00", Start: "2026-01-01", End: "2026-01-02"},
			[]string{"w: FieldValueInvalid"}, "more than one form, use one of: days, from, to; start, end"},
		{"to alone", v1alpha1.Window{Days: []v1alpha1.Day{"Mon"}, To: "08:00"}, []string{"w.from: FieldValueRequired"}, "a time such as 08:00"},
		{"an unknown weekday is not every day", v1alpha1.Window{Days: []v1alpha1.Day{"Mon", "Funday"}, From: "08:00", To: "09:00"},
			[]string{"w.days[1]: FieldValueNotSupported"}, `"Mon"`},
		{"a weekday twice", v1alpha1.Window{Days: []v1alpha1.Day{"Mon", "Mon"}, From: "08:00", To: "09:00"},
			[]string{"w.days[1]: FieldValueDuplicate"}, ""},
		{"an empty window", v1alpha1.Window{From: "08:00", To: "08:00"},
			[]string{"w.to: FieldValueInvalid"}, "write from 00:00 to 24:00 for whole days"},
		{"from midnight to midnight", v1alpha1.Window{From: "00:00", To: "00:00"},
			[]string{"w.to: FieldValueInvalid"}, "write from 00:00 to 24:00 for whole days"},
		{"24:00 is no start", v1alpha1.Window{From: "24:00", To: "08:00"},
			[]string{"w.from: FieldValueInvalid"}, "24-hour clock"},
		{"an hour that is none", v1alpha1.Window{From: "08:00", To: "25:00"}, []string{"w.to: FieldValueInvalid"}, "24-hour clock"},
		{"a short time", v1alpha1.Window{From: "8:00", To: "9:00"},
			[]string{"w.from: FieldValueInvalid", "w.to: FieldValueInvalid"}, "24-hour clock"},
		{"a fraction", v1alpha1.Window{From: "08:00:00.5", To: "09:00"}, []string{"w.from: FieldValueInvalid"}, "24-hour clock"},
		{"cron without duration", v1alpha1.Window{Cron: "0 2 * * *"}, []string{"w.duration: FieldValueRequired"}, "such as 4h"},
		{"duration without cron", v1alpha1.Window{Duration: lasting(hour)}, []string{"w.cron: FieldValueInvalid"}, "five fields"},
		{"a negative duration", v1alpha1.Window{Cron: "0 2 * * *", Duration: lasting(-hour)},
			[]string{"w.duration: FieldValueInvalid"}, "must be positive"},
		{"a fraction of a second", v1alpha1.Window{Cron: "0 2 * * *", Duration: lasting(1500 * time.Millisecond)},
			[]string{"w.duration: FieldValueInvalid"}, "whole seconds"},
		{"end alone", v1alpha1.Window{End: "2026-01-01"}, []string{"w.start: FieldValueRequired"}, "has a start"},
		{"start alone", v1alpha1.Window{Start: "2026-01-01"}, []string{"w.end: FieldValueRequired"}, "has an end"},
		{"a date that is none", v1alpha1.Window{Start: "2026-02-30", End: "2026-03-01"},
			[]string{"w.start: FieldValueInvalid"}, "a date such as"},
		{"an instant without zone", v1alpha1.Window{Start: "2026-02-20T00:00:00", End: "2026-03-01T00:00:00Z"},
			[]string{"w.start: FieldValueInvalid"}, "an instant such as"},
		{"a fraction of an instant", v1alpha1.Window{Start: "2026-02-20T00:00:00.5Z", End: "2026-03-01T00:00:00Z"},
			[]string{"w.start: FieldValueInvalid"}, "whole second"},
		{"a date and an instant", v1alpha1.Window{Start: "2026-02-20", End: "2026-03-01T00:00:00Z"},
			[]string{"w.end: FieldValueInvalid"}, "must be a date if start is"},
		{"dates the wrong way round", v1alpha1.Window{Start: "2026-02-20", End: "2026-02-19"},
			[]string{"w.end: FieldValueInvalid"}, "after start"},
		{"instants that leave nothing", v1alpha1.Window{Start: "2026-02-20T00:00:00Z", End: "2026-02-20T01:00:00+01:00"},
			[]string{"w.end: FieldValueInvalid"}, "after start"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			_, errs := timeline.ParseWindow(tt.spec, time.UTC, field.NewPath("w"))
			got, detail := problems(errs)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if !strings.Contains(detail, tt.detail) {
				t.Errorf("detail is %q, want %q in it", detail, tt.detail)
			}
		})
	}
}

func TestPairRefuses(t *testing.T) {
	tests := []struct{ cron, detail string }{
		{"", "must be a cron expression of five fields"},
		{"0 8 * *", "expected exactly 5 fields"},
		{"0 0 8 * * *", "expected exactly 5 fields"},
		{"60 8 * * *", "above maximum"},
		{"0 8 * * 8", "above maximum"},
		{"0 8 * * 7-2", "beyond end of range"},
		{"0 8 * * 8-7", "above maximum"},
		{"0 8 * * x-7", "failed to parse"},
		{"0 8 * * 1-7/0", "above maximum"},
		{"0 8 * * 1-7/x", "failed to parse"},
		{"0 8 * * -7", "failed to parse"},
		{"0 8 * * 5-1", "beyond end of range"},
		{"0 8 * * Funday", "failed to parse"},
		{"0 8 *-5 * *", "a range must begin with a number"},
		{", 8 * * *", "names no value"},
		{"CRON_TZ=UTC 0 8 * * *", "use timeZone"},
		{"TZ=UTC 0 8 * * *", "use timeZone"},
		{"TZ=UTC", "use timeZone"},
		{"@every 1h", "@every counts from the start of a program and has no wall-clock times"},
		{"@sometimes", "unrecognized descriptor"},
		{"0 0 30 2 *", "never comes"},
		{"0 0 31 2,4,6,9,11 *", "never comes"},
	}
	for _, tt := range tests {
		_, errs := timeline.Pair(tt.cron, "0 20 * * *", time.UTC, field.NewPath("spec"))
		got, detail := problems(errs)
		if diff := cmp.Diff([]string{"spec.upscale: FieldValueInvalid"}, got); diff != "" || !strings.Contains(detail, tt.detail) {
			t.Errorf("%q: detail %q, want %q; errors (-want +got):\n%s", tt.cron, detail, tt.detail, diff)
		}
	}
	_, errs := timeline.Pair("x", "y", time.UTC, nil)
	if got, _ := problems(errs); len(got) != 2 || got[0] != "upscale: FieldValueInvalid" || got[1] != "downscale: FieldValueInvalid" {
		t.Errorf("both wrong: got %v", got)
	}
	if _, errs := timeline.Pair("0 0 30 2 1", "0 0 29 2 *", time.UTC, nil); len(errs) > 0 {
		t.Errorf("30 February or a Monday, and 29 February, are days: %v", errs)
	}
}

func TestParseCalendarRefuses(t *testing.T) {
	spec := timeline.CalendarSpec{
		TimeZone: "Mars/Olympus",
		Dates: []v1alpha1.CalendarDate{
			{},
			{Date: "2026-01-01", End: "2026-01-02"},
			{Date: "2027-02-29"},
			{Start: "2026-01-02", End: "2026-01-01"},
			{Start: "2026-01-02"},
			{Start: "2026-01-02", End: "2026-01-02"},
		},
		Yearly: []v1alpha1.CalendarYearly{
			{Month: 13, Day: 1}, {Month: 0, Day: 1}, {Month: 2, Day: 30}, {Month: 4, Day: 0}, {Month: 2, Day: 29},
		},
	}
	_, errs := timeline.ParseCalendar("c", spec, field.NewPath("spec"))
	got, _ := problems(errs)
	want := []string{
		"spec.timeZone: FieldValueInvalid",
		"spec.dates[0].date: FieldValueRequired",
		"spec.dates[1].date: FieldValueForbidden",
		"spec.dates[2].date: FieldValueInvalid",
		"spec.dates[3].end: FieldValueInvalid",
		"spec.dates[4].end: FieldValueRequired",
		"spec.yearly[0].month: FieldValueInvalid",
		"spec.yearly[1].month: FieldValueInvalid",
		"spec.yearly[2].day: FieldValueInvalid",
		"spec.yearly[3].day: FieldValueInvalid",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}
