package tortoise

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// learnerOf returns a learner of a target with three containers. The last container has no requests.
func learnerOf(t *testing.T, text string) *learner {
	t.Helper()
	r, errs := rulesOf(t, text)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	m, err := newLearner(&r, nil)
	if err != nil {
		t.Fatal(err)
	}
	m.Own = map[string]tune.Requests{"app": {CPU: 1000, Memory: 100}, "big": {CPU: 2000, Memory: 200}, "bare": {}}
	m.Setting.Requests = map[string]tune.Requests{"app": {CPU: 700, Memory: 90}, "big": {CPU: 2100, Memory: 150}, "bare": {}}
	m.Reasons = map[string]string{}
	return m
}

func autoscaler(utilisation ...workload.Utilisation) *policy.SeenAutoscaler {
	return &policy.SeenAutoscaler{Ref: workload.Ref{Namespace: "shop", Name: "web"}, Utilisation: utilisation}
}

func cpuOf(container string, percent int64) workload.Utilisation {
	return workload.Utilisation{Resource: workload.CPU, Container: container, Percent: percent}
}

// TestWhichIsScaled checks the order of choice: the container of the spec, of the autoscaler, of the last decision,
// or the
// one with the largest request. Only a container with a request for CPU is scaled.
func TestWhichIsScaled(t *testing.T) {
	horizontal := `{resources: [{container: %s, cpu: Horizontal}]}`
	memory := workload.Utilisation{Resource: workload.Memory, Container: "app", Percent: 60}
	for _, tc := range []struct {
		reason, spec, was string
		autoscaler        *policy.SeenAutoscaler
		want              string
	}{
		{"the spec", fmt.Sprintf(horizontal, "app"), "big", autoscaler(cpuOf("big", 50)), "app"},
		{"the spec names one without a request", fmt.Sprintf(horizontal, "bare"), "", nil, "big"},
		{"the spec names all", fmt.Sprintf(horizontal, `"*"`), "", nil, "big"},
		{"the spec has another Vertical", `{resources: [{container: app, cpu: Vertical}]}`, "", nil, "big"},
		{"the autoscaler", `{}`, "big", autoscaler(cpuOf("app", 50)), "app"},
		{"the autoscaler looks at one without a request", `{}`, "", autoscaler(cpuOf("bare", 50)), "big"},
		{"the autoscaler looks at whole pods", `{}`, "app", autoscaler(cpuOf("", 50)), "app"},
		{"the autoscaler looks at memory", `{}`, "", autoscaler(memory), "big"},
		{"it was", `{}`, "app", nil, "app"},
		{"it was one that has no request any more", `{}`, "bare", nil, "big"},
	} {
		m := learnerOf(t, tc.spec)
		m.Scaled = tc.was
		if got := m.scaledAmong(policy.Seen{Autoscaler: tc.autoscaler}); got != tc.want {
			t.Errorf("%s: %s is scaled, want %s", tc.reason, got, tc.want)
		}
	}
	m := learnerOf(t, `{}`)
	m.Own = map[string]tune.Requests{"b": {CPU: 5}, "a": {CPU: 5}, "c": {CPU: 5}}
	if got := m.scaledAmong(policy.Seen{}); got != "a" {
		t.Errorf("of several that request as much %s is scaled", got)
	}
}

// TestWhenReplicasAreTuned checks that replicas are tuned if the target has an autoscaler and the spec does not
// exclude
// the scaled container.
func TestWhenReplicasAreTuned(t *testing.T) {
	for how, want := range map[string]bool{"": true, "cpu: Horizontal": true, "cpu: Vertical": false, `cpu: "Off"`: false} {
		m := learnerOf(t, `{resources: [{container: app, `+how+`}]}`)
		m.Scaled = "app"
		if got := m.horizontal(policy.Seen{Autoscaler: autoscaler()}); got != want {
			t.Errorf("with %q replicas are tuned: %t", how, got)
		}
		if m.horizontal(policy.Seen{}) {
			t.Errorf("with %q replicas are tuned that nothing governs", how)
		}
	}
}

// TestOnlyRequestsSetByTheOwnerAreTuned checks that exactly the requests are tuned that the owner sets and that are
// not Off.
func TestOnlyRequestsSetByTheOwnerAreTuned(t *testing.T) {
	m := learnerOf(t, `{resources: [{container: big, cpu: "Off", memory: "Off"}]}`)
	for name, want := range map[string]bool{"app": true, "big": false, "bare": false, "none": false} {
		if cpu, memory := m.tunes(name, workload.CPU), m.tunes(name, workload.Memory); cpu != want || memory != want {
			t.Errorf("%s: CPU %t, memory %t", name, cpu, memory)
		}
	}
}

// TestTheTargetOfAContainer checks that a container has its own target for CPU, or the one of whole pods. A target
// for
// memory does not count.
func TestTheTargetOfAContainer(t *testing.T) {
	g := autoscaler(workload.Utilisation{Resource: workload.Memory, Percent: 60}, cpuOf("proxy", 40), cpuOf("app", 50))
	for name, want := range map[string]int{"app": 50, "proxy": 40, "other": 0} {
		if got := utilisationOf(g, name); got != want {
			t.Errorf("%s: %d", name, got)
		}
	}
	if got := utilisationOf(autoscaler(cpuOf("", 70)), "app"); got != 70 {
		t.Errorf("that of whole pods is %d", got)
	}
}

// TestMissingAndSurplusContainersAreReported checks that two things are reported: a container in the spec that does
// not exist, and more containers than
// can be learnt.
func TestMissingAndSurplusContainersAreReported(t *testing.T) {
	m := learnerOf(t, `{resources: [{container: app}, {cpu: Vertical}]}`)
	seen := policy.Seen{Own: workload.Allocations{{Component: "app"}}}
	for n := len(seen.Own); n <= tune.MaxContainers+1; n++ {
		got, want := m.trouble(seen), ""
		if n > tune.MaxContainers {
			want = "it has more containers than are learnt of"
		}
		if got != want {
			t.Errorf("with %d containers the trouble is %q", n, got)
		}
		seen.Own = append(seen.Own, workload.Allocation{Component: fmt.Sprint(n)})
	}
	if got := m.trouble(policy.Seen{}); !strings.Contains(got, "app") {
		t.Errorf("without the container the trouble is %q", got)
	}
}

// TestSavingIsOwnRequestsMinusRecommendedTimesReplicas checks that the saving is the owner's requests minus the
// recommended requests, times the replicas. Larger
// recommended requests reduce the saving.
func TestSavingIsOwnRequestsMinusRecommendedTimesReplicas(t *testing.T) {
	if got := learnerOf(t, `{}`).saved(policy.Seen{Replicas: 3}); got != (workload.Requests{MilliCPU: 3 * (300 - 100),
		MemoryBytes: 3 * (10 + 50)}) {
		t.Errorf("it saves %+v", got)
	}
}

// TestAdviceForAnAutoscalerHasBoundsAndMetricTargets checks the advice for an autoscaler: its bounds, and the
// targets of the metrics that it has.
// If it may go to zero, its minimum is not advised.
func TestAdviceForAnAutoscalerHasBoundsAndMetricTargets(t *testing.T) {
	amount := func(container string, of workload.Resource) workload.Amount {
		return workload.Amount{Kind: workload.AmountUtilisation, Component: container, Resource: of}
	}
	metrics := []workload.Utilisation{cpuOf("", 50), cpuOf("app", 50), cpuOf("big", 50), {Resource: workload.Memory, Percent: 50},
		{Resource: workload.Memory, Container: "big", Percent: 50}}
	for _, tc := range []struct {
		reason      string
		utilisation int
		targets     []tune.Target
		want        map[workload.Amount]int64
	}{
		{"nothing is known", 0, nil, nil},
		{"one target is that of the scaled container, and of whole pods", 70, nil,
			map[workload.Amount]int64{amount("", workload.CPU): 70, amount("app", workload.CPU): 70}},
		{"several have their own", 70, []tune.Target{{Container: "big", Percent: 80}, {Container: "big", Memory: true, Percent: 90}},
			map[workload.Amount]int64{amount("big", workload.CPU): 80, amount("big", workload.Memory): 90}},
		{"memory of whole pods goes with the scaled container", 0, []tune.Target{{Container: "app", Memory: true, Percent: 75}},
			map[workload.Amount]int64{amount("", workload.Memory): 75}},
	} {
		m := learnerOf(t, `{}`)
		m.Scaled, m.Setting.Min, m.Setting.Max, m.Setting.Utilisation = "app", 4, 9, tc.utilisation
		var a workload.Advice
		m.adviseAutoscaler(&a, autoscaler(metrics...), tc.targets)
		if len(a.Targets) != len(tc.want) || *a.Min != 4 || *a.Max != 9 {
			t.Errorf("%s: %d to %d, targets %v", tc.reason, *a.Min, *a.Max, a.Targets)
		}
		for of, want := range tc.want {
			if a.Targets[of] != want {
				t.Errorf("%s: %s is %d, want %d", tc.reason, of, a.Targets[of], want)
			}
		}
	}
	for least, want := range map[int64]bool{0: false, 1: true} {
		m := learnerOf(t, `{}`)
		g := autoscaler()
		g.Bounds.Min = ptr.To(least)
		var a workload.Advice
		if m.adviseAutoscaler(&a, g, nil); (a.Min != nil) != want {
			t.Errorf("of a minimum of %d it asks for %v", least, a.Min)
		}
	}
}

// TestEachNumberHasOneReason checks that each number has its own reason, and that the number of reasons is limited.
func TestEachNumberHasOneReason(t *testing.T) {
	m := learnerOf(t, `{resources: [{container: big, memory: "Off"}]}`)
	m.Scaled = "app"
	m.Reasons = map[string]string{"request": "by demand", "app memory": "by the peak", "big cpu": "by its share"}
	app, big, bare := m.reportContainer("app"), m.reportContainer("big"), m.reportContainer("bare")
	if app.CPU.Reason != "by demand" || app.Memory.Reason != "by the peak" || big.CPU.Reason != "by its share" ||
		big.Memory.Reason != "spec.resources says Off" || bare.CPU != nil || bare.Memory != nil {
		t.Errorf("the reasons are %+v, %+v and %+v", app, big, bare)
	}
	delete(m.Reasons, "big cpu")
	if got := m.reportContainer("big").CPU.Reason; !strings.Contains(got, "too little is known yet") {
		t.Errorf("without a reason it says %q", got)
	}
	for _, n := range []int{maxReasons - 1, maxReasons, maxReasons + 1} {
		m.Reasons = map[string]string{}
		for i := range n {
			m.Reasons[fmt.Sprint(i)] = "so"
		}
		st := m.report(policy.Seen{}, tune.Spec{}, tune.Recommendation{Phase: tune.Working, Loss: 0.25, Upper: 5}, m.lines())
		if len(st.Reasons) != min(n, maxReasons) || st.Demand.Loss != 250 {
			t.Errorf("of %d reasons %d are told, and a loss of %d thousandths", n, len(st.Reasons), st.Demand.Loss)
		}
	}
}

// TestReportOfAnAutoscalerHasMaximumReasonAndCPUTarget checks the report about an autoscaler. It has the reason for
// the maximum, and a target only
// if there is a metric for CPU.
func TestReportOfAnAutoscalerHasMaximumReasonAndCPUTarget(t *testing.T) {
	for spec, want := range map[string]string{`{}`: "what the owner has", `{replicas: {max: 9}}`: "spec.replicas.max"} {
		m := learnerOf(t, spec)
		m.Scaled, m.Setting.Utilisation = "app", 66
		a := m.reportAutoscaler(policy.Seen{Autoscaler: autoscaler(cpuOf("app", 50))}, tune.Spec{})
		if a.Max.Reason != want || a.Utilisation == nil || a.Utilisation.Recommended != 66 || *a.Utilisation.Own != 50 {
			t.Errorf("%s: %+v", spec, a)
		}
		m.Reasons["max"] = "by hand"
		m.Setting.Utilisation = 0
		if a := m.reportAutoscaler(policy.Seen{Autoscaler: autoscaler(cpuOf("app", 50))}, tune.Spec{}); a.Max.Reason != "by hand" ||
			a.Utilisation != nil {
			t.Errorf("%s without a target: %+v", spec, a)
		}
		m.Setting.Utilisation = 66
		if a := m.reportAutoscaler(policy.Seen{Autoscaler: autoscaler()}, tune.Spec{}); a.Utilisation != nil {
			t.Errorf("%s: an autoscaler without a metric has the target %+v", spec, a.Utilisation)
		}
	}
}

// TestBoundsStayWhereCPUIsNotHorizontal: the autoscaler is reported with the owner's numbers.
func TestBoundsStayWhereCPUIsNotHorizontal(t *testing.T) {
	m := learnerOf(t, `{resources: [{container: app, cpu: Vertical}]}`)
	m.Scaled, m.Setting.Min, m.Setting.Max, m.Setting.Utilisation = "app", 2, 4, 66
	g := autoscaler(cpuOf("app", 50))
	g.Bounds = workload.Bounds{Min: ptr.To(int64(3)), Max: ptr.To(int64(8))}
	a := m.reportAutoscaler(policy.Seen{Replicas: 5, Autoscaler: g}, tune.Spec{})
	if a.Min.Recommended != 3 || a.Max.Recommended != 8 || a.Utilisation != nil || a.Min.Reason != "the CPU of app is Vertical: bounds stay" {
		t.Errorf("it tells %+v", a)
	}
}

// TestHistoriesThatCannotBeRead checks that unreadable histories are refused with the reason. A history of another
// profile
// is no error and is not used.
func TestHistoriesThatCannotBeRead(t *testing.T) {
	r, _ := rulesOf(t, `{}`)
	formulas, _ := rulesOf(t, `{profile: Tortoise}`)
	m := learnerOf(t, `{}`)
	for want, k := range map[string]kept{
		"the form 7":             {Version: 7},
		"read the learnt state:": {Version: keptVersion, Usage: []byte("nonsense")},
	} {
		if _, err := newLearner(&r, pack(k)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", k, err)
		}
	}
	if _, err := newLearner(&r, m.Keep()); err != nil {
		t.Error(err)
	}
	if other, err := newLearner(&formulas, m.Keep()); err != nil || len(other.Own) > 0 {
		t.Errorf("of another profile it has %+v, %v", other, err)
	}
}

// TestTheFirstContainerIsLeftOutToo checks that even the first container is left out of a checkpoint if it is not
// scaled
// and the checkpoint would be too large.
func TestTheFirstContainerIsLeftOutToo(t *testing.T) {
	m := learnerOf(t, `{}`)
	m.Scaled = "app"
	noisy := rand.New(rand.NewPCG(1, 2)) // incompressible data
	for i := range 10 * 24 * 60 {
		at := time.Date(2037, 5, 4, 0, i, 0, 0, time.UTC)
		m.Observe(workload.Sample{At: at, Container: "a", CPU: 100 * noisy.Float64(), Memory: -1, Replicas: 5})
		m.Observe(workload.Sample{At: at, Container: "app", CPU: 100, Memory: -1, Replicas: 5})
	}
	if names := m.tuner.(forecaster).Usage.Containers(); names[0] != "a" {
		t.Fatalf("the first of %q is another one", names)
	}
	reason := make([]byte, 60<<10)
	for i := range reason {
		reason[i] = byte('!' + noisy.IntN(90))
	}
	m.Reasons = map[string]string{"min": string(reason)}
	kept := m.Keep()
	again, err := newLearner(m.rules, kept)
	if err != nil {
		t.Fatal(err)
	}
	left := again.tuner.(forecaster).Usage
	if a, app := left.Demand("a").Last(), left.Demand("app").Last(); len(kept) > maxKept || a != 0 || app == 0 {
		t.Errorf("%d bytes are kept, with step %d of a and step %d of app", len(kept), a, app)
	}
}

// TestWhetherPodsAreBehind checks that pods are behind if some pod requests more than the recommendation. Only tuned
// requests count. If only pods are changed, a pod that cannot be changed in place is no reason to wait.
func TestWhetherPodsAreBehind(t *testing.T) {
	set := workload.Requests{MilliCPU: 700, MemoryBytes: 90}
	for _, tc := range []struct {
		reason, spec string
		container    string
		has          workload.Requests
		off, refused bool
		want         bool
	}{
		{"as it is set", `{}`, "app", set, false, false, false},
		{"more CPU", `{}`, "app", workload.Requests{MilliCPU: 701, MemoryBytes: 90}, false, false, true},
		{"more memory", `{}`, "app", workload.Requests{MilliCPU: 700, MemoryBytes: 91}, false, false, true},
		{"less", `{}`, "app", workload.Requests{MilliCPU: 600, MemoryBytes: 80}, false, false, false},
		{"more memory, which is Off", `{resources: [{container: app, memory: "Off"}]}`, "app", workload.Requests{MilliCPU: 700, MemoryBytes: 91},
			false, false, false},
		{"a container that the target does not have", `{}`, "injected", workload.Requests{MilliCPU: 700}, false, false, false},
		{"mode Off carries nothing out", `{}`, "app", workload.Requests{MilliCPU: 701}, true, false, false},
		{"only new pods are changed", `{vertical: {apply: OnCreate}}`, "app", workload.Requests{MilliCPU: 701}, false, false, false},
		{"pods are changed in place", `{vertical: {apply: InPlace}}`, "app", workload.Requests{MilliCPU: 701}, false, false, true},
		{"a pod cannot be changed in place", `{vertical: {apply: InPlace}}`, "app", workload.Requests{MilliCPU: 701}, false, true, false},
		{"a pod cannot be changed in place, and the template is", `{vertical: {apply: InPlaceOrRollOut}}`, "app",
			workload.Requests{MilliCPU: 701}, false, true, true},
	} {
		m := learnerOf(t, tc.spec)
		m.Off = tc.off
		seen := policy.Seen{Largest: map[string]workload.Requests{tc.container: tc.has}, Pods: policy.SeenPods{Able: true, Refused: tc.refused}}
		if got := m.isBehind(seen); got != tc.want {
			t.Errorf("%s: pods are behind: %t", tc.reason, got)
		}
	}
}

// TestExplicitLimitsAndOffKeepTheOwnersValue checks that explicit limits count. A request that is Off, or that a
// VerticalPodAutoscaler changes, stays at
// the owner's value. Only an explicit minimum is a floor below which a request counts as too small.
func TestExplicitLimitsAndOffKeepTheOwnersValue(t *testing.T) {
	const mib = 1 << 20
	given := `{resources: [{container: app, min: {cpu: 600m, memory: 512Mi}, max: {cpu: "2", memory: 2Gi}%s}]}`
	own := tune.Requests{CPU: 1000, Memory: 256 * mib}
	held := tune.Limits{Min: own, Max: own}
	for _, tc := range []struct {
		reason, spec string
		other        workload.Resource
		want         tune.Limits
		least, most  int64
	}{
		{"nothing is given", `{}`, "", tune.DefaultLimits, 50, tune.Unbounded},
		{"all is given", fmt.Sprintf(given, ""), "", tune.Limits{Min: tune.Requests{CPU: 600, Memory: 512 * mib},
			Max:   tune.Requests{CPU: 2000, Memory: 2048 * mib},
			Floor: tune.Requests{CPU: 600, Memory: 512 * mib}}, 600, 2000},
		{"both are Off", fmt.Sprintf(given, `, cpu: "Off", memory: "Off"`), "", held, 1000, 1000},
		{"CPU is Off, and nothing is given", `{resources: [{container: app, cpu: "Off"}]}`, "",
			tune.Limits{Min: tune.Requests{CPU: 1000, Memory: 50 * mib},
				Max: tune.Requests{CPU: 1000, Memory: tune.Unbounded}}, 1000, 1000},
		{"others change its CPU", fmt.Sprintf(given, ""), workload.CPU, tune.Limits{Min: tune.Requests{CPU: 1000, Memory: 512 * mib},
			Max: tune.Requests{CPU: 1000, Memory: 2048 * mib}, Floor: tune.Requests{Memory: 512 * mib}}, 1000, 1000},
		{"others change its memory", fmt.Sprintf(given, ""), workload.Memory, tune.Limits{Min: tune.Requests{CPU: 600, Memory: own.Memory},
			Max: tune.Requests{CPU: 2000, Memory: own.Memory}, Floor: tune.Requests{CPU: 600}}, 600, 2000},
	} {
		m := learnerOf(t, tc.spec)
		m.Own, m.Scaled, m.others = map[string]tune.Requests{"app": own}, "app", map[workload.Amount]string{request("app", tc.other): "vpa"}
		spec := m.spec(policy.Seen{Replicas: 3})
		if diff := cmp.Diff(map[string]tune.Limits{"app": tc.want}, spec.Limits); diff != "" {
			t.Errorf("%s: %s", tc.reason, diff)
		}
		if b := spec.Bounds; b.MinRequest != tc.least || b.MaxRequest != tc.most {
			t.Errorf("%s: the CPU that is scaled is from %d to %d, want %d to %d", tc.reason, b.MinRequest, b.MaxRequest, tc.least, tc.most)
		}
	}
}
