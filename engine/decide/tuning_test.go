package decide_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/worldtest"
)

var tuned = workload.Policy{Kind: tortoise.KindName, Namespace: "shop", Name: "tuned"}

// tuning is a Tortoise over Deployments.
func tuning(mode v1alpha1.TortoiseMode) *v1alpha1.Tortoise {
	t := &v1alpha1.Tortoise{TypeMeta: metav1.TypeMeta{Kind: tortoise.KindName},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "tuned"}}
	t.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: web.Group, Kind: web.Kind}}
	t.Spec.Mode, t.Spec.Priority = mode, -100
	return t
}

// requesting is a Deployment that requests a core and a gibibyte.
func requesting(replicas int, entries ...string) string {
	return strings.Replace(webAt(replicas, entries...), `"metadata":{"labels":{"app":"web"}}`,
		`"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"app","resources":{"requests":{"cpu":"1","memory":"1Gi"},"limits":{"memory":"2Gi"}}}]}`, 1)
}

// scalingAt is an autoscaler with a target utilisation.
func scalingAt(percent string, low, high int, entries ...string) string {
	return strings.Replace(hpaOf(low, high, entries...), `"scaleTargetRef"`,
		`"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization","averageUtilization":`+percent+
			`}}}],"scaleTargetRef"`, 1)
}

func found(since time.Time) *workload.Advice {
	return &workload.Advice{By: tuned, AmountsSince: since, BoundsSince: since, Min: new(int64(2)), Max: new(int64(8)),
		Amounts: map[workload.Amount]int64{
			{Component: "app", Resource: workload.CPU}:    300,
			{Component: "app", Resource: workload.Memory}: 512 << 20,
		},
		Targets: map[workload.Amount]int64{{Kind: workload.AmountUtilisation, Resource: workload.CPU}: 77},
	}
}

// Advice is written to the target and to its autoscaler, beside the claims of other policies.
func TestAdviceIsWrittenToTargetAndAutoscaler(t *testing.T) {
	auto, off := tuning(v1alpha1.TortoiseAuto), tuning(v1alpha1.TortoiseOff)
	gone := tuning(v1alpha1.TortoiseAuto)
	gone.DeletionTimestamp = &metav1.Time{Time: noon}
	peak := peakAt(v1alpha1.TriggerValues{Min: new(int64(6))})
	bounds := []string{entry("minReplicas", "4", "2", tuned), entry("maxReplicas", "9", "8", tuned)}
	for _, tc := range []struct {
		reason   string
		now      time.Time
		policies []policy.Object
		advice   *workload.Advice
		objects  []string
		// web and hpa are parts of the patches of both objects. Empty means no patch.
		web, hpa []string
	}{
		{"auto", noon, []policy.Object{auto}, found(noon), []string{requesting(4), scalingAt("50", 4, 9)},
			[]string{`"value":"300m"`, `"value":"512Mi"`, `limits`, `"value":"1Gi"`}, []string{`"value":2`, `"value":8`, `"value":77`}},
		{"off", noon, []policy.Object{off}, found(noon), []string{requesting(4), scalingAt("50", 4, 9)}, nil, nil},
		{"nothing known: what was set stays", noon, []policy.Object{auto}, nil, []string{requesting(4), scalingAt("50", 2, 8, bounds...)}, nil,
			nil},
		{"deleted: the bounds come back", noon, []policy.Object{gone}, found(noon), []string{requesting(4), scalingAt("50", 2, 8, bounds...)},
			nil, []string{`"minReplicas":4`, `"maxReplicas":9`}},
		{"turned off: the bounds come back", noon, []policy.Object{off}, found(noon), []string{requesting(4), scalingAt("50", 2, 8, bounds...)},
			nil, []string{`"minReplicas":4`, `"maxReplicas":9`}},
		{"a trigger wins on the minimum", evening, []policy.Object{auto, peak}, found(noon), []string{requesting(4), scalingAt("50", 4, 9)},
			[]string{`"value":"300m"`}, []string{`"value":6`, `"value":8`, `"value":77`}},
		{"asleep: the Deployment goes to zero first, and the autoscaler is left there", evening, []policy.Object{auto, nightly(0)}, found(noon),
			[]string{requesting(4), scalingAt("50", 4, 9)},
			[]string{`"replicas":0}`}, []string{`"value":77`}},
		{"at zero: the Deployment gets its requests", evening, []policy.Object{auto, nightly(0)}, found(noon),
			[]string{requesting(0, entry("replicas", "4", "0", nights)), scalingAt("77", 2, 8)},
			[]string{`"value":"300m"`}, nil},
		{"an autoscaler without such a target", noon, []policy.Object{auto}, found(noon), []string{requesting(4), hpaOf(4, 9)},
			[]string{`"value":"300m"`}, []string{`"minReplicas":2`, `"maxReplicas":8`}},
		{"a Deployment alone", noon, []policy.Object{auto}, found(noon), []string{requesting(4)}, []string{`"value":"300m"`}, nil},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			m := memory(t, tc.policies, tc.objects...)
			m.Advise(web, tc.advice)
			for ref, want := range map[workload.Ref][]string{web: tc.web, hpa: tc.hpa} {
				v := decide.Target(m, ref, tc.now, nil)
				got := body(v)
				if v.Err != nil || (got == "") != (len(want) == 0) {
					t.Errorf("%s: writes %q, %v", ref.Kind, got, v.Err)
				}
				for _, part := range want {
					if !strings.Contains(got, part) {
						t.Errorf("%s: writes %s, without %s", ref.Kind, got, part)
					}
				}
			}
		})
	}
}

// Advice for a deleted object is not used for a new object of the same name.
func TestAdviceIsNotUsedForANewObjectOfThatName(t *testing.T) {
	for uid, want := range map[string]bool{"": true, "uid-web": true, "uid-of-before": false} {
		m := memory(t, []policy.Object{tuning(v1alpha1.TortoiseAuto)}, requesting(4), scalingAt("50", 4, 9))
		advice := found(noon)
		advice.UID = uid
		m.Advise(web, advice)
		for _, ref := range []workload.Ref{web, hpa} {
			if v := decide.Target(m, ref, noon, nil); v.Err != nil || (v.Result.Patch != nil) != want {
				t.Errorf("found for %q: %s: it writes %q, %v", uid, ref.Kind, body(v), v.Err)
			}
		}
	}
}

// A change of requests in a template is a roll-out; a change of bounds is not.
func TestRequestsWaitForFreezes(t *testing.T) {
	freeze := &v1alpha1.ChangeFreeze{TypeMeta: metav1.TypeMeta{Kind: "ChangeFreeze"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "quiet"}}
	freeze.Spec.StartTime, freeze.Spec.EndTime = metav1.NewTime(noon.Add(-time.Hour)), metav1.NewTime(noon.Add(time.Hour))
	freeze.Spec.Deny = []v1alpha1.Action{"RollOut"}
	m := memory(t, []policy.Object{tuning(v1alpha1.TortoiseAuto), freeze}, requesting(4), scalingAt("50", 4, 9))
	m.Advise(web, found(noon))
	if v := decide.Target(m, web, noon, nil); v.Gate.Kind != decide.GateFreeze || !v.Gate.Until.Equal(noon.Add(time.Hour)) {
		t.Errorf("the roll-out waits for %+v", v.Gate)
	}
	if v := decide.Target(m, hpa, noon, nil); v.Gate.Kind != decide.GateOpen || v.Result.Patch == nil {
		t.Errorf("the autoscaler waits for %+v", v.Gate)
	}
}

// An in-place change of pods writes nothing to the object. Only a freeze that denies Scale delays it.
func TestInPlaceChangesWaitForAFreezeOfScale(t *testing.T) {
	advice := found(noon)
	advice.InPlace = true
	for deny, want := range map[v1alpha1.Action]decide.GateKind{"Scale": decide.GateFreeze, "RollOut": decide.GateOpen} {
		freeze := &v1alpha1.ChangeFreeze{TypeMeta: metav1.TypeMeta{Kind: "ChangeFreeze"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "quiet"}}
		freeze.Spec.StartTime, freeze.Spec.EndTime = metav1.NewTime(noon.Add(-time.Hour)), metav1.NewTime(noon.Add(time.Hour))
		freeze.Spec.Deny = []v1alpha1.Action{deny}
		m := memory(t, []policy.Object{tuning(v1alpha1.TortoiseAuto), freeze}, requesting(4), scalingAt("50", 4, 9))
		m.Advise(web, advice)
		v := decide.Target(m, web, noon, nil)
		if v.Result.Patch != nil || len(v.Plan.Amounts) == 0 {
			t.Errorf("%s: %d amounts, and a patch is %t", deny, len(v.Plan.Amounts), v.Result.Patch != nil)
		}
		if gate := decide.ScaleGate(m, v.Kind, v.Object, noon); gate.Kind != want || want == decide.GateFreeze &&
			!gate.Until.Equal(noon.Add(time.Hour)) {
			t.Errorf("%s denied: the pods wait for %+v", deny, gate)
		}
	}
}

// A policy that tunes Deployments also reads the utilisation of their autoscalers; other policies do not.
func TestTuningKeepsTheAmountsOfAutoscalers(t *testing.T) {
	with := memory(t, []policy.Object{tuning(v1alpha1.TortoiseOff)}, worldtest.Deployment("web", 1, ""))
	without := memory(t, []policy.Object{nightly(0)}, worldtest.Deployment("web", 1, ""))
	for ref, want := range map[workload.Ref]bool{web: true, hpa: true, {GroupKind: owners}: false} {
		if got := with.Keys(ref.GroupKind).Amounts; got != want {
			t.Errorf("amounts of %s are kept: %t", ref.Kind, got)
		}
		if without.Keys(ref.GroupKind).Amounts {
			t.Errorf("without a policy that tunes, amounts of %s are kept", ref.Kind)
		}
	}
}
