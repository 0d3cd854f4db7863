package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/trigger"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/worldtest"
)

var (
	web = workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
	hpa = workload.Ref{GroupKind: schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}, Namespace: "shop", Name: "hpa"}
)

// ledgerOf returns the metadata of an object with a ledger. The entries are JSON without escapes.
func ledgerOf(of string, entries string) string {
	return fmt.Sprintf(`,"annotations":{"flyball.dev/ledger":%q}`, "{"+entries+`,"of":"`+of+`"}`)
}

// entry returns a ledger entry of a policy. It dates from eight in the evening.
func entry(field, was, set string, by workload.Policy) string {
	return fmt.Sprintf(`"/spec/%s":{"was":%s,"set":%s,"by":%q,"since":"2026-03-02T20:00:00Z"}`, field, was, set, by)
}

// webAt is a Deployment of the given replicas, with a ledger if there are entries.
func webAt(replicas int, entries ...string) string {
	if len(entries) == 0 {
		return worldtest.Deployment("web", replicas, "")
	}
	return worldtest.Deployment("web", replicas, ledgerOf("Deployment/web", strings.Join(entries, ",")))
}

// naming returns the manifest of an autoscaler with another kind in its target reference.
func naming(kind, hpa string) string {
	return strings.Replace(hpa, `"kind":"Deployment"`, `"kind":"`+kind+`"`, 1)
}

// hpaOf is an autoscaler of the Deployment, with a ledger if there are entries.
func hpaOf(low, high int, entries ...string) string {
	if len(entries) == 0 {
		return worldtest.Autoscaler("hpa", "web", low, high, "")
	}
	return worldtest.Autoscaler("hpa", "web", low, high, ledgerOf("HorizontalPodAutoscaler/hpa", strings.Join(entries, ",")))
}

// scaledToZero returns the manifest of an autoscaler with the condition of one that has taken its target to zero.
func scaledToZero(hpa string) string {
	return strings.TrimSuffix(hpa, "}") + `,"status":{"conditions":[{"type":"ScaledToZero","status":"True"}]}}`
}

// half is a Schedule that leaves half of the replicas at night.
func half() *v1alpha1.Schedule {
	s := nightly(0)
	s.Spec.AsleepAs = &v1alpha1.AsleepAs{Percent: new(int32(50))}
	return s
}

var peak = workload.Policy{Kind: trigger.KindName, Namespace: "shop", Name: "peak"}

// peakAt is a Trigger that sets values on autoscalers from six in the evening until ten.
func peakAt(values v1alpha1.TriggerValues) *v1alpha1.Trigger {
	tr := &v1alpha1.Trigger{TypeMeta: metav1.TypeMeta{Kind: trigger.KindName}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "peak"}}
	tr.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: hpa.Group, Kind: hpa.Kind}}
	tr.Spec.Triggers = []v1alpha1.TimeTrigger{{Name: "evening", Window: v1alpha1.Window{From: "18:00", To: "22:00"}, During: values}}
	return tr
}

// A restored size or a size set once is clamped to the autoscalers' future bounds; a sleeping size is not.
func TestRestoredSizesAreClampedToAutoscalerBounds(t *testing.T) {
	asleep := entry("replicas", "3", "0", nights)
	second := func(low, high int) string { return worldtest.Autoscaler("second", "web", low, high, "") }
	for _, tc := range []struct {
		reason   string
		now      time.Time
		policies []policy.Object
		objects  []string
		want     string
		within   bool
	}{
		{"inside the bounds", noon, []policy.Object{nightly(0)}, []string{webAt(0, asleep), hpaOf(1, 9)}, `"replicas":3`, true},
		{"the highest minimum counts", noon, []policy.Object{nightly(0)}, []string{webAt(0, asleep), hpaOf(4, 9), second(5, 7)}, `"replicas":5`,
			true},
		{"in whatever order", noon, []policy.Object{nightly(0)}, []string{webAt(0, asleep), hpaOf(5, 7), second(4, 9)}, `"replicas":5`, true},
		{"the lowest maximum counts", noon, []policy.Object{nightly(0)},
			[]string{webAt(0, entry("replicas", "8", "0", nights)), hpaOf(1, 7), second(2, 9)}, `"replicas":7`, true},
		{"where bounds contradict each other, minima count", noon, []policy.Object{nightly(0)},
			[]string{webAt(0, asleep), hpaOf(2, 4), second(5, 7)}, `"replicas":5`, true},
		{"bounds that a policy sets now", evening, []policy.Object{peakAt(v1alpha1.TriggerValues{Min: new(int64(6))})},
			[]string{webAt(0, asleep), hpaOf(1, 9)}, `"replicas":6`, true},
		{"no autoscaler", noon, []policy.Object{nightly(0)}, []string{webAt(0, asleep)}, `"replicas":3`, false},
		{"the bounds of a autoscaler whose ledger cannot be read", noon, []policy.Object{nightly(0)},
			[]string{webAt(0, asleep), worldtest.Autoscaler("hpa", "web", 5, 9, `,"annotations":{"flyball.dev/ledger":"{"}`)}, `"replicas":5`, true},
		{"bounds that are no numbers", noon, []policy.Object{nightly(0)},
			[]string{webAt(0, asleep), strings.NewReplacer(`"minReplicas":5`, `"minReplicas":"5"`, `"maxReplicas":9`,
				`"maxReplicas":[]`).Replace(hpaOf(5, 9))}, `"replicas":3`, false},
		{"what sleeps", evening.Add(time.Hour), []policy.Object{nightly(0)}, []string{webAt(0, asleep), hpaOf(4, 9)}, "", false},
		{"what nobody has changed", noon, []policy.Object{nightly(0)}, []string{webAt(3), hpaOf(4, 9)}, "", false},
		{"a size that is set once", evening, []policy.Object{peakAt(v1alpha1.TriggerValues{Replicas: new(int64(12))})},
			[]string{webAt(3), hpaOf(1, 9)}, `"replicas":9`, true},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			v := decide.Target(memory(t, tc.policies, tc.objects...), web, tc.now, nil)
			if got := body(v); v.Err != nil || !strings.Contains(got, tc.want) || tc.want == "" && got != "" {
				t.Errorf("writes %q, %v; want %s", got, v.Err, tc.want)
			}
			if (v.Plan.Within != nil) != tc.within {
				t.Errorf("bounds %v", v.Plan.Within)
			}
		})
	}
}

// The verdicts are about the autoscaler of a Deployment.
func TestAutoscalersFollowTheSleepOfTheirTarget(t *testing.T) {
	held := `"selectPolicy":"Disabled"`
	asleep, halved := entry("replicas", "6", "0", nights), entry("replicas", "6", "3", nights)
	bounded := []string{entry("minReplicas", "4", "3", nights), entry("maxReplicas", "9", "3", nights)}
	unreadable := worldtest.Deployment("web", 3, `,"annotations":{"flyball.dev/ledger":"{"}`)
	later := evening.Add(time.Hour)
	for _, tc := range []struct {
		reason  string
		now     time.Time
		policy  *v1alpha1.Schedule
		objects []string
		want    []string
	}{
		{"awake", noon, nightly(0), []string{webAt(6), hpaOf(0, 9)}, nil},
		{"put to zero", evening, nightly(0), []string{webAt(6), hpaOf(0, 9)}, []string{held}},
		{"at zero", later, nightly(0), []string{webAt(0, asleep), hpaOf(0, 9)}, []string{held}},
		{"at zero, named in lower case", later, nightly(0), []string{webAt(0, asleep), naming("deployment", hpaOf(0, 9))}, []string{held}},
		{"at zero, in capitals, which no autoscaler finds", later, nightly(0), []string{webAt(0, asleep), naming("DEPLOYMENT", hpaOf(0, 9))},
			nil},
		{"put to zero, and the autoscaler took it to zero once, before its minimum was raised", evening, nightly(0),
			[]string{webAt(6), scaledToZero(hpaOf(4, 9))}, []string{held, `"minReplicas":0`}},
		{"at zero, and the autoscaler took it to zero once, by a minimum of zero", later, nightly(0),
			[]string{webAt(0, asleep), scaledToZero(hpaOf(0, 9))}, []string{held}},
		{"still to be woken", noon, nightly(0), []string{webAt(0, asleep), hpaOf(0, 9)}, []string{held}},
		{"at zero under an autoscaler that leaves it there", later, nightly(0), []string{webAt(0, asleep), hpaOf(4, 9)}, nil},
		{"still to be put to half", evening, half(), []string{webAt(6), hpaOf(4, 9)}, nil},
		{"still to be put to half again: what the autoscaler has stays", later, half(), []string{webAt(6, halved), hpaOf(3, 3, bounded...)}, nil},
		{"at half, with an older transition", later, half(), []string{webAt(3, strings.Replace(halved, "03-02", "03-01", 1)), hpaOf(4, 9)},
			[]string{`"minReplicas":3`, `"maxReplicas":3`}},
		{"at half", later, half(), []string{webAt(3, halved), hpaOf(4, 9)}, []string{`"minReplicas":3`, `"maxReplicas":3`}},
		{"at half, and its autoscaler too", later, half(), []string{webAt(3, halved), hpaOf(3, 3, bounded...)}, nil},
		{"woken: the bounds are given back", noon, half(), []string{webAt(6), hpaOf(3, 3, bounded...)},
			[]string{`"minReplicas":4`, `"maxReplicas":9`}},
		{"a ledger that cannot be read: what the autoscaler has stays", later, half(), []string{unreadable, hpaOf(3, 3, bounded...)}, nil},
		{"a ledger that cannot be read: the autoscaler gets nothing", later, half(), []string{unreadable, hpaOf(4, 9)}, nil},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			tc.policy.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: web.Group, Kind: web.Kind}}
			v := decide.Target(memory(t, []policy.Object{tc.policy}, tc.objects...), hpa, tc.now, nil)
			check(t, v, v.Result.Direction, tc.want...)
			for _, o := range v.Opinions {
				if !o.OnBehalf && !o.Left {
					t.Errorf("%s counts the autoscaler among its targets", o.Policy.ID)
				}
			}
		})
	}
}

// If one field both holds and suspends an object, a hold does not count as a sleep that the autoscaler must wait for.
func TestAHoldMakesNoClaimOnTheAutoscaler(t *testing.T) {
	library, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	for i := range library {
		if spec := &library[i].Spec; spec.Target.Kind == web.Kind {
			spec.Suspend = spec.Hold
		}
	}
	s := nightly(0)
	s.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: web.Group, Kind: web.Kind}}
	s.Spec.AsleepAs = &v1alpha1.AsleepAs{Hold: new(true)}
	w := memoryOf(t, library, []policy.Object{s}, webAt(3), hpaOf(1, 9))
	check(t, decide.Target(w, web, evening, nil), workload.DirectionDown, `"paused":true`)
	check(t, decide.Target(w, hpa, evening, nil), workload.DirectionNone)
}

// A Trigger claims a higher minimum, which would wake a target sleeping below it.
func TestBoundsAreNotRaisedWhileTheTargetSleeps(t *testing.T) {
	min6, min2 := peakAt(v1alpha1.TriggerValues{Min: new(int64(6))}), peakAt(v1alpha1.TriggerValues{Min: new(int64(2))})
	gone := peakAt(v1alpha1.TriggerValues{Max: new(int64(5))})
	gone.DeletionTimestamp = &metav1.Time{Time: noon}
	asleep := entry("replicas", "6", "0", nights)
	max5 := peakAt(v1alpha1.TriggerValues{Max: new(int64(5))})
	set := entry("maxReplicas", "9", "5", peak)
	at := evening.Add(time.Hour)
	for _, tc := range []struct {
		reason   string
		schedule *v1alpha1.Schedule
		trigger  *v1alpha1.Trigger
		objects  []string
		want     []string
		wantNot  string
	}{
		{"of an object at half that is still to be put there", half(), min6,
			[]string{webAt(6, entry("replicas", "6", "3", nights)),
				hpaOf(3, 3, entry("minReplicas", "4", "3", nights), entry("maxReplicas", "9", "3", nights))}, nil, ""},
		{"but not where the autoscaler has no bounds of the schedule", half(), min6, []string{webAt(6), hpaOf(4, 9)}, []string{`"minReplicas":6`},
			""},
		{"of an object at zero", nightly(0), min2, []string{webAt(0, asleep), hpaOf(0, 9)}, []string{`"selectPolicy":"Disabled"`},
			`"minReplicas"`},
		{"nor where its bounds are another Trigger's", half(), min6, []string{webAt(6), hpaOf(5, 9, entry("minReplicas", "4", "5", peak))},
			[]string{`"minReplicas":6`}, ""},
		{"of an object at zero, and what the Trigger had set before stays", nightly(0), max5, []string{webAt(0, asleep), hpaOf(0, 5, set)},
			[]string{`"selectPolicy":"Disabled"`}, `"maxReplicas":9`},
		{"and what a deleted Trigger had set is given back", nightly(0), gone, []string{webAt(0, asleep), hpaOf(0, 5, set)},
			[]string{`"maxReplicas":9`}, ""},
		{"and so is what a Trigger that is gone had set", nightly(0), nil, []string{webAt(0, asleep), hpaOf(0, 5, set)},
			[]string{`"maxReplicas":9`}, ""},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			tc.schedule.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: web.Group, Kind: web.Kind}}
			policies := []policy.Object{tc.schedule}
			if tc.trigger != nil {
				policies = append(policies, tc.trigger)
			}
			v := decide.Target(memory(t, policies, tc.objects...), hpa, at, nil)
			check(t, v, v.Result.Direction, tc.want...)
			if tc.wantNot != "" && strings.Contains(body(v), tc.wantNot) {
				t.Errorf("writes %s", body(v))
			}
		})
	}
}

// A size set once is written before the autoscaler gets a minimum above the old count. The size stays until another
// writer changes it.
func TestSizeSetOnceUnderAnAutoscaler(t *testing.T) {
	both := peakAt(v1alpha1.TriggerValues{Min: new(int64(6)), Replicas: new(int64(7))})
	bounds := hpaOf(6, 9, strings.Replace(entry("minReplicas", "1", "6", peak), "20:00", "18:00", 1))
	once := fmt.Sprintf(`"/spec/replicas":{"was":3,"set":7,"by":%q,"since":"2026-03-02T18:00:00Z","once":"7"}`, peak)
	stays := map[workload.Policy]string{peak: "7"}
	for _, tc := range []struct {
		reason  string
		objects []string
		want    string
		gate    decide.GateKind
		sizes   map[workload.Policy]string
	}{
		{"the autoscaler has its old bounds", []string{webAt(3), hpaOf(1, 9)}, `"replicas":7`, decide.GateOpen, nil},
		{"the autoscaler has the bounds of the Trigger", []string{webAt(3), bounds}, `"replicas":7`, decide.GateOpen, nil},
		{"the size is right already, and only the ledger says so late",
			[]string{webAt(7, strings.Replace(once, "18:00", "17:00", 1)), hpaOf(1, 9)}, `\"since\":\"2026-03-02T18:00:00Z\"`, decide.GateOpen,
			stays},
		{"the size was set", []string{webAt(7, once), bounds}, "", decide.GateOpen, stays},
		{"the autoscaler went on from there", []string{webAt(8, once), bounds}, "", decide.GateOpen, nil},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			m := memory(t, []policy.Object{both}, tc.objects...)
			v := decide.Target(m, web, evening, nil)
			check(t, v, v.Result.Direction, slices.DeleteFunc([]string{tc.want}, func(s string) bool { return s == "" })...)
			if v.Gate.Kind != tc.gate {
				t.Errorf("gate %d: %s", v.Gate.Kind, v.Gate.Reason)
			}
			if diff := cmp.Diff(tc.sizes, v.OnceSizes); diff != "" {
				t.Errorf("of the object: %s", diff)
			}
			if diff := cmp.Diff(tc.sizes, decide.Target(m, hpa, evening, nil).OnceSizes); diff != "" {
				t.Errorf("of the autoscaler: %s", diff)
			}
		})
	}
}

// The Trigger selects the Deployment itself.
func TestASizeIsEnforcedWithoutAnAutoscaler(t *testing.T) {
	tr := peakAt(v1alpha1.TriggerValues{Replicas: new(int64(7))})
	tr.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: web.Group, Kind: web.Kind}}
	for _, autoscalers := range [][]string{nil, {hpaOf(1, 9)}} {
		v := decide.Target(memory(t, []policy.Object{tr}, append(autoscalers, webAt(3))...), web, evening, nil)
		check(t, v, v.Result.Direction, `"replicas":7`)
		if once := strings.Contains(body(v), `\"once\":`); once != (len(autoscalers) > 0) {
			t.Errorf("under %d autoscalers, set once: %t", len(autoscalers), once)
		}
	}
}

// withoutScale is a world in which the API server serves no /scale for a kind.
type withoutScale struct {
	decide.World
	kind schema.GroupKind
}

func (w withoutScale) Kind(gk schema.GroupKind) *decide.Kind {
	k := w.World.Kind(gk)
	if k == nil || gk != w.kind {
		return k
	}
	bare := *k
	bare.NoScale = true
	return &bare
}

// Autoscalers scale through /scale. Without this check, the author of an autoscaler could let a trigger size any object
// of an adapted kind.
func TestSizesArePassedOnOnlyThroughScale(t *testing.T) {
	w := memory(t, []policy.Object{peakAt(v1alpha1.TriggerValues{Replicas: new(int64(0))})}, webAt(3), hpaOf(0, 9))
	if v := decide.Target(w, web, evening, nil); !strings.Contains(body(v), `"replicas":0`) {
		t.Fatalf("with /scale: writes %q, %v", body(v), v.Err)
	}
	if v := decide.Target(withoutScale{w, web.GroupKind}, web, evening, nil); body(v) != "" || v.Err != nil {
		t.Errorf("without /scale: writes %q, %v", body(v), v.Err)
	}
}
