package tune_test

import (
	"testing"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/tune"
)

// TestAutoscalerFollowsTheDocumentedAlgorithm follows the documented algorithm of the controller, with one case for
// each rule. The stabilisation window is
// already over, so only the rule of the case counts.
func TestAutoscalerFollowsTheDocumentedAlgorithm(t *testing.T) {
	to := tune.PodSetting{Min: 3, Max: 20, Target: 70}
	for _, tc := range []struct {
		reason  string
		current int
		r       tune.Reading
		want    int
	}{
		{"in proportion, rounded up", 10, reading(840, 10, 0), 12},
		{"by whole percents", 12, reading(819, 12, 0), 14},
		{"within the tolerance above", 10, reading(779, 10, 0), 10},
		{"beyond the tolerance above", 10, reading(780, 10, 0), 12},
		{"within the tolerance below", 10, reading(630, 10, 0), 10},
		{"beyond the tolerance below", 10, reading(500, 10, 0), 8},
		{"at most the maximum", 10, reading(1900, 10, 0), 20},
		{"at least the minimum", 10, reading(10, 10, 0), 3},
		{"at most twice", 6, reading(2000, 6, 0), 12},
		{"at most four more, of few", 3, reading(2000, 3, 0), 7},
		{"pods that are not ready count as idle", 10, reading(1400, 5, 5), 10},
		{"pods that are not ready count as idle, and it is too much still", 6, reading(2000, 4, 2), 12},
		{"not ready ones do not turn up into down", 10, reading(800, 5, 5), 10},
		{"no metrics", 10, tune.Reading{}, 10},
		{"no metrics, but below the minimum", 2, tune.Reading{}, 3},
		{"no metrics, but above the maximum", 25, tune.Reading{}, 20},
		{"asleep", 0, reading(1000, 1, 0), 0},
	} {
		s := tune.Scaler{Window: time.Second}
		s.Sync(-time.Minute, tc.current, to, tune.Reading{})
		if got := s.Sync(0, tc.current, to, tc.r); got != tc.want {
			t.Errorf("%s: %d, want %d", tc.reason, got, tc.want)
		}
	}
}

func reading(usage float64, ready, unready int) tune.Reading {
	return tune.Reading{OK: true, Usage: usage, Request: 1000, Ready: ready, Unready: unready}
}

// TestScalingDownWaits checks that a scale-down stops at the largest recommendation of the last five minutes.
func TestScalingDownWaits(t *testing.T) {
	var s tune.Scaler
	to := tune.PodSetting{Min: 1, Max: 20, Target: 70}
	if got := s.Sync(0, 10, to, reading(700, 10, 0)); got != 10 {
		t.Fatalf("at the target there are %d replicas", got)
	}
	now := tune.SyncPeriod
	for ; now < tune.Window; now += tune.SyncPeriod {
		usage := 350.0
		if now == time.Minute {
			usage = 560 // 8 replicas
		}
		if got := s.Sync(now, 10, to, reading(usage, 10, 0)); got != 10 {
			t.Fatalf("%s after the load fell there are %d replicas", now, got)
		}
	}
	for ; now < tune.Window+time.Minute; now += tune.SyncPeriod {
		if got := s.Sync(now, 10, to, reading(350, 10, 0)); got != 8 {
			t.Fatalf("%s after the load fell there are %d replicas, 8 were recommended within the window", now, got)
		}
	}
	if got := s.Sync(now, 10, to, reading(350, 10, 0)); got != 5 {
		t.Errorf("%s after the load fell there are %d replicas", now, got)
	}
}
