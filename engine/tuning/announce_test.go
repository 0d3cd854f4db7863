package tuning

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// TestChangesWithinTenMinutesShareOneEvent: the first numbers are not announced. Changes within ten minutes of an
// event wait for the
// next event.
func TestChangesWithinTenMinutesShareOneEvent(t *testing.T) {
	var a told
	for _, step := range []struct {
		after  time.Duration
		values map[string]string
		want   []string
	}{
		{0, nil, nil},
		{0, map[string]string{"app cpu": "1", "minimum": "5"}, nil},
		{time.Minute, map[string]string{"app cpu": "1", "minimum": "5"}, nil},
		{2 * time.Minute, map[string]string{"app cpu": "500m", "minimum": "4"}, []string{"app cpu 1 -> 500m", "minimum 5 -> 4"}},
		{3 * time.Minute, map[string]string{"app cpu": "500m", "minimum": "6"}, nil},
		{11 * time.Minute, map[string]string{"app cpu": "500m", "minimum": "7"}, nil},
		{12 * time.Minute, map[string]string{"app cpu": "500m", "minimum": "8"}, []string{"minimum 4 -> 8"}},
		{13 * time.Minute, map[string]string{"app cpu": "500m", "minimum": "9"}, nil},
		{14 * time.Minute, map[string]string{"app cpu": "500m", "minimum": "8"}, nil},
		{30 * time.Minute, map[string]string{"app cpu": "500m", "minimum": "8"}, nil},
		{31 * time.Minute, map[string]string{"app cpu": "500m", "minimum": "8", "side cpu": "1"}, nil},
		{32 * time.Minute, map[string]string{"minimum": "8", "side cpu": "1"}, nil}, // the pods differ
		{33 * time.Minute, map[string]string{"app cpu": "400m", "minimum": "8", "side cpu": "1"}, []string{"app cpu 500m -> 400m"}},
	} {
		if diff := cmp.Diff(step.want, a.next(step.values, noon.Add(step.after))); diff != "" {
			t.Errorf("after %s: %s", step.after, diff)
		}
	}
}

// TestAutoscalerAndTargetAreAnnouncedSeparately: a target and its autoscaler are written one after the other. Each
// change is
// announced for its own object, once all pods have it.
func TestAutoscalerAndTargetAreAnnouncedSeparately(t *testing.T) {
	events := &heard{}
	l := &Actuator{opts: Options{Events: events}, world: world.New(selector.Scope{})}
	ref := workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
	st := v1alpha1.RecommendationStatus{
		Containers: []v1alpha1.RecommendedContainer{{Name: "app",
			Memory: &v1alpha1.RecommendedRequest{Own: ptr.To(resource.MustParse("1Gi")), Recommended: resource.MustParse("300Mi")}}},
		Autoscaler: &v1alpha1.RecommendedAutoscaler{Kind: "HorizontalPodAutoscaler.autoscaling", Name: "web",
			Min: v1alpha1.RecommendedNumber{Own: ptr.To(int32(5)), Recommended: 3}},
	}
	var x subject
	before, after := requesting("app", 0, 1<<30), requesting("app", 0, 300<<20)
	for step, is := range []struct {
		pods    []*workload.Pod
		minimum int64
	}{{[]*workload.Pod{before, before}, 5}, {[]*workload.Pod{before, after}, 5}, {[]*workload.Pod{after, after}, 5},
		{[]*workload.Pod{after, after}, 3}} {
		x.has = podsize.NumbersOf(is.pods, true)
		x.has.Numbers["min"] = is.minimum
		l.announceChanges(ref, &world.Policy{}, &x, st, noon.Add(time.Duration(step)*time.Second))
	}
	want := []string{
		"Deployment web: Deployment.apps/shop/web: app memory 1Gi -> 300Mi",
		"HorizontalPodAutoscaler web: HorizontalPodAutoscaler.autoscaling/shop/web: minimum 5 -> 3",
	}
	if diff := cmp.Diff(want, events.notes); diff != "" {
		t.Error(diff)
	}
}

// TestTargetConstrainedByABudgetIsAnnouncedOnceAfterAnHour: a constrained target is announced after an hour, and again only
// if the budget allowed a disruption in between.
func TestTargetConstrainedByABudgetIsAnnouncedOnceAfterAnHour(t *testing.T) {
	events, clock := &heard{}, clocktesting.NewFakePassiveClock(noon)
	l := &Actuator{opts: Options{Events: events}, world: world.New(selector.Scope{}), pods: clock}
	ref := workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
	const why = "waits for PodDisruptionBudget shop/pdb, which allows no disruption now"
	var x subject
	for _, step := range []struct {
		after time.Duration
		why   string
		told  int
	}{{0, "", 0}, {time.Minute, why, 0}, {time.Hour, why, 0}, {time.Hour + time.Minute, why, 1}, {5 * time.Hour, why, 1},
		{6 * time.Hour, "", 1}, {7 * time.Hour, why, 1},
		{8*time.Hour - time.Second, why + ", really", 1}, {8 * time.Hour, why, 2}} {
		clock.SetTime(noon.Add(step.after))
		if l.announceConstraint(ref, &world.Policy{}, &x, step.why); len(events.notes) != step.told {
			t.Errorf("after %s: %q", step.after, events.notes)
		}
	}
	if want := "Deployment web: Deployment.apps/shop/web: " + why + ", for an hour"; len(events.notes) == 0 || events.notes[0] != want {
		t.Errorf("it is told as %q", events.notes)
	}
}

// TestRolledBackRollOutIsAnnouncedOnce: a roll-out is announced once, and not by a manager that started after it was
// taken back.
func TestRolledBackRollOutIsAnnouncedOnce(t *testing.T) {
	events := &heard{}
	l := &Actuator{opts: Options{Events: events}, world: world.New(selector.Scope{})}
	ref := workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
	var st v1alpha1.RecommendationStatus
	var x subject
	for _, step := range []struct {
		phase    string
		told, at time.Duration // 0: never
		events   int
	}{{"", 0, 1, 0}, {"Working", 1, 1, 0}, {"Working", 1, 0, 0}, {"Working", 0, 2, 1}, {"Working", 2, 2, 1}, {"Working", 2, 3, 2}} {
		x.reported, st.TakenBack = reported{phase: step.phase}, nil
		if step.told > 0 {
			x.takenBack.Time = noon.Add(step.told)
		}
		if step.at > 0 {
			st.TakenBack = &v1alpha1.TakenBack{Time: metav1.Time{Time: noon.Add(step.at)}, Message: "no room"}
		}
		if l.announceTakenBack(ref, &world.Policy{}, &x, st); len(events.notes) != step.events {
			t.Errorf("%+v: %q", step, events.notes)
		}
	}
	const want = "Deployment web: Deployment.apps/shop/web: a roll-out of requests did not become ready and was taken back: no room"
	if len(events.notes) == 0 || events.notes[0] != want {
		t.Errorf("it is told as %q", events.notes)
	}
}

// heard records the notes of events with their related objects.
type heard struct{ notes []string }

func (h *heard) Eventf(_, related runtime.Object, _, _, _, note string, args ...any) {
	of := related.(*corev1.ObjectReference)
	h.notes = append(h.notes, of.Kind+" "+of.Name+": "+fmt.Sprintf(note, args...))
}

// requesting is a pod with one container that requests cpu in milli-CPU and memory in bytes.
func requesting(container string, cpu, memory int64) *workload.Pod {
	return &workload.Pod{Containers: []workload.Container{{Name: container, Resources: workload.Resources{CPU: cpu, Memory: memory}}}}
}
