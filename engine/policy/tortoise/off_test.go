package tortoise_test

import (
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// TestOffAndLimits checks that requests stay if they are Off or the owner does not set them. Explicit limits hold.
func TestOffAndLimits(t *testing.T) {
	p := compile(t,
		`{mode: Auto, resources: [{container: proxy, cpu: "Off", memory: "Off"}, {container: app, min: {memory: 700Mi, cpu: 800m}}]}`)
	seen := own()
	seen.Own = append(seen.Own, workload.Allocation{Component: "zero"})
	found := live(t, learner(t, p), seen, 3*24*time.Hour)
	a := found.Advice
	for _, never := range []workload.Amount{amountOf("proxy", workload.CPU), amountOf("proxy", workload.Memory),
		amountOf("zero", workload.CPU)} {
		if _, asked := a.Amounts[never]; asked {
			t.Errorf("it asks for %s", never)
		}
	}
	if cpu, memory := a.Amounts[amountOf("app", workload.CPU)], a.Amounts[amountOf("app", workload.Memory)]; cpu < 800 || memory < 700<<20 {
		t.Errorf("it asks for %dm and %d MiB", cpu, memory>>20)
	}
	proxy := found.Report.Containers[1]
	if proxy.CPU.Reason != "spec.resources says Off" || proxy.CPU.Recommended.Cmp(*proxy.CPU.Own) != 0 {
		t.Errorf("the proxy has %+v", proxy.CPU)
	}
	stray := compile(t, `{resources: [{container: nobody}]}`)
	if found := live(t, learner(t, stray), own(), time.Hour); !strings.Contains(found.Trouble, "container nobody, which it does not have") {
		t.Errorf("the trouble is %q", found.Trouble)
	}
	bare := own()
	bare.Own = nil
	if found := live(t, learner(t, stray), bare, time.Hour); found.Advice != nil || found.Trouble == "" {
		t.Errorf("of a target without requests it finds %+v", found)
	}
}

// TestRequestsThatAreOffDelayNoOtherChange checks that no other change waits for a request that is Off.
func TestRequestsThatAreOffDelayNoOtherChange(t *testing.T) {
	p := compile(t, `{mode: Auto, resources: [{container: proxy, cpu: "Off", memory: "Off"}, {container: app, memory: "Off"}]}`)
	a := live(t, learner(t, p), own(), 3*24*time.Hour).Advice
	if cpu := a.Amounts[amountOf("app", workload.CPU)]; cpu == 0 || cpu > 600 {
		t.Errorf("it asks for %dm after three days", cpu)
	}
	if _, asked := a.Amounts[amountOf("app", workload.Memory)]; asked {
		t.Error("it asks for memory, which is Off")
	}
}

// TestAnEditByTheOwnerCounts: tuning begins again from the owner's present requests.
func TestAnEditByTheOwnerCounts(t *testing.T) {
	p := compile(t, `{mode: Auto}`)
	m := learner(t, p)
	live(t, m, own(), 3*24*time.Hour)
	seen := own()
	seen.Own[0].Requests.MilliCPU = 3000
	seen.Now = noon.Add(2 * time.Minute)
	observe(m, seen.Now)
	found := m.Decide(seen)
	if got := found.Advice.Amounts[amountOf("app", workload.CPU)]; got != 3000 || !found.Advice.AmountsSince.Equal(seen.Now) {
		t.Errorf("it asks for %dm since %s", got, found.Advice.AmountsSince)
	}
}
