package decide_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/worldtest"
)

// during returns a Schedule of a priority with a say only between two times of the day.
func during(name, from, to string, priority int32) *v1alpha1.Schedule {
	s := called(nightly(0), name)
	s.Spec.Upscale, s.Spec.Downscale, s.Spec.Priority = "", "", priority
	s.Spec.Asleep, s.Spec.Otherwise = []v1alpha1.Window{{Name: name, From: from, To: to}}, v1alpha1.OtherwiseNothing
	return s
}

// lasting returns a copy of the suspends freeze for some hours of the night.
func lasting(from, to int) *v1alpha1.ChangeFreeze {
	f := suspends()
	f.Spec.StartTime = metav1.Time{Time: evening.Add(time.Duration(from) * time.Hour)}
	f.Spec.EndTime = metav1.Time{Time: evening.Add(time.Duration(to) * time.Hour)}
	return f
}

// until simulates some hours after the evening with policies, on the objects in which another simulation has ended.
func until(t *testing.T, objects []string, refs []workload.Ref, from, to time.Duration, policies ...policy.Object) []string {
	t.Helper()
	all, err := library()
	if err != nil {
		t.Fatal(err)
	}
	var few []v1alpha1.Adapter
	for _, a := range all {
		if slices.Contains([]string{worldtest.Deployments, worldtest.Autoscalers, "cronjobs.batch", "scaledobjects.keda.sh",
			"applications.argoproj.io", "helmreleases.helm.toolkit.fluxcd.io", "kustomizations.kustomize.toolkit.fluxcd.io"}, a.Name) {
			few = append(few, a)
		}
	}
	m := memoryOf(t, few, policies, objects...)
	if _, err := decide.Simulate(m, evening.Add(from), evening.Add(to)); err != nil {
		t.Fatal(err)
	}
	after := make([]string, len(refs))
	for i, ref := range refs {
		after[i] = string(m.Raw(ref))
	}
	return after
}

// A Schedule is stopped an hour and a half after the evening, while other policies ask for the same. The targets stay as they are when
// the others end, and come back exactly when the Schedule is deleted.
func TestAStoppedScheduleKeepsTargetsThatSleepForOthersToo(t *testing.T) {
	const asleep = v1alpha1.OverrideAsleep
	deployment, scaler := []string{webAt(4)}, []string{webAt(4), scaledObject}
	narrowed := nightly(0)
	narrowed.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: hpa.Group, Kind: hpa.Kind}}
	narrowed.Spec.AsleepAs = &v1alpha1.AsleepAs{Bounds: &v1alpha1.BoundsValue{Min: new(int64(1)), Max: new(int64(2))}}
	held, late := nightly(0), during("late", "21:00", "23:00", 5)
	held.Spec.HoldOwner, held.Spec.Target.Kinds, late.Spec.Target.Kinds = true, deployments, deployments
	refs := []workload.Ref{web}
	for reason, tc := range map[string]struct {
		schedule *v1alpha1.Schedule
		objects  []string
		refs     []workload.Ref
		others   []policy.Object
	}{
		"an order that begins later":  {nightly(0), deployment, refs, []policy.Object{order("demo", asleep, 1, 3)}},
		"an order that begins before": {nightly(0), deployment, refs, []policy.Object{order("demo", asleep, -1, 5)}},
		"two orders in turn": {nightly(0), deployment, refs,
			[]policy.Object{order("demo", asleep, -1, 2), order("next", asleep, 0, 4)}},
		"a schedule of a higher priority": {nightly(0), deployment, refs, []policy.Object{during("late", "21:00", "23:00", 5)}},
		"a schedule of a lower priority":  {called(nightly(0), "z"), deployment, refs, []policy.Object{during("late", "19:00", "23:00", -5)}},
		"a schedule and an order": {nightly(0), deployment, refs,
			[]policy.Object{during("late", "21:00", "23:00", 5), order("demo", asleep, 1, 3)}},
		"a freeze that begins later":  {nightly(0), []string{cronJob}, []workload.Ref{mail}, []policy.Object{lasting(1, 4)}},
		"a freeze that begins before": {nightly(0), []string{cronJob}, []workload.Ref{mail}, []policy.Object{lasting(-1, 4)}},
		"an order whose predecessor still holds, because a freeze lets no roll-out go on": {nightly(0), deployment, refs,
			[]policy.Object{order("hold", v1alpha1.OverrideHold, -2, 1), order("demo", asleep, -1, 2), lasting(-3, 24)}},
		"an autoscaler is held for an order": {nightly(0), scaler, []workload.Ref{web, kedaScaled}, []policy.Object{order("demo", asleep, 1, 3)}},
		"an autoscaler is held for a schedule": {nightly(0), scaler, []workload.Ref{web, kedaScaled},
			[]policy.Object{during("late", "19:00", "23:00", 5)}},
		"an owner is held": {held, []string{webAt(4), kustomizationOf(false, "web")}, []workload.Ref{web, kustomization}, []policy.Object{late}},
		"bounds by a trigger": {narrowed, []string{webAt(2), hpaOf(2, 9)}, []workload.Ref{web, hpa},
			[]policy.Object{peakAt(v1alpha1.TriggerValues{Min: new(int64(1)), Max: new(int64(2))})}},
	} {
		for _, stop := range []string{"suspended", "broken"} {
			t.Run(reason+", "+stop, func(t *testing.T) {
				with := func(s *v1alpha1.Schedule) []policy.Object { return append([]policy.Object{s}, tc.others...) }
				night := until(t, tc.objects, tc.refs, -3*time.Hour, 90*time.Minute, with(tc.schedule)...)
				stopped := tc.schedule.DeepCopy()
				if stopped.Spec.Suspend = true; stop == "broken" {
					stopped.Spec.Suspend, stopped.Spec.TimeZone = false, "Nowhere/City"
				}
				after := until(t, night, tc.refs, 90*time.Minute, 20*time.Hour, with(stopped)...)
				back := until(t, after, tc.refs, 20*time.Hour, 21*time.Hour)
				for i := range tc.refs {
					before, asleep := ownerOf(t, tc.objects[i]), ownerOf(t, night[i])
					if !strings.Contains(night[len(night)-1], v1alpha1.AnnotationLedger) {
						t.Errorf("%s has nothing to keep: %s", tc.refs[i], night[i])
					}
					if got := ownerOf(t, after[i]); got != asleep {
						t.Errorf("%s is %s\nwant %s", tc.refs[i], after[i], asleep)
					}
					if got := ownerOf(t, back[i]); got != before || strings.Contains(back[i], v1alpha1.AnnotationLedger) {
						t.Errorf("%s comes back as %s\nwant %s", tc.refs[i], back[i], before)
					}
				}
			})
		}
	}
}

// ownerOf returns the annotations and the spec of an object, without the ledger.
func ownerOf(t *testing.T, object string) string {
	t.Helper()
	var obj struct {
		Metadata struct{ Annotations map[string]string }
		Spec     any
	}
	if err := json.Unmarshal([]byte(object), &obj); err != nil {
		t.Fatal(err)
	}
	delete(obj.Metadata.Annotations, v1alpha1.AnnotationLedger)
	text, err := json.Marshal([]any{len(obj.Metadata.Annotations), obj.Metadata.Annotations, obj.Spec})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(text), "[0,{}", "[0,null", 1)
}
