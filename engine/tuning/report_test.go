package tuning

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// TestRecommendationsAreWrittenSideBySide: with thousands of targets, writes one after the other would take longer than
// the pause between two measurements. A Recommendation that could not be written is written again.
func TestRecommendationsAreWrittenSideBySide(t *testing.T) {
	a, errs := adapter.Compile("deployments.apps", v1alpha1.AdapterSpec{Target: v1alpha1.AdapterTarget{Group: "apps", Kind: "Deployment",
		Versions: []string{"v1"}}}, adapter.Keys{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	kind := decide.NewKind(a, schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"})
	var together sync.WaitGroup
	together.Add(keepers)
	refuses := errors.New("no")
	l := &Actuator{opts: Options{Log: logr.Discard()}}
	l.store = &Store{Kinds: func(workload.Ref) *decide.Kind { return kind },
		Client: fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithInterceptorFuncs(interceptor.Funcs{
			Apply: func(context.Context, client.WithWatch, runtime.ApplyConfiguration, ...client.ApplyOption) error {
				together.Done()
				together.Wait() // for the writes of all others
				return nil
			},
			SubResourceApply: func(context.Context, client.Client, string, runtime.ApplyConfiguration, ...client.SubResourceApplyOption) error {
				return refuses
			},
		}).Build()}
	by := &world.Policy{Policy: decide.Policy{Policy: &policy.Policy{ID: workload.Policy{Kind: "Tortoise", Namespace: "shop", Name: "tuned"}}}}
	var all []*subject
	for i := range keepers {
		x := &subject{uid: fmt.Sprint(i)}
		all = append(all, x)
		ref := workload.Ref{GroupKind: kind.GroupKind, Namespace: "shop", Name: fmt.Sprint("web-", i)}
		l.recommendations = append(l.recommendations, recommendation{ref: ref, by: by, of: x, reported: reported{numbers: "{}", made: true}})
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		l.recommend(t.Context())
	}()
	select {
	case <-written:
	case <-time.After(time.Minute):
		t.Fatal("a write waits for another one")
	}
	for _, x := range all {
		if x.made || x.numbers != "" {
			t.Errorf("one that was refused counts as written: %+v", x.reported)
		}
	}
	if l.recommendations != nil {
		t.Errorf("%d are left for the next round", len(l.recommendations))
	}
}
