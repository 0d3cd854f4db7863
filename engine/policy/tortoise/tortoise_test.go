package tortoise_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise"
	"flyball.dev/flyball/engine/workload"
)

var noon = time.Date(2037, 1, 5, 12, 0, 0, 0, time.UTC)

// requesting knows Deployments, which have requests, and Services, which have none.
var requesting = tortoise.Context{Kinds: func(gk schema.GroupKind) (policy.AdaptedKind, bool) {
	return policy.AdaptedKind{Requests: gk.Kind == "Deployment"}, true
}}

// read returns a Tortoise with the given YAML as its spec.
func read(t *testing.T, spec string) *v1alpha1.Tortoise {
	t.Helper()
	obj := &v1alpha1.Tortoise{}
	obj.Namespace, obj.Name = "shop", "tuned"
	if err := yaml.UnmarshalStrict([]byte(spec), &obj.Spec); err != nil {
		t.Fatal(err)
	}
	return obj
}

func compile(t *testing.T, spec string) *policy.Policy {
	t.Helper()
	p, errs := tortoise.Compile(read(t, spec), requesting)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return p
}

// TestRefusalNamesTheField checks that the error names the field.
func TestRefusalNamesTheField(t *testing.T) {
	for spec, want := range map[string]string{
		`{}`:                          "",
		`{mode: Auto, profile: Lean}`: "",
		`{mode: Sure}`:                "spec.mode: Unsupported value",
		`{profile: Tortoise}`:         "",
		`{profile: Hare}`:             "spec.profile: Unsupported value",
		`{history: {source: VerticalPodAutoscaler}}`:                                      "",
		`{history: {source: VerticalPodAutoscaler, create: true}}`:                        "",
		`{history: {source: VerticalPodAutoscaler, window: 7d}}`:                          "spec.history.window: Forbidden",
		`{history: {timeZone: Europe/Skopje, seasonality: Daily}}`:                        "",
		`{history: {timeZone: Europe/Nowhere}}`:                                           "spec.history.timeZone: Invalid value",
		`{history: {timeZone: Local}}`:                                                    "spec.history.timeZone: Invalid value",
		`{history: {seasonality: Yearly}}`:                                                "spec.history.seasonality: Unsupported value",
		`{history: {create: true}}`:                                                       "spec.history.create: Forbidden",
		`{history: {source: Thanos}}`:                                                     "spec.history.source: Unsupported value",
		`{vertical: {apply: Evict}}`:                                                      "spec.vertical.apply: Unsupported value",
		`{vertical: {cooldown: soon}}`:                                                    "spec.vertical.cooldown",
		`{vertical: {maxStepDown: 90%, maxStepUp: 1000%, cooldown: 2h}}`:                  "",
		`{vertical: {maxStepDown: 91%}}`:                                                  "spec.vertical.maxStepDown: Invalid value",
		`{vertical: {maxStepUp: 0%}}`:                                                     "spec.vertical.maxStepUp: Invalid value",
		`{vertical: {maxStepUp: "20"}}`:                                                   "spec.vertical.maxStepUp: Invalid value",
		`{replicas: {min: 4, max: 4, preferredMax: 4}}`:                                   "",
		`{replicas: {min: 5, max: 4}}`:                                                    "spec.replicas.min: Invalid value: 5",
		`{replicas: {preferredMax: 5, max: 4}}`:                                           "spec.replicas.preferredMax: Invalid value: 5",
		`{replicas: {max: 0}}`:                                                            "spec.replicas.max: Invalid value: 0",
		`{resources: [{container: a}, {container: a}]}`:                                   "spec.resources[1].container: Duplicate value",
		`{resources: [{container: a, cpu: Horizontal}, {container: b, cpu: Horizontal}]}`: "spec.resources[1].cpu: Invalid value",
		`{resources: [{cpu: Sideways}]}`:                                                  "spec.resources[0].cpu: Unsupported value",
		`{resources: [{memory: Horizontal}]}`:                                             "spec.resources[0].memory: Unsupported value",
		`{resources: [{min: {cpu: -1}}]}`:                                                 "spec.resources[0].min.cpu: Invalid value",
		`{resources: [{min: {cpu: 2}, max: {cpu: 1}}]}`:                                   "spec.resources[0].min.cpu: Invalid value",
		`{resources: [{min: {memory: 2Gi}, max: {memory: 1Gi}}]}`:                         "spec.resources[0].min.memory: Invalid value",
		`{resources: [{max: {memory: 2Ei}}]}`:                                             "spec.resources[0].max.memory: Invalid value",
		`{target: {kinds: [{kind: Service}]}}`:                                            "spec.target.kinds: Invalid value",
	} {
		p, errs := tortoise.Compile(read(t, spec), requesting)
		switch got := errs.ToAggregate(); {
		case want == "" && got != nil:
			t.Errorf("%s: %v", spec, got)
		case want != "" && (got == nil || !strings.Contains(got.Error(), want) || !p.IsBroken()):
			t.Errorf("%s: %v, want %s", spec, got, want)
		}
	}
	cluster := &v1alpha1.ClusterTortoise{}
	if p, errs := tortoise.CompileCluster(cluster, requesting); len(errs) == 0 || !p.IsBroken() {
		t.Error("a cluster policy that names no namespaces is let through")
	}
}

// own returns a target with an autoscaler, with the owner's numbers.
func own() policy.Seen {
	return policy.Seen{Replicas: 5, Ready: 5,
		Own: workload.Allocations{
			{Component: "app", Requests: workload.Requests{MilliCPU: 1000, MemoryBytes: 1 << 30}},
			{Component: "proxy", Requests: workload.Requests{MilliCPU: 100, MemoryBytes: 128 << 20}},
		},
		Autoscaler: &policy.SeenAutoscaler{
			Ref: workload.Ref{GroupKind: schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}, Namespace: "shop",
				Name: "web"},
			Bounds:      workload.Bounds{Min: ptr.To(int64(5)), Max: ptr.To(int64(20))},
			Utilisation: []workload.Utilisation{{Resource: workload.CPU, Percent: 50}, {Resource: workload.Memory, Percent: 60}},
		},
	}
}

func observe(m policy.Learner, at time.Time) {
	day := 2 * math.Pi * float64(at.Hour()*60+at.Minute()) / 1440
	m.Observe(
		workload.Sample{At: at, Container: "app", CPU: 200 - 100*math.Cos(day), Memory: 100 << 20, Replicas: 5},
		workload.Sample{At: at, Container: "proxy", CPU: 4 - 2*math.Cos(day), Memory: 30 << 20, Replicas: 5})
}

// live runs a learner for some time, until noon, and returns its last result.
func live(t *testing.T, m policy.Learner, seen policy.Seen, long time.Duration) policy.Found {
	t.Helper()
	var found policy.Found
	for at := noon.Add(-long); !at.After(noon); at = at.Add(4 * time.Minute) {
		observe(m, at)
		seen.Now, seen.Since = at, noon.Add(-long)
		found = m.Decide(seen)
		if a := found.Advice; a != nil && a.Min != nil { // all pods of the minimum are ready at once
			seen.Ready = max(seen.Ready, int(*a.Min))
			seen.Replicas = seen.Ready
		}
	}
	return found
}

func learner(t *testing.T, p *policy.Policy) policy.Learner {
	t.Helper()
	m, err := p.Tuner.NewLearner(nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func amountOf(name string, of workload.Resource) workload.Amount {
	return workload.Amount{Kind: workload.AmountRequest, Component: name, Resource: of}
}

// TestAdviceNeedsEnoughHistory checks that there is no advice while too little is known. Later there is advice for
// the requests of the
// target, and for the bounds and the utilisation of its autoscaler. A target for memory stays the same.
func TestAdviceNeedsEnoughHistory(t *testing.T) {
	p := compile(t, `{mode: Auto}`)
	m := learner(t, p)
	if found := live(t, m, own(), 20*time.Minute); found.Advice != nil || found.Report.Phase != "GatheringData" ||
		len(found.Report.Containers) > 0 {
		t.Errorf("after 20 minutes it finds %+v", found)
	}
	found := live(t, learner(t, p), own(), 4*24*time.Hour)
	a := found.Advice
	if found.Report.Phase != "Working" || a == nil || found.Trouble != "" {
		t.Fatalf("after four days it finds %+v", found)
	}
	if cpu, memory := a.Amounts[amountOf("app", workload.CPU)], a.Amounts[amountOf("app", workload.Memory)]; cpu >= 1000 || cpu < 50 ||
		memory >= 512<<20 || memory < 100<<20 {
		t.Errorf("it asks for %dm and %d MiB", cpu, memory>>20)
	}
	utilisation := workload.Amount{Kind: workload.AmountUtilisation, Resource: workload.CPU}
	if len(a.Targets) != 1 || a.Targets[utilisation] < 70 || a.Targets[utilisation] > 77 || *a.Max != reaching(20_000, a) || *a.Min < 1 ||
		*a.Min > 20 {
		t.Errorf("it asks for %v, %d to %d", a.Targets, *a.Min, *a.Max)
	}
	if found.Saved.MilliCPU <= 0 || found.Saved.MemoryBytes <= 0 {
		t.Errorf("it saves %+v", found.Saved)
	}
	for _, c := range found.Report.Containers {
		if c.CPU.Reason == "" || c.Memory.Reason == "" {
			t.Errorf("%s has no reason: %+v", c.Name, c)
		}
	}
	if au := found.Report.Autoscaler; au.Min.Reason == "" || au.Max.Reason == "" || au.Utilisation.Reason == "" || len(au.MinByHour) != 24 ||
		*au.Utilisation.Own != 50 {
		t.Errorf("the autoscaler has %+v", au)
	}
}

// TestARestartChangesNothing checks that a learner from a checkpoint has the same results.
func TestARestartChangesNothing(t *testing.T) {
	p := compile(t, `{mode: Auto}`)
	kept := learner(t, p)
	live(t, kept, own(), 26*time.Hour)
	data := kept.Keep()
	if len(data) == 0 || len(data) > 64<<10 {
		t.Errorf("%d bytes are kept", len(data))
	}
	restarted, err := p.Tuner.NewLearner(data)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 90 {
		at := noon.Add(time.Duration(i+1) * 2 * time.Minute)
		seen := own()
		seen.Now, seen.Since = at, noon
		observe(kept, at)
		observe(restarted, at)
		if diff := cmp.Diff(kept.Decide(seen), restarted.Decide(seen)); diff != "" {
			t.Fatalf("at %s: %s", at, diff)
		}
	}
	for _, bad := range [][]byte{[]byte("nonsense"), data[:len(data)/2]} {
		if _, err := p.Tuner.NewLearner(bad); err == nil {
			t.Error("what cannot be read is taken for a history")
		}
	}
}

// TestManyContainersAreKeptWithinTheLimit checks that containers that are not scaled are left out of a checkpoint
// first.
func TestManyContainersAreKeptWithinTheLimit(t *testing.T) {
	p := compile(t, `{mode: Auto}`)
	m := learner(t, p)
	seen := own()
	seen.Own = seen.Own[:1]
	for _, name := range []string{"b", "c", "d", "e", "f", "g", "h"} {
		seen.Own = append(seen.Own, workload.Allocation{Component: name, Requests: workload.Requests{MilliCPU: 100, MemoryBytes: 128 << 20}})
	}
	noisy := rand.New(rand.NewPCG(1, 2)) // incompressible data
	for at := noon.Add(-10 * 24 * time.Hour); !at.After(noon); at = at.Add(time.Minute) {
		for _, name := range []string{"app", "b", "c", "d", "e", "f", "g", "h"} {
			noise := 100 * noisy.Float64()
			m.Observe(workload.Sample{At: at, Container: name, CPU: 200 + noise, Memory: 100<<20 + 1e5*noise, Replicas: 5})
		}
	}
	seen.Now = noon
	m.Decide(seen)
	data := m.Keep()
	if len(data) > 64<<10 || len(data) < 32<<10 {
		t.Errorf("%d bytes are kept", len(data))
	}
	again, err := p.Tuner.NewLearner(data)
	if err != nil {
		t.Fatal(err)
	}
	seen.Now = noon.Add(time.Minute)
	if a, b := m.Decide(seen).Report.Demand, again.Decide(seen).Report.Demand; a.Expected.Cmp(b.Expected) != 0 {
		t.Errorf("the scaled container needs %s, and %s after a restart", a.Expected.String(), b.Expected.String())
	}
}

// TestWithoutAnAutoscaler checks that the replicas stay and that the requests are chosen for this number of replicas.
func TestWithoutAnAutoscaler(t *testing.T) {
	p := compile(t, `{mode: Auto}`)
	seen := own()
	seen.Autoscaler = nil
	found := live(t, learner(t, p), seen, 3*24*time.Hour)
	if a := found.Advice; a == nil || a.Min != nil || a.Max != nil || len(a.Targets) > 0 {
		t.Fatalf("it asks for %+v", a)
	}
	// Five pods use 300m each at most.
	if cpu := found.Advice.Amounts[amountOf("app", workload.CPU)]; cpu < 300 || cpu > 500 {
		t.Errorf("it requests %dm", cpu)
	}
	if !strings.Contains(found.Report.Autoscaler.Min.Reason, "no autoscaler governs it") {
		t.Errorf("it says %q", found.Report.Autoscaler.Min.Reason)
	}
}

// TestFromOffToAuto checks that mode Off shows the final values. Mode Auto then begins from the present values, in
// steps.
func TestFromOffToAuto(t *testing.T) {
	off := compile(t, `{}`)
	m := learner(t, off)
	there := live(t, m, own(), 3*24*time.Hour).Advice.Amounts[amountOf("app", workload.CPU)]
	m = compile(t, `{mode: Auto}`).Tuner.Adopt(m)
	seen := own()
	last := int64(1000)
	for i := range 24 * 60 {
		seen.Now, seen.Since = noon.Add(time.Duration(i)*time.Minute), noon
		observe(m, seen.Now)
		a := m.Decide(seen).Advice
		seen.Ready = max(5, int(*a.Min))
		now := a.Amounts[amountOf("app", workload.CPU)]
		if float64(now) < 0.8*float64(last)-1 {
			t.Fatalf("after %d minutes it goes from %dm to %dm", i, last, now)
		}
		last = now
	}
	if there > 500 || last > 500 {
		t.Errorf("off says %dm, and a day later auto is at %dm", there, last)
	}
}

// TestUnmeasuredTimeBeginsNoEmergency checks that missing samples begin no emergency after a night at zero replicas
// or a restart. Missing samples while the target is measured begin one.
func TestUnmeasuredTimeBeginsNoEmergency(t *testing.T) {
	p := compile(t, `{mode: Auto}`)
	m := learner(t, p)
	live(t, m, own(), 3*24*time.Hour)
	seen := own()
	seen.Now = noon.Add(10 * time.Hour)
	seen.Since = seen.Now.Add(-time.Minute)
	if got := m.Decide(seen).Report.Phase; got != "Working" {
		t.Errorf("after ten hours asleep it is %s", got)
	}
	seen.Since = noon
	found := m.Decide(seen)
	if found.Report.Phase != "Emergency" || *found.Advice.Min < 5 {
		t.Errorf("after ten hours of silence it is %s with a minimum of %d", found.Report.Phase, *found.Advice.Min)
	}
	manual := compile(t, `{mode: Emergency}`)
	if got := live(t, learner(t, manual), own(), 3*24*time.Hour).Report.Phase; got != "Emergency" {
		t.Errorf("by hand it is %s", got)
	}
}

// reaching returns the number of replicas that request a total of milli-CPU with the requests of an advice.
func reaching(milli int64, a *workload.Advice) int64 {
	request := a.Amounts[amountOf("app", workload.CPU)]
	return (milli + request - 1) / request
}

// TestBoundsOfTheOwner checks the bounds. If the spec gives none, the maximum grows just enough for smaller requests
// to
// reach the same total. An autoscaler that may go to zero keeps its minimum. A maximum in the spec is used as it is.
func TestBoundsOfTheOwner(t *testing.T) {
	p := compile(t, `{mode: Auto}`)
	seen := own()
	seen.Autoscaler.Bounds = workload.Bounds{Min: ptr.To(int64(1)), Max: ptr.To(int64(7))}
	if a := live(t, learner(t, p), seen, 3*24*time.Hour).Advice; *a.Max != reaching(7_000, a) || *a.Min > 7 || *a.Min < 1 {
		t.Errorf("it asks for %d to %d", *a.Min, *a.Max)
	}
	seen.Autoscaler.Bounds.Min = ptr.To(int64(0))
	if a := live(t, learner(t, p), seen, 3*24*time.Hour).Advice; a.Min != nil || *a.Max != reaching(7_000, a) {
		t.Errorf("it asks for a minimum of %v", a.Min)
	}
	given := compile(t, `{mode: Auto, replicas: {min: 9, max: 40}}`)
	if a := live(t, learner(t, given), own(), 3*24*time.Hour).Advice; *a.Max != 40 || *a.Min < 9 {
		t.Errorf("it asks for %d to %d", *a.Min, *a.Max)
	}
}

// TestReplicasFitTheRequestsOfPods checks that the minimum is computed for the present requests of pods while they
// request
// less than recommended. In mode Off, present requests do not count.
func TestReplicasFitTheRequestsOfPods(t *testing.T) {
	for mode, more := range map[string]bool{"Auto": true, `"Off"`: false} {
		spec := fmt.Sprintf("{mode: %s}", mode)
		seen := own()
		plain := live(t, learner(t, compile(t, spec)), seen, 26*time.Hour).Report.Autoscaler.Min
		seen.Requested = map[string]int64{"app": 100, "proxy": 10}
		got := live(t, learner(t, compile(t, spec)), seen, 26*time.Hour).Report.Autoscaler.Min
		if got.Recommended < plain.Recommended || strings.Contains(got.Reason, "while pods request 100m") != more {
			t.Errorf("%s: %d (%s), and %d (%s) while pods request 100m", mode, plain.Recommended, plain.Reason, got.Recommended, got.Reason)
		}
	}
}
