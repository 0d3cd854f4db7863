package schedules

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("flyball.dev/awake-until", func() {
	until := scene.Dusk.Add(3 * time.Hour)
	stayUp := scene.AnnotationPatch(v1alpha1.AnnotationAwakeUntil, until.Format(time.RFC3339))

	DescribeTable("keeps annotated objects awake until then",
		func(pick func(namespace string, s *v1alpha1.Schedule, d *appsv1.Deployment) client.Object) {
			clock := scene.StartManagerAsleep()
			ns := scene.NewNamespace()
			web := scene.Deployment(ns, "web", 3)
			scene.Create(web)
			s := scene.Nightly(ns, "nights")
			Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))

			scene.Patch(pick(ns, s, web), stayUp)
			Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
			clock.SetTime(until.Add(-time.Second))
			suite.Still(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
			clock.SetTime(until)
			Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		},
		Entry("a target", func(_ string, _ *v1alpha1.Schedule, d *appsv1.Deployment) client.Object { return d }),
		Entry("a namespace", func(ns string, _ *v1alpha1.Schedule, _ *appsv1.Deployment) client.Object { return scene.Namespace(ns) }),
		Entry("a policy", func(_ string, s *v1alpha1.Schedule, _ *appsv1.Deployment) client.Object { return s }),
	)

	It("on a target beats a schedule of any priority", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		web := scene.Deployment(ns, "web", 3)
		scene.Create(web)
		scene.Nightly(ns, "nights", func(r *v1alpha1.ScheduleRules) { r.Priority = 1000 })
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		scene.Patch(web, stayUp)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
	})

	It("that is unreadable is named in status and an event, and changes nothing: sleeping objects wake in the morning", func() {
		clock := scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		web := scene.Deployment(ns, "web", 3)
		scene.Create(web, scene.Deployment(ns, "api", 1))
		scene.Nightly(ns, "nights")
		Eventually(scene.Sleepers(ns)).Should(Equal(2))

		scene.Patch(web, scene.AnnotationPatch(v1alpha1.AnnotationAwakeUntil, "tomorrow"))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionAnnotationIgnored)).Should(And(scene.BeCondition(metav1.ConditionTrue,
			"Unreadable"),
			HaveField("Message", And(ContainSubstring(ns+"/web"), ContainSubstring(`"tomorrow"`), ContainSubstring("RFC 3339")))))
		scene.Patch(scene.Namespace(ns), scene.AnnotationPatch(v1alpha1.AnnotationAwakeUntil, "18:00"))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionAnnotationIgnored)).Should(HaveField("Message",
			And(ContainSubstring("namespace "+ns+`: "18:00"`), ContainSubstring(`"tomorrow"`))))
		Eventually(scene.Reasons(ns, "nights")).Should(HaveKey(v1alpha1.ConditionAnnotationIgnored))
		Expect(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)(Default)).To(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
		Expect(scene.Sleepers(ns)(Default)).To(Equal(2))

		clock.SetTime(scene.Dawn)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		Eventually(scene.Replicas(ns, "api")).Should(BeEquivalentTo(1))
		scene.Patch(web, scene.AnnotationPatch(v1alpha1.AnnotationAwakeUntil, ""))
		scene.Patch(scene.Namespace(ns), scene.AnnotationPatch(v1alpha1.AnnotationAwakeUntil, ""))
		Eventually(func(g Gomega) {
			var s v1alpha1.Schedule
			g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKey{Namespace: ns, Name: "nights"}, &s)).To(Succeed())
			g.Expect(meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionAnnotationIgnored)).To(BeNil())
		}).Should(Succeed())
	})
})
