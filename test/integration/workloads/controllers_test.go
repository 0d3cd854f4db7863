package workloads

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("A schedule over everything in a namespace", func() {
	It("takes every pod away and brings every workload back as it was, owners and owned", func() {
		clock := startManager()
		const ns = "all"
		newNamespace(ns, nil)
		Eventually(pods(ns)).Should(Equal(awakePods))
		before := specs(ns)(Default)
		s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nights"}, Spec: v1alpha1.ScheduleSpec{ScheduleRules: rules()}}
		Expect(env.Client.Create(ctx, s)).To(Succeed())

		clock.SetTime(monday.Add(9 * time.Hour))
		Eventually(pods(ns)).Should(BeZero())
		clock.SetTime(monday.Add(21 * time.Hour))
		Eventually(pods(ns)).Should(Equal(awakePods))
		Eventually(specs(ns)).Should(Equal(before))
		Eventually(ledgers(ns)).Should(BeEmpty())

		// The Deployment's controller copies annotations to its ReplicaSets. These copies must not mislead Flyball.
		Expect(env.Patch(ctx, workload(ns, "w", "Deployment"), `{"spec":{"replicas":4}}`)).To(Succeed())
		Eventually(pods(ns)).Should(Equal(awakePods + 1))
		Eventually(followed(ns, "w")).Should(BeTrue())
		suite.Still(pods(ns)).Should(Equal(awakePods + 1))
	})

	It("lets a Deployment roll out while it sleeps and wakes the new revision", func() {
		clock := startManager()
		const ns = "rollout"
		Expect(env.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
		d := workload(ns, "w", "Deployment")
		Expect(env.Client.Create(ctx, d)).To(Succeed())
		Eventually(pods(ns)).Should(Equal(3))
		s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nights"}, Spec: v1alpha1.ScheduleSpec{ScheduleRules: rules()}}
		Expect(env.Client.Create(ctx, s)).To(Succeed())
		clock.SetTime(monday.Add(9 * time.Hour))
		Eventually(pods(ns)).Should(BeZero())

		Expect(env.Patch(ctx, workload(ns, "w", "Deployment"),
			`{"spec":{"template":{"metadata":{"labels":{"app":"w","revision":"2"}}}}}`)).To(Succeed())
		Eventually(followed(ns, "w")).Should(BeTrue())
		suite.Still(pods(ns)).Should(BeZero())
		clock.SetTime(monday.Add(21 * time.Hour))
		Eventually(func(g Gomega) {
			var list corev1.PodList
			g.Expect(env.Client.List(ctx, &list, client.InNamespace(ns), client.MatchingLabels{"revision": "2"})).To(Succeed())
			g.Expect(list.Items).To(HaveLen(3))
			g.Expect(pods(ns)(g)).To(Equal(3))
		}).Should(Succeed())
	})
})

var _ = Describe("The deletion of a namespace with sleeping workloads", func() {
	It("ends, with the schedule in it, and leaves its neighbour asleep", func() {
		clock := startManager()
		newNamespace("goes", map[string]string{"env": "dev"})
		newNamespace("stays", map[string]string{"env": "dev"})
		own := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "goes", Name: "nights"},
			Spec: v1alpha1.ScheduleSpec{ScheduleRules: rules()}}
		Expect(env.Client.Create(ctx, own)).To(Succeed())
		both := &v1alpha1.ClusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: "nights"},
			Spec: v1alpha1.ClusterScheduleSpec{ScheduleRules: rules()}}
		both.Spec.Target.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"env": "dev"}}
		Expect(env.Client.Create(ctx, both)).To(Succeed())
		Eventually(pods("goes")).Should(Equal(awakePods))
		Eventually(pods("stays")).Should(Equal(awakePods))
		clock.SetTime(monday.Add(9 * time.Hour))
		Eventually(pods("goes")).Should(BeZero())
		Eventually(pods("stays")).Should(BeZero())

		Expect(env.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "goes"}})).To(Succeed())
		Eventually(vanished(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "goes"}})).WithTimeout(60 * time.Second).Should(Succeed())
		suite.Still(pods("stays")).Should(BeZero())
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(both), both)).To(Succeed())
			g.Expect(both.Status.Targets).To(HaveValue(Equal(v1alpha1.TargetCounts{Total: 4, Asleep: 4})))
		}).Should(Succeed())

		Expect(env.Client.Delete(ctx, both)).To(Succeed())
		Eventually(pods("stays")).Should(Equal(awakePods))
		Eventually(vanished(both)).Should(Succeed())
	})
})

// followed reports whether a Deployment's controller has done all that its last change asks for.
func followed(namespace, name string) func(Gomega) bool {
	return func(g Gomega) bool {
		var d appsv1.Deployment
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &d)).To(Succeed())
		s := d.Status
		return s.ObservedGeneration == d.Generation && s.Replicas == *d.Spec.Replicas && s.UpdatedReplicas == s.Replicas
	}
}

// all reads the workloads of a namespace, and the ReplicaSets that belong to them.
func all(g Gomega, namespace string) []*unstructured.Unstructured {
	var out []*unstructured.Unstructured
	for kind := range kinds {
		obj := workload(namespace, "w", kind)
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		out = append(out, obj)
	}
	sets := &unstructured.UnstructuredList{}
	sets.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSetList"))
	g.Expect(env.Client.List(ctx, sets, client.InNamespace(namespace))).To(Succeed())
	for i := range sets.Items {
		out = append(out, &sets.Items[i])
	}
	return out
}

// specs reads the specs by kind and name.
func specs(namespace string) func(Gomega) map[string]any {
	return func(g Gomega) map[string]any {
		found := map[string]any{}
		for _, obj := range all(g, namespace) {
			found[obj.GetKind()+"/"+obj.GetName()] = obj.Object["spec"]
		}
		return found
	}
}

// ledgers lists the workloads that carry a ledger of their own, ReplicaSets not counted.
func ledgers(namespace string) func(Gomega) []string {
	return func(g Gomega) []string {
		var found []string
		for _, obj := range all(g, namespace) {
			if obj.GetKind() != "ReplicaSet" && obj.GetAnnotations()[v1alpha1.AnnotationLedger] != "" {
				found = append(found, obj.GetKind())
			}
		}
		return found
	}
}
