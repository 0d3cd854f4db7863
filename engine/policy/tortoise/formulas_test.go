package tortoise_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// TestProfileTortoise checks that requests are advised as soon as there are samples. Bounds and target utilisation are
// advised only once every hour of the week was seen.
func TestProfileTortoise(t *testing.T) {
	p := compile(t, `{mode: Auto, profile: Tortoise}`)
	m := learner(t, p)
	first := live(t, m, own(), 24*time.Hour)
	a := first.Advice
	if a == nil || first.Report.Phase != "PartlyWorking" || a.Min != nil || a.Max != nil || len(a.Targets) > 0 {
		t.Fatalf("after a day it finds %+v", first)
	}
	if cpu, memory := a.Amounts[amountOf("app", workload.CPU)], a.Amounts[amountOf("proxy", workload.Memory)]; cpu != 1000 ||
		memory >= 128<<20 {
		t.Errorf("after a day it asks for %dm, and %d MiB beside it: what is scaled by replicas waits", cpu, memory>>20)
	}
	if st := first.Report; st.Demand != nil || *st.Autoscaler.Min.Own != 5 || st.Autoscaler.Min.Recommended != 5 ||
		!strings.Contains(st.Autoscaler.Max.Reason, "it stays") {
		t.Errorf("after a day it reports %+v", st.Autoscaler)
	}
	later := live(t, learner(t, p), own(), 8*24*time.Hour)
	a = later.Advice
	// Half of five replicas is three, and twice is ten.
	if later.Report.Phase != "Working" || a == nil || a.Min == nil || *a.Min != 3 || *a.Max != 10 {
		t.Fatalf("after a week it finds %+v, asks for %+v", later.Report.Phase, a)
	}
	if n := a.Targets[workload.Amount{Kind: workload.AmountUtilisation, Resource: workload.CPU}]; n != 60 {
		t.Errorf("from 50 %%, and five more a day, the target is %d %%", n)
	}
	memory := workload.Amount{Kind: workload.AmountUtilisation, Resource: workload.Memory}
	if n, asked := a.Targets[memory]; !asked || n != 70 {
		t.Errorf("the target for memory, which has a metric too, is %d %%", n)
	}
	if len(later.Report.Autoscaler.MinByHour) != 24 {
		t.Errorf("by hour it is %v", later.Report.Autoscaler.MinByHour)
	}
}

// TestProfileTortoiseIsKept checks that a restart loses nothing. Another profile begins anew, without an error.
func TestProfileTortoiseIsKept(t *testing.T) {
	p := compile(t, `{mode: Auto, profile: Tortoise}`)
	m := learner(t, p)
	found := live(t, m, own(), 8*24*time.Hour)
	kept := m.Keep()
	if len(kept) == 0 || len(kept) > 64<<10 {
		t.Fatalf("it keeps %d bytes", len(kept))
	}
	again, err := p.Tuner.NewLearner(kept)
	if err != nil {
		t.Fatal(err)
	}
	next := own()
	next.Now, next.Since = noon.Add(4*time.Minute), noon.Add(-8*24*time.Hour)
	for _, one := range []policy.Learner{m, again} {
		observe(one, next.Now)
	}
	a, b := m.Decide(next), again.Decide(next)
	if diff := cmp.Diff(a.Advice, b.Advice); diff != "" || !b.Advice.SameBounds(found.Advice) {
		t.Errorf("after a restart it asks for something else: %s", diff)
	}
	balanced := compile(t, `{mode: Auto}`)
	other, err := balanced.Tuner.NewLearner(kept)
	if err != nil {
		t.Fatal(err)
	}
	adopted := balanced.Tuner.Adopt(m)
	for _, m := range []policy.Learner{other, adopted} {
		if found := live(t, m, own(), 10*time.Minute); found.Report.Phase != "GatheringData" || found.Advice != nil {
			t.Errorf("another profile finds %+v", found.Report)
		}
	}
}

// TestProfileTortoiseFollowsTheSpec checks that limits hold, that unnamed containers are not changed, and that mode Off
// recommends at most one step.
func TestProfileTortoiseFollowsTheSpec(t *testing.T) {
	found := live(t, learner(t, compile(t,
		`{mode: Auto, profile: Tortoise, resources: [{container: app, memory: Vertical, min: {memory: 900Mi}}], vertical: {maxStepDown: 50%}}`)),
		own(), time.Hour)
	asked := found.Advice.Amounts
	if asked[amountOf("app", workload.Memory)] != 900<<20 || asked[amountOf("proxy", workload.Memory)] != 128<<20 ||
		asked[amountOf("proxy", workload.CPU)] != 100 {
		t.Errorf("it asks for %v", asked)
	}
	if !slices.ContainsFunc(found.Report.Reasons, func(s string) bool { return strings.Contains(s, "does not name") }) {
		t.Errorf("nothing says why: %v", found.Report.Reasons)
	}
	off := live(t, learner(t, compile(t, `{profile: Tortoise}`)), own(), 3*24*time.Hour)
	for _, c := range off.Report.Containers {
		if c.Name == "proxy" && c.Memory.Recommended.Value() != 103<<20 { // 0.8 of 128 MiB, in whole MiB
			t.Errorf("in mode Off it recommends %s", c.Memory.Recommended.String())
		}
	}
}
