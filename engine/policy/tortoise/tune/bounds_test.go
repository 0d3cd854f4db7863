package tune

import (
	"math"
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/optimize"
	"flyball.dev/flyball/engine/policy/tortoise/phase"
	"flyball.dev/flyball/engine/policy/tortoise/usage"
)

// half has pods of 100m that serve 50m each, between 1 and 100 of them.
func half() Spec {
	spec := Defaults(optimize.Profile{Name: "half", Headroom: 0.5, CatchUp: 2}, "app")
	spec.Bounds = optimize.Bounds{Min: 1, Max: 100, MinRequest: 100, MaxRequest: 100}
	return spec
}

// TestTheNextMinimum by phase: what is there, what is needed, and when the minimum fell last.
func TestTheNextMinimum(t *testing.T) {
	for _, tc := range []struct {
		reason                    string
		phase                     phase.Phase
		current, needed, replicas int
		age                       time.Duration
		want                      int
		lowered                   bool
	}{
		{"up at once", phase.Working, 10, 11, 0, 0, 11, false},
		{"as it is", phase.Working, 10, 10, 0, time.Hour, 10, false},
		{"a little less, lately lowered", phase.Working, 10, 9, 0, lowerEvery - 1, 10, false},
		{"a little less, for a while", phase.Working, 10, 9, 0, lowerEvery, 9, true},
		{"a fifth less", phase.Working, 10, 8, 0, 0, 8, true},
		{"less than a fifth", phase.Working, 11, 9, 0, 0, 11, false},
		{"never down in an emergency", phase.Emergency, 5, 3, 4, time.Hour, 5, false},
		{"no pod that is there goes in an emergency", phase.Emergency, 5, 3, 7, time.Hour, 7, false},
		{"but for those that are too many", phase.Emergency, 5, 3, 200, time.Hour, 100, false},
		{"the maximum has been lowered since", phase.Emergency, 120, 3, 4, time.Hour, 100, false},
		{"up in an emergency", phase.Emergency, 5, 9, 7, 0, 9, false},
		{"back too soon", phase.BackToNormal, 30, 5, 0, backEvery - 1, 30, false},
		{"back by a tenth", phase.BackToNormal, 30, 5, 0, backEvery, 27, true},
		{"back by one at least", phase.BackToNormal, 5, 1, 0, backEvery, 4, true},
		{"back to what is needed", phase.BackToNormal, 30, 29, 0, backEvery, 29, true},
	} {
		tuner := New()
		tuner.State.Phase, tuner.State.Lowered, tuner.quantile = tc.phase, monday, 0.955
		o := Observed{Now: monday.Add(tc.age), Setting: Setting{Min: tc.current}, Replicas: tc.replicas}
		got := tuner.minimum(half(), o, float64(50*tc.needed), 100, tc.phase.Allowed())
		if got != tc.want || tuner.State.Lowered.Equal(o.Now) != (tc.lowered || tc.age == 0) {
			t.Errorf("%s: it is %d, want %d; lowered at %s", tc.reason, got, tc.want, tuner.State.Lowered)
		}
	}
	tuner := New()
	tuner.quantile = 0.955
	tuner.minimum(half(), Observed{Now: monday, Setting: Setting{Min: 1}, Requested: 120}, 500, 100, phase.Working.Allowed())
	if want := "min: 10: demand is not above 500m in 95.5 % of all cases, a replica may be used up to 50m"; tuner.reasons[0].String() != want {
		t.Errorf("the reason is %q, want %q", tuner.reasons[0], want)
	}
}

// TestTheMinimumIsForWhatPodsHave: a request that is raised leaves as many replicas as before until the pods have it.
func TestTheMinimumIsForWhatPodsHave(t *testing.T) {
	spec := half()
	spec.Bounds.MinRequest, spec.Bounds.MaxRequest = 50, 200
	for requested, want := range map[int64]int{0: 5, 300: 5, 200: 5, 199: 6, 100: 10, 60: 17, 50: 20, 1: 20} {
		tuner := New()
		o := Observed{Now: monday, Setting: Setting{Min: 1}, Requested: requested}
		if got := tuner.minimum(spec, o, 500, 200, phase.Working.Allowed()); got != want {
			t.Errorf("pods request %dm: it is %d, want %d", requested, got, want)
		}
		if told := strings.Contains(tuner.reasons[0].Text, "and not yet 200m"); told != (want > 5) {
			t.Errorf("pods request %dm: the reason is %q", requested, tuner.reasons[0])
		}
	}
}

// steady has seen 1000m of app, and 20m of proxy, at every step of two days, and has fitted to that. It gives the instant after.
func steady() (*Tuner, time.Time) {
	t, spec := New(), half()
	until := monday.Add(2 * 24 * time.Hour)
	for at := monday; at.Before(until); at = at.Add(usage.Step) {
		see(t, at, 1000)
	}
	t.State.Lead = spec.Lead
	t.refit(spec, until)
	return t, until
}

func see(t *Tuner, at time.Time, demand float64) {
	t.Observe(
		usage.Sample{At: at, Container: "app", CPU: demand, Memory: -1, Replicas: 1},
		usage.Sample{At: at, Container: "proxy", CPU: demand / 50, Memory: -1, Replicas: 1},
	)
}

// TestHowLongACollapseCounts: two hours from when demand fell below a fifth, and 15 minutes from when it is back. Samples that are three
// minutes old say nothing.
func TestHowLongACollapseCounts(t *testing.T) {
	tuner, fell := steady()
	spec := half()
	away := func(at time.Time) bool { return tuner.away(spec, Observed{Now: at}) }
	see(tuner, fell, 250)
	if away(fell) {
		t.Error("a quarter is a collapse")
	}
	see(tuner, fell, 100)
	if away(fell.Add(freshnessSlop)) || !away(fell) || !tuner.State.Collapsed.Equal(fell) {
		t.Errorf("a tenth is no collapse, or counted while it was old: %s", tuner.State.Collapsed)
	}
	for after, want := range map[time.Duration]bool{time.Minute: true, freshnessSlop: true, collapseFor - 1: true, collapseFor: false} {
		if got := away(fell.Add(after)); got != want {
			t.Errorf("after %s it counts: %t", after, got)
		}
	}
	back := fell.Add(time.Hour)
	see(tuner, back, 1000)
	if !away(back.Add(freshnessSlop)) || !tuner.State.Returned.IsZero() {
		t.Error("a sample that is old ends a collapse")
	}
	for after, want := range map[time.Duration]bool{0: true, catchUpFor - 1: true, catchUpFor: false} {
		tuner.State.Collapsed, tuner.State.Returned = time.Time{}, back
		if got := away(back.Add(after)); got != want {
			t.Errorf("%s after it came back it counts: %t", after, got)
		}
	}
	tuner.State.Collapsed, tuner.State.Returned = fell, time.Time{}
	if !away(back) || !tuner.State.Collapsed.IsZero() || !tuner.State.Returned.Equal(back) {
		t.Error("demand that is back has not come back")
	}
}

// TestHoursBeginWithThisOne, and each is the largest of its six steps.
func TestHoursBeginWithThisOne(t *testing.T) {
	tuner, spec := New(), half()
	now := monday.Add(2 * 24 * time.Hour)
	for at := monday; at.Before(now); at = at.Add(usage.Step) {
		see(tuner, at, float64(1000+100*at.Hour()+at.Minute()))
	}
	tuner.refit(spec, now)
	for _, minute := range []int{0, 1, 59, 60, 119} {
		at := now.Add(time.Duration(minute) * time.Minute)
		for i, got := range tuner.Hours(spec, at, 100) {
			want := 0
			for k := range 6 {
				hour := now.Add(time.Duration(minute/60+i) * time.Hour)
				want = max(want, replicasFor(spec, tuner.model.Upper(stepOf(hour.Add(time.Duration(k)*usage.Step))), 100))
			}
			if got != want {
				t.Errorf("at minute %d, hour %d needs %d, want %d", minute, i, got, want)
			}
		}
	}
	if hours := New().Hours(spec, now, 100); hours != nil {
		t.Errorf("where nothing is known the hours are %v", hours)
	}
}

// TestWhatIsExpectedByTheMinute: the pattern of 1000m times what demand has been above it lately, one and a half, and a margin of 2 % at most.
func TestWhatIsExpectedByTheMinute(t *testing.T) {
	tuner, now := steady()
	tuner.State.Phase = phase.Working
	lead := int(tuner.State.Lead / time.Minute)
	for minute := minuteOf(now) - 800; minute <= minuteOf(now); minute++ {
		tuner.State.Nowcast.Observe(minute, math.Log(1.5), lead)
	}
	if got := tuner.upper(half(), Observed{Now: now}); got < 1499 || got > 1531 {
		t.Errorf("it is %.0fm", got)
	}
}

// TestViolationsCostMoreWhereDemandWasStrange: more where it spikes, and for two weeks after it collapsed and came back.
func TestViolationsCostMoreWhereDemandWasStrange(t *testing.T) {
	spec := half()
	spec.Profile.Violation = 2
	step := stepOf(monday)
	for _, tc := range []struct {
		reason   string
		spiky    bool
		returned time.Time
		want     float64
	}{
		{"nothing happened", false, time.Time{}, 1},
		{"it spikes", true, time.Time{}, wary},
		{"it is just back", false, monday, wary},
		{"it came back almost two weeks ago", false, monday.Add(-14*24*time.Hour + usage.Step), wary},
		{"it came back two weeks ago", false, monday.Add(-14 * 24 * time.Hour), 1},
	} {
		tuner := New()
		tuner.spiky, tuner.State.Returned = tc.spiky, tc.returned
		if got := tuner.price(spec, step) / spec.Profile.Violation; got != tc.want {
			t.Errorf("%s: %v times as much, want %v", tc.reason, got, tc.want)
		}
	}
}

// TestWhatIsIdleDoesNotCollapse: demand of nothing where nothing is expected is nothing to come back from.
func TestWhatIsIdleDoesNotCollapse(t *testing.T) {
	tuner, spec := New(), half()
	now := monday.Add(2 * 24 * time.Hour)
	for at := monday; !at.After(now); at = at.Add(usage.Step) {
		see(tuner, at, 0)
	}
	tuner.refit(spec, now)
	if expected := tuner.model.Peak(stepOf(now)); expected != 0 {
		t.Fatalf("%v is expected", expected)
	}
	if tuner.away(spec, Observed{Now: now}) || !tuner.State.Collapsed.IsZero() {
		t.Error("it is taken for a collapse")
	}
}
