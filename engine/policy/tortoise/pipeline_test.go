package tortoise_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise"
	"flyball.dev/flyball/engine/workload"
)

// TestAdviceBecomesClaimsUnlessOff checks that advice becomes claims for the target and its autoscaler. Mode Off
// claims nothing. Without
// advice, earlier values stay.
func TestAdviceBecomesClaimsUnlessOff(t *testing.T) {
	id := workload.Policy{Kind: "Tortoise", Namespace: "shop", Name: "tuned"}
	advice := &workload.Advice{By: id, Amounts: map[workload.Amount]int64{amountOf("app", workload.CPU): 300}, Min: ptr.To(int64(2)),
		Max:     ptr.To(int64(9)),
		Targets: map[workload.Amount]int64{{Kind: workload.AmountUtilisation, Resource: workload.CPU}: 77}, AmountsSince: noon, BoundsSince: noon}
	other := *advice
	other.By.Name = "other"
	for _, tc := range []struct {
		reason, spec string
		advice       *workload.Advice
		classes      []workload.Class
		says         string
	}{
		{"off", `{}`, advice, nil, "nothing is changed. It recommends requests/app/cpu 300m, min 2, max 9"},
		{"off, of another policy", `{}`, &other, nil, "Off: nothing is changed\n"},
		{"off, nothing known", `{}`, nil, nil, "Off: nothing is changed\n"},
		{"nothing known", `{mode: Auto}`, nil, []workload.Class{workload.ClassKeep, workload.ClassKeep}, "earlier values stay"},
		{"of another policy", `{mode: Auto}`, &other, nil, "Tortoise/shop/other tunes it"},
		{"advice", `{mode: Auto}`, advice, []workload.Class{workload.ClassSet, workload.ClassSet},
			"requests/app/cpu 300m; autoscaler: min 2, max 9, utilisation/cpu 77%"},
		{"for the target alone", `{mode: Emergency}`, &workload.Advice{By: id, Amounts: advice.Amounts}, []workload.Class{workload.ClassSet},
			"none governs it"},
	} {
		p := compile(t, tc.spec)
		trace := &pipeline.Trace{}
		d, err := p.Pipeline.Run(&pipeline.Input{Now: noon, Advice: tc.advice}, trace)
		if err != nil {
			t.Fatal(err)
		}
		var classes []workload.Class
		for _, in := range d.Intents {
			classes = append(classes, in.Class)
			if in.By != id || in.Class == workload.ClassSet && in.Priority != 0 {
				t.Errorf("%s: %+v", tc.reason, in)
			}
		}
		if diff := cmp.Diff(tc.classes, classes); diff != "" {
			t.Errorf("%s: %s", tc.reason, diff)
		}
		if len(d.Intents) == 2 && (d.Intents[0].ForAutoscalers || !d.Intents[1].ForAutoscalers) {
			t.Errorf("%s: %+v", tc.reason, d.Intents)
		}
		if !strings.Contains(trace.String()+"\n", tc.says) {
			t.Errorf("%s: %q does not say %q", tc.reason, trace, tc.says)
		}
	}
}

// TestOnlyAnActingTortoiseNeedsRights checks that a policy that only recommends needs no right. A policy that acts
// needs the right to patch its
// targets and their autoscalers.
func TestOnlyAnActingTortoiseNeedsRights(t *testing.T) {
	row := tortoise.Kinds()[0]
	if rights := row.RightsOf(read(t, `{}`)); len(rights) > 0 {
		t.Errorf("Off takes %+v", rights)
	}
	rights := row.RightsOf(read(t, `{mode: Auto}`))
	if len(rights) != 2 || rights[0].Verb != "patch" || rights[0].Autoscalers || rights[1].Verb != "patch" || !rights[1].Autoscalers {
		t.Errorf("Auto takes %+v", rights)
	}
}

// TestStatusHasTotalsOverAllTargets checks that the status has the totals over all targets.
func TestStatusHasTotalsOverAllTargets(t *testing.T) {
	obj := read(t, `{mode: Auto}`)
	p := compile(t, `{mode: Auto}`)
	p.Tuner.FillTuned(obj, policy.TunedSummary{Phases: map[string]int{"Working": 2, "Emergency": 1},
		Saved: workload.Requests{MilliCPU: 1500, MemoryBytes: 2 << 30}, Next: noon})
	if s := obj.Status; s.Phase != "Emergency 1, Working 2" || s.Saved.CPU.String() != "1500m" || s.Saved.Memory.String() != "2Gi" ||
		!s.NextChangeTime.Time.Equal(noon) {
		t.Errorf("the status is %+v", s)
	}
	p.Tuner.FillTuned(obj, policy.TunedSummary{Phases: map[string]int{"Working": 2}})
	if s := obj.Status; s.Phase != "Working" || s.NextChangeTime != nil {
		t.Errorf("the status is %+v", s)
	}
	p.Tuner.FillTuned(obj, policy.TunedSummary{})
	if s := obj.Status; s.Phase != "" || s.Saved != nil {
		t.Errorf("the status is %+v", s)
	}
	for pods := range 3 {
		p.Tuner.FillTuned(obj, policy.TunedSummary{Pods: workload.Resizing{Pods: pods, Waiting: pods}})
		if s := obj.Status.Pods; (s != nil) != (pods > 0) || s != nil && int(s.Waiting) != pods {
			t.Errorf("with %d pods that are changed in place it tells of %+v", pods, s)
		}
	}
	p.Tuner.FillTuned(obj, policy.TunedSummary{})
	if s := obj.Status.Pods; s != nil {
		t.Errorf("once none is changed in place it tells of %+v", s)
	}
	if state := p.State(noon); state.Name != "Auto" || state.Active == "" {
		t.Errorf("the state is %+v", state)
	}
	if state := compile(t, `{}`).State(noon); state.Name != "Off" || state.Active != "" {
		t.Errorf("the state is %+v", state)
	}
	if _, err := json.Marshal(obj); err != nil {
		t.Error(err)
	}
}

// TestTheClusterTwin checks that a ClusterTortoise has the same status. While it acts, its active alternative is its
// mode.
func TestTheClusterTwin(t *testing.T) {
	obj := &v1alpha1.ClusterTortoise{}
	obj.Name, obj.Spec.Mode, obj.Spec.Target.Namespaces = "tuned", v1alpha1.TortoiseAuto, []string{"shop"}
	p, errs := tortoise.CompileCluster(obj, requesting)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	p.Tuner.FillTuned(obj, policy.TunedSummary{Phases: map[string]int{"Working": 1}})
	if obj.Status.Phase != "Working" {
		t.Errorf("the status is %+v", obj.Status)
	}
	r := p.Reporter
	if r.Condition() != v1alpha1.ConditionActive || r.AppliedLimit() != 0 || r.FillStatus(obj, time.Time{}, policy.Summary{}, nil) != "Auto" {
		t.Errorf("it reports %s, %d targets and %q", r.Condition(), r.AppliedLimit(), r.FillStatus(obj, time.Time{}, policy.Summary{}, nil))
	}
	if got := compile(t, `{}`).Reporter.FillStatus(obj, time.Time{}, policy.Summary{}, nil); got != "" {
		t.Errorf("one that is Off reports %q", got)
	}
	obj.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
	row := tortoise.Kinds()[1]
	if rights, kinds := row.RightsOf(obj), row.Meta(obj).Kinds; len(rights) != 2 || len(kinds) != 1 || kinds[0].Kind != "Deployment" ||
		row.Status(obj) != &obj.Status.PolicyStatus {
		t.Errorf("it takes %+v, and depends on %v", rights, kinds)
	}
}
