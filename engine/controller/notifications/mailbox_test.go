package notifications

import (
	"fmt"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/notify/message"
	"flyball.dev/flyball/engine/workload"
)

func newBox(t *testing.T) *mailbox {
	t.Helper()
	m, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	n := &v1alpha1.Notification{}
	n.Namespace, n.Name, n.Spec.Events = "shop", "team", []v1alpha1.NotificationEvent{v1alpha1.EventAsleep}
	s, errs := message.Compile(n)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	b := newMailbox(&Controller{Options: Options{Metrics: m}}, boxKey{Namespace: "shop", Name: "team"}, object{Object: n, status: &n.Status},
		s)
	b.stop = func() {}
	return b
}

func asleep(i int) message.Announcement {
	return message.Announcement{Event: v1alpha1.EventAsleep, Policy: workload.Policy{Kind: "Schedule", Namespace: "shop",
		Name: fmt.Sprint(i)}, Text: "asleep"}
}

// A receiver does not answer while 150 policies go to sleep.
func TestAFullQueueDropsTheOldestMessages(t *testing.T) {
	b := newBox(t)
	for i := range maxWaiting + 50 {
		b.observe(asleep(i), nil)
	}
	first, ok, _ := b.next()
	if !ok || first.Policy.Name != "0" || len(b.outbox) != maxWaiting || b.outbox[1].Policy.Name != "51" || b.dropped != 50 {
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

// One namespace with many transitions does not push the messages of others out of the queue of a ClusterNotification.
func TestANamespaceDropsItsOwnMessages(t *testing.T) {
	b := newBox(t)
	other := asleep(0)
	other.Policy.Namespace = "quiet"
	for i := range 3 * maxWaiting {
		b.put(message.Message{Policy: asleep(i).Policy})
		if i == 5 {
			b.put(message.Message{Policy: other.Policy})
		}
	}
	if !slices.ContainsFunc(b.outbox, func(m message.Message) bool { return m.Policy.Namespace == "quiet" }) || len(b.outbox) != maxWaiting {
		t.Errorf("of %d messages none is of the namespace with one message", len(b.outbox))
	}
}

func TestAnEditedNotificationKeepsItsMessages(t *testing.T) {
	old, next := newBox(t), newBox(t)
	old.observe(asleep(1), nil)
	old.close(next)
	old.observe(asleep(2), nil)
	if _, ok, _ := old.next(); ok || len(next.outbox) != 2 || next.outbox[0].Policy.Name != "1" {
		t.Errorf("the old queue has a message: %t, the new one %v", ok, next.outbox)
	}
}
