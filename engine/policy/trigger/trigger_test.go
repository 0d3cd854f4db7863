package trigger

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// shown returns the status of a policy at an instant.
func shown(p *policy.Policy, now time.Time) string {
	s := p.State(now)
	return strings.Trim(s.Name+" "+s.Active, " ")
}

func bounds(t *testing.T, p *policy.Policy, now time.Time) [2]int64 {
	t.Helper()
	d, _ := decide(t, p, now, workload.Observed{})
	if len(d.Intents) == 0 {
		return [2]int64{}
	}
	return [2]int64{*d.Intents[0].Min, *d.Intents[0].Max}
}

// The scenarios are two overlapping windows, with the values before, between and after their transitions.
func TestOverlappingWindowsSetValuesByRule(t *testing.T) {
	low, high := daily("low", 1, "08:00", "12:00", values(2, 6)), daily("high", 9, "09:00", "11:00", values(5, 20))
	type at struct {
		hour   int
		shown  string
		bounds [2]int64
	}
	tests := []struct {
		reason string
		rules  v1alpha1.TriggerRules
		want   []at
	}{
		{"a higher one takes over and hands back", rules(low, high), []at{
			{7, "Idle", [2]int64{}}, {8, "Active low", [2]int64{2, 6}}, {9, "Active high", [2]int64{5, 20}},
			{11, "Active low", [2]int64{2, 6}}, {12, "Idle", [2]int64{}}}},
		{"a lower one starts and ends under a higher one", rules(daily("low", 1, "10:00", "10:30", values(7, 30)), high), []at{
			{9, "Active high", [2]int64{5, 20}}, {10, "Active high", [2]int64{5, 20}}, {11, "Idle", [2]int64{}}}},
		{"a lower one starts under a higher one and outlasts it", rules(daily("low", 1, "10:00", "13:00", values(1, 3)), high), []at{
			{10, "Active high", [2]int64{5, 20}}, {11, "Active low", [2]int64{1, 3}}, {13, "Idle", [2]int64{}}}},
		{"the only one ends and its after holds until the next window starts", rules(ending(high, 1, 4)), []at{
			{10, "Active high", [2]int64{5, 20}}, {11, "After high", [2]int64{1, 4}}, {24 + 8, "After high", [2]int64{1, 4}},
			{24 + 9, "Active high", [2]int64{5, 20}}}},
		{"the after of a lower one that ended under a higher one", rules(ending(daily("low", 1, "08:00", "10:00", values(2, 6)), 1, 4), high),
			[]at{
				{10, "Active high", [2]int64{5, 20}}, {11, "After low", [2]int64{1, 4}}}},
		{"the after of a lower one without a higher one", rules(ending(daily("low", 1, "08:00", "10:00", values(2, 6)), 1, 4)), []at{
			{10, "After low", [2]int64{1, 4}}, {11, "After low", [2]int64{1, 4}}}},
		{"a higher one without an after that starts later ends a lower one's after",
			rules(ending(daily("low", 1, "07:00", "08:00", values(2, 6)), 1, 4), high), []at{
				{8, "After low", [2]int64{1, 4}}, {9, "Active high", [2]int64{5, 20}}, {11, "Idle", [2]int64{}}}},
		{"a window that starts as another ends leaves no room for its after",
			rules(ending(low, 1, 4), daily("next", 1, "12:00", "13:00", values(3, 5))), []at{
				{12, "Active next", [2]int64{3, 5}}, {13, "Idle", [2]int64{}}}},
		{"the later end decides whose after holds", rules(ending(daily("b", 1, "07:00", "10:00", values(2, 6)), 1, 3), ending(low, 2, 4)), []at{
			{10, "Active low", [2]int64{2, 6}}, {12, "After low", [2]int64{2, 4}}}},
		{"two afters of one end: priority", rules(ending(daily("a", 2, "07:00", "12:00", values(2, 6)), 1, 3), ending(low, 2, 4)), []at{
			{12, "After a", [2]int64{1, 3}}}},
		{"two afters of one end and one priority: capacity", rules(ending(daily("a", 1, "07:00", "12:00", values(2, 6)), 1, 9),
			ending(low, 2, 4)), []at{
			{12, "After a,low", [2]int64{2, 9}}}},
		{"equal priorities: the larger of each", rules(low, daily("also", 1, "09:00", "11:00", values(1, 20))), []at{
			{9, "Active also,low", [2]int64{2, 20}}, {11, "Active low", [2]int64{2, 6}}}},
		{"Highest: the larger of each, whatever the priority", highest(low, daily("high", 9, "09:00", "11:00", values(1, 20))), []at{
			{8, "Active low", [2]int64{2, 6}}, {9, "Active high,low", [2]int64{2, 20}}, {11, "Active low", [2]int64{2, 6}}}},
		{"a suspended one counts for nothing", rules(low, with(high, func(t *v1alpha1.TimeTrigger) { t.Suspend = true })), []at{
			{9, "Active low", [2]int64{2, 6}}}},
		{"an overnight window belongs to its start day", rules(with(daily("night", 1, "22:00", "06:00", values(2, 6)),
			func(t *v1alpha1.TimeTrigger) { t.Window.Days = []v1alpha1.Day{"Fri"} })), []at{
			{4*24 + 5, "Idle", [2]int64{}}, {4*24 + 22, "Active night", [2]int64{2, 6}}, {5*24 + 5, "Active night", [2]int64{2, 6}},
			{5*24 + 6, "Idle", [2]int64{}}, {5*24 + 22, "Idle", [2]int64{}}}},
		{"dates are inclusive", rules(with(daily("sale", 1, "", "", values(2, 6)), func(t *v1alpha1.TimeTrigger) {
			t.Window = v1alpha1.Window{Start: "2026-03-03", End: "2026-03-04"}
		})), []at{{23, "Idle", [2]int64{}}, {24, "Active sale", [2]int64{2, 6}}, {71, "Active sale", [2]int64{2, 6}}, {72, "Idle", [2]int64{}}}},
		{"only a suspended one", rules(suspended), []at{{9, "Idle", [2]int64{}}}},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			p := compiled(t, tc.rules)
			for _, w := range tc.want {
				got := at{w.hour, shown(p, hour(w.hour)), bounds(t, p, hour(w.hour))}
				if diff := cmp.Diff(w, got, cmp.AllowUnexported(at{})); diff != "" {
					t.Errorf("at hour %d (-want +got):\n%s", w.hour, diff)
				}
			}
		})
	}
}

func TestDatesAreLocal(t *testing.T) {
	r := rules(with(daily("sale", 1, "", "", values(2, 6)), func(t *v1alpha1.TimeTrigger) {
		t.Window = v1alpha1.Window{Start: "2026-03-03", End: "2026-03-03"}
	}))
	r.TimeZone = "America/New_York"
	p := compiled(t, r)
	for at, want := range map[time.Time]string{
		hour(24 + 4): "Idle", hour(24 + 5): "Active sale", hour(48 + 4): "Active sale", hour(48 + 5): "Idle",
	} {
		if got := shown(p, at); got != want {
			t.Errorf("at %s: %s, want %s", at, got, want)
		}
	}
}

func TestStateSaysSinceAndNext(t *testing.T) {
	p := compiled(t, rules(
		daily("low", 1, "08:00", "12:00", values(2, 6)), daily("brief", 0, "09:00", "09:30", values(1, 1)),
		daily("high", 9, "11:00", "13:00", values(5, 20))))
	tests := []struct {
		at          int
		since, next time.Time
	}{
		{7, monday.Add(-11 * time.Hour), hour(8)},
		{8, hour(8), hour(11)}, // transitions of triggers with a lower priority do not count
		{10, hour(8), hour(11)},
		{11, hour(11), hour(13)},
		{13, hour(13), hour(32)},
	}
	for _, tc := range tests {
		s := p.State(hour(tc.at))
		if !s.Since.Equal(tc.since) || !s.Next.Equal(tc.next) {
			t.Errorf("at hour %d: since %s, next %s; want %s and %s", tc.at, s.Since, s.Next, tc.since, tc.next)
		}
		if _, told := decide(t, p, hour(tc.at), workload.Observed{}); !strings.Contains(told, s.Message) {
			t.Errorf("at hour %d the trace tells %q, and the status %q", tc.at, told, s.Message)
		}
	}
	if s := compiled(t, rules(suspended)).State(monday); !s.Next.IsZero() {
		t.Errorf("with a suspended trigger alone the next transition is %s", s.Next)
	}
	for _, want := range []string{"low since 2026-03-02T08:00:00Z", "min 2, max 6", "next transition 2026-03-02T11:00:00Z"} {
		if got := p.State(hour(8)).Message; !strings.Contains(got, want) {
			t.Errorf("the message %q does not say %q", got, want)
		}
	}
}

// The claim for replicas depends on the target.
func TestReplicasClaimDependsOnTheTarget(t *testing.T) {
	plain := workload.Observed{Components: []workload.Component{{Name: "main", Replicas: 3}}}
	governed := plain
	governed.Governed = true
	autoscaler := workload.Observed{Governs: true}
	six := func(capacity int64) *workload.Size {
		return &workload.Size{Mode: workload.SizeExactly, Replicas: 6, Capacity: capacity}
	}
	both := v1alpha1.TriggerValues{Min: n(5), Max: n(20), Replicas: n(6)}
	base := workload.Intent{By: peaks, Priority: 3, Since: hour(8), Enforce: true, Min: n(5), Max: n(20), Reason: "peak"}
	held := base
	held.Size = six(6)
	once := workload.Intent{By: peaks, Priority: 3, Since: hour(8), Once: true, Size: six(6), Reason: "peak"}
	passed := once
	passed.ForGoverned = true
	tests := []struct {
		reason string
		seen   workload.Observed
		want   []workload.Intent
	}{
		{"nothing governs it: held", plain, []workload.Intent{held}},
		{"an autoscaler governs it: set once", governed, []workload.Intent{base, once}},
		{"it is the autoscaler: passed on", autoscaler, []workload.Intent{base, passed}},
		{"a kind with bounds and no count keeps to the bounds", workload.Observed{}, []workload.Intent{base}},
	}
	p := compiled(t, rules(daily("peak", 3, "08:00", "11:00", both)))
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			d, trace := decide(t, p, hour(9), tc.seen)
			if diff := cmp.Diff(tc.want, d.Intents); diff != "" {
				t.Errorf("intents (-want +got):\n%s", diff)
			}
			if !strings.HasPrefix(trace,
				"window: peak since 2026-03-02T08:00:00Z, min 5, max 20, replicas 6, next transition 2026-03-02T11:00:00Z; size: ") {
				t.Errorf("the trace is %q", trace)
			}
			if !d.Wake.Equal(hour(11)) {
				t.Errorf("wakes at %s, want the window's end", d.Wake)
			}
		})
	}
}

// The size of a target with an autoscaler is followed through interruptions. A window sets the size when it first comes
// into force, and not again after an interruption.
func TestSizeIsSetOncePerWindow(t *testing.T) {
	governed := workload.Observed{Governed: true, Components: []workload.Component{{Name: "main", Replicas: 3}}}
	asked := func(replicas int64, since int) workload.Intent {
		return workload.Intent{Since: hour(since), Size: &workload.Size{Replicas: replicas}}
	}
	again := func(replicas int64) workload.Intent {
		return workload.Intent{Resumed: true, Size: &workload.Size{Replicas: replicas}}
	}
	tests := []struct {
		reason string
		rules  v1alpha1.TriggerRules
		// want has the claimed size by hour, with its start, and whether it was set already; zero: none.
		want map[int]workload.Intent
	}{
		{"interrupted by one without a size", rules(daily("low", 1, "08:00", "12:00", size(6)),
			daily("high", 9, "09:00", "10:00", values(5, 20))),
			map[int]workload.Intent{8: asked(6, 8), 9: {}, 10: again(6), 11: again(6)}},
		{"interrupted by one with another size", rules(daily("low", 1, "08:00", "12:00", size(6)), daily("high", 9, "09:00", "10:00", size(9))),
			map[int]workload.Intent{8: asked(6, 8), 9: asked(9, 9), 10: again(6)}},
		{"started under a higher one", rules(daily("low", 1, "09:00", "12:00", size(6)), daily("high", 9, "08:00", "10:00", values(5, 20))),
			map[int]workload.Intent{9: {}, 10: asked(6, 10), 11: asked(6, 10)}},
		{"a lower one under it changes nothing", rules(daily("high", 9, "08:00", "12:00", size(6)), daily("low", 1, "09:00", "10:00", size(9))),
			map[int]workload.Intent{8: asked(6, 8), 9: asked(6, 8), 11: asked(6, 8)}},
		{"always open", rules(daily("low", 1, "00:00", "24:00", size(6)), daily("high", 9, "09:00", "10:00", values(5, 20))),
			map[int]workload.Intent{8: again(6), 9: {}, 10: again(6)}},
		{"always open, never covered", rules(daily("low", 1, "00:00", "24:00", size(6))),
			map[int]workload.Intent{8: {Size: &workload.Size{Replicas: 6}}}},
		{"after", rules(with(daily("low", 1, "08:00", "09:00", values(1, 9)),
			func(t *v1alpha1.TimeTrigger) { t.After = &v1alpha1.TriggerValues{Replicas: n(2)} })),
			map[int]workload.Intent{8: {}, 9: asked(2, 9), 20: asked(2, 9)}},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			p := compiled(t, tc.rules)
			for at, want := range tc.want {
				d, _ := decide(t, p, hour(at), governed)
				got := workload.Intent{}
				if len(d.Intents) > 1 {
					got = workload.Intent{Since: d.Intents[1].Since, Resumed: d.Intents[1].Resumed,
						Size: &workload.Size{Replicas: d.Intents[1].Size.Replicas}}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("at hour %d (-want +got):\n%s", at, diff)
				}
			}
		})
	}
}

func TestTriggerNeedsOnlyCapabilitiesThatItUses(t *testing.T) {
	boundsOnly := compiled(t, rules(daily("a", 0, "08:00", "09:00", values(1, 2)))).Needs
	if diff := cmp.Diff([]v1alpha1.Capability{v1alpha1.CapabilityBounds}, boundsOnly); diff != "" {
		t.Errorf("bounds (-want +got):\n%s", diff)
	}
	sized := compiled(t, rules(daily("a", 0, "08:00", "09:00", size(1)))).Needs
	if diff := cmp.Diff([]v1alpha1.Capability{v1alpha1.CapabilityBounds, v1alpha1.CapabilityScale}, sized); diff != "" {
		t.Errorf("size (-want +got):\n%s", diff)
	}
}

// If the after values have a size, the kind must have a count. If they have only bounds, it need not.
func TestNeedsOfAfterValues(t *testing.T) {
	for _, tc := range []struct {
		after v1alpha1.TriggerValues
		want  []v1alpha1.Capability
	}{
		{values(1, 2), []v1alpha1.Capability{v1alpha1.CapabilityBounds}},
		{size(1), []v1alpha1.Capability{v1alpha1.CapabilityBounds, v1alpha1.CapabilityScale}},
	} {
		trigger := daily("a", 0, "08:00", "09:00", values(1, 2))
		trigger.After = &tc.after
		if diff := cmp.Diff(tc.want, compiled(t, rules(trigger)).Needs); diff != "" {
			t.Errorf("%s (-want +got):\n%s", valuesText(&tc.after), diff)
		}
	}
}

// If the kind has no count, a claim for bounds replaces the claim for the size. Without bounds, the claim for the size is
// the only claim.
func TestSizeOfAKindWithoutACount(t *testing.T) {
	for _, tc := range []struct {
		during v1alpha1.TriggerValues
		held   bool
	}{
		{v1alpha1.TriggerValues{Min: n(5), Replicas: n(6)}, false},
		{v1alpha1.TriggerValues{Max: n(20), Replicas: n(6)}, false},
		{v1alpha1.TriggerValues{Replicas: n(6)}, true},
	} {
		d, _ := decide(t, compiled(t, rules(daily("peak", 3, "08:00", "11:00", tc.during))), hour(9), workload.Observed{})
		if len(d.Intents) != 1 || (d.Intents[0].Size != nil) != tc.held {
			t.Errorf("%s: asks for %+v", valuesText(&tc.during), d.Intents)
		}
	}
}

// The status shows the triggers in force and the values in place; FillStatus returns the formerly active trigger.
func TestStatusOfTriggers(t *testing.T) {
	web := workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
	applied := []policy.Applied{{Target: web, Min: n(1), Max: n(2), Replicas: n(3)}}
	want := []v1alpha1.AppliedValues{{Kind: "Deployment.apps", Namespace: "shop", Name: "web", Min: n(1), Max: n(2), Replicas: n(3)}}
	for _, k := range Kinds() {
		obj := k.New()
		p, _ := k.Compile(obj, Context{}) // an empty object is enough
		p.Reporter.FillStatus(obj, time.Time{}, policy.Summary{Active: "peak"}, applied)
		if before := p.Reporter.FillStatus(obj, time.Time{}, policy.Summary{Active: "night"}, applied); before != "peak" {
			t.Errorf("%s: it showed %q before", k.Name, before)
		}
		var st v1alpha1.TriggerStatus
		switch o := obj.(type) {
		case *v1alpha1.Trigger:
			st = o.Status
		case *v1alpha1.ClusterTrigger:
			st = o.Status
		}
		if diff := cmp.Diff(want, st.Applied); st.ActiveTrigger != "night" || diff != "" {
			t.Errorf("%s shows %q and %s", k.Name, st.ActiveTrigger, diff)
		}
		if k.Status(obj) == nil || !k.NeedsFinalizer(obj) {
			t.Errorf("%s has no shared status, or needs no finalizer", k.Name)
		}
	}
}

func TestFieldNamesTheSourceOfABound(t *testing.T) {
	suspended := with(daily("suspended", 9, "00:00", "24:00", values(1, 1)), func(t *v1alpha1.TimeTrigger) { t.Suspend = true })
	p := compiled(t, rules(suspended, daily("low", 1, "08:00", "12:00", values(0, 6)),
		ending(daily("high", 9, "09:00", "11:00", values(5, 20)), 1, 4),
		daily("also", 9, "10:00", "11:00", v1alpha1.TriggerValues{Max: n(20)}), daily("last", 1, "20:00", "21:00", size(3))))
	for _, tc := range []struct {
		hour     int
		min, max string
	}{
		{7, "", ""},
		{8, "spec.triggers[1].during.min", "spec.triggers[1].during.max"},
		{9, "spec.triggers[2].during.min", "spec.triggers[2].during.max"},
		{10, "spec.triggers[2].during.min", "spec.triggers[2].during.max, spec.triggers[3].during.max"},
		{12, "spec.triggers[2].after.min", "spec.triggers[2].after.max"},
		{20, "", ""},
	} {
		if low, high := p.Field(hour(tc.hour), "min"), p.Field(hour(tc.hour), "max"); low != tc.min || high != tc.max {
			t.Errorf("at hour %d: min from %q and max from %q, want %q and %q", tc.hour, low, high, tc.min, tc.max)
		}
	}
}

// One policy selects the autoscaler and another its scale target.
func TestEqualPrioritiesAreDecidedByCapacity(t *testing.T) {
	governed := workload.Observed{Governed: true, Components: []workload.Component{{Name: "main", Replicas: 3}}}
	d, _ := decide(t, compiled(t, rules(daily("six", 0, "08:00", "11:00", size(6)))), hour(9), governed)
	passed, _ := decide(t, compiled(t, rules(daily("thirty", 0, "08:00", "11:00", size(30)))), hour(9), workload.Observed{Governs: true})
	passed.Intents[1].By.Name = "other"
	if plan, _ := pipeline.Merge(append(d.Intents, passed.Intents...)...); plan.Size.Value.Replicas != 30 {
		t.Errorf("the size is %d, want the larger", plan.Size.Value.Replicas)
	}
}
