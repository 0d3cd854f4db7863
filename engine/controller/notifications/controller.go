// Package notifications sends the messages of Notifications and ClusterNotifications. The announcements of Flyball come from the
// recorder of Kubernetes Events and from the recorder of judgements; messages ahead of transitions come from the next transitions
// of policies. Nothing here delays a write: an announcement is put into the bounded queue of a namespace, and each Notification has a
// worker of its own. Messages go to webhooks, chat services and mail servers. Their addresses come from users, so each connection
// is checked when it is made (dialer.go): no message reaches the network of the cluster unless the installation allows it.
//
// Decisions (docs/decisions): 0052.
package notifications

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/controller"
	"flyball.dev/flyball/engine/notify"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Options configure a Controller.
type Options struct {
	World *world.World
	// Client reads Notifications from a cache and writes their statuses. Reader reads Secrets, and Notifications before a write.
	Client client.Client
	Reader client.Reader
	// Guard decides to which addresses messages are sent.
	Guard *Dialer
	// Clock is the clock of policies. Back-off and timestamps go by the machine's clock.
	Clock clock.WithTicker
	// Namespace is the namespace of the Secrets of ClusterNotifications.
	Namespace string
	// Secrets are the names of the readable Secrets.
	Secrets []string
	// PerNamespace is the number of Notifications of a namespace with messages.
	PerNamespace int
	// Page is the URL of the pages in the cluster, for texts; empty: unknown.
	Page string
	// Enabled is false if the installation sends no messages. Then only the statuses say so.
	Enabled bool
	// Elected is closed on the leader, which writes the conditions of specs.
	Elected <-chan struct{}
	Metrics *Metrics
	Log     logr.Logger
}

// Controller keeps a mailbox for each Notification and ClusterNotification. Every replica has its own, because every replica judges
// changes.
type Controller struct {
	Options

	mu sync.Mutex
	// shares are the mailboxes by namespace.
	shares map[string]*share
	// changed receives a value when a policy or a mailbox has changed.
	changed chan struct{}
}

// boxKey identifies a Notification, or with an empty namespace a ClusterNotification.
type boxKey types.NamespacedName

func (k boxKey) kind() string {
	if k.Namespace == "" {
		return "ClusterNotification"
	}
	return "Notification"
}

// id returns the identity in the form of policies, for messages and metrics.
func (k boxKey) id() workload.Policy {
	return workload.Policy{Kind: k.kind(), Namespace: k.Namespace, Name: k.Name}
}

// New returns a Controller.
func New(o Options) *Controller {
	c := &Controller{Options: o, shares: map[string]*share{}, changed: make(chan struct{}, 1)}
	o.World.Observe(c)
	return c
}

// AfterPublish implements world.Observer.
func (c *Controller) AfterPublish(_ *world.Snapshot, change *world.Change) {
	if len(change.Policies) > 0 {
		workers.Poke(c.changed)
	}
}

// SetupWithManager adds the controller of both kinds, and the leader's look ahead. The error is a refusal of the
// manager, such as a name in use.
func (c *Controller) SetupWithManager(mgr ctrl.Manager) error {
	everywhere, options := false, controller.Options[reconcile.Request](1, controller.DefaultRetry)
	options.NeedLeaderElection = &everywhere
	changed := builder.WithPredicates(predicate.GenerationChangedPredicate{})
	order := predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }}
	err := ctrl.NewControllerManagedBy(mgr).Named("notification").For(&v1alpha1.Notification{}, changed).
		Watches(&v1alpha1.Notification{}, handler.EnqueueRequestsFromMapFunc(c.displaced), builder.WithPredicates(order)).
		Watches(&v1alpha1.ClusterNotification{}, &handler.EnqueueRequestForObject{}, changed). // whose request has no namespace
		WithOptions(options).Complete(c)
	if err != nil {
		return fmt.Errorf("set up the controller of notifications: %w", err)
	}
	if err := mgr.Add(&ahead{c}); err != nil {
		return fmt.Errorf("set up messages ahead of transitions: %w", err)
	}
	return mgr.Add(&ending{c})
}

// ending stops all mailboxes with the manager, on every replica.
type ending struct{ *Controller }

// NeedLeaderElection returns false, because every replica has mailboxes.
func (ending) NeedLeaderElection() bool { return false }

// Start waits for the end of the context.
func (e *ending) Start(ctx context.Context) error {
	<-ctx.Done()
	for _, box := range e.all() {
		box.stop()
	}
	return nil
}

// Observe puts an announcement into the queues of its Notifications. It does not wait.
func (c *Controller) Observe(a notify.Announcement) {
	var has map[string]string
	if p := c.World.Snapshot().Find(a.Policy); p != nil {
		has = p.Object.GetLabels()
	}
	for _, namespace := range slices.Compact([]string{"", a.Policy.Namespace}) {
		c.mu.Lock()
		s := c.shares[namespace]
		c.mu.Unlock()
		if s != nil {
			s.observe(a, has)
		}
	}
}

// isOpen reports whether a Notification has a mailbox.
func (c *Controller) isOpen(key boxKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.shares[key.Namespace]
	return s != nil && s.boxes[key.Name] != nil
}

func (c *Controller) all() (list []*mailbox) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.shares {
		list = slices.AppendSeq(list, maps.Values(s.boxes)) // changed only by a holder of c.mu
	}
	return list
}

// object is a Notification or a ClusterNotification.
type object struct {
	client.Object
	status *v1alpha1.NotificationStatus
	rules  v1alpha1.NotificationRules
	// secrets is the namespace of its Secrets.
	secrets string
	compile func() (*notify.Subscription, field.ErrorList)
}

func (c *Controller) get(ctx context.Context, from client.Reader, key boxKey) (object, error) {
	if key.Namespace == "" {
		n := &v1alpha1.ClusterNotification{}
		err := from.Get(ctx, client.ObjectKey(key), n)
		return object{n, &n.Status, n.Spec.NotificationRules, c.Namespace, func() (*notify.Subscription, field.ErrorList) {
			return notify.CompileCluster(n)
		}}, err
	}
	n := &v1alpha1.Notification{}
	err := from.Get(ctx, client.ObjectKey(key), n)
	return object{n, &n.Status, n.Spec.NotificationRules, n.Namespace, func() (*notify.Subscription, field.ErrorList) {
		return notify.Compile(n)
	}}, err
}

// Reconcile opens, replaces or closes the mailbox of a Notification, and reports whether its spec can be used. A refused
// read or write is an error. A fault of the spec is a condition, and no error.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	key := boxKey(req.NamespacedName)
	n, err := c.get(ctx, c.Client, key)
	gone := apierrors.IsNotFound(err)
	if err != nil && !gone {
		return reconcile.Result{}, fmt.Errorf("read %s: %w", key.id(), err)
	}
	if gone || !n.GetDeletionTimestamp().IsZero() {
		c.replace(key, nil)
		c.Metrics.forget(key)
		return reconcile.Result{}, nil
	}
	s, errs := n.compile()
	switch {
	case len(errs) > 0:
		c.replace(key, nil)
		return c.report(ctx, key, n, "InvalidSpec", workload.OneLine(errs.ToAggregate().Error(), 2048))
	case !c.Enabled:
		return c.report(ctx, key, n, "Disabled", "the manager sends no messages: set the chart's value notifications.enabled")
	}
	switch excess, err := c.isExcess(ctx, n.Object); {
	case err != nil:
		return reconcile.Result{}, err
	case excess:
		c.replace(key, nil)
		return c.report(ctx, key, n, "TooMany", c.tooMany(key.Namespace))
	}
	c.replace(key, newMailbox(c, key, n, s))
	workers.Poke(c.changed)
	if _, err := c.sender(ctx, n); err != nil {
		result, failed := c.report(ctx, key, n, "AddressUnreadable", err.Error())
		result.RequeueAfter = lookAgain
		return result, failed
	}
	if s.Suspended() {
		return c.report(ctx, key, n, "Suspended", "spec.suspend is true: no messages are sent")
	}
	return c.report(ctx, key, n, "", "messages are sent")
}

// replace stops a mailbox and starts another with its waiting messages; nil: none.
func (c *Controller) replace(key boxKey, next *mailbox) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.shares[key.Namespace]
	if s == nil {
		s = &share{boxes: map[string]*mailbox{}}
		c.shares[key.Namespace] = s
	}
	s.replace(key.Name, next)
	if len(s.boxes) == 0 {
		delete(c.shares, key.Namespace)
	}
}

// report writes, on the leader, whether a spec can be used; an empty reason: it can. A failure to send stays in the condition until a
// message is accepted or the spec is edited.
func (c *Controller) report(ctx context.Context, key boxKey, n object, reason, text string) (reconcile.Result, error) {
	select {
	case <-c.Elected:
	default:
		return reconcile.Result{RequeueAfter: lookAgain}, nil
	}
	was := meta.FindStatusCondition(n.status.Conditions, v1alpha1.ConditionReady)
	if reason == "" && was != nil && was.Reason == notSent && was.ObservedGeneration == n.GetGeneration() {
		return reconcile.Result{}, nil
	}
	err := c.write(ctx, key, n.GetUID(), func(st *v1alpha1.NotificationStatus) {
		c.setReady(st, n.GetGeneration(), reason, text)
	})
	return reconcile.Result{}, err
}

func (c *Controller) setReady(st *v1alpha1.NotificationStatus, generation int64, reason, text string) {
	condition := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: text,
		ObservedGeneration: generation, LastTransitionTime: metav1.NewTime(c.Clock.Now())}
	if reason == "" {
		condition.Status, condition.Reason = metav1.ConditionTrue, "AsExpected"
	}
	st.ObservedGeneration = max(st.ObservedGeneration, generation)
	meta.SetStatusCondition(&st.Conditions, condition)
}
