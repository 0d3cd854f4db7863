package tune

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"flyball.dev/flyball/engine/workload"
)

func killed(after time.Duration, mib float64) workload.Sample {
	return workload.Sample{At: monday.Add(after), Container: "app", CPU: -1, Memory: -1, OOMKills: 1, MemoryLimit: mib * mebi}
}

// TestHowLongAKillSpeaks checks that a kill counts for two half-lives. In this time, a kill with a smaller need is
// ignored.
func TestHowLongAKillSpeaks(t *testing.T) {
	const two = 2 * halfLife
	for _, tc := range []struct {
		reason string
		kills  []workload.Sample
		after  time.Duration
		want   float64 // MiB; zero: none speaks
	}{
		{"a second before", []workload.Sample{killed(0, 500)}, two - time.Second, 600},
		{"after two half-lives", []workload.Sample{killed(0, 500)}, two, 0},
		{"a greater one", []workload.Sample{killed(0, 500), killed(time.Hour, 1000)}, two, 1200},
		{"one that is equal speaks anew", []workload.Sample{killed(0, 500), killed(halfLife, 500)}, two + time.Hour, 600},
		{"a lesser one does not", []workload.Sample{killed(0, 500), killed(halfLife, 400)}, two, 0},
		{"and not while the greater one speaks", []workload.Sample{killed(0, 500), killed(two-time.Second, 400)}, two - time.Second, 600},
		{"a lesser one when the greater one falls silent", []workload.Sample{killed(0, 500), killed(two, 400)}, two, 480},
		{"a lesser one after that", []workload.Sample{killed(0, 500), killed(two+time.Hour, 400)}, two + time.Hour, 480},
	} {
		target := &Usage{}
		for _, s := range tc.kills {
			target.Add(s)
		}
		target.Add(workload.Sample{At: monday.Add(tc.after), Container: "app", CPU: 100, Memory: -1, Replicas: 1})
		if got := target.Memory("app", 0); tc.want > 0 && got != tc.want*mebi {
			t.Errorf("%s: memory is %v MiB, want %v", tc.reason, got/mebi, tc.want)
		}
		// Without a kill, the lowest quantile of the histogram is the bound of the lowest bucket, and no whole number of
		// MiB.
		if got := target.Memory("app", 0) / mebi; tc.want == 0 && got == math.Trunc(got) {
			t.Errorf("%s: a kill speaks still, for %v MiB", tc.reason, got)
		}
	}
}

// TestAKillWeighsAsManySamples checks that a kill counts as 400 samples of 1.2 * 500 MiB. These are in bucket 56, as
// 1.12^56 = 570 and 1.12^57 = 639.
func TestAKillWeighsAsManySamples(t *testing.T) {
	target := &Usage{}
	s := killed(0, 500)
	s.OOMKills = 2
	target.Add(s)
	target.Add(sample(monday, 100, 1))
	memory := target.containers[0].memory
	if memory.weights[56] != 800 || memory.weights[40] != 1 || memory.total() != 801 {
		t.Errorf("600 MiB weigh %v, 100 MiB %v, all %v", memory.weights[56], memory.weights[40], memory.total())
	}
}

func TestALimitAloneTeachesNothing(t *testing.T) {
	target := &Usage{}
	s := sample(monday, 100, 1)
	s.MemoryLimit = 500 * mebi
	target.Add(s)
	if got := target.Memory("app", 1); !exactly(got, place(41)*mebi) {
		t.Errorf("memory is %v MiB", got/mebi)
	}
}

func TestSamplesWithoutPods(t *testing.T) {
	target := &Usage{}
	target.Add(workload.Sample{At: monday, Container: "app", CPU: 100, Memory: 100 * mebi})
	if !target.Newest().IsZero() || target.Span() != 0 {
		t.Error("a sample without pods is one")
	}
	s := killed(0, 500)
	s.CPU, s.Memory = 100, 100*mebi
	target.Add(s)
	if target.containers[0].memory.weights[40] != 0 || target.Demand("app").Last() != 0 {
		t.Error("a kill without pods that are ready teaches usage")
	}
	if !target.Newest().Equal(monday) {
		t.Error("a kill is no sample")
	}
}

func TestZeroIsKnown(t *testing.T) {
	target := &Usage{}
	target.Add(workload.Sample{At: monday, Container: "app", Replicas: 1})
	c := target.containers[0]
	if c.memory.weights[0] != 1 {
		t.Errorf("a pod that uses nothing teaches nothing: %v", c.memory.total())
	}
	if p := target.Demand("app").At(stepOf(monday)); p != (Point{Known: true}) {
		t.Errorf("its demand is %+v", p)
	}
}

func TestSpanFirstAndNewest(t *testing.T) {
	target := &Usage{}
	if !target.First().IsZero() || !target.Newest().IsZero() || target.Span() != 0 {
		t.Errorf("without samples the span is %s from %s until %s", target.Span(), target.First(), target.Newest())
	}
	for _, seconds := range []int{0, 90, 30} {
		target.Add(sample(monday.Add(time.Duration(seconds)*time.Second), 100, 1))
	}
	if target.Span() != 90*time.Second || target.First() != monday || target.Newest() != monday.Add(90*time.Second) {
		t.Errorf("the span is %s from %s until %s", target.Span(), target.First(), target.Newest())
	}
}

// TestFullModelForgetsOnlyContainersMissingInTheTarget checks that containers are forgotten only if there is no
// room, and only those that the
// target does not have.
func TestFullModelForgetsOnlyContainersMissingInTheTarget(t *testing.T) {
	target := &Usage{}
	add := func(name string, used float64) {
		s := sample(monday, used, 1)
		s.Container = name
		target.Add(s)
	}
	for i := range MaxContainers - 1 {
		add(fmt.Sprint(i), 100+float64(i))
	}
	has := func(name string) bool { return name == "2" || name == "5" }
	if target.MakeRoom(has); len(target.Containers()) != MaxContainers-1 {
		t.Errorf("with room for one more, %q are left", target.Containers())
	}
	add("last", 300)
	if add("new", 400); target.Demand("new") != nil {
		t.Error("more containers are learnt than there is room for")
	}
	if target.MakeRoom(has); !slices.Equal(target.Containers(), []string{"2", "5"}) {
		t.Errorf("without room, %q are left", target.Containers())
	}
	add("new", 400)
	for name, want := range map[string]float64{"2": 102, "5": 105, "new": 400} {
		if got := target.Demand(name); got == nil || got.Latest() != want {
			t.Errorf("the demand of %s is not %v", name, want)
		}
	}
}

func TestResetForgetsOneContainer(t *testing.T) {
	target := &Usage{}
	for _, name := range []string{"app", "proxy"} {
		s := sample(monday, 100, 1)
		s.Container = name
		target.Add(s)
	}
	target.Reset("app")
	if target.Memory("app", 1) != 0 || target.Memory("proxy", 1) == 0 || target.Demand("app").Last() != 0 ||
		target.Demand("proxy").Last() == 0 {
		t.Error("another one than app was forgotten")
	}
}

// TestNumbersThatSayNothing checks that negative numbers, numbers beyond any usage, and NaN become unknown.
func TestNumbersThatSayNothing(t *testing.T) {
	for v, want := range map[float64]float64{0: 0, 5: 5, 1 << 60: 1 << 60, 1<<60 + 1<<10: -1, -1: -1, math.Inf(1): -1, math.NaN(): -1} {
		got := Finite(workload.Sample{CPU: v, Memory: v, MemoryLimit: v})
		if got.CPU != want || got.Memory != want || got.MemoryLimit != max(want, 0) {
			t.Errorf("of %v are left %v, %v and %v", v, got.CPU, got.Memory, got.MemoryLimit)
		}
	}
}
