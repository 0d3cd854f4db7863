package schedules

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("A schedule's transitions", func() {
	It("puts a Deployment to sleep at the transition and wakes it exactly as it was", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		Expect(scene.Env.Client.Create(scene.Ctx, scene.Deployment(ns, "web", 3))).To(Succeed())
		scene.Nightly(ns, "nights")
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionAsleep)).Should(scene.BeCondition(metav1.ConditionFalse, "Awake"))
		suite.Still(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))

		clock.SetTime(scene.Monday.Add(8 * time.Hour))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionAsleep)).Should(scene.BeCondition(metav1.ConditionTrue, "Asleep"))
		var s v1alpha1.Schedule
		Eventually(func(g Gomega) {
			g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKey{Namespace: ns, Name: "nights"}, &s)).To(Succeed())
			g.Expect(s.Status.Targets).To(HaveValue(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1})))
			g.Expect(s.Status.PreviousTransitionTime.UTC()).To(Equal(scene.Monday.Add(8 * time.Hour)))
			g.Expect(s.Status.NextTransitionTime.UTC()).To(Equal(scene.Monday.Add(20 * time.Hour)))
		}).Should(Succeed())

		clock.SetTime(scene.Monday.Add(20 * time.Hour))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		Eventually(scene.Ledger(ns, "web")).Should(BeEmpty())
	})

	It("puts an object that appears while asleep to sleep", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		clock.SetTime(scene.Monday.Add(9 * time.Hour))
		scene.Nightly(ns, "nights")
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionAsleep)).Should(scene.BeCondition(metav1.ConditionTrue, "Asleep"))
		Expect(scene.Env.Client.Create(scene.Ctx, scene.Deployment(ns, "late", 2))).To(Succeed())
		Eventually(scene.Replicas(ns, "late")).Should(BeEquivalentTo(0))
	})
})
