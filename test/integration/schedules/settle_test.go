package schedules

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/scene"
)

var _ = Describe("The barrier in place of waiting", func() {
	It("returns only after the manager has seen a write and has reacted", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Nightly(ns, "nights")
		for i := range 30 {
			name := fmt.Sprintf("web-%d", i)
			scene.Create(scene.Deployment(ns, name, 3))
			Expect(harness.Settle(scene.Ctx)).To(Succeed())
			Expect(scene.Replicas(ns, name)(Default)).To(BeEquivalentTo(0), name)
		}
	})

	It("knows the newest object of each watched kind as the API server does", func() {
		scene.StartManager()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		template := scene.Deployment(ns, "report", 1).Spec.Template
		template.Spec.RestartPolicy = corev1.RestartPolicyNever
		report := batchv1.CronJobSpec{Schedule: "@daily"}
		report.JobTemplate.Spec.Template = template
		scene.Create(&batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "report"}, Spec: report})
		scene.Nightly(ns, "nights")
		Eventually(func(g Gomega) {
			paths, err := scene.Env.CompareStore(scene.Ctx)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(paths).To(ContainElements(
				"/api/v1/namespaces", "/apis/apps/v1/deployments", "/apis/batch/v1/cronjobs", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
				"/apis/flyball.dev/v1alpha1/schedules", "/apis/flyball.dev/v1alpha1/adapters"))
		}).Should(Succeed())
	})

	It("answers lists from memory only while nothing has changed", func() {
		client, err := dynamic.NewForConfig(scene.Env.Remembering())
		Expect(err).NotTo(HaveOccurred())
		ns := scene.NewNamespace()
		names := func() (all []string) {
			GinkgoHelper()
			list, err := client.Resource(appsv1.SchemeGroupVersion.WithResource("deployments")).Namespace(ns).List(scene.Ctx, metav1.ListOptions{})
			Expect(err).NotTo(HaveOccurred())
			for _, d := range list.Items {
				n, _, _ := unstructured.NestedInt64(d.Object, "spec", "replicas")
				all = append(all, fmt.Sprint(d.GetName(), " ", n))
			}
			return all
		}
		Expect(names()).To(BeEmpty())
		scene.Create(scene.Deployment(ns, "a", 1))
		Expect(names()).To(HaveExactElements("a 1"))
		scene.Create(scene.Deployment(ns, "b", 2))
		Expect(names()).To(HaveExactElements("a 1", "b 2"))
		Expect(names()).To(HaveExactElements("a 1", "b 2"))
		scene.Scale(ns, "a", 3)
		Expect(names()).To(HaveExactElements("a 3", "b 2"))
		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Deployment(ns, "b", 2))).To(Succeed())
		Expect(names()).To(HaveExactElements("a 3"))
		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Deployment(ns, "a", 3))).To(Succeed())
		Expect(names()).To(BeEmpty())
	})
})
