package scene

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// Deployment returns a Deployment with a number of replicas, and with labels given as pairs. It does not create it.
func Deployment(namespace, name string, replicas int32, labels ...string) *appsv1.Deployment {
	app := map[string]string{"app": name}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": name}},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: app},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}}},
			},
		},
	}
	for i := 0; i+1 < len(labels); i += 2 {
		d.Labels[labels[i]] = labels[i+1]
	}
	return d
}

// Replicas reads a Deployment's count; call it from Eventually or Consistently.
func Replicas(namespace, name string) func(Gomega) int32 {
	return func(g Gomega) int32 {
		var d appsv1.Deployment
		g.Expect(Env.Client.Get(Ctx, client.ObjectKey{Namespace: namespace, Name: name}, &d)).To(Succeed())
		return *d.Spec.Replicas
	}
}

// Ledger reads a Deployment's ledger annotation; empty if there is none.
func Ledger(namespace, name string) func(Gomega) string {
	return func(g Gomega) string {
		var d appsv1.Deployment
		g.Expect(Env.Client.Get(Ctx, client.ObjectKey{Namespace: namespace, Name: name}, &d)).To(Succeed())
		return d.Annotations[v1alpha1.AnnotationLedger]
	}
}

// Scale sets a Deployment's count as a person would.
func Scale(namespace, name string, n int) {
	GinkgoHelper()
	Expect(Env.Patch(Ctx, Deployment(namespace, name, 0), fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))).To(Succeed())
}

// Nightly creates a Schedule that is asleep from 20:00 to 08:00 UTC. The function change adjusts it before it is
// created.
func Nightly(namespace, name string, change ...func(*v1alpha1.ScheduleRules)) *v1alpha1.Schedule {
	GinkgoHelper()
	s := &v1alpha1.Schedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.ScheduleSpec{ScheduleRules: v1alpha1.ScheduleRules{Upscale: "0 8 * * *", Downscale: "0 20 * * *"}},
	}
	for _, c := range change {
		c(&s.Spec.ScheduleRules)
	}
	Expect(Env.Client.Create(Ctx, s)).To(Succeed())
	DeferCleanup(Remove, s)
	return s
}

// Override returns an Override until an instant over the objects with the given names; without names over the whole namespace.
func Override(namespace, name string, effect v1alpha1.OverrideEffect, until string, names ...string) *v1alpha1.Override {
	o := &v1alpha1.Override{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	o.Spec.Target.Names = names
	o.Spec.OverrideRules = v1alpha1.OverrideRules{Effect: effect, Until: until, Reason: "a test"}
	return o
}

// Remove deletes a policy and waits until its finalizer has let it go.
func Remove(obj client.Object) {
	GinkgoHelper()
	suite.Remove(Ctx, Env, obj)
}

// ConditionOf reads one condition of a Schedule; call it from Eventually or Consistently.
func ConditionOf(namespace, name, kind string) func(Gomega) metav1.Condition {
	return func(g Gomega) metav1.Condition {
		var s v1alpha1.Schedule
		g.Expect(Env.Client.Get(Ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)).To(Succeed())
		c := meta.FindStatusCondition(s.Status.Conditions, kind)
		g.Expect(c).NotTo(BeNil(), "no condition %s", kind)
		return *c
	}
}

// BeCondition matches a condition's status and reason.
func BeCondition(status metav1.ConditionStatus, reason string) types.GomegaMatcher {
	return And(HaveField("Status", status), HaveField("Reason", reason))
}
