package mercari

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// week returns formulas that have seen a week of ten replicas, so every slot has a value.
func week(t *testing.T) *Formulas {
	t.Helper()
	k := NewFormulas(c, time.UTC)
	for hour := range hoursOfWeek {
		d := k.Decide(Seen{Now: now.Add(time.Duration(hour-hoursOfWeek) * time.Hour), Replicas: 10, Minimum: 3})
		if filled := hour == hoursOfWeek-1; d.Bound != filled {
			t.Fatalf("after %d slots bounds are set: %t", hour+1, d.Bound)
		}
	}
	return k
}

func cpu(request, target int64, horizontal bool) Resource {
	return Resource{Container: "app", Horizontal: horizontal, Request: request, Target: target, Upper: 2 * target, Limits: c.CPU(0, 0),
		Utilisation: 70}
}

// TestTunerAppliesTheFormulas checks that a decision has the results of the formulas, and that changes wait for their
// intervals.
func TestTunerAppliesTheFormulas(t *testing.T) {
	k := week(t)
	memory := Resource{Container: "app", Memory: true, Request: 1 << 30 * thousandth, Target: 400 << 20 * thousandth,
		Upper: 1 << 30 * thousandth, Limits: c.Memory(0, 0)}
	d := k.Decide(Seen{Now: now, Replicas: 10, Minimum: 3, Resources: []Resource{cpu(1000, 800, true), memory}})
	want := Decision{
		Sizes: []Sized{c.Horizontal(Horizontal{Request: 1000, Stored: 800, Limits: c.CPU(0, 0), Replicas: 10, Minimum: 3, Target: 70}),
			c.Vertical(memory.Request, memory.Target, memory.Limits)},
		RollOut: true, Bound: true, Bounds: Bounds{Min: 5, Max: 20}, Targets: []int32{75, 0}, // 100 - (80 - 70) = 90, five more at most
	}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Error(diff)
	}
	if !k.Moved.Equal(now) || !k.Rolled.Equal(now) {
		t.Errorf("moved %s, rolled %s", k.Moved, k.Rolled)
	}
	moved := cpu(1000, 800, true)
	moved.Utilisation = 75
	again := k.Decide(Seen{Now: now.Add(time.Minute), Replicas: 10, Minimum: 5,
		Resources: []Resource{moved, {Container: "side", Request: 1000, Target: 100, Upper: 200, Limits: c.CPU(0, 0)}}})
	if again.Targets[0] != 75 || again.RollOut {
		t.Errorf("a minute later it sets %+v", again)
	}
	if up := k.Decide(Seen{Now: now.Add(2 * time.Minute), Replicas: 10, Minimum: 5,
		Resources: []Resource{cpu(1000, 1000, false)}}); !up.RollOut || up.Sizes[0].Size != 1210 {
		t.Errorf("up does not wait: %+v", up)
	}
}

// TestTunerKeepsTheValueV checks that V stays the same between target and upper bound, for each container and
// resource.
func TestTunerKeepsTheValueV(t *testing.T) {
	k := NewFormulas(c, time.UTC)
	for _, step := range []struct{ target, want int64 }{{100, 100}, {90, 100}, {40, 40}, {60, 60}} {
		k.Decide(Seen{Now: now, Replicas: 5, Minimum: 3, Resources: []Resource{cpu(1000, step.target, false),
			{Container: "app", Memory: true, Request: 1, Target: 7, Upper: 9}}})
		if k.Values["app/cpu"] != step.want || k.Values["app/memory"] != 7 {
			t.Errorf("with a target of %d V is %v, want %d", step.target, k.Values, step.want)
		}
	}
	if d := k.Decide(Seen{Now: now, Replicas: 5, Resources: []Resource{cpu(1000, 0, true)}}); d.Sizes[0].Size != 1000 ||
		k.Values["app/cpu"] != 60 {
		t.Errorf("without a recommendation it sets %+v", d)
	}
}

// TestTunerInAnEmergency checks that five minutes without metrics begin an emergency. The minimum is then the
// maximum, and
// nothing is recommended until the way back has ended.
func TestTunerInAnEmergency(t *testing.T) {
	k := week(t)
	see := func(after time.Duration, lost bool, minimum int32) Decision {
		return k.Decide(Seen{Now: now.Add(after), Lost: lost, Replicas: 10, Minimum: minimum, Resources: []Resource{cpu(1000, 2000, false)}})
	}
	if d := see(0, true, 5); d.Mode != Working {
		t.Fatalf("at once it is %+v", d)
	}
	if d := see(5*time.Minute, true, 5); d.Mode != Emergency || d.Bounds.Min != 20 || d.Sizes != nil || d.Targets[0] != 0 {
		t.Fatalf("after five minutes it is %+v", d)
	}
	low := *k.Low.At(now)
	minimum := int32(20)
	for minute := 6; ; minute++ {
		d := see(time.Duration(minute)*time.Minute, false, minimum)
		if d.Bounds.Done {
			if d.Mode != Working || d.Bounds.Min != 5 || minimum != 5 {
				t.Errorf("it ends from %d with %+v", minimum, d)
			}
			return
		}
		if want := int32(float64(minimum) * 0.95); d.Mode != BackToNormal || d.Bounds.Min != want || d.Sizes != nil || *k.Low.At(now) != low {
			t.Fatalf("from %d it goes to %+v", minimum, d)
		}
		minimum = d.Bounds.Min
	}
}

// TestTunerRaisesRequestsOfManyReplicas checks that requests grow only when too many replicas are seen for the second
// time. It also checks the case of several Horizontal resources.
func TestTunerRaisesRequestsOfManyReplicas(t *testing.T) {
	k := week(t)
	see := func(after time.Duration, replicas int32, all ...Resource) Decision {
		return k.Decide(Seen{Now: now.Add(after), Replicas: replicas, Minimum: 3, Resources: all})
	}
	if d := NewFormulas(c, time.UTC).Decide(Seen{Now: now, Replicas: 2, Minimum: 2,
		Resources: []Resource{cpu(1000, 500, true)}}); d.Sizes[0].Size != 1000 || d.RollOut {
		t.Errorf("before every slot has a value: %+v", d)
	}
	if d := see(0, 30, cpu(1000, 500, true)); d.Sizes[0].Size != 1000 {
		t.Errorf("the first time: %+v", d)
	}
	if d := see(30*time.Minute, 30, cpu(1000, 500, true)); d.Sizes[0].Size != 1300 {
		t.Errorf("the second time: %+v", d)
	}
	aimed := func(name string, target int64) Resource {
		r := cpu(1000, target, true)
		r.Container, r.Utilisation = name, 80
		return r
	}
	if d := see(time.Hour, 10, aimed("app", 500), aimed("other", 800)); d.Sizes[0].Size != 800 {
		t.Errorf("of two that are Horizontal the one far below the target: %+v", d)
	}
	if d := see(time.Hour, 10, cpu(1000, 500, true)); d.Sizes[0].Size != 1000 {
		t.Errorf("a single one: %+v", d)
	}
}

// TestTunerMovesEveryTarget checks that each Horizontal resource has its own target. A missing metric begins with 70
// %.
// All targets change together, once a day.
func TestTunerMovesEveryTarget(t *testing.T) {
	k := week(t)
	memory := Resource{Container: "app", Memory: true, Horizontal: true, Request: 1000, Target: 850, Upper: 900,
		Limits: Limits{GlobalMax: 1 << 40}, Utilisation: 80}
	none := cpu(1000, 800, true)
	none.Container, none.Utilisation = "new", 0
	see := func(after time.Duration, all ...Resource) []int32 {
		return k.Decide(Seen{Now: now.Add(after), Replicas: 10, Minimum: 3, Resources: all}).Targets
	}
	// 100 - (85 - 80) = 95, at most 90 and five more; 100 - (80 - 70) = 90, five more.
	if got := see(0, memory, cpu(1000, 800, false), none); !cmp.Equal(got, []int32{85, 0, 75}) {
		t.Errorf("the targets are %v", got)
	}
	memory.Utilisation, none.Utilisation = 85, 75
	if got := see(24*time.Hour-time.Second, memory, none); !cmp.Equal(got, []int32{85, 75}) {
		t.Errorf("before a day is over they are %v", got)
	}
	if got := see(24*time.Hour, memory, none); !cmp.Equal(got, []int32{90, 80}) {
		t.Errorf("after a day they are %v", got)
	}
}

// TestManualEmergencyBeginsAtOnceAndEnds checks that an emergency by hand begins at once and ends like any other
// emergency.
func TestManualEmergencyBeginsAtOnceAndEnds(t *testing.T) {
	k := week(t)
	if d := k.Decide(Seen{Now: now, Manual: true, Replicas: 10, Minimum: 5}); d.Mode != Emergency || d.Bounds.Min != 20 {
		t.Errorf("asked for it is %+v", d)
	}
	if d := k.Decide(Seen{Now: now.Add(15 * time.Second), Replicas: 10, Minimum: 20}); d.Mode != BackToNormal || d.Bounds.Min != 19 {
		t.Errorf("taken back it is %+v", d)
	}
}
