package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/worldtest"
)

// limitOf returns the limit that a verdict tells the order demo, and whether the order has an opinion.
func limitOf(v decide.Verdict) (string, bool) {
	i := slices.IndexFunc(v.Opinions, func(o decide.Opinion) bool { return o.Policy.ID.Name == "demo" })
	if i < 0 {
		return "", false
	}
	return v.Opinions[i].Limited, true
}

// The end of an order would restore what a policy keeps, so an order takes nothing over from a policy that keeps its values.
func TestAnOrderTakesNothingOverThatAPolicyKeeps(t *testing.T) {
	suspended, broken, downOnly := nightly(0), nightly(0), nightly(0)
	suspended.Spec.Suspend, broken.Spec.TimeZone, downOnly.Spec.Upscale = true, "Nowhere/City", ""
	downOnly.CreationTimestamp = metav1.Time{Time: evening.Add(-48 * time.Hour)}
	half := nightly(0)
	half.Spec.Suspend, half.Spec.AsleepAs = true, &v1alpha1.AsleepAs{Replicas: new(int64(1))}
	const other = `,"annotations":{"flyball.dev/ledger":"{\"/spec/replicas\":{\"was\":3,\"set\":1,\"by\":\"Schedule/shop/nights\",` +
		`\"since\":\"2026-03-01T20:00:00Z\"},\"of\":\"Deployment/web\",\"namespace\":\"shop\",\"uid\":\"uid-web\"}"}`
	const keeps = "Schedule/shop/nights keeps the target as it is"
	for _, tc := range []struct {
		reason   string
		schedule *v1alpha1.Schedule
		ledger   string
		replicas int
		effect   v1alpha1.OverrideEffect
		limit    string
		writes   bool
	}{
		{"a suspended schedule, asleep", suspended, webLedger, 0, v1alpha1.OverrideAsleep, keeps, false},
		{"a suspended schedule, with less", half, other, 1, v1alpha1.OverrideAsleep, keeps, false},
		{"a suspended schedule, held", suspended, webLedger, 0, v1alpha1.OverrideHold, keeps, false},
		{"a broken schedule, asleep", broken, webLedger, 0, v1alpha1.OverrideAsleep, keeps, false},
		{"a suspended schedule that has nothing in place", suspended, "", 3, v1alpha1.OverrideAsleep, "", true},
		{"a schedule in its night", nightly(0), webLedger, 0, v1alpha1.OverrideAsleep, "", true},
	} {
		m := memory(t, []policy.Object{tc.schedule, order("demo", tc.effect, -1, 3)}, worldtest.Deployment("web", tc.replicas, tc.ledger))
		v := decide.Target(m, web, evening, nil)
		limit, ok := limitOf(v)
		if writes := body(v) != ""; v.Err != nil || !ok || limit != tc.limit || writes != tc.writes {
			t.Errorf("%s: limit %q (%t), writes %q, %v", tc.reason, limit, ok, body(v), v.Err)
		}
		// After the order everything is as it would be without it.
		alone := memory(t, []policy.Object{tc.schedule}, worldtest.Deployment("web", tc.replicas, tc.ledger))
		if v.Result.Patch == nil && body(decide.Target(m, web, evening.Add(4*time.Hour), nil)) !=
			body(decide.Target(alone, web, evening.Add(4*time.Hour), nil)) {
			t.Errorf("%s: the end of the order changes the target", tc.reason)
		}
	}
}

// The schedule selects only the Deployment, and has held its autoscaler. Once the schedule is suspended, neither the policy itself nor
// an order that selects the autoscaler lets the autoscaler wake the Deployment.
func TestASuspendedPolicyKeepsTheAutoscalerOfItsTargetHeld(t *testing.T) {
	suspended := nightly(0)
	suspended.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
	m := memory(t, []policy.Object{suspended}, webAt(4), strings.Replace(scaledObject, `"minReplicaCount":0`, `"minReplicaCount":1`, 1))
	if _, err := decide.Simulate(m, evening.Add(-time.Hour), evening.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	so := workload.Ref{GroupKind: schema.GroupKind{Group: "keda.sh", Kind: "ScaledObject"}, Namespace: "shop", Name: "scaled"}
	suspended.Spec.Suspend = true
	demo := order("demo", v1alpha1.OverrideHold, -1, 3)
	demo.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "keda.sh", Kind: "ScaledObject"}}
	for limit, policies := range map[string][]policy.Object{
		"": {suspended}, "Schedule/shop/nights keeps the target as it is": {suspended, demo},
	} {
		v := decide.Target(memory(t, policies, string(m.Raw(web)), string(m.Raw(so))), so, evening.Add(time.Hour), nil)
		if got, _ := limitOf(v); len(v.Object.Ledger) == 0 || got != limit || body(v) != "" {
			t.Errorf("limit %q, writes %q, ledger %v", got, body(v), v.Object.Ledger)
		}
	}
}

// An order that leaves an object to its controller does not count there: a schedule that acts on the object does not yield to it. Nor
// do the limits of a schedule that leaves the object alone count.
func TestPoliciesThatLeaveAnObjectAloneDoNotCountForOrders(t *testing.T) {
	owned := worldtest.Deployment("web", 3, controller("example.com/v1", "Shop"))
	named := nightly(0)
	named.Spec.Target.Kinds, named.Spec.Target.Names = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}, []string{"web"}
	for _, effect := range []v1alpha1.OverrideEffect{v1alpha1.OverrideAwake, v1alpha1.OverrideAsleep} {
		m := memory(t, []policy.Object{named, order("demo", effect, -1, 3)}, owned)
		v := decide.Target(m, web, evening, nil)
		if !strings.Contains(body(v), `"replicas":0`) || v.Plan.Size == nil || v.Plan.Size.By != nights {
			t.Errorf("beside an order %s that leaves it alone it writes %q", effect, body(v))
		}
	}
	demo := order("demo", v1alpha1.OverrideAsleep, -1, 3)
	demo.Spec.Target.Kinds, demo.Spec.Target.Names = named.Spec.Target.Kinds, named.Spec.Target.Names
	limits := bounded("", v1alpha1.OverrideAwake)
	v := decide.Target(memory(t, []policy.Object{limits, demo}, owned), web, evening, nil)
	if limit, ok := limitOf(v); !ok || limit != "" || !strings.Contains(body(v), `"replicas":0`) {
		t.Errorf("beside a schedule that leaves it alone: limit %q, writes %q", limit, body(v))
	}
	// The order keeps the Deployment awake, which it leaves to its controller. The autoscaler does not count for it.
	scaler := nightly(0)
	scaler.Spec.Target.Kinds, scaler.Spec.Target.Names = []v1alpha1.KindRef{{Group: "keda.sh", Kind: "ScaledObject"}}, []string{"scaled"}
	other := order("demo", v1alpha1.OverrideAwake, -1, 3)
	other.Spec.Target.Kinds = named.Spec.Target.Kinds
	scaled := memory(t, []policy.Object{scaler, other}, owned, scaledObject)
	so := workload.Ref{GroupKind: schema.GroupKind{Group: "keda.sh", Kind: "ScaledObject"}, Namespace: "shop", Name: "scaled"}
	if v := decide.Target(scaled, so, evening, nil); body(v) == "" {
		t.Errorf("the autoscaler stays awake: %+v", v.Opinions)
	}
}

// Of an order Awake and an order Asleep, only an order Awake with an effect on the target wins.
func TestAnOrderAwakeWithoutEffectDoesNotCancelAnOrderAsleep(t *testing.T) {
	const awake, asleep = v1alpha1.OverrideAwake, v1alpha1.OverrideAsleep
	const other = "Override/shop/other keeps it awake, and more capacity wins"
	suspended := nightly(0)
	suspended.Spec.Suspend = true
	second := called(nightly(0), "second")
	second.Spec.Overrides = &v1alpha1.OverrideBounds{Effects: []v1alpha1.OverrideEffect{asleep}}
	for _, tc := range []struct {
		reason    string
		schedules []policy.Object
		awake     *v1alpha1.Override
		limit     string
	}{
		{"no schedule", nil, order("other", awake, -1, 5), other},
		{"the schedule yields to no effect Awake", []policy.Object{bounded("", asleep)}, order("other", awake, -1, 5), ""},
		{"the schedule's limit is over", []policy.Object{bounded("30m", awake, asleep)}, order("other", awake, -2, 5),
			"Schedule/shop/nights yields for at most 30m"},
		{"the order names another schedule", []policy.Object{nightly(0)}, order("other", awake, -1, 5, "office"), ""},
		{"one of two schedules yields", []policy.Object{nightly(0), second}, order("other", awake, -1, 5), other},
		{"the schedule is suspended", []policy.Object{suspended}, order("other", awake, -1, 5), other},
		{"the order names a schedule and there is none", nil, order("other", awake, -1, 5, "office"), ""},
		{"the order names a schedule beside a suspended one", []policy.Object{suspended}, order("other", awake, -1, 5, "office"), ""},
	} {
		policies := append(slices.Clone(tc.schedules), tc.awake, order("demo", asleep, -1, 5))
		v := decide.Target(memory(t, policies, worldtest.Deployment("web", 3, "")), web, evening, nil)
		limit, ok := limitOf(v)
		if !ok || limit != tc.limit || (v.Plan.Size != nil && v.Plan.Size.By.Name == "demo") != (tc.limit == "") {
			t.Errorf("%s: limit %q, plan %+v", tc.reason, limit, v.Plan.Size)
		}
	}
}

// An error in a schedule lets no order pass its limits.
func TestLimitsOfABrokenScheduleStay(t *testing.T) {
	for effect, want := range map[v1alpha1.OverrideEffect]string{
		v1alpha1.OverrideAsleep: "Schedule/shop/nights yields to no effect Asleep", v1alpha1.OverrideHold: "",
	} {
		broken := bounded("", v1alpha1.OverrideAwake, v1alpha1.OverrideHold)
		broken.Spec.TimeZone = "Nowhere/City"
		m := memory(t, []policy.Object{broken, order("demo", effect, -1, 3)}, worldtest.Deployment("web", 3, ""))
		v := decide.Target(m, web, evening, nil)
		if limit, ok := limitOf(v); !ok || limit != want || (body(v) != "") != (want == "") {
			t.Errorf("%s: limit %q (%t), writes %q", effect, limit, ok, body(v))
		}
	}
}

// A Job that is created while an order puts its namespace to sleep ends by itself, as in a schedule's night.
func TestAJobThatIsCreatedDuringAnOrderIsLeftAlone(t *testing.T) {
	const job = `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"report","namespace":"shop","uid":"j","resourceVersion":"1",
  "creationTimestamp":%q},"spec":{"suspend":false}}`
	ref := workload.Ref{GroupKind: schema.GroupKind{Group: "batch", Kind: "Job"}, Namespace: "shop", Name: "report"}
	const alone = "it was created during the order, and ends by itself"
	for at, want := range map[time.Duration]string{-2 * time.Hour: "", -30 * time.Minute: alone} {
		m := memory(t, []policy.Object{order("demo", v1alpha1.OverrideAsleep, -1, 3)},
			fmt.Sprintf(job, evening.Add(at).Format(time.RFC3339)))
		v := decide.Target(m, ref, evening, nil)
		if limit, ok := limitOf(v); !ok || limit != want || (body(v) != "") != (want == "") {
			t.Errorf("created %s before the evening: limit %q, writes %q", -at, limit, body(v))
		}
	}
}

// An autoscaler and its scale target sleep, are held and wake together. So the limits of a schedule of one hold for orders about the
// other.
func TestLimitsOfASchedulePassThroughTheAutoscaler(t *testing.T) {
	const none = "Schedule/shop/nights yields to no effect "
	kinds := map[string][]v1alpha1.KindRef{"Deployment": {{Group: "apps", Kind: "Deployment"}},
		"ScaledObject": {{Group: "keda.sh", Kind: "ScaledObject"}}}
	so := workload.Ref{GroupKind: schema.GroupKind{Group: "keda.sh", Kind: "ScaledObject"}, Namespace: "shop", Name: "scaled"}
	noon := evening.Add(-8 * time.Hour)
	for _, tc := range []struct {
		schedule, order string
		effect          v1alpha1.OverrideEffect
		bounds          []v1alpha1.OverrideEffect
		limit           string
	}{
		{"Deployment", "ScaledObject", v1alpha1.OverrideAsleep, []v1alpha1.OverrideEffect{v1alpha1.OverrideAwake}, none + "Asleep"},
		{"ScaledObject", "Deployment", v1alpha1.OverrideAsleep, []v1alpha1.OverrideEffect{v1alpha1.OverrideAwake}, none + "Asleep"},
		{"Deployment", "ScaledObject", v1alpha1.OverrideHold, []v1alpha1.OverrideEffect{v1alpha1.OverrideAwake}, none + "Hold"},
		{"ScaledObject", "Deployment", v1alpha1.OverrideHold, []v1alpha1.OverrideEffect{v1alpha1.OverrideAwake}, none + "Hold"},
		{"Deployment", "ScaledObject", v1alpha1.OverrideAsleep, nil, ""},
		{"ScaledObject", "Deployment", v1alpha1.OverrideAsleep, nil, ""},
	} {
		limits, demo := nightly(0), order("demo", tc.effect, -9, 20)
		if tc.bounds != nil {
			limits = bounded("", tc.bounds...)
		}
		limits.Spec.Target.Kinds, demo.Spec.Target.Kinds = kinds[tc.schedule], kinds[tc.order]
		m := memory(t, []policy.Object{limits, demo}, webAt(4), scaledObject)
		ordered, written := map[string]workload.Ref{"Deployment": web, "ScaledObject": so}[tc.order], ""
		for _, ref := range []workload.Ref{web, so} {
			written += body(decide.Target(m, ref, noon, nil))
		}
		limit, ok := limitOf(decide.Target(m, ordered, noon, nil))
		if !ok || limit != tc.limit || (written == "") != (tc.limit != "") {
			t.Errorf("schedule of the %s, order %s of the %s: limit %q (%t), writes %q", tc.schedule, tc.effect, tc.order, limit, ok, written)
		}
	}
}

// An autoscaler is held while its target sleeps, so an order to keep only the autoscaler awake says that it has no effect, and why.
func TestAnOrderToKeepOnlyAnAutoscalerAwakeNamesTheSleepingTarget(t *testing.T) {
	const awake, asleep = v1alpha1.OverrideAwake, v1alpha1.OverrideAsleep
	other := order("other", asleep, -1, 3)
	other.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
	for _, tc := range []struct {
		scaler   workload.Ref
		manifest string
		policies []policy.Object
		limit    string
	}{
		{hpa, hpaOf(0, 9), []policy.Object{other}, "Deployment.apps/shop/web is asleep, because of Override/shop/other"},
		{hpa, hpaOf(0, 9), []policy.Object{nightly(0)}, "Deployment.apps/shop/web is asleep, because of Schedule/shop/nights"},
		{kedaScaled, scaledObject, []policy.Object{nightly(0)}, "Deployment.apps/shop/web is asleep, because of Schedule/shop/nights"},
		{kedaScaled, scaledObject, []policy.Object{nightly(0), other}, "Deployment.apps/shop/web is asleep, because of Override/shop/other"},
		{hpa, hpaOf(0, 9), nil, ""},
	} {
		demo := order("demo", awake, -1, 3)
		demo.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: tc.scaler.Group, Kind: tc.scaler.Kind}}
		v := decide.Target(memory(t, append(slices.Clone(tc.policies), demo), webAt(4), tc.manifest), tc.scaler, evening, nil)
		if limit, ok := limitOf(v); limit != tc.limit || ok != (tc.limit != "") {
			t.Errorf("%s beside %d policies: limit %q, want %q", tc.scaler, len(tc.policies), limit, tc.limit)
		}
	}
}
