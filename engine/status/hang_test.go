package status_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// patched is called with each status write.
type patched func(ctx context.Context, obj client.Object) error

// schedulesIn returns a Writer that has to write the status of each of some Schedules, n in each namespace.
func schedulesIn(t *testing.T, n int, patch patched, namespaces ...string) *status.Writer {
	t.Helper()
	m, err := status.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kind, _ := kinds.Find("Schedule")
	w := world.New(selector.Scope{})
	clock := clocktesting.NewFakeClock(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))
	tracker := status.NewTracker(w, clock, m)
	build := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.Schedule{})
	for i := range n {
		for _, namespace := range namespaces {
			obj := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("nights-", i),
				Finalizers: []string{v1alpha1.FinalizerRestore}}}
			obj.Spec.Downscale, obj.Spec.Upscale = "0 20 * * *", "0 8 * * *"
			build = build.WithObjects(obj.DeepCopy())
			w.Update(func(tx *world.Tx) { tx.SetPolicy(kind, obj) })
			tracker.Dirty(workload.Policy{Kind: "Schedule", Namespace: namespace, Name: obj.Name})
		}
	}
	c := build.WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client, sub string,
		obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
		if err := patch(ctx, obj); err != nil {
			return err
		}
		return c.SubResource(sub).Patch(ctx, obj, p, opts...)
	}}).Build()
	return status.NewWriter(status.Options{World: w, Tracker: tracker, Health: status.NewAdapterHealth(), Targets: &meanwhile{do: func() {}},
		Actuators: idle{}, Client: c, Metrics: m, Clock: clock, Interval: time.Millisecond})
}

// In one namespace the API server accepts status writes and never answers.
func TestAHangingStatusWriteDelaysNoOther(t *testing.T) {
	written := make(chan string, 80)
	s := schedulesIn(t, 40, func(ctx context.Context, obj client.Object) error {
		if obj.GetNamespace() == "hung" {
			<-ctx.Done()
			return ctx.Err()
		}
		written <- obj.GetName()
		return nil
	}, "hung", "shop") // the hanging namespace comes first
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); s.Run(ctx) }()
	seen := map[string]bool{}
	for len(seen) < 40 {
		seen[<-written] = true
	}
	stop()
	<-over
}

// Two tenants have many policies whose statuses are due.
func TestStatusesAreWrittenByTurnsOfNamespaces(t *testing.T) {
	const n = 60
	written := make(chan string, 2*n)
	s := schedulesIn(t, n, func(_ context.Context, obj client.Object) error {
		written <- obj.GetNamespace()
		return nil
	}, "docs", "shop")
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan struct{})
	go func() { defer close(over); s.Run(ctx) }()
	count := map[string]int{}
	for range n {
		count[<-written]++
	}
	stop()
	<-over
	if count["shop"] < n/3 || count["docs"] < n/3 {
		t.Errorf("of the first %d statuses, %v were written", n, count)
	}
}
