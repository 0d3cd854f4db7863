package podsize_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
)

const gi = 1 << 30

// owner has the resources of a container in the template. want has the wanted resources. done has the resources after
// the change.
var (
	owner = workload.Resources{CPU: 1000, Memory: gi, MemoryLimit: 2 * gi}
	want  = podsize.Sizes{"main": {CPU: 400, Memory: gi / 2, MemoryLimit: gi}}
	done  = workload.Resources{CPU: 400, Memory: gi / 2, MemoryLimit: gi}
)

func pod(name string, r workload.Resources, edit ...func(*workload.Pod)) *workload.Pod {
	p := &workload.Pod{Name: name, UID: "uid-" + name, Ready: true, Containers: []workload.Container{{Name: "main", Resources: r}}}
	for _, e := range edit {
		e(p)
	}
	return p
}

func says(state workload.ResizeState, message string) func(*workload.Pod) {
	return func(p *workload.Pod) { p.Resize = workload.Resize{By: "flyball", State: state, Message: message} }
}

func by(manager string) func(*workload.Pod) { return func(p *workload.Pod) { p.Resize.By = manager } }

func unready(p *workload.Pod) { p.Ready = false }

func unsupported(p *workload.Pod) { p.Resize.Unsupported = true }

func restarting(p *workload.Pod) { p.Containers[0].RestartsForMemory = true }

func limited(cpu int64) func(*workload.Pod) {
	return func(p *workload.Pod) { p.Containers[0].CPULimit = cpu }
}

func TestResizePlanFollowsItsWish(t *testing.T) {
	guaranteed := workload.Resources{CPU: 1000, CPULimit: 1000, Memory: gi, MemoryLimit: gi}
	for _, test := range []struct {
		reason  string
		pods    []*workload.Pod
		want    podsize.Sizes
		options podsize.ResizeOptions
		refused podsize.Refusals
		changed string
		counts  workload.Resizing
	}{
		{reason: "no pods", counts: workload.Resizing{}},
		{reason: "pods as their owner has them are changed, in order", pods: []*workload.Pod{pod("b", owner), pod("a", owner)},
			changed: "a b", counts: workload.Resizing{Pods: 2, Waiting: 2}},
		{reason: "what is right costs no write", pods: []*workload.Pod{pod("a", done)}, counts: workload.Resizing{Pods: 1, Resized: 1}},
		{reason: "what nodes say", pods: []*workload.Pod{pod("a", done, says(workload.ResizeInProgress, "")),
			pod("b", done, says(workload.ResizeDeferred, "no room")),
			pod("c", done, says(workload.ResizeInfeasible, "never")), pod("d", done, says(workload.ResizeFailing, "in use")), pod("e", done)},
			counts: workload.Resizing{Pods: 5, Resized: 1, InProgress: 2, Deferred: 1, Infeasible: 1, Message: "pod b: no room"}},
		{reason: "an infeasible pod is to have something else now",
			pods:    []*workload.Pod{pod("a", owner, says(workload.ResizeInfeasible, "never"))},
			changed: "a", counts: workload.Resizing{Pods: 1, Waiting: 1}},
		{reason: "somebody else changes it", pods: []*workload.Pod{pod("a", owner, by("vpa"))},
			counts: workload.Resizing{Pods: 1, Infeasible: 1, Message: "pod a: its requests are changed in place by vpa"}},
		{reason: "somebody else has changed it to that", pods: []*workload.Pod{pod("a", done, by("vpa"))},
			counts: workload.Resizing{Pods: 1, Resized: 1}},
		{reason: "containers that nobody speaks of", pods: []*workload.Pod{pod("a", owner)}, want: podsize.Sizes{"side": {CPU: 1}},
			counts: workload.Resizing{Pods: 1, Resized: 1}},
		{reason: "nothing is added", pods: []*workload.Pod{pod("a", workload.Resources{CPU: 400})}, counts: workload.Resizing{Pods: 1,
			Resized: 1}},
		{reason: "a limit of somebody else below the request", pods: []*workload.Pod{pod("a", owner, limited(300))},
			counts: workload.Resizing{Pods: 1, Infeasible: 1,
				Message: "pod a: its container main has a CPU limit below the request, which is not of the template"}},
		{reason: "another class of service", pods: []*workload.Pod{pod("a", guaranteed)}, want: podsize.Sizes{"main": {CPU: 500}},
			counts: workload.Resizing{Pods: 1, Infeasible: 1, Message: "pod a: the change would take it into another class of service"}},
		{reason: "the class stays guaranteed", pods: []*workload.Pod{pod("a", guaranteed)}, want: podsize.Sizes{"main": {CPU: 500,
			CPULimit: 500}},
			changed: "a", counts: workload.Resizing{Pods: 1, Waiting: 1}},
		{reason: "an API server that does not lower memory limits", pods: []*workload.Pod{pod("a", owner)},
			options: podsize.ResizeOptions{KeepsMemoryLimits: true},
			counts: workload.Resizing{Pods: 1, Infeasible: 1,
				Message: "pod a: the API server cannot lower the memory limit of the container main in place again"}},
		{reason: "... of a container that is restarted for it", pods: []*workload.Pod{pod("a", owner, restarting)},
			options: podsize.ResizeOptions{KeepsMemoryLimits: true},
			changed: "a", counts: workload.Resizing{Pods: 1, Waiting: 1}},
		{reason: "an API server that changes no pod", pods: []*workload.Pod{pod("a", owner), pod("b", done)},
			options: podsize.ResizeOptions{Unserved: true},
			counts:  workload.Resizing{Pods: 2, Resized: 1, Infeasible: 1, Message: "pod a: the API server does not serve pods/resize"}},
		{reason: "a node that supports no changes", pods: []*workload.Pod{pod("a", owner, unsupported), pod("b", owner)},
			changed: "b", counts: workload.Resizing{Pods: 2, Waiting: 1, Infeasible: 1,
				Message: "pod a: its node does not support changes in place"}},
		{reason: "what was refused is not asked for again", pods: []*workload.Pod{pod("a", owner), pod("b", owner)},
			refused: podsize.Refusals{"uid-a": {Containers: pod("a", done).Containers, Why: "too large"}},
			changed: "b", counts: workload.Resizing{Pods: 2, Waiting: 1, Infeasible: 1, Message: "pod a: too large"}},
		{reason: "... but something else is", pods: []*workload.Pod{pod("a", owner)},
			refused: podsize.Refusals{"uid-a": {Containers: pod("a", owner).Containers, Why: "too large"}},
			changed: "a", counts: workload.Resizing{Pods: 1, Waiting: 1}},
		{reason: "restarts come one after the other", pods: []*workload.Pod{pod("a", owner, restarting), pod("b", owner, restarting)},
			changed: "a", counts: workload.Resizing{Pods: 2, Waiting: 2,
				Message: "pod b: its container is restarted by the change, and that waits for the other pods to be ready"}},
		{reason: "... and none while another pod is not ready", pods: []*workload.Pod{pod("a", done, unready), pod("b", owner, restarting)},
			counts: workload.Resizing{Pods: 2, Resized: 1, Waiting: 1,
				Message: "pod b: its container is restarted by the change, and that waits for the other pods to be ready"}},
		{reason: "... or has still to be restarted by its node",
			pods: []*workload.Pod{pod("a", done, says(workload.ResizeInProgress, "")), pod("b", owner, restarting)},
			counts: workload.Resizing{Pods: 2, InProgress: 1, Waiting: 1,
				Message: "pod b: its container is restarted by the change, and that waits for the other pods to be ready"}},
		{reason: "who is not ready may be restarted", pods: []*workload.Pod{pod("a", done), pod("b", owner, restarting, unready)},
			changed: "b", counts: workload.Resizing{Pods: 2, Resized: 1, Waiting: 1}},
	} {
		if test.want == nil {
			test.want = want
		}
		p := podsize.PlanResizes(&workload.Fleet{Pods: test.pods, Own: "flyball"}, test.want, test.options, test.refused)
		if got := names(p.Changes); got != test.changed || p.Resizing != test.counts {
			t.Errorf("%s: %q are changed, %+v; want %q, %+v", test.reason, got, p.Resizing, test.changed, test.counts)
		}
		// A written plan leaves nothing to change.
		for _, c := range p.Changes {
			c.Pod.Containers = c.Containers
		}
		again := podsize.PlanResizes(&workload.Fleet{Pods: test.pods, Own: "flyball"}, test.want, test.options, test.refused)
		for _, c := range p.Changes {
			if strings.Contains(names(again.Changes), c.Pod.Name) {
				t.Errorf("%s: pod %s is written twice", test.reason, c.Pod.Name)
			}
		}
	}
}

// TestRestartsAreCounted: pods with a due restart are counted, and pods that an earlier change may still restart are
// found.
func TestRestartsAreCounted(t *testing.T) {
	for _, test := range []struct {
		reason   string
		pods     []*workload.Pod
		restarts int
		under    bool
	}{
		{"none", []*workload.Pod{pod("a", owner)}, 0, false},
		{"now and later", []*workload.Pod{pod("a", owner, restarting), pod("b", owner, restarting)}, 2, false},
		{"what cannot be is none", []*workload.Pod{pod("a", owner, restarting, unsupported)}, 0, false},
		{"all through", []*workload.Pod{pod("a", done, restarting, says(workload.ResizeDone, ""))}, 0, false},
		{"the node is at it", []*workload.Pod{pod("a", done, restarting, says(workload.ResizeInProgress, "")), pod("b", owner, restarting)}, 1,
			true},
		{"restarted, and not ready yet", []*workload.Pod{pod("a", done, restarting, unready, says(workload.ResizeDone, ""))}, 0, true},
		{"never changed, and not ready", []*workload.Pod{pod("a", done, restarting, unready)}, 0, false},
		{"no restart by that", []*workload.Pod{pod("a", done, says(workload.ResizeInProgress, ""))}, 0, false},
	} {
		f := &workload.Fleet{Pods: test.pods, Own: "flyball"}
		if p := podsize.PlanResizes(f, want, podsize.ResizeOptions{}, nil); p.Restarts != test.restarts || podsize.IsRestarting(f) != test.under {
			t.Errorf("%s: %d restarts, %t", test.reason, p.Restarts, podsize.IsRestarting(f))
		}
	}
	more := podsize.Sizes{"main": {Memory: 2 * gi}}
	for memory, w := range map[bool]podsize.Sizes{false: want, true: more} {
		if p := podsize.PlanResizes(&workload.Fleet{Pods: []*workload.Pod{pod("a", owner)}, Own: "flyball"}, w, podsize.ResizeOptions{},
			nil); p.MoreMemory != memory {
			t.Errorf("%+v is more memory: %t", w, p.MoreMemory)
		}
	}
}

// TestGivingBackInTurn: restarting changes come one pod after the other, and do not wait for ever.
func TestGivingBackInTurn(t *testing.T) {
	now := time.Unix(1e9, 0)
	since := func(d time.Duration) func(*workload.Pod) {
		return func(p *workload.Pod) { p.Ready, p.Changed = false, now.Add(-d).Unix() }
	}
	for _, test := range []struct {
		reason string
		pods   []*workload.Pod
		want   string
	}{
		{"no restart", []*workload.Pod{pod("a", done), pod("b", done)}, "a b"},
		{"one restart at a time", []*workload.Pod{pod("a", done, restarting), pod("b", done, restarting), pod("c", done)}, "a c"},
		{"one is given back, and not ready yet", []*workload.Pod{pod("a", owner, restarting, since(podsize.ResizePatience)),
			pod("b", done, restarting)},
			""},
		{"one has still to be restarted", []*workload.Pod{pod("a", owner, restarting, says(workload.ResizeInProgress, "")),
			pod("b", done, restarting)},
			""},
		{"one does not become ready", []*workload.Pod{pod("a", owner, restarting, since(podsize.ResizePatience+time.Second)),
			pod("b", done, restarting)},
			"b"},
		{"who is not ready may be restarted", []*workload.Pod{pod("a", done, restarting, since(time.Second)), pod("b", done, restarting)}, "a"},
	} {
		changes, _ := podsize.RestoreSizes(test.pods, podsize.Sizes{"main": owner}, podsize.ResizeOptions{}, nil)
		if got := names(podsize.InTurn(test.pods, changes, now)); got != test.want {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
}

func names(changes []podsize.ResizeChange) string {
	var all []string
	for _, c := range changes {
		all = append(all, c.Pod.Name)
	}
	return strings.Join(all, " ")
}

func TestGivingBack(t *testing.T) {
	changed := pod("changed", done)
	original := podsize.Sizes{"main": owner}
	pods := []*workload.Pod{pod("back", owner), changed, pod("grown", workload.Resources{CPU: 2000, Memory: gi, MemoryLimit: 2 * gi}),
		pod("moved", done, unsupported),
		pod("other", workload.Resources{CPU: 1, CPULimit: 1, Memory: gi, MemoryLimit: gi})}
	refused := podsize.Refusals{"uid-grown": {Containers: pod("", owner).Containers, Why: "too large"}}
	const moved, other = "moved: its node does not support changes in place",
		"other: its container main has a CPU limit below the request, which is not of the template"
	for _, test := range []struct {
		options    podsize.ResizeOptions
		refused    podsize.Refusals
		want, kept string
	}{
		{podsize.ResizeOptions{}, nil, "changed grown", moved + ", " + other},
		{podsize.ResizeOptions{}, refused, "changed", "grown: too large, " + moved + ", " + other},
		{podsize.ResizeOptions{Unserved: true}, nil, "", unserved("changed") + ", " + unserved("grown") + ", " + unserved("moved") + ", " +
			unserved("other")},
	} {
		changes, kept := podsize.RestoreSizes(pods, original, test.options, test.refused)
		if names(changes) != test.want {
			t.Errorf("%s are given back, want %s", names(changes), test.want)
		}
		if got := reasons(kept); got != test.kept {
			t.Errorf("kept are %s, want %s", got, test.kept)
		}
		for _, c := range changes {
			if c.Containers[0].Resources != owner {
				t.Errorf("%s gets back %+v", c.Pod.Name, c.Containers[0].Resources)
			}
		}
	}
	if changes, _ := podsize.RestoreSizes([]*workload.Pod{changed}, nil, podsize.ResizeOptions{}, nil); len(changes) > 0 {
		t.Errorf("without a template: %+v", changes)
	}
}

func unserved(pod string) string { return pod + ": the API server does not serve pods/resize" }

// reasons lists pods that are kept, and why, by their names.
func reasons(kept map[*workload.Pod]string) string {
	var all []string
	for p, why := range kept {
		all = append(all, p.Name+": "+why)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// TestRestoreRemovesCreatedFields: a pod that was never changed in place stays as it is if a change is impossible or
// would
// restart it.
func TestRestoreRemovesCreatedFields(t *testing.T) {
	original := podsize.Sizes{"main": owner}
	for _, test := range []struct {
		reason  string
		edit    func(*workload.Pod)
		options podsize.ResizeOptions
		want    string
	}{
		{"in place", func(*workload.Pod) {}, podsize.ResizeOptions{}, "a"},
		{"an API server that cannot", func(*workload.Pod) {}, podsize.ResizeOptions{Unserved: true}, ""},
		{"an API server that cannot take a limit back", func(*workload.Pod) {}, podsize.ResizeOptions{KeepsMemoryLimits: true}, ""},
		{"it would restart", restarting, podsize.ResizeOptions{}, ""},
		{"it would restart, and was changed in place before", func(p *workload.Pod) { restarting(p); p.Resize.By = "flyball" },
			podsize.ResizeOptions{},
			"a"},
	} {
		p := pod("a", done, func(p *workload.Pod) { p.Resize.Made = true }, test.edit)
		changes, kept := podsize.RestoreSizes([]*workload.Pod{p}, original, test.options, nil)
		if got := names(changes); got != test.want || (kept[p] == "") != (test.want != "") {
			t.Errorf("%s: %q, kept because %q", test.reason, got, kept[p])
		}
	}
}

// TestBoostsEnd: CPU falls to the noted request, with its limit, and nothing else changes.
func TestBoostsEnd(t *testing.T) {
	now := time.Unix(1000, 0)
	boosted := func(text string, edit ...func(*workload.Pod)) func(*workload.Pod) {
		return func(p *workload.Pod) {
			p.Resize.Boost, p.Created, p.Phase, p.Containers[0].CPULimit = text, 950, workload.PodRunning, 2000
			for _, e := range edit {
				e(p)
			}
		}
	}
	pods := []*workload.Pod{
		pod("ready", owner, boosted("Ready main=500/1000")), pod("starting", owner, boosted("Ready main=500/1000", unready)),
		pod("later", owner, boosted("60s main=500/1000")),
		pod("over", owner, boosted("50s main=400/800", unready)), pod("down", owner, boosted("Ready main=500/1000", by("flyball"))),
		pod("unable", owner, boosted("Ready main=500/1000", unsupported)),
		pod("forged", owner, boosted("Ready main=9000/9000")), pod("half forged", owner, boosted("Ready main=500/9000")),
		pod("restarting", owner, boosted("Ready main=500/1000", func(p *workload.Pod) { p.Containers[0].RestartsForCPU = true })),
		pod("usual", owner),
	}
	changes, next := podsize.EndBoosts(&workload.Fleet{Pods: pods, Own: "flyball"}, now, podsize.ResizeOptions{}, nil)
	got := map[string]workload.Resources{}
	for _, c := range changes {
		got[c.Pod.Name] = c.Containers[0].Resources
	}
	want := map[string]workload.Resources{
		"ready": {CPU: 500, CPULimit: 1000, Memory: gi, MemoryLimit: 2 * gi}, "over": {CPU: 400, CPULimit: 800, Memory: gi, MemoryLimit: 2 * gi},
	}
	if len(got) != len(want) || got["ready"] != want["ready"] || got["over"] != want["over"] || next != time.Unix(1010, 0) {
		t.Errorf("%+v, the next at %s", got, next)
	}
	plan := podsize.PlanResizes(&workload.Fleet{Pods: pods[1:2], Own: "flyball"}, podsize.Sizes{"main": {CPU: 500}}, podsize.ResizeOptions{},
		nil)
	if len(plan.Changes) > 0 || plan.Waiting != 1 || plan.Message != "pod starting: it has more CPU for its start" {
		t.Errorf("a pod that starts is changed: %+v", plan)
	}
	plan = podsize.PlanResizes(&workload.Fleet{Pods: pods[1:2], Own: "flyball"}, podsize.Sizes{"main": {CPU: 500, Memory: 2 * gi}},
		podsize.ResizeOptions{}, nil)
	if len(plan.Changes) != 1 || plan.Changes[0].Containers[0].Memory != 2*gi {
		t.Errorf("a pod that is killed for lack of memory before it is ready gets none: %+v", plan)
	}
}
