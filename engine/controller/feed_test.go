package controller

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
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
	f.takeOver(t.Context())
	if p := w.Snapshot().Find(id); p == nil || p.IsBroken() || p.Object != nights {
		t.Errorf("the policy is %+v", p)
	}
	if a := w.Snapshot().Adapters()[schema.GroupResource{Group: "apps", Resource: "deployments"}]; a == nil || a.Kind != "Deployment" {
		t.Errorf("the adapter is %+v", a)
	}

	f.gather("Calendar", holidays, true)
	f.takeOver(t.Context())
	if p := w.Snapshot().Find(id); p == nil || !p.IsBroken() {
		t.Errorf("without its calendar the policy is %+v", p)
	}
	gather(true)
	f.takeOver(t.Context())
	if s := w.Snapshot(); s.Find(id) != nil || len(s.Adapters()) != 0 || len(f.pending) != 0 {
		t.Errorf("still there: %d policies, %d adapters, %d pending", s.PolicyCount(), len(s.Adapters()), len(f.pending))
	}
}

// file is a reader in which every ConfigMap has the same data.
type file struct {
	client.Reader
	data   map[string]string
	binary map[string][]byte
}

func (r file) Get(_ context.Context, _ client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	obj.(*corev1.ConfigMap).Data, obj.(*corev1.ConfigMap).BinaryData = r.data, r.binary
	return nil
}

// A calendar whose days move to a ConfigMap is never unreadable, so a freeze on its days does not hold meanwhile.
func TestAFileIsReadBeforeItsCalendarIsApplied(t *testing.T) {
	w := world.New(world.Scope("flyball-system", nil))
	const ics = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:move\nDTSTART:20370701\nEND:VEVENT\nEND:VCALENDAR\n"
	f := &Feed{world: w, log: logr.Discard(), pending: map[workload.Policy]client.Object{}, changed: make(chan struct{}, 1),
		reader: file{data: map[string]string{"calendar.ics": ics}}}
	for i, source := range []v1alpha1.CalendarICS{{Inline: ics},
		{ConfigMap: &v1alpha1.ConfigMapKey{Namespace: "ops", Name: "company", Key: "calendar.ics"}}} {
		c := &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Name: "company", UID: "1", Generation: int64(i + 1)}}
		c.Spec.ICS = &source
		f.gather("Calendar", c, false)
		f.takeOver(t.Context())
		if got, known := w.Snapshot().Calendar("company"); !known || len(got.Invalid) > 0 {
			t.Errorf("generation %d: known %t, with the errors %v", i+1, known, got.Invalid)
		}
	}
}

// TestAFileThatIsNotUTF8IsRead reads a file from binaryData, where kubectl puts it.
func TestAFileThatIsNotUTF8IsRead(t *testing.T) {
	w := world.New(world.Scope("flyball-system", nil))
	const ics = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:K\xf6ln\nDTSTART:20370701\nEND:VEVENT\nEND:VCALENDAR\n"
	f := &Feed{world: w, log: logr.Discard(), pending: map[workload.Policy]client.Object{}, changed: make(chan struct{}, 1),
		reader: file{binary: map[string][]byte{"calendar.ics": []byte(ics)}}}
	c := &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Name: "company", UID: "1", Generation: 1}}
	c.Spec.ICS = &v1alpha1.CalendarICS{ConfigMap: &v1alpha1.ConfigMapKey{Namespace: "ops", Name: "company", Key: "calendar.ics"}}
	f.gather("Calendar", c, false)
	f.takeOver(t.Context())
	got, _ := w.Snapshot().Calendar("company")
	if st := got.Days.At(time.Date(2037, 7, 1, 12, 0, 0, 0, time.UTC)); st.Name != "company: Köln" || got.Encoding != "Latin-1" {
		t.Errorf("the state is %+v, the encoding %q, the errors are %v", st, got.Encoding, got.Invalid)
	}
}
