package tortoise_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// TestReasonsDisappearWithTheirContainer checks that the reasons of a container disappear with the container. A
// request that begins
// again does not keep its old reason.
func TestReasonsDisappearWithTheirContainer(t *testing.T) {
	p := compile(t, `{mode: Auto}`)
	m := learner(t, p)
	before := live(t, m, own(), 3*24*time.Hour).Report
	told := before.Containers[0].CPU.Reason
	if told == "" || !strings.Contains(strings.Join(before.Reasons, "\n"), "proxy memory: ") {
		t.Fatalf("it tells %q and %q", told, before.Reasons)
	}
	seen := own()
	seen.Own = seen.Own[:1]
	seen.Own[0].Requests.MilliCPU = 3000
	seen.Now = noon.Add(2 * time.Minute)
	m.Observe(workload.Sample{At: seen.Now, Container: "app", CPU: 300, Memory: 100 << 20, Replicas: 5})
	found := m.Decide(seen)
	for _, line := range append(found.Report.Reasons, found.Advice.Lines...) {
		if strings.Contains(line, "proxy") {
			t.Errorf("of a container that has gone it tells %q", line)
		}
	}
	if cpu := found.Report.Containers[0].CPU; cpu.Recommended.MilliValue() != 3000 || cpu.Reason == told ||
		!strings.Contains(cpu.Reason, "its owner has it") {
		t.Errorf("of what the owner has changed it tells %+v", cpu)
	}
	again := m.Keep()
	other, err := p.Tuner.NewLearner(again)
	if err != nil {
		t.Fatal(err)
	}
	seen.Now = seen.Now.Add(2 * time.Minute)
	if cpu := other.Decide(seen).Report.Containers[0].CPU; !strings.Contains(cpu.Reason, "its owner has it") {
		t.Errorf("after a restart it tells %+v", cpu)
	}
}

// TestMinimumOfZeroIsRecommendedUnchanged checks that a minimum of zero, which is not changed, is also the
// recommended minimum.
func TestMinimumOfZeroIsRecommendedUnchanged(t *testing.T) {
	for _, mode := range []string{"Off", "Auto"} {
		seen := own()
		*seen.Autoscaler.Bounds.Min = 0
		found := live(t, learner(t, compile(t, `{mode: "`+mode+`"}`)), seen, 3*24*time.Hour)
		if a := found.Report.Autoscaler; found.Advice.Min != nil || a.Min.Recommended != 0 || !strings.Contains(a.Min.Reason, "left alone") {
			t.Errorf("%s: it asks for %v, and tells %+v", mode, found.Advice.Min, a.Min)
		}
	}
}

// TestAClockThatWasAhead checks that times from a clock that was ahead count as now.
func TestAClockThatWasAhead(t *testing.T) {
	p := compile(t, `{mode: Auto}`)
	m := learner(t, p)
	live(t, m, own(), 3*24*time.Hour)
	m, err := p.Tuner.NewLearner(m.Keep())
	if err != nil {
		t.Fatal(err)
	}
	seen := own()
	seen.Now = noon.Add(-24 * time.Hour)
	found := m.Decide(seen)
	if a := found.Advice; a.AmountsSince.After(seen.Now) || a.BoundsSince.After(seen.Now) || found.Report.DecidedTime.After(seen.Now) {
		t.Errorf("at %s it asks for amounts as of %s and for bounds as of %s", seen.Now, a.AmountsSince, a.BoundsSince)
	}
}

// TestNumbersBeyondMeasure checks that no reported number is negative, even with huge measurements.
func TestNumbersBeyondMeasure(t *testing.T) {
	m := learner(t, compile(t, `{}`))
	seen := own()
	var found policy.Found
	for at := noon.Add(-2 * time.Hour); at.Before(noon); at = at.Add(time.Minute) {
		m.Observe(workload.Sample{At: at, Container: "app", CPU: 1e18, Memory: 1e18, Replicas: 100_000})
		seen.Now = at
		found = m.Decide(seen)
	}
	if d := found.Report.Demand; d == nil || d.Expected.Sign() < 0 || d.Upper.Sign() < 0 {
		t.Errorf("the demand is %+v", d)
	}
	for key, n := range found.Advice.Amounts {
		if n <= 0 {
			t.Errorf("%s is %d", key, n)
		}
	}
}

// TestAMaximumWithoutEnd uses the huge maxima with which some owners want no limit. Such a maximum stays, and the
// learnt
// state survives a restart.
func TestAMaximumWithoutEnd(t *testing.T) {
	for most, want := range map[int64]int32{999_999: 999_999, math.MaxInt32: math.MaxInt32, math.MaxInt64: math.MaxInt32} {
		p := compile(t, `{mode: Auto}`)
		m, seen := learner(t, p), own()
		*seen.Autoscaler.Bounds.Max = most
		found := live(t, m, seen, 2*24*time.Hour)
		if a := found.Report.Autoscaler; *a.Max.Own != want || a.Max.Recommended != want {
			t.Errorf("of %d it tells %d, and recommends %d", most, *a.Max.Own, a.Max.Recommended)
		}
		again, err := p.Tuner.NewLearner(m.Keep())
		if err != nil {
			t.Errorf("with %d: %v", most, err)
			continue
		}
		seen.Now, seen.Since = noon.Add(time.Minute), noon
		if phase := again.Decide(seen).Report.Phase; phase != found.Report.Phase {
			t.Errorf("with %d it is %s after a restart, and was %s", most, phase, found.Report.Phase)
		}
	}
}
