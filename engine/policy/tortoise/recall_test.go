package tortoise

import (
	"bytes"
	"math"
	"testing"
	"time"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// TestRecalledHistoryEqualsLearntHistory compares two learners. The first sees a few samples and is then filled with
// a history. The second sees only the history. Their learnt states are equal, byte for byte.
func TestRecalledHistoryEqualsLearntHistory(t *testing.T) {
	noon := time.Date(2037, 1, 5, 12, 0, 0, 0, time.UTC)
	var history []workload.Sample
	for at := noon.Add(-3 * 24 * time.Hour); !at.After(noon); at = at.Add(5 * time.Minute) {
		day := 2 * math.Pi * float64(at.Unix()%86400) / 86400
		history = append(history, workload.Sample{At: at, Container: "app", CPU: 200 - 100*math.Cos(day), Memory: 1 << 28, Replicas: 3})
	}
	for _, profile := range []string{"Balanced", "Tortoise"} {
		recalled, lived := learnerOf(t, `{profile: `+profile+`}`), learnerOf(t, `{profile: `+profile+`}`)
		recalled.Observe(workload.Sample{At: noon.Add(-time.Hour), Container: "other", CPU: 7000, Memory: 1 << 33, Replicas: 9})
		if first, newest := recalled.HistoryRange(); !first.Equal(noon.Add(-time.Hour)) || !newest.Equal(first) {
			t.Errorf("%s: it has learnt from %s to %s", profile, first, newest)
		}
		recalled.Backfill(history)
		lived.Observe(history...)
		if first, newest := recalled.HistoryRange(); !first.Equal(history[0].At) || !newest.Equal(noon) {
			t.Errorf("%s: it has recalled from %s to %s", profile, first, newest)
		}
		if len(lived.Keep()) == 0 || !bytes.Equal(recalled.Keep(), lived.Keep()) {
			t.Errorf("%s: what was recalled is not what would have been learnt", profile)
		}
		if first, newest := learnerOf(t, `{profile: `+profile+`}`).HistoryRange(); !first.IsZero() || !newest.IsZero() {
			t.Errorf("%s: a new one has learnt from %s to %s", profile, first, newest)
		}
	}
}

// TestReportHasSourceAndLengthOfHistory checks the source of usage and the length of its history.
func TestReportHasSourceAndLengthOfHistory(t *testing.T) {
	for text, want := range map[string]policy.Source{
		`{}`:                           {Window: 28 * 24 * time.Hour},
		`{history: {source: Metrics}}`: {Window: 28 * 24 * time.Hour},
		`{history: {source: VerticalPodAutoscaler}}`:               {Vertical: true, Window: 28 * 24 * time.Hour},
		`{history: {source: VerticalPodAutoscaler, create: true}}`: {Vertical: true, MakesVertical: true, Window: 28 * 24 * time.Hour},
		`{history: {source: Prometheus}}`:                          {Recorded: true, Window: 28 * 24 * time.Hour},
		`{history: {source: Prometheus, window: 1h}}`:              {Recorded: true, Window: time.Hour},
		`{history: {source: Prometheus, window: 4w}}`:              {Recorded: true, Window: 28 * 24 * time.Hour},
		`{history: {source: Prometheus, window: 6d23h9m}}`:         {Recorded: true, Window: 6*24*time.Hour + 23*time.Hour + 9*time.Minute},
	} {
		r, errs := rulesOf(t, text)
		if got := (&tortoise{rules: r}).Source(); got != want || len(errs) > 0 {
			t.Errorf("%s: %+v, %v", text, got, errs)
		}
	}
	for text, want := range map[string]string{
		`{history: {source: Metrics, window: 7d}}`:               "spec.history.window",
		`{history: {window: 7d}}`:                                "spec.history.window",
		`{history: {source: Prometheus, window: 59m}}`:           "spec.history.window",
		`{history: {source: Prometheus, window: 28d1s}}`:         "spec.history.window",
		`{history: {source: Prometheus, window: soon}}`:          "spec.history.window",
		`{history: {source: VerticalPodAutoscaler, window: 7d}}`: "spec.history.window",
		`{history: {source: Prometheus, create: true}}`:          "spec.history.create",
		`{history: {source: Thanos}}`:                            "spec.history.source",
		`{history: {source: "http://169.254.169.254/..."}}`:      "spec.history.source",
	} {
		if _, errs := rulesOf(t, text); len(errs) != 1 || errs[0].Field != want {
			t.Errorf("%s: %v, want a fault of %s", text, errs, want)
		}
	}
}
