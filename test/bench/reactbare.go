package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"

	"flyball.dev/flyball/test/harness"
)

// reactOptions select the objects that have the label reactLabel, whatever its value.
var reactOptions = metav1.ListOptions{LabelSelector: reactLabel}

// follow calls a function for every object of a watch, until the context ends.
func follow[T any](ctx context.Context, w watch.Interface, do func(T)) {
	go func() {
		<-ctx.Done()
		w.Stop()
	}()
	go func() {
		for event := range w.ResultChan() {
			if obj, ok := event.Object.(T); ok && event.Type != watch.Deleted {
				do(obj)
			}
		}
	}()
}

// observer has a watch of its own and records when Deployments reach their expected state.
type observer struct {
	mu  sync.Mutex
	due *due
}

// due is the state that an observer expects of some Deployments.
type due struct {
	asleep  bool
	missing map[string]bool
	last    time.Time
	done    chan struct{}
}

func (s *stage) observe(ctx context.Context) (*observer, error) {
	w, err := s.clients.AppsV1().Deployments("").Watch(ctx, reactOptions)
	if err != nil {
		return nil, fmt.Errorf("watch what becomes of the Deployments: %w", err)
	}
	o := &observer{}
	follow(ctx, w, o.note)
	return o, nil
}

func (o *observer) note(d *appsv1.Deployment) {
	now := time.Now()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.due == nil || (*d.Spec.Replicas == 0) != o.due.asleep {
		return
	}
	key := d.Namespace + "/" + d.Name
	if !o.due.missing[key] {
		return
	}
	delete(o.due.missing, key)
	if len(o.due.missing) == 0 {
		o.due.last = now
		close(o.due.done)
		o.due = nil
	}
}

// expect sets the expected state of Deployments: asleep or awake. No Deployment may be in this state already.
func (o *observer) expect(asleep bool, objects ...string) *due {
	d := &due{asleep: asleep, missing: map[string]bool{}, done: make(chan struct{})}
	for _, key := range objects {
		d.missing[key] = true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.due = d
	return d
}

// await returns the time at which the last Deployment reached its expected state.
func (o *observer) await(ctx context.Context, d *due) (time.Time, error) {
	select {
	case <-d.done:
		return d.last, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-time.After(harness.Patience):
		o.mu.Lock()
		defer o.mu.Unlock()
		return time.Time{}, fmt.Errorf("%d Deployments are not as they have to be after %s", len(d.missing), harness.Patience)
	}
}

// bareReactor is the baseline for reactions. It watches Deployments and patches each at once when it has to change.
type bareReactor struct {
	client metadata.Interface
	mu     sync.Mutex
	// asleep reports, by namespace, whether the label asks for sleep.
	asleep map[string]bool
	// objects are the last seen objects, by namespace and name. was has the original replicas of sleeping objects.
	objects map[string]map[string]*appsv1.Deployment
	was     map[string]int32
}

// reactBare runs the bare reactor until the context ends.
func (s *stage) reactBare(ctx context.Context) error {
	r := &bareReactor{asleep: map[string]bool{}, objects: map[string]map[string]*appsv1.Deployment{}, was: map[string]int32{}}
	var err error
	if r.client, err = metadata.NewForConfig(s.env.Config); err != nil {
		return fmt.Errorf("make the client of the bare watcher: %w", err)
	}
	deployments, err := s.clients.AppsV1().Deployments("").Watch(ctx, reactOptions)
	namespaces, err2 := s.clients.CoreV1().Namespaces().Watch(ctx, reactOptions)
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("watch as the bare watcher: %w", err)
	}
	follow(ctx, deployments, func(d *appsv1.Deployment) { r.deployment(ctx, d) })
	follow(ctx, namespaces, func(ns *corev1.Namespace) { r.namespace(ctx, ns) })
	return nil
}

func (r *bareReactor) namespace(ctx context.Context, ns *corev1.Namespace) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asleep[ns.Name] = ns.Labels[reactLabel] == reactors[1]
	for _, d := range r.objects[ns.Name] {
		r.react(ctx, d)
	}
}

func (r *bareReactor) deployment(ctx context.Context, d *appsv1.Deployment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.objects[d.Namespace] == nil {
		r.objects[d.Namespace] = map[string]*appsv1.Deployment{}
	}
	r.objects[d.Namespace][d.Name] = d
	r.react(ctx, d)
}

// react patches a Deployment that is in the wrong state. It changes the replicas and an annotation that is as large as
// the ledger, with the resourceVersion as a precondition.
func (r *bareReactor) react(ctx context.Context, d *appsv1.Deployment) {
	key, replicas, note := d.Namespace+"/"+d.Name, int32(0), `"replicas were set to 0 by the bare watcher"`
	was, sleeps := r.was[key]
	switch asleep := r.asleep[d.Namespace] && d.Labels[reactLabel] == reactors[1]; {
	case asleep == sleeps:
		return
	case asleep:
		r.was[key] = *d.Spec.Replicas
	default:
		delete(r.was, key)
		replicas, note = was, "null"
	}
	body := fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"annotations":{"bench.flyball.dev/was":%s}},"spec":{"replicas":%d}}`,
		d.ResourceVersion, note, replicas)
	go func() {
		// If the patch fails, the observer notices it.
		_, _ = r.client.Resource(deploymentsResource).Namespace(d.Namespace).Patch(ctx, d.Name, types.MergePatchType, []byte(body),
			metav1.PatchOptions{FieldManager: "bench-bare"})
	}()
}
