package deploy

import (
	"errors"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/fleet"
)

const costNamespace = "even"

// podsGetCosts has the pods of a Deployment get deletion costs with the rights of the chart. They stay until the chart is uninstalled.
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
		if s.costed() == 0 {
			return errors.New("no pod has a deletion cost")
		}
		return nil
	})
}

// costed counts the pods that have a deletion cost.
func (s *stage) costed() int {
	var pods corev1.PodList
	s.must(here.client.List(s.ctx, &pods, client.InNamespace(costNamespace)))
	n := 0
	for _, p := range pods.Items {
		if p.Annotations[fleet.CostAnnotation] != "" {
			n++
		}
	}
	return n
}
