package decide_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

// leaving is a Schedule for Deployments that leaves a percentage of the replicas at night.
func leaving(name string, percent int32) *v1alpha1.Schedule {
	s := nightly(1)
	s.Name = name
	s.Spec.AsleepAs = &v1alpha1.AsleepAs{Percent: &percent}
	s.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: web.Group, Kind: web.Kind}}
	return s
}

// byDay is a Trigger that sets values on autoscalers from eight in the morning until eight in the evening.
func byDay(values v1alpha1.TriggerValues) *v1alpha1.Trigger {
	tr := peakAt(values)
	tr.Spec.Triggers[0].Window = v1alpha1.Window{From: "08:00", To: "20:00"}
	return tr
}

// While a Deployment waits for its next count (for its batch, or because of a refusal), its autoscaler keeps the bounds
// for the current count. With other bounds, the autoscaler would scale the Deployment in the meantime.
func TestAutoscalerKeepsBoundsUntilTheCountIsWritten(t *testing.T) {
	later := evening.Add(time.Hour)
	halved, atZero := entry("replicas", "6", "3", nights), entry("replicas", "6", "0", nights)
	low, high := entry("minReplicas", "4", "3", nights), entry("maxReplicas", "9", "3", nights)
	asleep := []string{webAt(3, halved), hpaOf(3, 3, low, high)}
	max12 := entry("maxReplicas", "9", "12", peak)
	second := worldtest.Autoscaler("second", "web", 3, 3, ledgerOf("HorizontalPodAutoscaler/second", entry("minReplicas", "5", "3", nights)+
		","+entry("maxReplicas", "7", "3", nights)))
	for _, tc := range []struct {
		reason   string
		now      time.Time
		policies []policy.Object
		objects  []string
		// web is the patch of the Deployment, and hpa is the patch of the autoscaler, each decided by itself. opened is the
		// autoscaler's patch directly before the patch web.
		web, hpa, opened string
	}{
		{"edited to more", later, []policy.Object{leaving("nights", 80)}, asleep, "replicas 3 -> 5", "", "maxReplicas 3 -> 5"},
		{"edited to less", later, []policy.Object{leaving("nights", 20)}, asleep, "replicas 3 -> 2", "", "minReplicas 3 -> 2"},
		{"edited to none", later, []policy.Object{leaving("nights", 0)}, asleep, "replicas 3 -> 0", "",
			""},
		{"at none, after that", later, []policy.Object{leaving("nights", 0)}, []string{webAt(0, atZero), hpaOf(3, 3, low, high)}, "",
			"maxReplicas 3 -> 9, minReplicas 3 -> 4", ""},
		{"edited from none", later, []policy.Object{leaving("nights", 50)}, []string{webAt(0, atZero), hpaOf(4, 9)}, "replicas 0 -> 3", "",
			"minReplicas 4 -> 3"},
		{"another one takes over, with more", later, []policy.Object{leaving("other", 80)}, asleep, "replicas 3 -> 5", "", "maxReplicas 3 -> 5"},
		{"another one takes over, with less", later, []policy.Object{leaving("other", 20)}, asleep, "replicas 3 -> 2", "", "minReplicas 3 -> 2"},
		{"another one takes over, with none", later, []policy.Object{leaving("other", 0)}, asleep, "replicas 3 -> 0",
			"", ""},
		{"opened, and a Trigger has its maximum", later, []policy.Object{leaving("nights", 50),
			peakAt(v1alpha1.TriggerValues{Min: new(int64(8)), Max: new(int64(12))})},
			[]string{webAt(12), hpaOf(6, 12, entry("minReplicas", "4", "6", nights), max12)}, "replicas 12 -> 6", "", ""},
		{"woken, and a Trigger sets the size once", noon, []policy.Object{leaving("nights", 50),
			byDay(v1alpha1.TriggerValues{Min: new(int64(6)), Max: new(int64(12)), Replicas: new(int64(7))})},
			asleep, "replicas 3 -> 7", "", "maxReplicas 3 -> 7"},
		{"woken, and a Trigger has a lower maximum", noon, []policy.Object{leaving("nights", 50),
			byDay(v1alpha1.TriggerValues{Min: new(int64(1)), Max: new(int64(2))})},
			asleep, "replicas 3 -> 2", "", "minReplicas 3 -> 2"},
		{"woken under autoscalers that contradict each other", noon, []policy.Object{leaving("nights", 50)},
			[]string{webAt(3, halved), hpaOf(3, 3, entry("minReplicas", "1", "3", nights), entry("maxReplicas", "4", "3", nights)), second},
			"replicas 3 -> 5", "", "maxReplicas 3 -> 5; maxReplicas 3 -> 5"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			w := memory(t, tc.policies, tc.objects...)
			v := decide.Target(w, web, tc.now, nil)
			var opened []string
			for _, o := range decide.Openings(w, &v, tc.now) {
				opened = append(opened, o.Result.Message)
			}
			got := []string{v.Result.Message, decide.Target(w, hpa, tc.now, nil).Result.Message, strings.Join(opened, "; ")}
			asked := map[workload.Policy]int{}
			for _, o := range decide.Target(w, hpa, tc.now, nil).Opinions {
				if asked[o.Policy.ID]++; asked[o.Policy.ID] > 1 {
					t.Errorf("%s is counted twice", o.Policy.ID)
				}
			}
			if diff := cmp.Diff([]string{tc.web, tc.hpa, tc.opened}, got); diff != "" || v.Gate.Kind != decide.GateOpen {
				t.Errorf("gate %v: %s", v.Gate, diff)
			}
		})
	}
}

// releasedAutoscalers is a world in which the adapter of autoscalers is being deleted.
type releasedAutoscalers struct{ *world.Memory }

func (w releasedAutoscalers) Kind(gk schema.GroupKind) *decide.Kind {
	k := w.Memory.Kind(gk)
	if k == nil || gk != hpa.GroupKind {
		return k
	}
	released := *k
	released.Releasing = true
	return &released
}

// An opening while the autoscaler's adapter is being deleted might stay for ever, or be restored again and again.
func TestNoOpeningWhileTheAutoscalerAdapterIsDeleted(t *testing.T) {
	w := releasedAutoscalers{memory(t, []policy.Object{half()}, webAt(6), hpaOf(4, 9))}
	later := evening.Add(time.Hour)
	v := decide.Target(w, web, later, nil)
	if opened := decide.Openings(w, &v, later); len(opened) > 0 || v.Result.Patch == nil {
		t.Errorf("%q is opened before %q", opened[0].Result.Message, v.Result.Message)
	}
}

// A sleep or wake is written first and alone, for the policy that asks for it. The change that restarts pods follows in
// a second write, for the policy that asks for this change.
func TestSizesDoNotWaitForRollOuts(t *testing.T) {
	freeze := &v1alpha1.ChangeFreeze{TypeMeta: metav1.TypeMeta{Kind: "ChangeFreeze"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sale"}}
	freeze.Spec.StartTime, freeze.Spec.EndTime = metav1.NewTime(noon.Add(-48*time.Hour)), metav1.NewTime(noon.Add(48*time.Hour))
	freeze.Spec.Deny = []v1alpha1.Action{v1alpha1.ActionRollOut}
	off := tuning(v1alpha1.TortoiseOff)
	given := requesting(3, entry("replicas", "6", "3", nights),
		`"/spec/template/spec/containers/0/resources/requests/cpu":{"was":"2","set":"1","element":"app","by":"`+tuned.String()+`"}`)
	halved := entry("replicas", "6", "3", nights)
	low, high := entry("minReplicas", "4", "3", nights), entry("maxReplicas", "9", "3", nights)
	for _, tc := range []struct {
		reason string
		now    time.Time
		tuning *v1alpha1.Tortoise
		web    string
		hpa    string
		// want is the patch of the Deployment. opened is the autoscaler's patch before it. up is true if the target wakes.
		want, opened string
		up           bool
	}{
		{"put to half", evening.Add(time.Hour), tuning(v1alpha1.TortoiseAuto), requesting(6), scalingAt("77", 4, 9), "replicas 6 -> 3",
			"minReplicas 4 -> 3", false},
		{"woken", noon, tuning(v1alpha1.TortoiseAuto), requesting(3, halved), scalingAt("77", 3, 3, low, high), "replicas 3 -> 6",
			"maxReplicas 3 -> 6", true},
		{"woken, and requests are given back", noon, off, given, scalingAt("77", 3, 3, low, high), "replicas 3 -> 6", "maxReplicas 3 -> 6", true},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			w := memory(t, []policy.Object{leaving("nights", 50), tc.tuning, freeze}, tc.web, tc.hpa)
			w.Advise(web, found(noon))
			v := decide.Target(w, web, tc.now, nil)
			up := v.Result.Direction == workload.DirectionUp
			if v.Result.Message != tc.want || v.Result.By != nights || up != tc.up || v.Gate.Kind != decide.GateOpen ||
				decide.LimitOf(w, &v).Batch != 1 {
				t.Errorf("writes %q by %s, up: %t, limit %v, gate %v", v.Result.Message, v.Result.By, up, decide.LimitOf(w, &v), v.Gate)
			}
			opened := decide.Openings(w, &v, tc.now)
			if len(opened) != 1 || opened[0].Result.Message != tc.opened {
				t.Errorf("%d autoscalers are opened, want %q", len(opened), tc.opened)
			}
			if _, err := w.Apply(web, v.Result.Patch); err != nil {
				t.Fatal(err)
			}
			if then := decide.Target(w, web, tc.now, nil); then.Result.By != tuned || then.Gate.Kind != decide.GateFreeze || then.Result.Sized {
				t.Errorf("then it writes %q by %s, gate %v", then.Result.Message, then.Result.By, then.Gate)
			}
		})
	}
}

// An autoscaler gets the bounds of the sleep once the Deployment has its count, whatever else waits with the
// Deployment.
func TestBoundsDoNotWaitForRollOuts(t *testing.T) {
	w := memory(t, []policy.Object{leaving("nights", 50), tuning(v1alpha1.TortoiseAuto)},
		requesting(3, entry("replicas", "6", "3", nights)), scalingAt("77", 3, 9, entry("minReplicas", "4", "3", nights)))
	w.Advise(web, found(noon))
	if v := decide.Target(w, hpa, evening.Add(time.Hour), nil); v.Result.Message != "maxReplicas 9 -> 3" {
		t.Errorf("the autoscaler gets %q", v.Result.Message)
	}
}

// The bounds of a Tortoise do not belong to the sleep, so they follow its advice until the autoscaler is opened.
func TestTuningContinuesWhileASleepWaits(t *testing.T) {
	bounds := []string{entry("minReplicas", "4", "3", tuned), entry("maxReplicas", "9", "7", tuned)}
	w := memory(t, []policy.Object{leaving("nights", 20), tuning(v1alpha1.TortoiseAuto)}, requesting(6), scalingAt("77", 3, 7, bounds...))
	w.Advise(web, found(noon))
	if v := decide.Target(w, hpa, evening.Add(time.Hour), nil); v.Result.Message != "minReplicas 3 -> 2, maxReplicas 7 -> 8" {
		t.Errorf("the autoscaler gets %q", v.Result.Message)
	}
}

// The autoscaler generated by KEDA is neither opened nor set to a level; the ScaledObject is.
func TestScaledObjectIsOpenedInsteadOfItsAutoscaler(t *testing.T) {
	owned := strings.Replace(hpaOf(4, 9), `"generation":1`,
		`"generation":1,"ownerReferences":[{"apiVersion":"keda.sh/v1alpha1","kind":"ScaledObject","name":"so","uid":"u","controller":true}]`, 1)
	so := `{"apiVersion":"keda.sh/v1alpha1","kind":"ScaledObject","metadata":{"name":"so","namespace":"shop","uid":"u","resourceVersion":"7"},` +
		`"spec":{"minReplicaCount":4,"maxReplicaCount":9,"scaleTargetRef":{"name":"web"}}}`
	w := memory(t, []policy.Object{leaving("nights", 50)}, webAt(6), owned, so)
	later := evening.Add(time.Hour)
	v := decide.Target(w, web, later, nil)
	for _, o := range decide.Openings(w, &v, later) {
		if o.Object.Name != "so" {
			t.Errorf("%s is opened: %s", o.Object.Name, o.Result.Message)
		}
	}
	if _, err := w.Apply(web, v.Result.Patch); err != nil {
		t.Fatal(err)
	}
	if v := decide.Target(w, hpa, later, nil); v.Result.Patch != nil {
		t.Errorf("the autoscaler gets %q", v.Result.Message)
	}
}
