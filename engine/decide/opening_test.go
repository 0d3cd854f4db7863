package decide_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

// Before an object leaves the bounds of its autoscaler, the bounds are extended to both counts and no further.
func TestBoundsAreExtendedToBothCounts(t *testing.T) {
	halved := entry("replicas", "6", "3", nights)
	low, high := entry("minReplicas", "4", "3", nights), entry("maxReplicas", "9", "3", nights)
	later := evening.Add(time.Hour)
	once := peakAt(v1alpha1.TriggerValues{Replicas: new(int64(12))})
	wider := peakAt(v1alpha1.TriggerValues{Min: new(int64(4)), Max: new(int64(20)), Replicas: new(int64(12))})
	for _, tc := range []struct {
		reason  string
		now     time.Time
		policy  policy.Object
		objects []string
		want    []string
	}{
		{"put to half, below the minimum", later, half(), []string{webAt(6), hpaOf(4, 9)}, []string{"minReplicas 4 -> 3"}},
		{"put to half, at the minimum", later, half(), []string{webAt(6), hpaOf(3, 9)}, nil},
		{"put to zero", later, nightly(0), []string{webAt(6), hpaOf(4, 9)}, nil},
		{"at half", later, half(), []string{webAt(3, halved), hpaOf(3, 3, low, high)}, nil},
		{"woken from half, above the maximum", noon, half(), []string{webAt(3, halved), hpaOf(3, 3, low, high)}, []string{"maxReplicas 3 -> 6"}},
		{"woken from half, where the minimum was never in the way", noon, half(), []string{webAt(3, halved), hpaOf(2, 3, high)},
			[]string{"maxReplicas 3 -> 6"}},
		{"woken from half, under an autoscaler that is open", noon, half(), []string{webAt(3, halved), hpaOf(3, 9, low)}, nil},
		{"woken from half, under an owner's lower maximum", noon, half(), []string{webAt(3, halved), hpaOf(1, 5)}, nil},
		{"woken from zero, below an owner's minimum", noon, nightly(0), []string{webAt(0, entry("replicas", "3", "0", nights)), hpaOf(5, 9)},
			nil},
		{"woken from a size above the zero of its owner", noon, half(),
			[]string{webAt(3, entry("replicas", "0", "3", nights)), hpaOf(3, 3, low, high)}, nil},
		{"each of two autoscalers", later, half(), []string{webAt(6), hpaOf(4, 9), worldtest.Autoscaler("second", "web", 5, 9, "")},
			[]string{"minReplicas 4 -> 3", "minReplicas 5 -> 3"}},
		{"no autoscaler", later, half(), []string{webAt(6)}, nil},
		{"a size that is set once, inside the owner's bounds", evening, once, []string{webAt(3), hpaOf(1, 9)}, nil},
		{"a size that is set once, above the maximum of before", evening, wider, []string{webAt(3), hpaOf(1, 9)},
			[]string{"maxReplicas 9 -> 12"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			w := memory(t, []policy.Object{tc.policy}, tc.objects...)
			v := decide.Target(w, web, tc.now, nil)
			var got []string
			for _, g := range decide.Openings(w, &v, tc.now) {
				got = append(got, g.Result.Message)
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A size set once at wake-up is clamped to the autoscaler's future bounds, and the bounds are extended to the
// clamped size.
func TestSizeSetOnceAtWakeUpIsClamped(t *testing.T) {
	once := peakAt(v1alpha1.TriggerValues{Replicas: new(int64(12))})
	once.Spec.Triggers[0].Window = v1alpha1.Window{From: "12:00", To: "14:00"}
	w := memory(t, []policy.Object{half(), once}, webAt(3, entry("replicas", "6", "3", nights)),
		hpaOf(3, 3, entry("minReplicas", "4", "3", nights), entry("maxReplicas", "9", "3", nights)))
	v := decide.Target(w, web, noon, nil)
	opened := decide.Openings(w, &v, noon)
	if len(opened) != 1 || opened[0].Result.Message != "maxReplicas 3 -> 9" {
		t.Errorf("%d autoscalers are opened: %v", len(opened), opened)
	}
}

// blocked is a world in which nothing may be written of a kind.
type blocked struct {
	*world.Memory
	kind schema.GroupKind
}

func (w blocked) Kind(gk schema.GroupKind) *decide.Kind {
	k := w.Memory.Kind(gk)
	if k == nil || gk != w.kind {
		return k
	}
	blocked := *k
	blocked.Blocked = "it may not be written"
	return &blocked
}

// An obstacle for the autoscaler's writes also prevents its opening, but not the change of its target.
func TestGatedAutoscalersAreNotOpened(t *testing.T) {
	free := memory(t, []policy.Object{half()}, webAt(6), hpaOf(4, 9))
	for _, w := range []decide.World{free, blocked{free, hpa.GroupKind}} {
		v := decide.Target(w, web, evening.Add(time.Hour), nil)
		if opened, want := len(decide.Openings(w, &v, evening.Add(time.Hour))),
			map[bool]int{true: 1, false: 0}[w == decide.World(free)]; opened != want || v.Gate.Kind != decide.GateOpen {
			t.Errorf("%d autoscalers are opened, want %d; the gate of the target: %v", opened, want, v.Gate)
		}
	}
}

// Bounds with room for a count are waited for where the autoscaler's controller reports which bounds it has seen, and can act.
func TestTargetsWaitForBoundsThatAreNotSeen(t *testing.T) {
	for _, tc := range []struct {
		reason, generation, observed, able string
		waits                              bool
	}{
		{"seen", `"generation":2`, `"observedGeneration":2,`, "True", false},
		{"not seen", `"generation":2`, `"observedGeneration":1,`, "True", true},
		{"not seen, and the controller cannot read the scale", `"generation":2`, `"observedGeneration":1,`, "False", false},
		{"nothing is reported", `"generation":2`, "", "True", false},
		{"generations are not counted", `"labels":{}`, `"observedGeneration":0,`, "True", false},
	} {
		scaler := strings.Replace(hpaOf(3, 9), `"generation":1`, tc.generation, 1)
		scaler = strings.TrimSuffix(scaler, "}") + `,"status":{` + tc.observed + `"conditions":[{"type":"AbleToScale","status":"` +
			tc.able + `"}]}}`
		w := memory(t, []policy.Object{half()}, webAt(6), scaler)
		if v := decide.Target(w, web, evening, nil); v.Result.Patch == nil || (v.Gate.Kind == decide.GateUnreported) != tc.waits {
			t.Errorf("%s: writes %q with gate %+v", tc.reason, body(v), v.Gate)
		}
	}
}

// Values claimed or set on the autoscaler by other policies wait for the autoscaler's own turn.
func TestOpeningChangesOnlyTheBoundsForTheCount(t *testing.T) {
	caps := nightly(1)
	caps.Name = "caps"
	caps.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: hpa.Group, Kind: hpa.Kind}}
	caps.Spec.AsleepAs = &v1alpha1.AsleepAs{Bounds: &v1alpha1.BoundsValue{Max: new(int64(7))}}
	set := entry("maxReplicas", "9", "7", workload.Policy{Kind: nights.Kind, Namespace: "shop", Name: "caps"})
	later := evening.Add(time.Hour)
	for reason, autoscaler := range map[string]string{"still to be set": hpaOf(4, 9), "in place": hpaOf(4, 7, set)} {
		w := memory(t, []policy.Object{half(), caps}, webAt(6), autoscaler)
		v := decide.Target(w, web, later, nil)
		opened := decide.Openings(w, &v, later)
		if len(opened) != 1 || opened[0].Result.Message != "minReplicas 4 -> 3" {
			t.Errorf("%s: %d autoscalers are opened: %v", reason, len(opened), opened)
		}
	}
}

// During the whole night, waiting for a batch included, no Deployment is outside the bounds of its autoscaler, and all
// values are restored.
func TestCountsStayInsideBoundsDuringANight(t *testing.T) {
	s := nightly(1)
	s.Spec.AsleepAs = &v1alpha1.AsleepAs{Percent: new(int32(50))}
	w := memory(t, []policy.Object{s}, worldtest.Deployment("a", 6, ""), worldtest.Deployment("b", 6, ""),
		worldtest.Autoscaler("a", "a", 4, 9, ""), worldtest.Autoscaler("b", "b", 4, 9, ""))
	writes, err := decide.Simulate(w, noon, evening.Add(24*time.Hour-time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, write := range writes {
		got = append(got, write.At.Format("2 15:04 ")+write.Target.Kind+" "+write.Target.Name+" "+write.Message)
	}
	want := []string{}
	for _, transition := range []struct {
		at     []string
		writes []string
	}{
		{[]string{"2 20:00", "2 20:10"}, []string{"minReplicas 4 -> 3", "replicas 6 -> 3", "maxReplicas 9 -> 3"}},
		{[]string{"3 08:00", "3 09:00"}, []string{"maxReplicas 3 -> 6", "replicas 3 -> 6", "maxReplicas 6 -> 9, minReplicas 3 -> 4"}},
	} {
		for i, name := range []string{"a", "b"} {
			for n, kind := range []string{"HorizontalPodAutoscaler", "Deployment", "HorizontalPodAutoscaler"} {
				want = append(want, transition.at[i]+" "+kind+" "+name+" "+transition.writes[n])
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
