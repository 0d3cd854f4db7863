package tuning

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// TestEarlierNumbersNeedTheSameObjectAndPolicy: earlier numbers are used only for the same object and the same
// policy.
func TestEarlierNumbersNeedTheSameObjectAndPolicy(t *testing.T) {
	l := leaving(t, "")
	told := &v1alpha1.Recommendation{}
	told.Namespace, told.Name = web.Namespace, workload.CompanionName(web)
	told.ResourceVersion = "999"
	told.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: types.UID("w")}}
	told.Spec.Policy, told.Status.NewPods = tuned.String(), &v1alpha1.NewPods{GoMaxProcs: true}
	if err := l.store.Client.Update(t.Context(), told); err != nil {
		t.Fatal(err)
	}
	other := tuned
	other.Name = "other"
	for _, tc := range []struct {
		reason string
		x      subject
		want   bool
	}{
		{"as it was", subject{uid: "w", policy: tuned}, true},
		{"by another policy", subject{uid: "w", policy: other}, false},
		{"of a target that was made anew under its name", subject{uid: "x", policy: tuned}, false},
		{"this manager has told something else", subject{uid: "w", policy: tuned, reported: reported{made: true}}, false},
	} {
		if got, err := l.toldBefore(t.Context(), web, &tc.x); err != nil || (got != nil) != tc.want {
			t.Errorf("%s: %v, %v", tc.reason, got, err)
		}
	}
}
