package tuning

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// TestNextManagerFinishesFailedDeletions: whichever deletion fails or is not reached, the next manager finds the
// target.
func TestNextManagerFinishesFailedDeletions(t *testing.T) {
	web := workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
	meta := metav1.ObjectMeta{Namespace: "shop", Name: workload.CompanionName(web)}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for through := range 3 {
		deletions := 0
		s := &Store{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(
			&v1alpha1.Recommendation{ObjectMeta: meta, Spec: v1alpha1.RecommendationSpec{Target: tunedTarget(web)}},
			&v1alpha1.UsageCheckpoint{ObjectMeta: meta},
		).WithInterceptorFuncs(interceptor.Funcs{
			Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
				if deletions++; deletions > through {
					return errors.New("no")
				}
				return c.Delete(ctx, obj, opts...)
			},
		}).Build()}
		err := s.Remove(t.Context(), web)
		left, listed := s.Told(t.Context())
		if listed != nil {
			t.Fatal(listed)
		}
		if done := through == 2; (err == nil) != done || (len(left) == 0) != done {
			t.Errorf("after %d deletions: %v is found, %v", through, left, err)
		}
	}
}
