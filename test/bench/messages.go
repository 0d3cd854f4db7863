package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/controller/notifications"
	"flyball.dev/flyball/engine/notify"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

const (
	// inNamespace is the number of Notifications of a namespace: the default of the manager.
	inNamespace = 20
	// messagesEach is the number of messages for each Notification. All together are more than a queue.
	messagesEach = 30
)

// messages measures the memory for Notifications without messages, and for the full queue of a namespace: the longest texts
// to receivers without an answer.
func (b *bench) messages(ctx context.Context) (err error) {
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // the server sees the end of a connection only after the body
		<-r.Context().Done()
	}))
	defer receiver.Close()
	guard, err := notifications.NewDialer([]string{"127.0.0.0/8"})
	if err != nil {
		return err
	}
	metrics, err := notifications.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		return err
	}
	before := inUse()
	stored := storedNotifications{url: receiver.URL, byName: map[client.ObjectKey]*v1alpha1.Notification{}}
	for i := range b.notifications {
		if err := stored.add(i); err != nil {
			return err
		}
	}
	c := notifications.New(notifications.Options{World: world.New(world.Scope("flyball-system", nil)), Client: stored, Reader: stored,
		Guard: guard, Clock: clock.RealClock{}, Namespace: "flyball-system", Secrets: []string{"chat"}, PerNamespace: inNamespace,
		Enabled: true, Elected: make(chan struct{}), Metrics: metrics, Log: logr.Discard()})
	defer func() {
		for key := range stored.byName {
			delete(stored.byName, key)
			if _, stopped := c.Reconcile(ctx, reconcile.Request{NamespacedName: key}); stopped != nil {
				err = stopped
			}
		}
	}()
	for key := range stored.byName {
		if _, err := c.Reconcile(ctx, reconcile.Request{NamespacedName: key}); err != nil {
			return err
		}
	}
	quiet := inUse()
	for i := range b.notifications {
		announce(c, i)
	}
	full := inUse()
	runtime.KeepAlive(c)
	b.report.figure("memory_mb_notifications_1000", (quiet-before)/1e6*1000/float64(b.notifications), "MB")
	b.report.figure("memory_mb_message_queue", (full-quiet)/1e6/float64(b.notifications/inNamespace), "MB")
	return nil
}

// inUse returns the bytes of live heap and of stacks.
func inUse() float64 {
	heap := heapInUse()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return heap + float64(m.StackInuse)
}

// announce announces failures of the policies of a Notification, each with as many texts as a message has.
func announce(c *notifications.Controller, i int) {
	n := storedNotification(i)
	for policy := range messagesEach {
		for failure := range 10 {
			c.Observe(notify.Announcement{Event: v1alpha1.EventFailed, At: admitNow,
				Policy: workload.Policy{Kind: "Schedule", Namespace: n.Namespace, Name: fmt.Sprintf("%s-%d", n.Name, policy)},
				Text:   strings.Repeat(fmt.Sprint(failure), 1024)})
		}
	}
}

// storedNotification returns a Notification about the policies with its own name before theirs.
func storedNotification(i int) *v1alpha1.Notification {
	n := &v1alpha1.Notification{}
	n.TypeMeta, n.ObjectMeta = stored(i, "Notification")
	n.Namespace = fmt.Sprintf("team-%d", i/inNamespace)
	n.Spec.Policies.Names = []string{n.Name + "-*"}
	n.Spec.Events = []v1alpha1.NotificationEvent{v1alpha1.EventTransitionAhead, v1alpha1.EventFailed}
	n.Spec.Template = "{{.Text}} {{.Command}}"
	n.Spec.To.Service = &v1alpha1.NotificationService{Type: v1alpha1.ServiceSlack,
		URLFrom: v1alpha1.SecretSource{SecretKeyRef: v1alpha1.SecretKey{Name: "chat", Key: "url"}}}
	return n
}

// storedNotifications is the cache of the Notifications, and reads the Secret of each.
type storedNotifications struct {
	client.Client
	url    string
	byName map[client.ObjectKey]*v1alpha1.Notification
}

// add stores a Notification, decoded from JSON and without managed fields, as in the manager's cache.
func (s storedNotifications) add(i int) error {
	n := storedNotification(i)
	n.ManagedFields = nil
	raw, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("encode a Notification: %w", err)
	}
	kept := &v1alpha1.Notification{}
	if err := json.Unmarshal(raw, kept); err != nil {
		return fmt.Errorf("decode a Notification: %w", err)
	}
	s.byName[client.ObjectKeyFromObject(kept)] = kept
	return nil
}

// Get implements client.Reader.
func (s storedNotifications) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch into := into.(type) {
	case *corev1.Secret:
		into.Data = map[string][]byte{"url": []byte(s.url)}
	case *v1alpha1.Notification:
		n, ok := s.byName[key]
		if !ok {
			return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("notifications").GroupResource(), key.Name)
		}
		n.DeepCopyInto(into)
	}
	return nil
}

// List implements client.Reader.
func (s storedNotifications) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	list := into.(*v1alpha1.NotificationList)
	of := client.ListOptions{}
	for _, o := range opts {
		o.ApplyToList(&of)
	}
	for key, n := range s.byName {
		if key.Namespace == of.Namespace {
			list.Items = append(list.Items, *n)
		}
	}
	return nil
}
