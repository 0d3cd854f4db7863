package timeline_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

// TestFormsOfCron has pairs of expressions with the same meaning: their changes over a year are equal.
func TestFormsOfCron(t *testing.T) {
	tests := []struct{ form, same string }{
		{"0 8 * * 7", "0 8 * * 0"},
		{"0 8 * * sun", "0 8 * * 0"},
		{"0 8 * * 5-7", "0 8 * * 5,6,0"},
		{"0 8 * * Fri-7", "0 8 * * 5,6,0"},
		{"0 8 * * sun-7", "0 8 * * 0-6"},
		{"0 8 * * 0-7", "0 8 * * 0-6"},
		{"0 8 * * 7-7", "0 8 * * 0"},
		{"0 8 * * 7/2", "0 8 * * 0"},
		{"0 8 * * 1-7/2", "0 8 * * 1,3,5,0"},
		{"0 8 * * 2-7/2", "0 8 * * 2,4,6"},
		{"0 8 * * 7,3", "0 8 * * 0,3"},
		{"0 8 * * */7", "0 8 * * 0"},
		{"0 8 7 * 7", "0 8 7 * 0"},
		{"0 8 1 * 1-7", "0 8 1 * 0-6"},
		{"0 8 * * FRIL", "0 8 * * 5L"},
		{"0 8 * * sun#2", "0 8 * * 7#2"},
		{"0 8 * * 7L", "0 8 * * 0L"},
		{"0 8 L-3 4 *", "0 8 27 4 *"},
		{"0 8 * 1 1#1,2#1,3#1,4#1,5#1,6#1,0#1", "0 8 1-7 1 *"},
		{"@hourly", "0 * * * *"},
		{"@daily", "0 0 * * *"},
		{"@midnight", "0 0 * * *"},
		{"@weekly", "0 0 * * 0"},
		{"@monthly", "0 0 1 * *"},
		{"@yearly", "0 0 1 1 *"},
		{"@annually", "0 0 1 1 *"},
	}
	for _, tt := range tests {
		open := func(cron string) timeline.Timeline {
			return mustWindow(t, v1alpha1.Window{Cron: cron, Duration: lasting(time.Minute)}, "Europe/Skopje")
		}
		got, want := open(tt.form), open(tt.same)
		at := utc(t, "2026-01-01T12:00:00Z")
		for end := at.AddDate(1, 1, 0); at.Before(end); {
			next, _ := got.Next(at)
			if same, _ := want.Next(at); !next.Equal(same) {
				t.Errorf("%s after %s: %s, want %s as %s", tt.form, at, next, same, tt.same)
				break
			}
			at = next
		}
	}
}

func TestParseDuration(t *testing.T) {
	const day = 24 * time.Hour
	tests := []struct {
		text string
		want time.Duration
		err  string // a part of the error; every error names the text
	}{
		{"1d", day, ""},
		{"1w", 7 * day, ""},
		{"1d12h", 36 * time.Hour, ""},
		{"2w3d4h5m6s7ms", 17*day + 4*time.Hour + 5*time.Minute + 6*time.Second + 7*time.Millisecond, ""},
		{"720h", 30 * day, ""},
		{"1.5d", 36 * time.Hour, ""},
		{"15250w", 15250 * 7 * day, ""},
		{"15251w", 0, "is too long"},
		{"15250w1w", 0, "is too long"},
		{"106751d23h47m16s854ms", 106751*day + 23*time.Hour + 47*time.Minute + 16*time.Second + 854*time.Millisecond, ""},
		{"106751d23h47m16s855ms", 0, "is too long"},
		{"9223372036854.775807ms", math.MaxInt64, ""},
		{"99999999999h", 0, "is not a number that fits"},
		{"1.2.3h", 0, "is not a number that fits"},
		{"", 0, "must be positive numbers with the units"},
		{"1", 0, "must be positive numbers with the units"},
		{"d", 0, "must be positive numbers with the units"},
		{"-1d", 0, "must be positive numbers with the units"},
		{"1d-1h", 0, "must be positive numbers with the units"},
		{"1y", 0, "must be positive numbers with the units"},
		{"1us", 0, "must be positive numbers with the units"},
		{"1d 2h", 0, "must be positive numbers with the units"},
		{"0", 0, "must be positive numbers with the units"},
		{"0s", 0, "must be longer than zero"},
		{"0w0d", 0, "must be longer than zero"},
	}
	for _, tt := range tests {
		got, err := timeline.ParseDuration(tt.text)
		orZero, zeroErr := timeline.ParseDurationOrZero(tt.text)
		if isZero := tt.err == "must be longer than zero"; orZero != tt.want || (zeroErr == nil) != (err == nil || isZero) {
			t.Errorf("%q, or zero: got %s, %v", tt.text, orZero, zeroErr)
		}
		switch {
		case got != tt.want || (err == nil) != (tt.err == ""):
			t.Errorf("%q: got %s, %v, want %s", tt.text, got, err, tt.want)
		case err != nil && (!strings.Contains(err.Error(), tt.err) || !strings.Contains(err.Error(), `"`+tt.text+`"`)):
			t.Errorf("%q: error is %q, want the text and %q in it", tt.text, err, tt.err)
		}
	}
}
