package decide_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy"
)

// The autoscaler's bounds are extended to the size, then the size is written, then the autoscaler gets the
// rest of its bounds. If all bounds came first, the autoscaler would scale to its new minimum at the same time
// and overwrite the size.
func TestSizeSetOnceIsWrittenBetweenTwoBoundsWrites(t *testing.T) {
	values := func(low, high, count int64) v1alpha1.TriggerValues {
		return v1alpha1.TriggerValues{Min: &low, Max: &high, Replicas: &count}
	}
	for _, tc := range []struct {
		reason    string
		count     int
		low, high int
		values    v1alpha1.TriggerValues
		want      []string
	}{
		{"above the old maximum", 2, 2, 4, values(3, 11, 5), []string{"maxReplicas 4 -> 5", "replicas 2 -> 5",
			"minReplicas 2 -> 3, maxReplicas 5 -> 11"}},
		{"below the old minimum", 6, 5, 10, values(1, 3, 2), []string{"minReplicas 5 -> 2", "replicas 6 -> 2",
			"minReplicas 2 -> 1, maxReplicas 10 -> 3"}},
		{"inside both", 3, 1, 9, values(6, 9, 7), []string{"replicas 3 -> 7", "minReplicas 1 -> 6"}},
		{"cut to the new bounds", 2, 2, 4, values(3, 7, 9), []string{"maxReplicas 4 -> 7", "replicas 2 -> 7", "minReplicas 2 -> 3"}},
		{"right already", 5, 2, 6, values(3, 11, 5), []string{"replicas: noted", "minReplicas 2 -> 3, maxReplicas 6 -> 11"}},
		{"from zero, which is the owner's", 0, 2, 4, values(3, 11, 5),
			[]string{"maxReplicas 4 -> 5", "replicas 0 -> 5", "minReplicas 2 -> 3, maxReplicas 5 -> 11"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			w := memory(t, []policy.Object{peakAt(tc.values)}, webAt(tc.count), hpaOf(tc.low, tc.high))
			writes, err := decide.Simulate(w, evening, evening.Add(time.Hour))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, write := range writes {
				if len(write.Edits) == 0 {
					write.Message = "replicas: noted"
				}
				got = append(got, write.Message)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The gate names the size as reason, but not if the size can never be written.
func TestAutoscalerBoundsWaitForTheSize(t *testing.T) {
	tr := peakAt(v1alpha1.TriggerValues{Min: new(int64(3)), Max: new(int64(11)), Replicas: new(int64(5))})
	w := memory(t, []policy.Object{tr}, webAt(2), hpaOf(2, 4))
	v := decide.Target(w, hpa, evening, nil)
	if v.Gate.Kind != decide.GateOther || v.Gate.First != web {
		t.Errorf("the autoscaler waits for %s (%s), want the Deployment first", v.Gate.First, v.Gate.Reason)
	}
	if v := decide.Target(blocked{w, web.GroupKind}, hpa, evening, nil); v.Gate.Kind != decide.GateOpen {
		t.Errorf("the autoscaler waits for a Deployment that cannot be written: %s", v.Gate.Reason)
	}
}

// A Deployment inside the bounds of its autoscaler never leaves them.
func TestSizesSetOnceStayInsideBounds(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 192))
		low := 1 + r.IntN(6)
		high := low + r.IntN(6)
		count := low + r.IntN(high-low+1)
		values := v1alpha1.TriggerValues{Replicas: new(1 + r.Int64N(12))}
		if r.IntN(3) > 0 {
			values.Min = new(1 + r.Int64N(8))
		}
		if r.IntN(3) > 0 {
			values.Max = new(int64(low) + r.Int64N(8))
			if values.Min != nil {
				*values.Max = max(*values.Max, *values.Min)
			}
		}
		w := memory(t, []policy.Object{peakAt(values)}, webAt(count), hpaOf(low, high))
		size := int64(0)
		for write, err := range decide.Writes(w, evening, evening.Add(time.Hour)) {
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			size = rawjson.GetBytes(w.Raw(web), "spec.replicas").Int()
			bounds := rawjson.GetBytes(w.Raw(hpa), "spec")
			if size < bounds.Get("minReplicas").Int() || size > bounds.Get("maxReplicas").Int() {
				t.Fatalf("seed %d: after %s %q it is %d in %s", seed, write.Target.Kind, write.Message, size, bounds.Raw)
			}
		}
		bounds := rawjson.GetBytes(w.Raw(hpa), "spec")
		if want := min(max(*values.Replicas, bounds.Get("minReplicas").Int()), bounds.Get("maxReplicas").Int()); size != want {
			t.Errorf("seed %d: the size is %d, want %d of %d in %s", seed, size, want, *values.Replicas, bounds.Raw)
		}
		if high := bounds.Get("maxReplicas").Int(); values.Max != nil && high != *values.Max {
			t.Errorf("seed %d: the maximum is %d, want %d", seed, high, *values.Max)
		} else if low := bounds.Get("minReplicas").Int(); values.Min != nil && low != min(*values.Min, high) {
			t.Errorf("seed %d: the minimum is %d, want %d of at most %d", seed, low, *values.Min, high)
		}
	}
}
