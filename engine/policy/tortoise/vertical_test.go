package tortoise_test

import (
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise"
	"flyball.dev/flyball/engine/workload"
)

// recommending returns a VerticalPodAutoscaler that recommends half of the memory requests of app and proxy, and 700m and
// 30m of CPU.
func recommending(mode string, edit ...func(*policy.SeenVertical)) policy.SeenVertical {
	of := func(cpu, mib int64) policy.VerticalRequests {
		return policy.VerticalRequests{Target: workload.Requests{MilliCPU: cpu, MemoryBytes: mib << 20},
			Lower: workload.Requests{MilliCPU: cpu / 2, MemoryBytes: mib << 19}, Upper: workload.Requests{MilliCPU: 2 * cpu, MemoryBytes: mib << 21}}
	}
	v := policy.SeenVertical{Name: "vpa", Mode: mode, Recommended: map[string]policy.VerticalRequests{"app": of(700, 512),
		"proxy": of(30, 64)}}
	for _, e := range edit {
		e(&v)
	}
	return v
}

// found returns the result of a learner after two days on a target with the given VerticalPodAutoscalers.
func found(t *testing.T, spec string, governed bool, all ...policy.SeenVertical) policy.Found {
	t.Helper()
	p, errs := tortoise.Compile(read(t, spec), requesting)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	seen := own()
	seen.Verticals = all
	if !governed {
		seen.Autoscaler = nil
	}
	return live(t, learner(t, p), seen, 48*time.Hour)
}

func asked(f policy.Found, container string, of workload.Resource) (int64, bool) {
	n, ok := f.Advice.Amounts[workload.Amount{Kind: workload.AmountRequest, Component: container, Resource: of}]
	return n, ok
}

// TestRequestsFromAVertical checks that requests reach the recommendation. The CPU that is chosen together with replicas
// is the exception.
func TestRequestsFromAVertical(t *testing.T) {
	const source = `{mode: Auto, history: {source: VerticalPodAutoscaler}}`
	for _, governed := range []bool{true, false} {
		f := found(t, source, governed, recommending("Off"))
		for of, want := range map[[2]string]int64{{"app", "memory"}: 512 << 20, {"proxy", "memory"}: 64 << 20, {"proxy", "cpu"}: 30,
			{"app", "cpu"}: 700} {
			got, ok := asked(f, of[0], workload.Resource(of[1]))
			near := got >= want && 100*got < 103*want // a last step of less than 3 % is not worth it
			if chosen := of == [2]string{"app", "cpu"} && governed; !ok || near == chosen {
				t.Errorf("governed %t: %v is %d, and %d is recommended", governed, of, got, want)
			}
		}
		if f.Trouble != "" || !strings.Contains(f.Report.Containers[0].Memory.Reason,
			"VerticalPodAutoscaler vpa recommends 512, from 256 to 1024") {
			t.Errorf("governed %t: %q, %s", governed, f.Trouble, f.Report.Containers[0].Memory.Reason)
		}
		if f.Next != (time.Time{}) && !governed {
			t.Errorf("a change is due at %s", f.Next)
		}
	}
	// A recommendation is not followed if the spec does not ask for it.
	if got, _ := asked(found(t, `{mode: Auto}`, true, recommending("Off")), "app", workload.Memory); got == 512<<20 {
		t.Error("what is recommended is followed unasked")
	}
	// In the profile Tortoise the recommendation is V: memory is 512 MiB with its margin.
	f := found(t, `{mode: Auto, profile: Tortoise, history: {source: VerticalPodAutoscaler}}`, true, recommending("Off"))
	if why := f.Report.Containers[0].Memory.Reason; !strings.Contains(why, "V is 512 MiB") {
		t.Errorf("V is not what is recommended: %s", why)
	}
}

// TestWithoutARecommendation checks that requests stay and that the reason is reported.
func TestWithoutARecommendation(t *testing.T) {
	nothing := func(v *policy.SeenVertical) { v.Recommended = nil }
	for want, all := range map[string][]policy.SeenVertical{
		"none is for it: requests stay":                     nil,
		"recommends nothing yet, so requests stay. If that": {recommending("Off", nothing)},
		"vpa recommends nothing yet, so requests stay: asleep": {recommending("Off", nothing,
			func(v *policy.SeenVertical) { v.Message = "asleep" })},
		"vpa finds no pods, so requests stay: none has a label": {recommending("Off", nothing,
			func(v *policy.SeenVertical) { v.NoPods, v.Message = true, "none has a label" })},
	} {
		f := found(t, `{mode: Auto, history: {source: VerticalPodAutoscaler}}`, false, all...)
		app, _ := asked(f, "app", workload.Memory)
		proxy, _ := asked(f, "proxy", workload.CPU)
		if app != 1<<30 || proxy != 100 || !strings.Contains(f.Trouble, want) {
			t.Errorf("%d and %d are asked for, and %q is told, want %q", app, proxy, f.Trouble, want)
		}
	}
	// A VerticalPodAutoscaler with a recommendation is preferred to one without.
	empty := recommending("Off", nothing, func(v *policy.SeenVertical) { v.Name = "a" })
	if f := found(t, `{mode: Auto, history: {source: VerticalPodAutoscaler}}`, false, empty, recommending("Off")); f.Trouble != "" {
		t.Error(f.Trouble)
	}
}

// TestAVerticalThatActs checks that the requests that a VerticalPodAutoscaler changes itself are not tuned, and that it is
// named. Everything else is tuned.
func TestAVerticalThatActs(t *testing.T) {
	memory := func(v *policy.SeenVertical) {
		v.Containers = []policy.VerticalRule{{Container: "app", Resources: []workload.Resource{workload.Memory}}, {Container: "*", Off: true}}
	}
	for _, spec := range []string{`{mode: Auto}`, `{mode: Auto, profile: Tortoise}`, `{mode: Emergency}`,
		`{mode: Auto, history: {source: VerticalPodAutoscaler}}`} {
		f := found(t, spec, true, recommending("Recreate", memory))
		if _, ok := asked(f, "app", workload.Memory); ok {
			t.Errorf("%s: memory is asked for beside it", spec)
		}
		for _, of := range [][2]string{{"app", "cpu"}, {"proxy", "memory"}, {"proxy", "cpu"}} {
			if _, ok := asked(f, of[0], workload.Resource(of[1])); !ok {
				t.Errorf("%s: %v is left alone too", spec, of)
			}
		}
		if want := "VerticalPodAutoscaler vpa (update mode Recreate) changes its requests (requests/app/memory) itself"; !strings.Contains(
			f.Trouble, want) {
			t.Errorf("%s: %q is told, want %q", spec, f.Trouble, want)
		}
		c := f.Report.Containers[0]
		if c.Memory.Recommended.Value() != 1<<30 || !strings.Contains(c.Memory.Reason, "VerticalPodAutoscaler vpa changes it") {
			t.Errorf("%s: memory is %s: %s", spec, c.Memory.Recommended.String(), c.Memory.Reason)
		}
		whole := found(t, spec, true, recommending("Initial"))
		if late := strings.Contains(spec, "Tortoise"); len(whole.Advice.Amounts) != 0 || whole.Advice.Max == nil && !late {
			t.Errorf("%s: beside one that changes everything %v is asked for, max %v", spec, whole.Advice.Amounts, whole.Advice.Max)
		}
	}
	// In mode Off no VerticalPodAutoscaler is reported, because nothing is changed beside it.
	if f := found(t, `{mode: "Off"}`, true, recommending("Recreate")); f.Trouble != "" ||
		f.Report.Containers[0].Memory.Recommended.Value() == 1<<30 {
		t.Errorf("with mode Off: %q, %s", f.Trouble, f.Report.Containers[0].Memory.Recommended.String())
	}
}

// TestRightsOfMakingAVertical checks the rights to create and delete VerticalPodAutoscalers, in every mode.
func TestRightsOfMakingAVertical(t *testing.T) {
	of := func(spec string) (verbs string) {
		for _, r := range tortoise.Kinds()[0].RightsOf(read(t, spec)) {
			if r.Kind.Kind == "VerticalPodAutoscaler" && r.Kind.Group == "autoscaling.k8s.io" && r.Field == "spec.history.create" {
				verbs += r.Verb + " "
			}
		}
		return verbs
	}
	for spec, want := range map[string]string{
		`{history: {source: VerticalPodAutoscaler, create: true}}`:             "create delete ",
		`{mode: Auto, history: {source: VerticalPodAutoscaler, create: true}}`: "create delete ",
		`{mode: Auto, history: {source: VerticalPodAutoscaler}}`:               "",
	} {
		if got := of(spec); got != want {
			t.Errorf("%s takes the rights to %q, want %q", spec, got, want)
		}
	}
}
