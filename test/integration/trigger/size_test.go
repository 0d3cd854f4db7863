package trigger

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

func size(replicas int64) v1alpha1.TriggerValues { return v1alpha1.TriggerValues{Replicas: &replicas} }

var _ = Describe("Replicas", func() {
	It("are held if the object has no autoscaler, and restored", func() {
		clock := start(7)
		ns := newNamespace()
		create(deployment(ns, 3), trigger(ns, deployments, daily("peak", 1, "08:00", "11:00", size(6))))
		clock.SetTime(hour(8))
		Eventually(replicas(ns)).Should(BeEquivalentTo(6))
		scale(ns, 2)
		Eventually(replicas(ns)).Should(BeEquivalentTo(6))
		clock.SetTime(hour(11))
		Eventually(replicas(ns)).Should(BeEquivalentTo(3))
		Eventually(ledger(deployment(ns, 3))).Should(BeEmpty())
	})

	for _, tc := range []struct {
		what string
		kind v1alpha1.KindRef
	}{{"the Deployment that an autoscaler governs", deployments}, {"the autoscaler", autoscalers}} {
		It("are set once with "+tc.what+" as the target, and the autoscaler keeps control", func() {
			clock := start(7)
			ns := newNamespace()
			create(deployment(ns, 3), autoscaler(ns, 1, 10))
			t := trigger(ns, tc.kind, daily("peak", 1, "08:00", "11:00", size(6)))
			create(t)
			suite.Still(replicas(ns)).Should(BeEquivalentTo(3))
			clock.SetTime(hour(8))
			Eventually(replicas(ns)).Should(BeEquivalentTo(6))
			Eventually(statusOf(t)).Should(HaveField("Applied",
				HaveExactElements(And(HaveField("Kind", tc.kind.Kind+"."+tc.kind.Group), HaveField("Replicas", HaveValue(BeEquivalentTo(6)))))))
			By("the autoscaler scales")
			scale(ns, 9)
			suite.Still(replicas(ns)).Should(BeEquivalentTo(9))
			By("time passes in the window, and the process restarts")
			clock.SetTime(hour(9))
			suite.Still(replicas(ns)).Should(BeEquivalentTo(9))
			clock.SetTime(hour(11))
			suite.Still(replicas(ns)).Should(BeEquivalentTo(9))
			Eventually(ledger(deployment(ns, 3))).Should(BeEmpty())
			By("the next day")
			clock.SetTime(hour(24 + 8))
			Eventually(replicas(ns)).Should(BeEquivalentTo(6))
			Expect(statusOf(t)(Default).Targets.Total).To(BeEquivalentTo(1), "what is governed is no target of its own")
		})
	}

	It("land inside the bounds of that moment", func() {
		clock := start(7)
		ns := newNamespace()
		create(deployment(ns, 3), autoscaler(ns, 1, 4))
		create(trigger(ns, autoscalers,
			daily("own bounds", 1, "08:00", "09:00", size(6)),
			daily("wider", 1, "09:00", "10:00", v1alpha1.TriggerValues{Min: n(8), Max: n(20), Replicas: n(9)}),
			daily("higher", 1, "10:00", "11:00", v1alpha1.TriggerValues{Min: n(12), Replicas: n(2), Max: n(20)}),
		))
		suite.Settled()
		clock.SetTime(hour(8))
		Eventually(replicas(ns)).Should(BeEquivalentTo(4))
		clock.SetTime(hour(9))
		Eventually(replicas(ns)).Should(BeEquivalentTo(9))
		Expect(bounds(ns)(Default)[1]).To(BeNumerically(">=", 9), "the maximum comes first")
		Eventually(bounds(ns)).Should(Equal([2]int32{8, 20}))
		clock.SetTime(hour(10))
		Eventually(replicas(ns)).Should(BeEquivalentTo(12))
	})

	It("come after a maximum that lets them in, and before a minimum that the autoscaler would scale to itself", func() {
		clock := start(7)
		ns := newNamespace()
		t := trigger(ns, autoscalers, daily("peak", 1, "08:00", "11:00", v1alpha1.TriggerValues{Min: n(3), Max: n(11), Replicas: n(5)}))
		create(deployment(ns, 2), autoscaler(ns, 2, 4), t)
		Eventually(shown(t)).Should(Equal([2]string{"Idle", ""}))
		suite.Settled() // the Deployment is known too
		seen := sizesSeen(ns)
		clock.SetTime(hour(8))
		Eventually(seen).Should(HaveExactElements("2 in 2..4", "2 in 2..5", "5 in 2..5", "5 in 3..11"))
		By("the window ends: the autoscaler's bounds are restored, and no size")
		clock.SetTime(hour(11))
		Eventually(seen).Should(HaveExactElements("2 in 2..4", "2 in 2..5", "5 in 2..5", "5 in 3..11", "5 in 2..4"))
	})

	It("are set again by an edit, and held once the autoscaler is gone", func() {
		clock := start(9)
		ns := newNamespace()
		hpa := autoscaler(ns, 1, 10)
		create(deployment(ns, 3), hpa)
		t := trigger(ns, deployments, daily("peak", 1, "08:00", "11:00", size(6)))
		create(t)
		Eventually(replicas(ns)).Should(BeEquivalentTo(6))
		scale(ns, 9)
		suite.Still(replicas(ns)).Should(BeEquivalentTo(9))
		edit(t, func(s *v1alpha1.TriggerSpec) { s.Triggers[0].During = size(7) })
		Eventually(replicas(ns)).Should(BeEquivalentTo(7))
		scale(ns, 9)
		suite.Still(replicas(ns)).Should(BeEquivalentTo(9))
		Expect(env.Client.Delete(ctx, hpa)).To(Succeed())
		Eventually(replicas(ns)).Should(BeEquivalentTo(7))
		clock.SetTime(hour(11))
		Eventually(replicas(ns)).Should(BeEquivalentTo(9))
	})

	It("are not set once more after a restart or when the Trigger is deleted", func() {
		ns := newNamespace()
		create(deployment(ns, 3), autoscaler(ns, 1, 10))
		t := trigger(ns, autoscalers, daily("peak", 1, "08:00", "11:00", size(6)))
		Expect(env.Client.Create(ctx, t)).To(Succeed())
		m := runOnce(9)
		Eventually(replicas(ns)).Should(BeEquivalentTo(6))
		Expect(m.Stop()).To(Succeed())
		scale(ns, 8)
		start(10)
		suite.Still(replicas(ns)).Should(BeEquivalentTo(8))
		remove(t)
		Expect(replicas(ns)(Default)).To(BeEquivalentTo(8))
		Expect(ledger(deployment(ns, 3))(Default)).To(BeEmpty())
	})
})

var _ = Describe("A Trigger and a Schedule on a Deployment and its autoscaler", func() {
	nights := func(ns string) *v1alpha1.Schedule {
		s := &v1alpha1.Schedule{}
		s.Namespace, s.Name = ns, "nights"
		s.Spec.Upscale, s.Spec.Downscale = "0 8 * * *", "0 20 * * *"
		return s
	}

	It("sleep whatever the bounds, and wake inside those of that moment", func() {
		clock := start(19)
		ns := newNamespace()
		create(deployment(ns, 3), autoscaler(ns, 1, 10))
		create(nights(ns), trigger(ns, autoscalers, daily("evening", 9, "18:00", "23:00", values(2, 20)),
			daily("morning", 9, "07:00", "11:00", values(5, 20))))
		Eventually(bounds(ns)).Should(Equal([2]int32{2, 20}))
		clock.SetTime(hour(20))
		Eventually(replicas(ns)).Should(BeEquivalentTo(0))
		suite.Still(replicas(ns)).Should(BeEquivalentTo(0))
		By("a window that starts while it sleeps")
		clock.SetTime(hour(24 + 7))
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
		Expect(bounds(ns)(Default)[0]).To(BeNumerically(">=", 1), "an autoscaler with a minimum of 1 leaves a target at 0 alone")
		suite.Still(replicas(ns)).Should(BeEquivalentTo(0))
		By("waking")
		clock.SetTime(hour(24 + 8))
		Eventually(replicas(ns)).Should(BeEquivalentTo(5))
		Eventually(ledger(deployment(ns, 3))).Should(BeEmpty())
		suite.Still(replicas(ns)).Should(BeEquivalentTo(5))
	})

	It("wake below a maximum of that moment", func() {
		clock := start(21)
		ns := newNamespace()
		t := trigger(ns, autoscalers, daily("morning", 0, "07:00", "11:00", values(1, 4)))
		create(deployment(ns, 9), autoscaler(ns, 1, 10), nights(ns), t)
		Eventually(shown(t)).Should(Equal([2]string{"Idle", ""}))
		Eventually(replicas(ns)).Should(BeEquivalentTo(0))
		clock.SetTime(hour(24 + 8))
		Eventually(replicas(ns)).Should(BeEquivalentTo(4))
	})

	It("sleep whatever size is to be set once, and wake at it", func() {
		clock := start(21)
		ns := newNamespace()
		create(deployment(ns, 3), autoscaler(ns, 1, 10), nights(ns))
		Eventually(replicas(ns)).Should(BeEquivalentTo(0))
		create(trigger(ns, autoscalers, daily("all day", 99, "00:00", "24:00", size(6))))
		suite.Still(replicas(ns)).Should(BeEquivalentTo(0))
		clock.SetTime(hour(24 + 8))
		Eventually(replicas(ns)).Should(BeEquivalentTo(6))
		scale(ns, 8)
		clock.SetTime(hour(24 + 20))
		Eventually(replicas(ns)).Should(BeEquivalentTo(0))
	})

	It("compete by the merge rule if the Deployment has no autoscaler", func() {
		clock := start(19)
		ns := newNamespace()
		t := trigger(ns, deployments, daily("late", 0, "19:00", "23:00", size(6)))
		create(deployment(ns, 3), nights(ns), t)
		Eventually(replicas(ns)).Should(BeEquivalentTo(6))
		clock.SetTime(hour(21))
		suite.Still(replicas(ns)).Should(BeEquivalentTo(6), "equal priority: more capacity wins")
		edit(t, func(s *v1alpha1.TriggerSpec) { s.Triggers[0].Priority = -1 })
		Eventually(replicas(ns)).Should(BeEquivalentTo(0))
		clock.SetTime(hour(24 + 8))
		Eventually(replicas(ns)).Should(BeEquivalentTo(3))
	})

	It("leave an autoscaler alone that could wake its target by a higher minimum", func() {
		clock := start(6)
		ns := newNamespace()
		hpa := autoscaler(ns, 0, 10)
		hpa.Spec.Metrics = externalMetric()
		t := trigger(ns, autoscalers, daily("morning", 9, "07:00", "11:00", values(5, 20)))
		create(deployment(ns, 3), hpa, t, nights(ns))
		Eventually(shown(t)).Should(Equal([2]string{"Idle", ""}))
		Eventually(replicas(ns)).Should(BeEquivalentTo(0))
		Eventually(func(g Gomega) {
			g.Expect(ledger(hpa)(g)).NotTo(BeEmpty())
			g.Expect(hpa.Spec.Behavior).NotTo(BeNil(), "held")
		}).Should(Succeed())
		clock.SetTime(hour(7.5))
		suite.Still(bounds(ns)).Should(Equal([2]int32{0, 10}))
		clock.SetTime(hour(8))
		Eventually(replicas(ns)).Should(BeEquivalentTo(5))
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
		Eventually(func(g Gomega) {
			_ = ledger(hpa)(g)
			g.Expect(hpa.Spec.Behavior).To(BeNil(), "let go")
		}).Should(Succeed())
		clock.SetTime(hour(11))
		Eventually(bounds(ns)).Should(Equal([2]int32{0, 10}))
	})
})
