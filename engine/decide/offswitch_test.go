package decide_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

var kedaScaled = workload.Ref{GroupKind: schema.GroupKind{Group: "keda.sh", Kind: "ScaledObject"}, Namespace: "shop", Name: "scaled"}

// scaledOf is a ScaledObject of the Deployment with annotations, as JSON members, and a ledger if there are entries.
func scaledOf(annotations string, entries ...string) string {
	if len(entries) > 0 {
		annotations += strings.TrimPrefix(ledgerOf("ScaledObject/scaled", strings.Join(entries, ",")), `,"annotations":{`)
	}
	return strings.NewReplacer(`"generation":1`, `"generation":1,"annotations":{`+strings.TrimRight(annotations, ",}")+`}`,
		`"minReplicaCount":0`, `"minReplicaCount":2`).Replace(scaledObject)
}

// kedaEntry is the ledger entry of an annotation of KEDA that a policy has added.
func kedaEntry(name, set string, by workload.Policy) string {
	return `"/metadata/annotations/autoscaling.keda.sh~1` + name + `":{"set":"` + set + `","by":"` + by.String() +
		`","since":"2026-03-02T20:00:00Z","made":2}`
}

// paused returns the manifest of a ScaledObject with KEDA's condition Paused.
func paused(manifest, status string) string {
	return strings.TrimSuffix(manifest, "}") + `,"status":{"conditions":[{"type":"Paused","status":"` + status + `"}]}}`
}

func ofKinds(s *v1alpha1.Schedule, name string, kinds ...schema.GroupKind) *v1alpha1.Schedule {
	s.Name = name
	for _, gk := range kinds {
		s.Spec.Target.Kinds = append(s.Spec.Target.Kinds, v1alpha1.KindRef{Group: gk.Group, Kind: gk.Kind})
	}
	return s
}

// An autoscaler with an off switch takes its target to zero at once. So it is only held beside a target that sleeps by
// its own adapter: the count of the target is on record before anybody changes it.
func TestAutoscalersWithAnOffSwitchAreHeldBesideASleepingTarget(t *testing.T) {
	const frozen, parked = `"autoscaling.keda.sh/paused":"true",`, `"autoscaling.keda.sh/paused-replicas":`
	later := evening.Add(time.Hour)
	held := scaledOf(frozen, kedaEntry("paused", "true", nights))
	atZero := webAt(0, entry("replicas", "3", "0", nights))
	awake := order("demo", v1alpha1.OverrideAwake, -1, 10)
	awake.Spec.Target.Names = []string{"web"}
	others := workload.Policy{Kind: nights.Kind, Namespace: "shop", Name: "others"}
	for _, tc := range []struct {
		reason   string
		now      time.Time
		policies []policy.Object
		objects  []string
		// so and web are parts of the patches, or "" without a patch. first is the object that must be written before.
		so, web             string
		soFirst, webFirst   workload.Ref
		soAsleep, webAsleep bool
	}{
		{"both are to sleep", evening, []policy.Object{nightly(0)}, []string{webAt(3), scaledOf("")},
			`"autoscaling.keda.sh/paused":"true"`, `"replicas":0`, workload.Ref{}, kedaScaled, false, true},
		{"it is held", evening, []policy.Object{nightly(0)}, []string{webAt(3), held}, "", `"replicas":0`, workload.Ref{}, workload.Ref{}, false,
			true},
		{"both sleep", later, []policy.Object{nightly(0)}, []string{atZero, held}, "", "", workload.Ref{}, workload.Ref{}, false, true},
		{"the target is to wake", noon, []policy.Object{nightly(0)}, []string{atZero, held}, "", `"replicas":3`, workload.Ref{},
			workload.Ref{}, false, false},
		{"the target is awake", noon, []policy.Object{nightly(0)}, []string{webAt(3), held}, `"autoscaling.keda.sh/paused":null`, "",
			workload.Ref{}, workload.Ref{}, false, false},
		{"the schedule names the autoscaler alone", evening, []policy.Object{ofKinds(nightly(0), "nights", kedaScaled.GroupKind)},
			[]string{webAt(3), scaledOf("")}, parked + `"0"`, "", workload.Ref{}, workload.Ref{}, true, false},
		{"the target gets half of its count by another schedule", evening,
			[]policy.Object{half(), ofKinds(nightly(0), "others", kedaScaled.GroupKind)}, []string{webAt(3), scaledOf("")},
			`"autoscaling.keda.sh/paused":"true"`, `"replicas":2`, workload.Ref{}, kedaScaled, false, true},
		{"the target alone gets half of its count", evening, []policy.Object{ofKinds(half(), "nights", web.GroupKind)},
			[]string{webAt(3), scaledOf("")}, `"autoscaling.keda.sh/paused":"true"`, `"replicas":2`, workload.Ref{}, kedaScaled, false, true},
		{"it is held, and KEDA has not seen it", evening, []policy.Object{ofKinds(half(), "nights", web.GroupKind)},
			[]string{webAt(3), paused(held, "False")}, "", `"replicas":2`, workload.Ref{}, kedaScaled, false, true},
		{"it is held, and KEDA has paused it", evening, []policy.Object{ofKinds(half(), "nights", web.GroupKind)},
			[]string{webAt(3), paused(held, "True")}, "", `"replicas":2`, workload.Ref{}, workload.Ref{}, false, true},
		{"it is held, and KEDA's own autoscaler is still there", evening, []policy.Object{ofKinds(half(), "nights", web.GroupKind)},
			[]string{webAt(3), paused(held, "True"), kedaOf("ScaledObject", "scaled")}, "", `"replicas":2`, workload.Ref{}, kedaScaled, false,
			true},
		{"KEDA 2.19 calls it ready again once its own autoscaler is deleted", evening, []policy.Object{nightly(0)},
			[]string{webAt(3), strings.Replace(paused(held, "True"), `"conditions":[`, `"conditions":[{"type":"Ready","status":"True",`+
				`"message":"ScaledObject is defined correctly and is ready for scaling"},`, 1)},
			"", `"replicas":0`, workload.Ref{}, workload.Ref{}, false, true},
		{"half of the target sleeps", later, []policy.Object{ofKinds(half(), "nights", web.GroupKind)},
			[]string{webAt(2, entry("replicas", "3", "2", nights)), paused(held, "True")}, "", "", workload.Ref{}, workload.Ref{}, false, true},
		{"half of the target is to wake", noon, []policy.Object{ofKinds(half(), "nights", web.GroupKind)},
			[]string{webAt(2, entry("replicas", "3", "2", nights)), paused(held, "True")}, "", `"replicas":3`, workload.Ref{}, workload.Ref{}, false,
			false},
		{"the target is kept awake by hand", evening, []policy.Object{nightly(0), awake}, []string{webAt(3), scaledOf("")}, "", "",
			workload.Ref{}, workload.Ref{}, false, false},
		{"the target was woken by hand", later, []policy.Object{nightly(0), awake}, []string{webAt(3), held},
			`"autoscaling.keda.sh/paused":null`, "", workload.Ref{}, workload.Ref{}, false, false},
		{"the owner has parked the target at five", evening, []policy.Object{nightly(0)}, []string{webAt(5), scaledOf(parked + `"5",`)},
			parked + `"0"`, `"replicas":0`, web, workload.Ref{}, true, true},
		{"the target sleeps, and its autoscaler slept before by another schedule", later,
			[]policy.Object{ofKinds(nightly(0), "nights", web.GroupKind), ofKinds(nightly(0), "others", kedaScaled.GroupKind)},
			[]string{webAt(0), scaledOf(parked+`"0",`, kedaEntry("paused-replicas", "0", others))}, parked + `null`, "", workload.Ref{},
			workload.Ref{}, false, false},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			m := memory(t, tc.policies, tc.objects...)
			for _, want := range []struct {
				ref    workload.Ref
				writes string
				first  workload.Ref
				asleep bool
			}{{kedaScaled, tc.so, tc.soFirst, tc.soAsleep}, {web, tc.web, tc.webFirst, tc.webAsleep}} {
				v := decide.Target(m, want.ref, tc.now, nil)
				if got := body(v); v.Err != nil || (got == "") != (want.writes == "") || !strings.Contains(got, want.writes) {
					t.Errorf("%s: writes %q, %v; want %q", want.ref.Kind, got, v.Err, want.writes)
				}
				if v.Gate.First != want.first || (v.Gate.Kind == decide.GateOpen) != (want.first == workload.Ref{}) {
					t.Errorf("%s: waits for %q", want.ref.Kind, v.Gate.Reason)
				}
				if asleep := v.Result.State == workload.StateAsleep; asleep != want.asleep {
					t.Errorf("%s: the state is %s", want.ref.Kind, v.Result.State)
				}
			}
			v := decide.Target(m, web, tc.now, nil)
			if opened := decide.Openings(m, &v, tc.now); len(opened) > 0 {
				t.Errorf("writes bounds before the size: %s", opened[0].Result.Message)
			}
		})
	}
}

// KEDA's own autoscaler stays in memory once its kind can no longer be read: the Deployment does not wait for ever.
func TestTargetsDoNotWaitForTheDeletionOfAnAutoscalerThatCannotBeRead(t *testing.T) {
	held := scaledOf(`"autoscaling.keda.sh/paused":"true",`, kedaEntry("paused", "true", nights))
	m := memory(t, []policy.Object{nightly(0)}, webAt(3), paused(held, "True"), kedaOf("ScaledObject", "scaled"))
	for _, why := range []string{"", "the list is forbidden"} {
		m.Kind(schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}).Blocked = why
		v := decide.Target(m, web, evening, nil)
		if (v.Gate.Kind == decide.GateOpen) != (why != "") || v.Result.Patch == nil {
			t.Errorf("blocked by %q: waits for %q", why, v.Gate.Reason)
		}
	}
}
