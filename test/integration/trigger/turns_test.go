package trigger

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("Sizes that several Triggers set once", func() {
	It("are those of the Trigger that comes into force, whenever its window began, and are not set again when it hands back", func() {
		clock := start(9)
		ns := newNamespace()
		create(deployment(ns, 3), autoscaler(ns, 1, 40))
		peaks := trigger(ns, autoscalers, daily("peak", 1, "09:00", "18:00", size(6)))
		create(peaks)
		Eventually(replicas(ns)).Should(BeEquivalentTo(6))
		scale(ns, 8)
		clock.SetTime(hour(10))
		By("a Trigger of higher priority is created, whose window began earlier")
		incident := trigger(ns, autoscalers, daily("all day", 99, "00:00", "24:00", size(30)))
		incident.Name = "incident"
		create(incident)
		Eventually(replicas(ns)).Should(BeEquivalentTo(30))
		Eventually(appliedReplicas(incident)).Should(Equal([]int64{30}))
		Eventually(appliedReplicas(peaks)).Should(BeEmpty())
		scale(ns, 20)
		suite.Still(replicas(ns)).Should(BeEquivalentTo(20), "the autoscaler has control")
		By("it is deleted again")
		remove(incident)
		suite.Still(replicas(ns)).Should(BeEquivalentTo(20), "the size of the first one was set at nine")
		By("the next day")
		clock.SetTime(hour(24 + 9))
		Eventually(replicas(ns)).Should(BeEquivalentTo(6))
	})

	It("follow priority as it is edited, each once", func() {
		start(10)
		ns := newNamespace()
		create(deployment(ns, 3), autoscaler(ns, 1, 40))
		low, high := trigger(ns, deployments, daily("low", 1, "09:00", "18:00", size(6))),
			trigger(ns, deployments, daily("high", 5, "08:00", "18:00", size(12)))
		high.Name = "high"
		create(low, high)
		Eventually(conditionOf(low, v1alpha1.ConditionConflicting)).Should(HaveExactElements("False", "Overruled",
			ContainSubstring("overruled by Trigger")))
		Eventually(replicas(ns)).Should(BeEquivalentTo(12))
		scale(ns, 15)
		suite.Still(replicas(ns)).Should(BeEquivalentTo(15))
		By("the lower one becomes the higher")
		edit(low, func(s *v1alpha1.TriggerSpec) { s.Triggers[0].Priority, s.Triggers[0].During = 9, size(7) })
		Eventually(replicas(ns)).Should(BeEquivalentTo(7))
		scale(ns, 15)
		edit(low, func(s *v1alpha1.TriggerSpec) { s.Triggers[0].Priority = 1 })
		Eventually(conditionOf(low, v1alpha1.ConditionConflicting)).Should(HaveExactElements("False", "Overruled",
			ContainSubstring("overruled by Trigger")))
		suite.Still(replicas(ns)).Should(BeEquivalentTo(15))
	})

	It("are set at once by an edit that moves the start of the window back too", func() {
		start(10)
		ns := newNamespace()
		create(deployment(ns, 3), autoscaler(ns, 1, 40))
		t := trigger(ns, deployments, daily("peak", 1, "09:00", "18:00", size(6)))
		create(t)
		Eventually(replicas(ns)).Should(BeEquivalentTo(6))
		scale(ns, 9)
		By("the start alone: that size has been set")
		edit(t, func(s *v1alpha1.TriggerSpec) { s.Triggers[0].Window.From = "08:00" })
		Eventually(statusOf(t)).Should(HaveField("PreviousTransitionTime.Time", BeTemporally("==", hour(8))))
		suite.Still(replicas(ns)).Should(BeEquivalentTo(9))
		By("the start and the size")
		edit(t, func(s *v1alpha1.TriggerSpec) { s.Triggers[0].Window.From, s.Triggers[0].During = "07:00", size(7) })
		Eventually(replicas(ns)).Should(BeEquivalentTo(7))
		By("a trigger beside it that is removed")
		edit(t, func(s *v1alpha1.TriggerSpec) {
			s.Triggers = append(s.Triggers, daily("higher", 2, "09:30", "18:00", size(11)))
		})
		Eventually(replicas(ns)).Should(BeEquivalentTo(11))
		edit(t, func(s *v1alpha1.TriggerSpec) { s.Triggers = s.Triggers[:1] })
		Eventually(replicas(ns)).Should(BeEquivalentTo(7))
	})

	It("are remembered over a restart, also by the interrupted Trigger", func() {
		ns := newNamespace()
		create(deployment(ns, 3), autoscaler(ns, 1, 40))
		low, high := trigger(ns, autoscalers, daily("low", 1, "09:00", "18:00", size(6))),
			trigger(ns, autoscalers, daily("high", 5, "10:00", "12:00", size(12)))
		high.Name = "high"
		Expect(env.Client.Create(ctx, low)).To(Succeed())
		Expect(env.Client.Create(ctx, high)).To(Succeed())
		for _, step := range []struct {
			at    float64
			want  int
			after int
		}{{9, 6, 8}, {9.5, 8, 8}, {10, 12, 14}, {11, 14, 14}, {12, 14, 10}, {13, 10, 10}, {24 + 9, 6, 6}} {
			m := runOnce(step.at)
			Eventually(replicas(ns)).Should(BeEquivalentTo(step.want), "at %v", step.at)
			suite.Still(replicas(ns)).Should(BeEquivalentTo(step.want), "at %v", step.at)
			Expect(m.Stop()).To(Succeed())
			scale(ns, step.after)
		}
		start(24 + 19)
		remove(low)
		remove(high)
		Expect(ledger(deployment(ns, 3))(Default)).To(BeEmpty())
	})
})
