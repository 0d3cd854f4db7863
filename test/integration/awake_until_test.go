package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

var _ = Describe("flyball.dev/awake-until", func() {
	until := dusk.Add(3 * time.Hour)
	stayUp := annotation(v1alpha1.AnnotationAwakeUntil, until.Format(time.RFC3339))

	DescribeTable("keeps annotated objects awake until then",
		func(pick func(namespace string, s *v1alpha1.Schedule, d *appsv1.Deployment) client.Object) {
			clock := startManagerAsleep()
			ns := newNamespace()
			web := deployment(ns, "web", 3)
			create(web)
			s := nightly(ns, "nights")
			Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))

			patch(pick(ns, s, web), stayUp)
			Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
			clock.SetTime(until.Add(-time.Second))
			Consistently(replicas(ns, "web")).Should(BeEquivalentTo(3))
			clock.SetTime(until)
			Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		},
		Entry("a target", func(_ string, _ *v1alpha1.Schedule, d *appsv1.Deployment) client.Object { return d }),
		Entry("a namespace", func(ns string, _ *v1alpha1.Schedule, _ *appsv1.Deployment) client.Object { return namespace(ns) }),
		Entry("a policy", func(_ string, s *v1alpha1.Schedule, _ *appsv1.Deployment) client.Object { return s }),
	)

	It("on a target beats a schedule of any priority", func() {
		startManagerAsleep()
		ns := newNamespace()
		web := deployment(ns, "web", 3)
		create(web)
		nightly(ns, "nights", func(r *v1alpha1.ScheduleRules) { r.Priority = 1000 })
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		patch(web, stayUp)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
	})

	It("that is unreadable is named in status and an event, and changes nothing: sleeping objects wake in the morning", func() {
		clock := startManagerAsleep()
		ns := newNamespace()
		web := deployment(ns, "web", 3)
		create(web, deployment(ns, "api", 1))
		nightly(ns, "nights")
		Eventually(sleepers(ns)).Should(Equal(2))

		patch(web, annotation(v1alpha1.AnnotationAwakeUntil, "tomorrow"))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionAnnotationIgnored)).Should(And(beCondition(metav1.ConditionTrue, "Unreadable"),
			HaveField("Message", And(ContainSubstring(ns+"/web"), ContainSubstring(`"tomorrow"`), ContainSubstring("RFC 3339")))))
		patch(namespace(ns), annotation(v1alpha1.AnnotationAwakeUntil, "18:00"))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionAnnotationIgnored)).Should(HaveField("Message",
			And(ContainSubstring("namespace "+ns+`: "18:00"`), ContainSubstring(`"tomorrow"`))))
		Eventually(reasons(ns, "nights")).Should(HaveKey(v1alpha1.ConditionAnnotationIgnored))
		Expect(conditionOf(ns, "nights", v1alpha1.ConditionReady)(Default)).To(beCondition(metav1.ConditionTrue, "AsExpected"))
		Expect(sleepers(ns)(Default)).To(Equal(2))

		clock.SetTime(dawn)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
		Eventually(replicas(ns, "api")).Should(BeEquivalentTo(1))
		patch(web, annotation(v1alpha1.AnnotationAwakeUntil, ""))
		patch(namespace(ns), annotation(v1alpha1.AnnotationAwakeUntil, ""))
		Eventually(func(g Gomega) {
			var s v1alpha1.Schedule
			g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "nights"}, &s)).To(Succeed())
			g.Expect(meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionAnnotationIgnored)).To(BeNil())
		}).Should(Succeed())
	})
})
