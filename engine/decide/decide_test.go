package decide_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/worldtest"
)

func TestDecisionsOfASingleTarget(t *testing.T) {
	orphaning := policyOf(t, nil)
	orphaning.Orphan = true
	broken := &decide.Policy{Policy: policy.Broken(nights, field.ErrorList{field.Required(field.NewPath("spec"), "")})}
	tests := []struct {
		reason    string
		asleep    bool
		now       time.Time
		change    func(*small, *decide.Kind)
		direction workload.Direction
		writes    []string
		opinions  int
		wake      time.Time
	}{
		{reason: "awake by day", now: noon, opinions: 1, wake: evening},
		{reason: "asleep at night", now: evening, direction: workload.DirectionDown, writes: []string{`"replicas":0`}, opinions: 1,
			wake: evening.Add(12 * time.Hour)},
		{reason: "asleep already", asleep: true, now: noon.Add(-7 * time.Hour), opinions: 1, wake: noon.Add(-4 * time.Hour)},
		{reason: "woken in the morning", asleep: true, now: noon, direction: workload.DirectionUp, writes: []string{`"replicas":3`}, opinions: 1,
			wake: evening},
		{reason: "a kind that is not in use", now: evening, change: func(w *small, k *decide.Kind) { w.kinds = nil }},
		{reason: "an object that is gone", now: evening, change: func(w *small, k *decide.Kind) { clear(w.objects) }},
		{reason: "a namespace on its way out", now: evening,
			change: func(w *small, _ *decide.Kind) { w.namespaces["shop"] = decide.Namespace{Terminating: true} }},
		{reason: "a namespace on its way out gives back", asleep: true, now: evening, direction: workload.DirectionUp,
			writes: []string{`"replicas":3`}, opinions: 1,
			change: func(w *small, _ *decide.Kind) { w.namespaces["shop"] = decide.Namespace{Terminating: true} }},
		{reason: "an unknown namespace keeps all values", asleep: true, now: noon, opinions: 1,
			change: func(w *small, _ *decide.Kind) { w.namespaces["shop"] = decide.Namespace{Unknown: true} }},
		{reason: "an adapter on its way out gives back", asleep: true, now: evening, direction: workload.DirectionUp,
			writes: []string{`"replicas":3`}, opinions: 1,
			change: func(_ *small, k *decide.Kind) { k.Releasing = true }},
		{reason: "a policy that cannot be read keeps its values", asleep: true, now: noon, opinions: 1,
			change: func(w *small, _ *decide.Kind) { w.policies = []*decide.Policy{broken} }},
		{reason: "a policy that cannot be read sets nothing", now: evening,
			change: func(w *small, _ *decide.Kind) { w.policies = []*decide.Policy{broken} }},
		{reason: "a policy that is deleted gives back", asleep: true, now: evening, direction: workload.DirectionUp,
			writes: []string{`"replicas":3`}, opinions: 1,
			change: func(w *small, _ *decide.Kind) { w.policies[0].Deleting = true }},
		{reason: "a policy that is gone gives back", asleep: true, now: evening, direction: workload.DirectionUp,
			writes: []string{`"replicas":3`},
			change: func(w *small, _ *decide.Kind) { w.policies = nil }},
		{reason: "a policy that is deleted and leaves its targets", asleep: true, now: noon, opinions: 1,
			writes: []string{`"flyball.dev/ledger":null`},
			change: func(w *small, _ *decide.Kind) { orphaning.Deleting = true; w.policies = []*decide.Policy{orphaning} }},
		{reason: "a capability missing from the kind", now: evening, change: func(w *small, _ *decide.Kind) {
			w.policies[0].Needs = []v1alpha1.Capability{v1alpha1.CapabilitySuspend}
		}},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			w, k, ref := shop(t, tc.asleep)
			if tc.change != nil {
				tc.change(w, k)
			}
			v := decide.Target(w, ref, tc.now, nil)
			check(t, v, tc.direction, tc.writes...)
			if len(v.Opinions) != tc.opinions {
				t.Errorf("%d opinions, want %d", len(v.Opinions), tc.opinions)
			}
			if !v.Wake.Equal(tc.wake) {
				t.Errorf("the answer can change at %s, want %s", v.Wake, tc.wake)
			}
			if v.Gate.Kind != decide.GateOpen {
				t.Errorf("waits: %s", v.Gate.Reason)
			}
		})
	}
}

// With a minimum of zero the autoscaler would wake the Deployment.
func TestAutoscalerIsHeldBeforeItsTargetSleeps(t *testing.T) {
	w, _, web := shop(t, false)
	k := worldtest.Kind(t, worldtest.Autoscalers)
	w.kinds[k.GroupKind] = k
	hpa := w.put(k, worldtest.Project(t, k, worldtest.Autoscaler("web", "web", 0, 9, "")))
	v := decide.Target(w, web, evening, nil)
	if v.Gate.Kind != decide.GateOther || v.Gate.First != hpa {
		t.Errorf("the Deployment waits for %v (%s), want its autoscaler first", v.Gate.First, v.Gate.Reason)
	}
	v = decide.Target(w, hpa, evening, nil)
	check(t, v, v.Result.Direction, `"selectPolicy":"Disabled"`)
	if v.Gate.Kind != decide.GateOpen {
		t.Errorf("the autoscaler waits: %s", v.Gate.Reason)
	}
	check(t, decide.Target(w, hpa, noon, nil), workload.DirectionNone)
	check(t, decide.Target(w, web, noon, nil), workload.DirectionNone)

	k.Blocked = "no good" // nothing can be written to it: the Deployment does not wait for ever
	if v := decide.Target(w, web, evening, nil); v.Gate.Kind != decide.GateOpen {
		t.Errorf("the Deployment waits for an autoscaler that cannot be written: %s", v.Gate.Reason)
	}
}

func TestGateNamesTheReasonForNoDecision(t *testing.T) {
	w, k, web := shop(t, false)
	k.Blocked = "the adapter is not ready"
	if v := decide.Target(w, web, evening, nil); v.Gate.Kind != decide.GateBlocked || v.Gate.Reason != k.Blocked || v.Result.Patch == nil {
		t.Errorf("a kind that is blocked: %+v", v.Gate)
	}
	k.Releasing = true
	w.put(k, worldtest.Project(t, k, worldtest.Deployment("web", 0, webLedger)))
	if v := decide.Target(w, web, evening, nil); v.Gate.Kind != decide.GateOpen || v.Result.Patch == nil {
		t.Errorf("a kind that is blocked and on its way out gives back: %+v", v.Gate)
	}
}

// A Schedule puts a DaemonSet to sleep; the DaemonSet's template changes, so its pods restart.
func TestAFreezeDelaysPodRestarts(t *testing.T) {
	daemons := worldtest.Kind(t, "daemonsets.apps")
	w, _, web := shop(t, false)
	w.kinds[daemons.GroupKind] = daemons
	ref := w.put(daemons, worldtest.Project(t, daemons, `{"apiVersion":"apps/v1","kind":"DaemonSet",`+
		`"metadata":{"name":"logs","namespace":"shop","uid":"u","resourceVersion":"7"},"spec":{"updateStrategy":{"type":"OnDelete"},"template":{"spec":{"containers":[]}}}}`))
	end := evening.Add(time.Hour)
	obj := &v1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sale"}}
	obj.Spec.StartTime, obj.Spec.EndTime = metav1.NewTime(noon), metav1.NewTime(end)
	obj.Spec.Deny = []v1alpha1.Action{v1alpha1.ActionRollOut}
	rule, _, errs := freeze.CompileObject(obj, freeze.Context{Scope: selector.Scope{}})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	v := decide.Target(w, ref, evening, nil)
	if v.Result.Patch == nil || v.Gate.Kind != decide.GateOpen {
		t.Fatalf("with no freeze: patch %q, waits %q", body(v), v.Gate.Reason)
	}
	if v.Result.Impact != v1alpha1.ImpactRollout {
		t.Fatalf("the write is of impact %s, so this test shows nothing", v.Result.Impact)
	}
	w.freezes = w.freezes.With(rule)
	v = decide.Target(w, ref, evening, nil)
	if v.Gate.Kind != decide.GateFreeze || !strings.Contains(v.Gate.Reason, "ChangeFreeze/shop/sale") || !v.Gate.Until.Equal(end) {
		t.Errorf("during the freeze: waits %q until %s, want until %s", v.Gate.Reason, v.Gate.Until, end)
	}
	if v = decide.Target(w, web, evening, nil); v.Gate.Kind != decide.GateOpen || v.Result.Patch == nil {
		t.Errorf("what restarts nothing is held up: %q", v.Gate.Reason)
	}
	if v = decide.Target(w, ref, end.Add(time.Minute), nil); v.Gate.Kind != decide.GateOpen {
		t.Errorf("after the freeze: waits %q", v.Gate.Reason)
	}
	w.freezes = nil
	if v = decide.Target(w, ref, evening, nil); v.Gate.Kind != decide.GateFreeze || !v.Gate.Until.IsZero() {
		t.Errorf("freezes not read yet: waits %q until %s", v.Gate.Reason, v.Gate.Until)
	}
}

func TestExplanationHasTheSteps(t *testing.T) {
	w, k, web := shop(t, false)
	k.Blocked = "the adapter is not ready"
	var story decide.Story
	v := decide.Target(w, web, evening, &story)
	if len(story.Policies) != 1 || story.Policies[0].Policy != nights {
		t.Fatalf("the story has %v", story.Policies)
	}
	steps := func(lines []pipeline.Line) (names []string) {
		for _, l := range lines {
			names = append(names, l.Step)
			if l.Text == "" {
				t.Errorf("step %s says nothing", l.Step)
			}
		}
		return names
	}
	if got := steps(story.Policies[0].Trace.Lines); !slices.Contains(got, "window") || !slices.Contains(got, "level") {
		t.Errorf("the policy's steps are %v", got)
	}
	if got := steps(story.Lines); !slices.Equal(got, []string{"render", "wait"}) {
		t.Errorf("the steps after it are %v", got)
	}
	if story.Lines[0].Text != v.Result.Message || story.Lines[1].Text != k.Blocked {
		t.Errorf("tells %v", story.Lines)
	}
	if untold := decide.Target(w, web, evening, nil); body(untold) != body(v) {
		t.Error("the verdict depends on whether a story is recorded")
	}
}

// A Schedule holds a Deployment at night. A hold stops a roll-out, so a freeze lets it through. Removing the hold
// starts the delayed roll-out, so it waits for the end of the freeze.
func TestAFreezeDelaysTheEndOfAHold(t *testing.T) {
	yes := true
	w, k, ref := shop(t, false)
	w.policies = []*decide.Policy{policyOf(t, func(s *v1alpha1.Schedule) { s.Spec.AsleepAs = &v1alpha1.AsleepAs{Hold: &yes} })}
	obj := &v1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sale"}}
	obj.Spec.StartTime, obj.Spec.EndTime = metav1.NewTime(noon.AddDate(0, 0, -1)), metav1.NewTime(noon.AddDate(0, 0, 1))
	obj.Spec.Deny = []v1alpha1.Action{v1alpha1.ActionCreate, v1alpha1.ActionDelete, v1alpha1.ActionRollOut, v1alpha1.ActionScale}
	rule, _, errs := freeze.CompileObject(obj, freeze.Context{Scope: selector.Scope{}})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	w.freezes = w.freezes.With(rule)
	v := decide.Target(w, ref, evening, nil)
	check(t, v, workload.DirectionDown, `"paused":true`)
	if v.Gate.Kind != decide.GateOpen {
		t.Errorf("to hold waits: %s", v.Gate.Reason)
	}
	held := strings.Replace(worldtest.Deployment("web", 3,
		strings.Replace(webLedger, `\"/spec/replicas\":{\"was\":3,\"set\":0`, `\"/spec/paused\":{\"set\":true`, 1)),
		`"replicas":3`, `"replicas":3,"paused":true`, 1)
	w.put(k, worldtest.Project(t, k, held))
	v = decide.Target(w, ref, noon, nil)
	check(t, v, workload.DirectionUp, `"paused":null`)
	if v.Gate.Kind != decide.GateFreeze || !strings.Contains(v.Gate.Reason, "ChangeFreeze/shop/sale") {
		t.Errorf("to give a hold back waits for %q, want the freeze", v.Gate.Reason)
	}
	w.freezes = &freeze.Set{}
	if v = decide.Target(w, ref, noon, nil); v.Gate.Kind != decide.GateOpen {
		t.Errorf("with no freeze it waits: %s", v.Gate.Reason)
	}
}

// The freeze selects namespaces by their labels and delays Flyball's own writes in them.
func TestAFreezeSelectsNamespacesByLabels(t *testing.T) {
	obj := &v1alpha1.ClusterChangeFreeze{ObjectMeta: metav1.ObjectMeta{Name: "prod"}}
	obj.Spec.Target.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}
	obj.Spec.StartTime, obj.Spec.EndTime = metav1.NewTime(noon.AddDate(0, 0, -1)), metav1.NewTime(noon.AddDate(0, 0, 1))
	obj.Spec.Deny = []v1alpha1.Action{v1alpha1.ActionRollOut}
	rule, _, errs := freeze.CompileObject(obj, freeze.Context{Scope: selector.Scope{}})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	for env, want := range map[string]decide.GateKind{"prod": decide.GateFreeze, "test": decide.GateOpen} {
		w, k, ref := shop(t, true)
		held := strings.Replace(webLedger, `\"/spec/replicas\":{\"was\":3,\"set\":0`, `\"/spec/paused\":{\"set\":true`, 1)
		w.put(k, worldtest.Project(t, k, strings.Replace(worldtest.Deployment("web", 3, held), `"replicas":3`, `"replicas":3,"paused":true`, 1)))
		w.namespaces["shop"] = decide.Namespace{Labels: workload.NewPairs(map[string]string{"env": env})}
		w.freezes = w.freezes.With(rule)
		if v := decide.Target(w, ref, noon, nil); v.Gate.Kind != want {
			t.Errorf("in a namespace of %s: gate %d, %s", env, v.Gate.Kind, v.Gate.Reason)
		}
	}
}

// remembering is a World that knows the policies of a ledger that has become unreadable.
type remembering struct{ *small }

func (remembering) LastKnown(workload.Ref) []workload.Policy {
	return []workload.Policy{nights, nights}
}

// A policy that no longer selects an object, or whose ledger entry has become unreadable, still counts the object.
func TestFormerPoliciesStillHaveAnOpinion(t *testing.T) {
	spoilt := `,"annotations":{"flyball.dev/ledger":"{"}`
	for _, tc := range []struct {
		reason   string
		manifest string
		recalls  bool
		left     int
		fails    bool
	}{
		{"nobody", worldtest.Deployment("web", 3, ""), true, 0, false},
		{"who stands in the ledger", worldtest.Deployment("web", 0, webLedger), true, 1, false},
		{"who is remembered", worldtest.Deployment("web", 0, spoilt), true, 1, true},
		{"a ledger that nobody remembers", worldtest.Deployment("web", 0, spoilt), false, 0, true},
		{"a size set once gives nothing back", worldtest.Deployment("web", 3,
			strings.Replace(webLedger, `\"set\":0`, `\"set\":3,\"once\":\"3\"`, 1)), true, 0, false},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			w, k, ref := shop(t, false)
			w.put(k, worldtest.Project(t, k, tc.manifest))
			w.policies[0].Target = selector.Nothing()
			world := decide.World(w)
			if tc.recalls {
				world = remembering{w}
			}
			v := decide.Target(world, ref, noon, nil)
			if len(v.Opinions) != tc.left || tc.left > 0 && (!v.Opinions[0].Left || v.Opinions[0].Policy.ID != nights) {
				t.Errorf("opinions %+v, want %d", v.Opinions, tc.left)
			}
			if (v.Err != nil) != tc.fails {
				t.Errorf("error %v", v.Err)
			}
			if idle := tc.reason == "nobody"; idle != reflect.DeepEqual(v.Result, adapter.Result{}) {
				t.Errorf("rendered to %+v", v.Result)
			}
		})
	}
}

// The story has the steps after the policies' answers: merge, render and wait.
func TestStoryHasMergeRenderAndWait(t *testing.T) {
	w, k, ref := shop(t, false)
	w.policies = append(w.policies, policyOf(t, func(s *v1alpha1.Schedule) {
		s.Name, s.Spec.Priority = "days", 1
		s.Spec.Downscale, s.Spec.Upscale = "0 7 * * *", "0 18 * * *"
	}))
	tell := func() (lines []string) {
		t.Helper()
		var story decide.Story
		decide.Target(w, ref, evening, &story)
		for _, l := range story.Lines {
			lines = append(lines, l.Step+": "+l.Text)
		}
		return lines
	}
	if got := tell(); len(got) != 2 || !strings.HasPrefix(got[0], "merge: Schedule/shop/days wins over Schedule/shop/nights on ") ||
		got[1] != "render: nothing to write: awake" {
		t.Errorf("tells %q", got)
	}
	w.put(k, worldtest.Project(t, k, worldtest.Deployment("web", 0, `,"annotations":{"flyball.dev/ledger":"{"}`)))
	if got := tell(); !strings.Contains(got[len(got)-1], adapter.ErrLedger.Error()) {
		t.Errorf("tells %q", got)
	}
}
