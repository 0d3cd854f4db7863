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

// In one namespace the API server accepts status writes and never answers.
func TestAHangingStatusWriteDelaysNoOther(t *testing.T) {
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
	var ids []workload.Policy
	build := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.Schedule{})
	for i := range 40 {
		for _, namespace := range []string{"hung", "shop"} { // the hanging namespace comes first
			obj := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprint("nights-", i),
				Finalizers: []string{v1alpha1.FinalizerRestore}}}
			obj.Spec.Downscale, obj.Spec.Upscale = "0 20 * * *", "0 8 * * *"
			build = build.WithObjects(obj.DeepCopy())
			w.Update(func(tx *world.Tx) { tx.SetPolicy(kind, obj) })
			ids = append(ids, workload.Policy{Kind: "Schedule", Namespace: namespace, Name: obj.Name})
		}
	}
	written := make(chan string, len(ids))
	patch := func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch,
		opts ...client.SubResourcePatchOption) error {
		if obj.GetNamespace() == "hung" {
			<-ctx.Done()
			return ctx.Err()
		}
		defer func() { written <- obj.GetName() }()
		return c.SubResource(sub).Patch(ctx, obj, p, opts...)
	}
	c := build.WithInterceptorFuncs(interceptor.Funcs{SubResourcePatch: patch}).Build()
	clock := clocktesting.NewFakeClock(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC))
	tracker := status.NewTracker(w, clock, m)
	s := status.NewWriter(status.Options{World: w, Tracker: tracker, Health: status.NewAdapterHealth(), Targets: &meanwhile{do: func() {}},
		Actuators: idle{}, Client: c, Metrics: m, Clock: clock, Interval: time.Millisecond})
	for _, id := range ids {
		tracker.Dirty(id)
	}
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
