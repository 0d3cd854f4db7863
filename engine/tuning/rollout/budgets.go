package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// BudgetOptions configure Budgets.
type BudgetOptions struct {
	Watches *watch.Manager
	Members workload.Fleets
	// Pods reads the metadata of pods.
	Pods metadata.Interface
	// Again queues targets that wait for a budget. It must be quick.
	Again func(refs ...workload.Ref)
	// Clock is the cluster's clock. Default: the machine's.
	Clock clock.PassiveClock
	Log   logr.Logger
}

// Budgets are the PodDisruptionBudgets of a cluster.
type Budgets struct {
	opts BudgetOptions

	mu    sync.Mutex
	watch *watch.Watch // nil while nobody needs it
	rooms *Rooms
	stop  context.CancelFunc
	// waiting has the obstacles of targets.
	waiting map[workload.Ref]string
}

var (
	budgetResource = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")
	podResource    = corev1.SchemeGroupVersion.WithResource("pods")
)

// killedLately is the time for which a target counts as short of memory after one of its containers was killed for lack
// of memory.
const killedLately = time.Hour

// NewBudgets returns Budgets without watches.
func NewBudgets(opts BudgetOptions) *Budgets {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	return &Budgets{opts: opts, waiting: map[workload.Ref]string{}}
}

// Need watches budgets until the context ends or Drop is called. It does not wait for the network. After an error it
// must be called again.
func (b *Budgets) Need(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watch != nil {
		return nil
	}
	ctx, stop := context.WithCancel(ctx)
	w, err := b.opts.Watches.Ensure(ctx, watch.Source{GVR: budgetResource, ID: "disruption", Projector: projector{},
		Handler: watch.HandlerFunc(b.changed), OnState: func() { go b.wake("") }})
	if err != nil {
		stop()
		return fmt.Errorf("watch PodDisruptionBudgets: %w", err)
	}
	bounds := &Rooms{}
	if err := bounds.Follow(ctx, RoomOptions{Watches: b.opts.Watches, Log: b.opts.Log,
		Changed: func(namespace string) { go b.wake(namespace) }}); err != nil {
		stop()
		return err
	}
	b.watch, b.rooms, b.stop = w, bounds, stop
	return nil
}

// Drop ends Need.
func (b *Budgets) Drop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.watch != nil {
		b.stop()
		b.watch, b.rooms, b.stop, b.waiting = nil, nil, nil, map[workload.Ref]string{}
	}
}

// changed queues targets that may have waited for a budget.
func (b *Budgets) changed(old, cur *workload.Object) {
	if !matters(old, cur) {
		return
	}
	if cur == nil {
		cur = old
	}
	go b.wake(cur.Namespace)
}

// matters reports whether a budget's allowance or selector has changed. Its number of healthy pods changes all the time
// and does not matter.
func matters(old, cur *workload.Object) bool {
	return old == nil || cur == nil || !slices.Equal(old.Fields, cur.Fields)
}

// wake queues all waiting targets of a namespace; "": of all namespaces.
func (b *Budgets) wake(namespace string) {
	b.mu.Lock()
	var refs []workload.Ref
	for ref := range b.waiting {
		if namespace == "" || ref.Namespace == namespace {
			refs = append(refs, ref)
		}
	}
	b.mu.Unlock()
	if len(refs) > 0 {
		b.opts.Again(refs...)
	}
}

// Waits returns the obstacle found by the last Ask for a target; empty: none.
func (b *Budgets) Waits(ref workload.Ref) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiting[ref]
}

// Forget drops the record of a target that needs no answer any more.
func (b *Budgets) Forget(ref workload.Ref) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.waiting, ref)
}

// toBeRead is the obstacle while budgets are unknown.
const toBeRead = "waits for PodDisruptionBudgets to be read"

// Ask returns the obstacle to restarting pods of a target now; empty: none. The target is queued when the answer may
// have changed. more is true if the target gets more memory: then a budget does not stop a target whose containers were
// killed for lack of memory. template has the requests and limits of replacement pods; nil: no replacement, pods are
// changed in place.
func (b *Budgets) Ask(ctx context.Context, ref workload.Ref, more bool, template workload.Allocations) (waits string) {
	w, bounds := b.begin(ref)
	if waits = b.refuses(bounds, ref, template); waits == "" {
		waits = b.waits(ctx, w, ref, more)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if waits == "" {
		delete(b.waiting, ref)
	} else {
		b.waiting[ref] = waits
	}
	return waits
}

// begin records a target as waiting, so a change from now on is not missed. A former obstacle stays until
// the new answer.
func (b *Budgets) begin(ref workload.Ref) (*watch.Watch, *Rooms) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waiting[ref] == "" {
		b.waiting[ref] = toBeRead
	}
	return b.watch, b.rooms
}

// refuses returns why the namespace of a target would refuse pods of another template; empty: it would not.
func (b *Budgets) refuses(bounds *Rooms, ref workload.Ref, template workload.Allocations) string {
	switch {
	case template == nil:
		return ""
	case bounds == nil || !bounds.AreKnown():
		return "waits for LimitRanges and ResourceQuotas to be read"
	}
	allowed := bounds.Of(ref.Namespace)
	if !allowed.IsBounded() {
		return ""
	}
	f, known := b.opts.Members.Fleet(ref)
	if !known {
		return "waits until its pods are known, for LimitRanges and ResourceQuotas"
	}
	if why := allowed.RefusesTemplate(template, f.Pods); why != "" {
		return "its pods would be refused: " + why + ". Change that, or set min and max of spec.resources within it"
	}
	return ""
}

func (b *Budgets) waits(ctx context.Context, w *watch.Watch, ref workload.Ref, more bool) string {
	if w == nil {
		return toBeRead
	}
	if _, err := w.Err(); !w.HasSynced() && err != nil {
		return fmt.Sprintf("%s, which fails: %s", toBeRead, err)
	}
	if !w.HasSynced() {
		return toBeRead
	}
	var closed []*workload.Object
	w.RangeNamespace(ref.Namespace, func(obj *workload.Object) bool {
		if obj.Fields[why].Raw != "" {
			closed = append(closed, obj)
		}
		return true
	})
	if len(closed) == 0 {
		return ""
	}
	return b.closed(ctx, closed, ref, more)
}

// closed returns the budget without allowance that selects pods of the target.
func (b *Budgets) closed(ctx context.Context, closed []*workload.Object, ref workload.Ref, more bool) string {
	f, known := b.opts.Members.Fleet(ref)
	switch {
	case !known:
		return "waits until its pods are known, for PodDisruptionBudgets"
	case more && b.isShort(f):
		return ""
	}
	seen := map[string]bool{}
	for _, p := range f.Pods {
		if seen[p.Revision] {
			continue
		}
		seen[p.Revision] = true
		has, err := b.labelsOf(ctx, p)
		if err != nil {
			return "waits for PodDisruptionBudgets: " + err.Error()
		}
		for _, obj := range closed {
			if selects(obj, has) {
				return fmt.Sprintf("waits for PodDisruptionBudget %s/%s, %s", obj.Namespace, obj.Name, obj.Fields[why].Raw)
			}
		}
	}
	return ""
}

// isShort reports whether a container was killed recently for lack of memory.
func (b *Budgets) isShort(f *workload.Fleet) bool {
	for _, p := range f.Pods {
		for _, c := range p.Containers {
			if c.KilledAt > 0 && b.opts.Clock.Since(time.Unix(c.KilledAt, 0)) < killedLately {
				return true
			}
		}
	}
	return false
}

// labelsOf reads the labels of a pod, from the API server's cache.
func (b *Budgets) labelsOf(ctx context.Context, p *workload.Pod) (labels.Set, error) {
	list, err := b.opts.Pods.Resource(podResource).Namespace(p.Namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, p.Name).String(), ResourceVersion: "0"})
	if err != nil {
		return nil, fmt.Errorf("read the labels of pod %s/%s: %w", p.Namespace, p.Name, err)
	}
	if len(list.Items) == 0 {
		return nil, fmt.Errorf("pod %s/%s has gone", p.Namespace, p.Name)
	}
	return list.Items[0].Labels, nil
}

// The fields of a projected budget: the reason why it allows no disruption (empty: it allows one), and its
// selector as JSON.
const (
	why = iota
	fieldSelector
)

// projector keeps whether a budget allows a disruption, and its selector.
type projector struct{}

// Project implements watch.Projector.
func (projector) Project(raw []byte) (*workload.Object, error) {
	var o policyv1.PodDisruptionBudget
	if err := json.Unmarshal(raw, &o); err != nil {
		return nil, fmt.Errorf("read a PodDisruptionBudget: %w", err)
	}
	reason := ""
	switch {
	case o.Status.ObservedGeneration < o.Generation:
		reason = "which has an outdated status"
	case o.Status.DisruptionsAllowed < 1 && o.Status.DesiredHealthy > 0 && o.Status.DesiredHealthy >= o.Status.ExpectedPods:
		reason = "which allows no disruption, however healthy its pods are"
	case o.Status.DisruptionsAllowed < 1:
		reason = "which allows no disruption now"
	}
	of, err := json.Marshal(o.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("keep the selector of PodDisruptionBudget %s/%s: %w", o.Namespace, o.Name, err)
	}
	return &workload.Object{Namespace: o.Namespace, Name: o.Name, UID: string(o.UID), ResourceVersion: o.ResourceVersion,
		Fields: []workload.Field{{Raw: reason}, {Raw: string(of)}}}, nil
}

// selects reports whether a budget selects pods with the given labels. An empty selector selects all pods of the
// namespace. A missing selector selects no pod.
func selects(obj *workload.Object, has labels.Set) bool {
	var of *metav1.LabelSelector
	if err := json.Unmarshal([]byte(obj.Fields[fieldSelector].Raw), &of); err != nil {
		return false
	}
	s, err := metav1.LabelSelectorAsSelector(of)
	return err == nil && s.Matches(has)
}
