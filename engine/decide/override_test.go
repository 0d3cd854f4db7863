package decide_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/override"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/worldtest"
)

// order returns an Override that is created some hours after the evening and lasts some hours.
func order(name string, effect v1alpha1.OverrideEffect, from, hours int, policies ...string) *v1alpha1.Override {
	o := &v1alpha1.Override{TypeMeta: metav1.TypeMeta{Kind: override.Kind}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name,
		CreationTimestamp: metav1.NewTime(evening.Add(time.Duration(from) * time.Hour))}}
	o.Spec.OverrideRules = v1alpha1.OverrideRules{Effect: effect, For: v1alpha1.Duration(fmt.Sprintf("%dh", hours)), Policies: policies,
		Reason: "a demo"}
	return o
}

// cronJob is the manifest of the CronJob mail.
const cronJob = `{"apiVersion":"batch/v1","kind":"CronJob","metadata":{"name":"mail","namespace":"shop"},"spec":{}}`

var mail = workload.Ref{GroupKind: schema.GroupKind{Group: "batch", Kind: "CronJob"}, Namespace: "shop", Name: "mail"}

// suspends returns a freeze that suspends CronJobs for six hours from the evening.
func suspends() *v1alpha1.ChangeFreeze {
	f := &v1alpha1.ChangeFreeze{TypeMeta: metav1.TypeMeta{Kind: "ChangeFreeze"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "end"}}
	f.Spec.StartTime, f.Spec.EndTime = metav1.Time{Time: evening}, metav1.Time{Time: evening.Add(6 * time.Hour)}
	f.Spec.Deny = []v1alpha1.Action{v1alpha1.ActionRollOut}
	f.Spec.Suspend = []v1alpha1.FreezeSuspend{{KindRef: v1alpha1.KindRef{Group: "batch", Kind: "CronJob"}}}
	return f
}

func called(s *v1alpha1.Schedule, name string) *v1alpha1.Schedule {
	s.Name = name
	return s
}

// bounded returns the nightly Schedule with limits to overrides.
func bounded(longest v1alpha1.Duration, effects ...v1alpha1.OverrideEffect) *v1alpha1.Schedule {
	s := nightly(0)
	s.Spec.Overrides = &v1alpha1.OverrideBounds{MaxDuration: longest, Effects: effects}
	return s
}

// TestOverridesBeatSchedulesWithinTheirBounds checks the writes of a night, by the hours after the evening, and that the spec at the end
// is the spec of the begin.
func TestOverridesBeatSchedulesWithinTheirBounds(t *testing.T) {
	const awake, asleep, hold = v1alpha1.OverrideAwake, v1alpha1.OverrideAsleep, v1alpha1.OverrideHold
	const nights, demo = " by Schedule/shop/nights", " by Override/shop/demo"
	second := nightly(0)
	second.Name, second.Spec.Priority = "second", 5
	frozen := suspends()
	idle := bounded("5h")
	idle.Spec.Downscale, idle.Spec.Upscale = "", ""
	idle.Spec.Asleep, idle.Spec.Otherwise = []v1alpha1.Window{{Name: "late", From: "23:00", To: "06:00"}}, v1alpha1.OtherwiseNothing
	deployment := worldtest.Deployment("web", 3, "")
	for _, tc := range []struct {
		reason   string
		policies []policy.Object
		objects  []string
		want     []string
	}{
		{"awake for a part of the night", []policy.Object{nightly(0), order("demo", awake, -1, 5)}, []string{deployment},
			[]string{"4 web replicas 3 -> 0" + nights, "12 web replicas 0 -> 3" + nights}},
		{"awake over the whole night", []policy.Object{nightly(0), order("demo", awake, -1, 20)}, []string{deployment}, nil},
		{"the limit of the schedule is shorter", []policy.Object{bounded("3h"), order("demo", awake, -1, 20)}, []string{deployment},
			[]string{"2 web replicas 3 -> 0" + nights, "12 web replicas 0 -> 3" + nights}},
		{"the schedule yields to no such effect", []policy.Object{bounded("", asleep), order("demo", awake, -1, 20)}, []string{deployment},
			[]string{"0 web replicas 3 -> 0" + nights, "12 web replicas 0 -> 3" + nights}},
		{"one of two schedules does not yield", []policy.Object{nightly(0), second, order("demo", awake, -1, 20, "nights")},
			[]string{deployment}, []string{"0 web replicas 3 -> 0 by Schedule/shop/second", "12 web replicas 0 -> 3 by Schedule/shop/second"}},
		{"the schedule is named", []policy.Object{nightly(0), order("demo", awake, -1, 20, "Schedule/shop/nights")}, []string{deployment}, nil},
		{"the limit of a schedule that asks for nothing at the creation", []policy.Object{idle, order("demo", awake, -1, 20)},
			[]string{deployment}, []string{"4 web replicas 3 -> 0" + nights, "10 web replicas 0 -> 3" + nights}},
		{"the suspend of a freeze beats it", []policy.Object{nightly(0), frozen, order("demo", awake, -1, 20)},
			[]string{cronJob},
			[]string{"0 mail suspend absent -> true by ChangeFreeze/shop/end", "6 mail suspend true -> absent by ChangeFreeze/shop/end"}},
		{"a freeze of roll-outs delays no scaling", []policy.Object{frozen, order("demo", asleep, -1, 3)}, []string{deployment},
			[]string{"-1 web replicas 3 -> 0" + demo, "2 web replicas 0 -> 3" + demo}},
		{"a freeze of roll-outs delays the end of a hold", []policy.Object{frozen, order("demo", hold, -1, 3)}, []string{deployment},
			[]string{"-1 web paused absent -> true" + demo, "6 web paused true -> absent" + demo}},
		{"asleep by day without a schedule", []policy.Object{order("demo", asleep, -1, 3)}, []string{deployment},
			[]string{"-1 web replicas 3 -> 0" + demo, "2 web replicas 0 -> 3" + demo}},
		{"asleep by day, until after the evening", []policy.Object{nightly(0), order("demo", asleep, -1, 3)}, []string{deployment},
			[]string{"-1 web replicas 3 -> 0" + demo, "12 web replicas 0 -> 3" + nights}},
		{"asleep, and the schedule yields to no such effect", []policy.Object{bounded("", awake), order("demo", asleep, -1, 3)},
			[]string{deployment}, []string{"0 web replicas 3 -> 0" + nights, "12 web replicas 0 -> 3" + nights}},
		{"of asleep and awake, more capacity wins", []policy.Object{nightly(0), order("demo", asleep, -1, 20), order("other", awake, -1, 2)},
			[]string{deployment}, []string{"1 web replicas 3 -> 0" + demo, "19 web replicas 0 -> 3" + demo}},
		{"an autoscaler is held", []policy.Object{order("demo", hold, -1, 3)}, []string{worldtest.Autoscaler("hpa", "web", 2, 9, "")},
			[]string{`-1 hpa selectPolicy absent -> "Disabled", selectPolicy absent -> "Disabled"` + demo,
				`2 hpa selectPolicy "Disabled" -> absent, selectPolicy "Disabled" -> absent` + demo}},
		{"a roll-out is held through the night", []policy.Object{nightly(0), order("demo", hold, -1, 14)}, []string{deployment},
			[]string{"-1 web paused absent -> true" + demo, "0 web replicas 3 -> 0" + nights, "12 web replicas 0 -> 3" + nights,
				"13 web paused true -> absent" + demo}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			library, err := adapters.All()
			if err != nil {
				t.Fatal(err)
			}
			w := memoryOf(t, library, tc.policies, tc.objects...)
			for _, o := range tc.policies {
				id := workload.Policy{Kind: o.GetObjectKind().GroupVersionKind().Kind, Namespace: "shop", Name: o.GetName()}
				if p := w.Policy(id); p == nil || p.IsBroken() {
					t.Fatalf("%s: %v", o.GetName(), p)
				}
			}
			before := []string{specOf(w.Raw(hpa)), specOf(w.Raw(web))}
			if got := writesOf(t, w); !slices.Equal(got, tc.want) {
				t.Errorf("wrote %q\nwant  %q", got, tc.want)
			}
			for i, ref := range []workload.Ref{hpa, web} {
				if after := specOf(w.Raw(ref)); after != before[i] && !path.Equal(after, before[i]) {
					t.Errorf("restored to %s\nwant %s", after, before[i])
				}
			}
		})
	}
}

func specOf(object []byte) string { return rawjson.GetBytes(object, "spec").Raw }

// writesOf returns the writes from an hour before the evening to 20 hours after, each with its hour after the evening.
func writesOf(t *testing.T, w decide.Sandbox) (lines []string) {
	t.Helper()
	writes, err := decide.Simulate(w, evening.Add(-time.Hour), evening.Add(20*time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	for _, write := range writes {
		if len(write.Edits) > 0 { // else only the name in the ledger changes
			lines = append(lines, fmt.Sprintf("%d %s %s by %s", int(write.At.Sub(evening).Hours()), write.Target.Name, write.Message, write.By))
		}
	}
	return lines
}

// TestOpinionsOfOverridesNameYieldingSchedulesAndLimits checks the report of an order about a target.
func TestOpinionsOfOverridesNameYieldingSchedulesAndLimits(t *testing.T) {
	library, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	suspended := nightly(0)
	suspended.Spec.Suspend = true
	for _, tc := range []struct {
		reason            string
		policies          []policy.Object
		yielding, limited string
	}{
		{"a schedule yields", []policy.Object{nightly(0), order("demo", v1alpha1.OverrideAwake, -1, 5)}, "[Schedule/shop/nights]", ""},
		{"its limit is over", []policy.Object{bounded("30m"), order("demo", v1alpha1.OverrideAwake, -1, 5)}, "[]",
			"Schedule/shop/nights yields for at most 30m"},
		{"it yields to other effects", []policy.Object{bounded("", v1alpha1.OverrideHold), order("demo", v1alpha1.OverrideAwake, -1, 5)}, "[]",
			"Schedule/shop/nights yields to no effect Awake"},
		{"it is suspended", []policy.Object{suspended, order("demo", v1alpha1.OverrideAwake, -1, 5)}, "[]", "Schedule/shop/nights is suspended"},
		{"it is not named", []policy.Object{nightly(0), order("demo", v1alpha1.OverrideAsleep, -1, 5, "office")}, "[]",
			"spec.policies does not name Schedule/shop/nights"},
		{"another order keeps the target awake", []policy.Object{order("other", v1alpha1.OverrideAwake, -1, 5),
			order("demo", v1alpha1.OverrideAsleep, -1, 5)}, "[]", "Override/shop/other keeps it awake, and more capacity wins"},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			w := memoryOf(t, library, tc.policies, worldtest.Deployment("web", 3, ""))
			v := decide.Target(w, web, evening, nil)
			i := slices.IndexFunc(v.Opinions, func(o decide.Opinion) bool { return o.Policy.ID.Name == "demo" })
			if i < 0 {
				t.Fatal("the order has no opinion")
			}
			o := v.Opinions[i]
			if fmt.Sprint(o.Yielding) != tc.yielding || o.Limited != tc.limited || o.Reached != (tc.limited == "") {
				t.Errorf("yielding %v, limited %q, reached %t", o.Yielding, o.Limited, o.Reached)
			}
		})
	}
	for _, tc := range []struct {
		reason string
		beside policy.Object
		want   string
	}{
		{"a schedule that the order does not name", called(nightly(0), "second"), "Schedule/shop/second puts it to sleep"},
		{"a freeze that suspends", suspends(), "ChangeFreeze/shop/end puts it to sleep"},
	} {
		w := memoryOf(t, library, []policy.Object{nightly(0), tc.beside, order("demo", v1alpha1.OverrideAwake, -1, 5, "nights")}, cronJob)
		v := decide.Target(w, mail, evening, nil)
		i := slices.IndexFunc(v.Opinions, func(o decide.Opinion) bool { return o.Policy.ID.Name == "demo" })
		if i < 0 || v.Opinions[i].Reached || v.Opinions[i].Limited != tc.want {
			t.Errorf("beside %s: %+v", tc.reason, v.Opinions)
		}
	}
	free := memoryOf(t, library, []policy.Object{order("demo", v1alpha1.OverrideAwake, -1, 5)}, worldtest.Deployment("web", 3, ""))
	if v := decide.Target(free, web, evening, nil); len(v.Opinions) != 0 {
		t.Errorf("an object without a schedule counts as a target of an order to stay awake: %+v", v.Opinions)
	}
	var story decide.Story
	decide.Target(memoryOf(t, library, []policy.Object{nightly(0), order("demo", v1alpha1.OverrideAwake, -1, 5)},
		worldtest.Deployment("web", 3, "")), web, evening, &story)
	if text := fmt.Sprint(story.Policies); !strings.Contains(text, "yields to Override/shop/demo until 20") {
		t.Errorf("the story lacks the override: %s", text)
	}
}
