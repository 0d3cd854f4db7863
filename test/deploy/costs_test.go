package deploy

import (
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

const costNamespace = "even"

// podsGetCosts checks that the pods of a Deployment get deletion costs with the rights of the chart. The costs stay
// until the chart is uninstalled.
func (s *stage) podsGetCosts() {
	s.must(here.client.Create(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: costNamespace}}))
	labels := map[string]string{"app": "api"}
	s.must(here.client.Create(s.ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: costNamespace, Name: "api"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(9)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}}},
			},
		},
	}))
	s.must(here.client.Create(s.ctx, &v1alpha1.DeletionCost{ObjectMeta: metav1.ObjectMeta{Namespace: costNamespace, Name: "zones"}}))
	eventually(s.T, func() error {
		if len(s.costed()) < 2 {
			return errors.New("no pod has a deletion cost")
		}
		return nil
	})
	// One pod fails, and another writer takes over the cost of another pod.
	pods := s.costed()
	s.must(here.client.Status().Patch(s.ctx, &pods[0], client.RawPatch(types.MergePatchType, []byte(`{"status":{"phase":"Failed"}}`))))
	s.must(here.client.Patch(s.ctx, &pods[1], client.RawPatch(types.MergePatchType,
		fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"77"}}}`, workload.CostAnnotation)),
		client.FieldOwner("karpenter")))
}

// costed returns the pods with a deletion cost.
func (s *stage) costed() []corev1.Pod {
	var pods corev1.PodList
	s.must(here.client.List(s.ctx, &pods, client.InNamespace(costNamespace)))
	return slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.Annotations[workload.CostAnnotation] == "" })
}

// onlyForeignCosts checks that the only remaining deletion cost is the other writer's.
func (s *stage) onlyForeignCosts() {
	var left []string
	for _, p := range s.costed() {
		left = append(left, p.Annotations[workload.CostAnnotation])
	}
	if !slices.Equal(left, []string{"77"}) {
		s.Errorf("pods have the deletion costs %v, want the 77 of somebody else", left)
	}
}
