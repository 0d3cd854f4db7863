package feed

import (
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// A policy that arrives together with its calendar never has the error of a missing calendar.
func TestChangesAreAppliedInOneTransaction(t *testing.T) {
	w := world.New(world.Scope("flyball-system", nil))
	f := &Feed{world: w, log: logr.Discard(), pending: map[workload.Policy]client.Object{}, changed: make(chan struct{}, 1)}
	nights := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nights", UID: "1", Generation: 1,
		Finalizers: []string{v1alpha1.FinalizerRestore}}}
	nights.Spec.Downscale, nights.Spec.Upscale = "0 20 * * *", "0 8 * * *"
	nights.Spec.Calendars = []v1alpha1.CalendarRef{{Name: "holidays", Effect: v1alpha1.EffectAsleep}}
	holidays := &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Name: "holidays", UID: "2", Generation: 1}}
	holidays.Spec.Dates = []v1alpha1.CalendarDate{{Date: "2026-12-24"}}
	deployments := &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: "deployments.apps", UID: "3", Generation: 1}}
	deployments.Spec.Target = v1alpha1.AdapterTarget{Group: "apps", Kind: "Deployment"}
	id := workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}
	gather := func(gone bool) {
		f.gather("Schedule", nights, gone)
		f.gather("Calendar", holidays, gone)
		f.gather("Adapter", deployments, gone)
		if len(f.changed) != 1 {
			t.Errorf("gone %t: it is told %d times that something has changed", gone, len(f.changed))
		}
	}

	gather(false)
	if s := w.Snapshot(); s.PolicyCount() != 0 || len(s.Adapters()) != 0 {
		t.Errorf("taken over too early: %d policies, %d adapters", s.PolicyCount(), len(s.Adapters()))
	}
	f.takeOver()
	if p := w.Snapshot().Find(id); p == nil || p.IsBroken() || p.Object != nights {
		t.Errorf("the policy is %+v", p)
	}
	if a := w.Snapshot().Adapters()[schema.GroupResource{Group: "apps", Resource: "deployments"}]; a == nil || a.Kind != "Deployment" {
		t.Errorf("the adapter is %+v", a)
	}

	f.gather("Calendar", holidays, true)
	f.takeOver()
	if p := w.Snapshot().Find(id); p == nil || !p.IsBroken() {
		t.Errorf("without its calendar the policy is %+v", p)
	}
	gather(true)
	f.takeOver()
	if s := w.Snapshot(); s.Find(id) != nil || len(s.Adapters()) != 0 || len(f.pending) != 0 {
		t.Errorf("still there: %d policies, %d adapters, %d pending", s.PolicyCount(), len(s.Adapters()), len(f.pending))
	}
}
