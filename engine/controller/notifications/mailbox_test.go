package notifications

import (
	"fmt"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/notify"
	"flyball.dev/flyball/engine/workload"
)

// newShare returns the share of a namespace with Notifications, without workers.
func newShare(t *testing.T, names ...string) (boxes []*mailbox) {
	t.Helper()
	m, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	s := &share{boxes: map[string]*mailbox{}}
	for _, name := range names {
		n := &v1alpha1.ClusterNotification{}
		n.Name, n.Spec.Events = name, []v1alpha1.NotificationEvent{v1alpha1.EventAsleep, v1alpha1.EventFailed}
		sub, errs := notify.CompileCluster(n)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		b := newMailbox(&Controller{Options: Options{Metrics: m}}, boxKey{Namespace: "shop", Name: name},
			object{Object: n, status: &n.Status}, sub)
		b.share, b.stop, s.boxes[name] = s, func() {}, b
		boxes = append(boxes, b)
	}
	return boxes
}

func newBox(t *testing.T) *mailbox { return newShare(t, "team")[0] }

func asleep(i int) notify.Announcement {
	return notify.Announcement{Event: v1alpha1.EventAsleep, Policy: workload.Policy{Kind: "Schedule", Namespace: "shop",
		Name: fmt.Sprint(i)}, Text: "asleep"}
}

// A receiver does not answer while many policies go to sleep.
func TestAFullQueueDropsTheOldestMessages(t *testing.T) {
	b := newBox(t)
	for i := range 1 + maxWaiting + 50 { // the first is being sent
		b.observe(asleep(i), nil)
	}
	first, ok, _ := b.next()
	if !ok || first.Policy.Name != "0" || len(b.outbox) != 1+maxWaiting || b.outbox[1].Policy.Name != "51" || b.dropped != 50 {
		t.Errorf("first %v, then %v, %d messages wait, %d were dropped", first.Policy, b.outbox[1].Policy, len(b.outbox), b.dropped)
	}
	var counted dto.Metric
	if err := b.c.Metrics.messages.WithLabelValues("Notification", "shop/team", "dropped").Write(&counted); err != nil {
		t.Fatal(err)
	}
	if got := counted.GetCounter().GetValue(); got != 50 {
		t.Errorf("the metric counts %g dropped messages", got)
	}
	b.remove(first.ID)
	if next, _, _ := b.next(); next.Policy.Name != "51" {
		t.Errorf("next is %v", next.Policy)
	}
}

// TestNotificationsOfANamespaceShareAQueue checks that many Notifications of a namespace, for many policies, have one queue of a fixed
// length, for due and for gathered messages, and that the Notification with most messages loses them.
func TestNotificationsOfANamespaceShareAQueue(t *testing.T) {
	boxes := newShare(t, "a", "b", "c", "quiet")
	boxes[3].observe(asleep(0), nil)
	boxes[3].observe(asleep(1), nil)
	for i := range 3 * maxWaiting {
		failed := asleep(i)
		failed.Event = v1alpha1.EventFailed
		for _, b := range boxes[:3] {
			b.observe(asleep(i), nil)
			b.observe(failed, nil)
		}
	}
	waiting, dropped := 0, int64(0)
	for _, b := range boxes {
		waiting, dropped = waiting+b.waiting(), dropped+b.dropped
	}
	if all := int64(3 * 2 * 3 * maxWaiting); waiting != maxWaiting || dropped != all+1-3-maxWaiting {
		t.Errorf("%d messages wait and %d of %d were dropped, want %d", waiting, dropped, all, maxWaiting)
	}
	if len(boxes[3].outbox) != 2 {
		t.Errorf("the quiet Notification has %d messages, want both", len(boxes[3].outbox))
	}
}

// One namespace with many transitions or failures does not push the messages of others out of the queue of a ClusterNotification.
func TestANamespaceDropsItsOwnMessages(t *testing.T) {
	for _, event := range []v1alpha1.NotificationEvent{v1alpha1.EventAsleep, v1alpha1.EventFailed} {
		b := newBox(t)
		b.observe(asleep(-1), nil) // it is being sent
		for i := range 3 * maxWaiting {
			a := asleep(i)
			a.Event = event
			b.observe(a, nil)
			if i == 5 {
				a.Policy.Namespace, a.Event = "quiet", v1alpha1.EventAsleep
				b.observe(a, nil)
			}
		}
		if !slices.ContainsFunc(b.outbox, func(m notify.Message) bool { return m.Policy.Namespace == "quiet" }) || b.waiting() != maxWaiting {
			t.Errorf("%s: %d messages wait, perhaps none of the namespace with one message", event, b.waiting())
		}
	}
}

func TestAnEditedNotificationKeepsItsMessages(t *testing.T) {
	boxes := newShare(t, "team", "edited")
	old, next := boxes[0], boxes[1]
	old.observe(asleep(1), nil)
	old.close(next)
	old.observe(asleep(2), nil)
	if _, ok, _ := old.next(); ok || len(next.outbox) != 2 || next.outbox[0].Policy.Name != "1" {
		t.Errorf("the old queue has a message: %t, the new one %v", ok, next.outbox)
	}
}
