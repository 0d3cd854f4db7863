package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

var _ = Describe("A schedule's transitions", func() {
	It("puts a Deployment to sleep at the transition and wakes it exactly as it was", func() {
		clock := startManager()
		ns := newNamespace()
		Expect(env.Client.Create(ctx, deployment(ns, "web", 3))).To(Succeed())
		nightly(ns, "nights")
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionAsleep)).Should(beCondition(metav1.ConditionFalse, "Awake"))
		Consistently(replicas(ns, "web")).Should(BeEquivalentTo(3))

		clock.SetTime(monday.Add(8 * time.Hour))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionAsleep)).Should(beCondition(metav1.ConditionTrue, "Asleep"))
		var s v1alpha1.Schedule
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "nights"}, &s)).To(Succeed())
			g.Expect(s.Status.Targets).To(HaveValue(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1})))
			g.Expect(s.Status.PreviousTransitionTime.UTC()).To(Equal(monday.Add(8 * time.Hour)))
			g.Expect(s.Status.NextTransitionTime.UTC()).To(Equal(monday.Add(20 * time.Hour)))
		}).Should(Succeed())

		clock.SetTime(monday.Add(20 * time.Hour))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
		Eventually(ledger(ns, "web")).Should(BeEmpty())
	})

	It("puts an object that appears while asleep to sleep", func() {
		clock := startManager()
		ns := newNamespace()
		clock.SetTime(monday.Add(9 * time.Hour))
		nightly(ns, "nights")
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionAsleep)).Should(beCondition(metav1.ConditionTrue, "Asleep"))
		Expect(env.Client.Create(ctx, deployment(ns, "late", 2))).To(Succeed())
		Eventually(replicas(ns, "late")).Should(BeEquivalentTo(0))
	})
})
