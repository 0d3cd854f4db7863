package notifications

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/notify"
	"flyball.dev/flyball/engine/workload"
)

const (
	// maxRecent is the length of the list of recent messages in the status, and of its validation.
	maxRecent = 32
	// notSent is the reason of the condition Ready while the last message was given up or is tried again.
	notSent = "NotSent"
)

// record writes the result of a message to the status. It tries again until the context ends, because a restarted manager goes by it.
func (b *mailbox) record(ctx context.Context, m *notify.Message, failure error) {
	b.c.Metrics.count(b.key, map[bool]string{true: "sent", false: "failed"}[failure == nil], 1)
	b.share.mu.Lock()
	dropped, until := b.dropped, b.aheadUntil
	b.dropped = 0
	b.share.mu.Unlock()
	sent := v1alpha1.NotificationSent{Time: metav1.NewTime(time.Now().Truncate(time.Second)), Event: m.Event, Policy: m.Policy.String()}
	edit := func(st *v1alpha1.NotificationStatus) {
		st.Dropped += dropped
		if at := st.AheadUntil; !until.IsZero() && (at == nil || at.Time.Before(until)) {
			st.AheadUntil = &metav1.Time{Time: until.Truncate(time.Second)}
		}
		one := sent
		if failure != nil {
			one.Text = workload.OneLine(failure.Error(), 1024)
			st.Failed++
			st.LastFailure = &one
			b.c.setReady(st, b.generation, notSent, fmt.Sprintf("the message about %s of %s was given up: %s", m.Event, m.Policy, one.Text))
			return
		}
		st.Sent++
		st.LastSent = &one
		if !notify.IsTransition(m.Event) {
			one.Text = notify.HashOf(m)
			st.Recent = append(st.Recent, one)
			st.Recent = st.Recent[max(0, len(st.Recent)-maxRecent):]
		}
		b.c.setReady(st, b.generation, "", "messages are sent")
	}
	for ctx.Err() == nil {
		err := b.c.write(ctx, b.key, b.uid, edit)
		if err == nil {
			return
		}
		b.c.Log.V(1).Info("Failed to write the status; will retry", "notification", b.key.id().String(), "reason", err.Error())
		select {
		case <-ctx.Done():
		case <-time.After(firstPause):
		}
	}
}

// waits writes to the status why a message was not sent yet.
func (b *mailbox) waits(ctx context.Context, m *notify.Message, reason error) {
	b.c.Log.V(1).Info("Failed to send a message; will retry", "notification", b.key.id().String(), "reason", reason.Error())
	err := b.c.write(ctx, b.key, b.uid, func(st *v1alpha1.NotificationStatus) {
		b.c.setReady(st, b.generation, notSent, fmt.Sprintf("the message about %s of %s is tried again, at most %d times: %s",
			m.Event, m.Policy, maxAttempts, workload.OneLine(reason.Error(), 1024)))
	})
	if err != nil {
		b.c.Log.V(1).Info("Failed to write the status", "notification", b.key.id().String(), "reason", err.Error())
	}
}

// write edits the status of a Notification. Every replica adds to it, so the write is conditional on the version.
func (c *Controller) write(ctx context.Context, key boxKey, uid types.UID, edit func(*v1alpha1.NotificationStatus)) error {
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		n, err := c.get(ctx, c.Reader, key)
		if err != nil || n.GetUID() != uid {
			return client.IgnoreNotFound(err)
		}
		before := n.DeepCopyObject().(client.Object)
		edit(n.status)
		n.status.Recent = slices.Clip(n.status.Recent)
		if equality.Semantic.DeepEqual(before, n.Object) {
			return nil
		}
		return client.IgnoreNotFound(c.Client.Status().Patch(ctx, n.Object,
			client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})))
	})
	if err != nil {
		return fmt.Errorf("write the status of %s: %w", key.id(), err)
	}
	return nil
}

// Metrics are the metrics of notifications.
type Metrics struct{ messages *prometheus.CounterVec }

// NewMetrics creates and registers the metrics. A metric that is registered already is an error.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{messages: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flyball_notifications_total",
		Help: "Messages of a Notification or ClusterNotification by result: sent, failed (given up) or dropped (from a full queue)."},
		[]string{"notification_kind", "notification", "result"})}
	return m, r.Register(m.messages)
}

func (m *Metrics) count(key boxKey, result string, n float64) {
	m.messages.WithLabelValues(key.kind(), key.id().Label(), result).Add(n)
}

func (m *Metrics) forget(key boxKey) {
	m.messages.DeletePartialMatch(prometheus.Labels{"notification_kind": key.kind(), "notification": key.id().Label()})
}
