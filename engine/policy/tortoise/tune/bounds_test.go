package tune

import (
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// half returns a spec with pods of 100m. With its headroom each pod serves 50m, and there are 1 to 100 pods.
func half() Spec {
	spec := Defaults(Profile{Name: "half", Headroom: 0.5, Violation: 4, MemoryMargin: 1, Share: 0.5}, "app")
	spec.Bounds = Bounds{Min: 1, Max: 100, MinRequest: 100, MaxRequest: 100}
	return spec
}

// steady returns a tuner that has seen 1000m of app and 20m of proxy in every minute of two days, and that has chosen pods
// of 100m. It also returns the instant after the last sample.
func steady() (*Tuner, time.Time) {
	t := New()
	until := monday.Add(2 * 24 * time.Hour)
	for at := monday; at.Before(until); at = at.Add(Step) {
		see(t, at, 1000)
	}
	t.State.Chosen, t.State.Moved, t.State.Aim = until, until, Aim{Request: 100}
	return t, until
}

func see(t *Tuner, at time.Time, demand float64) {
	t.Observe(
		workload.Sample{At: at, Container: "app", CPU: demand, Memory: -1, Replicas: 1},
		workload.Sample{At: at, Container: "proxy", CPU: demand / 50, Memory: -1, Replicas: 1},
	)
}

// TestTheNextMinimum checks, for each phase, how the minimum follows from the present minimum, the planned minimum
// and the
// present pods. In an emergency it covers the seen demand of 1000m.
func TestTheNextMinimum(t *testing.T) {
	for _, tc := range []struct {
		reason                            string
		phase                             Phase
		current, planned, enough, present int
		want                              int
	}{
		{"up at once", Working, 10, 11, 0, 0, 11},
		{"as it is", Working, 10, 10, 0, 0, 10},
		{"down at once", Working, 10, 9, 0, 0, 9},
		{"not below what is enough for a request that falls", Working, 10, 5, 7, 0, 7},
		{"never down in an emergency", Emergency, 25, 3, 0, 4, 25},
		{"no pod that is there goes in an emergency", Emergency, 5, 3, 0, 27, 27},
		{"but for those that are too many", Emergency, 5, 3, 0, 200, 100},
		{"the maximum has been lowered since", Emergency, 120, 3, 0, 4, 100},
		{"up in an emergency, to what was planned", Emergency, 5, 29, 0, 7, 29},
		{"up in an emergency, to what demand has been", Emergency, 5, 9, 0, 7, 20},
		{"not down on the way back", BackToNormal, 30, 5, 0, 4, 30},
		{"up on the way back, to what is planned and not to what is there", BackToNormal, 5, 9, 0, 27, 9},
	} {
		tuner, now := steady()
		tuner.State.Phase, tuner.State.Aim.Floor = tc.phase, float64(100*tc.planned)
		o := Observed{Now: now, Setting: Setting{Min: tc.current}, Replicas: tc.present}
		got := tuner.minimum(half(), o, 100, tc.enough, tc.phase.Allowed())
		if got != tc.want {
			t.Errorf("%s: it is %d, want %d", tc.reason, got, tc.want)
		}
	}
}

// TestTheMinimumStaysUntilADayIsKnown checks that the minimum stays within the bounds of the spec, and is otherwise
// not
// changed.
func TestTheMinimumStaysUntilADayIsKnown(t *testing.T) {
	tuner, now := steady()
	tuner.State.Chosen, tuner.State.Phase = time.Time{}, PartlyWorking
	for current, want := range map[int]int{7: 7, 120: 100, 0: 1} {
		tuner.reasons = nil
		if got := tuner.minimum(half(), Observed{Now: now, Setting: Setting{Min: current}}, 100, 0, PartlyWorking.Allowed()); got != want {
			t.Errorf("of %d it becomes %d, want %d", current, got, want)
		}
		if !strings.HasSuffix(tuner.reasons[0].Text, ": it stays until a day is known") {
			t.Errorf("it says %v", tuner.reasons)
		}
	}
}

// TestMinimumFitsTheRequestsOfPods checks that a larger request does not reduce the minimum until the pods have this
// request.
func TestMinimumFitsTheRequestsOfPods(t *testing.T) {
	spec := half()
	spec.Bounds.MinRequest, spec.Bounds.MaxRequest = 50, 200
	for requested, want := range map[int64]int{0: 5, 300: 5, 200: 5, 199: 6, 100: 10, 60: 17, 50: 20, 1: 20} {
		tuner, now := steady()
		tuner.State.Aim.Share, tuner.State.Phase = 1, Working
		o := Observed{Now: now, Setting: Setting{Min: 1}, Requested: requested}
		if got := tuner.minimum(spec, o, 200, 0, Working.Allowed()); got != want {
			t.Errorf("pods request %dm: it is %d, want %d", requested, got, want)
		}
		if told := strings.Contains(tuner.reasons[0].Text, "and not yet 200m"); told != (want > 5) {
			t.Errorf("pods request %dm: the reason is %q", requested, tuner.reasons[0])
		}
	}
}
