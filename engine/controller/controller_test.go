package controller_test

import (
	"context"
	"sync"
	"testing"
	"time"

	ctrlcontroller "sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"flyball.dev/flyball/engine/controller"
	"flyball.dev/flyball/engine/workload"
)

// A controller whose reconciler panics for one object retries this object and reconciles the others.
func TestAPanicAffectsOnlyItsObject(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	seen := map[string]int{}
	var once sync.Once
	enough := make(chan struct{})
	opts := controller.Options[reconcile.Request](1, controller.Retry{Min: time.Millisecond, Max: time.Millisecond})
	opts.Reconciler = reconcile.Func(func(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		if seen[req.Name]++; seen["bad"] >= 3 && seen["good"] > 0 {
			once.Do(func() { close(enough) })
		}
		if req.Name == "bad" {
			panic("a stone in the works")
		}
		return reconcile.Result{}, nil
	})
	running, err := ctrlcontroller.NewUnmanaged("test", opts)
	if err != nil {
		t.Fatal(err)
	}
	var requests controller.Requests[reconcile.Request]
	if err := running.Watch(requests.Source()); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- running.Start(ctx) }()
	for _, name := range []string{"bad", "good"} {
		for added := false; !added; { // requests before the controller runs are dropped
			requests.Add(controller.Named(name))
			mu.Lock()
			added = seen[name] > 0
			mu.Unlock()
			if ctx.Err() != nil {
				t.Fatalf("%s was never looked at", name)
			}
		}
	}
	select {
	case <-enough:
	case <-ctx.Done():
		t.Errorf("looked at %v", seen)
	}
	cancel()
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// Two objects of a hanging namespace take both its places. A third one is queued again, and objects of other
// namespaces are reconciled.
func TestHangingObjectsDoNotDelayOtherNamespaces(t *testing.T) {
	begun, answer := make(chan struct{}), make(chan struct{})
	hang := func(_ context.Context, id workload.Policy) (reconcile.Result, error) {
		if id.Namespace == "hung" {
			begun <- struct{}{}
			<-answer
		}
		return reconcile.Result{}, nil
	}
	r := controller.PerNamespace(2, reconcile.TypedFunc[workload.Policy](hang))
	in := func(namespace string) reconcile.Result {
		got, err := r.Reconcile(t.Context(), workload.Policy{Namespace: namespace, Name: "nights"})
		if err != nil {
			t.Error(err)
		}
		return got
	}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { in("hung") })
		<-begun
	}
	if got := in("hung"); got.RequeueAfter != controller.DefaultRetry.Min {
		t.Errorf("a third of the namespace that hangs: %+v", got)
	}
	if got := in("shop"); got.RequeueAfter != 0 {
		t.Errorf("in another namespace: %+v", got)
	}
	close(answer)
	wg.Wait()
	wg.Go(func() { in("hung") })
	<-begun // the namespace has a free place again
	wg.Wait()
}
