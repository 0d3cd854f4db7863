package trigger

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("Overlapping windows", func() {
	low := daily("low", 1, "08:00", "12:00", values(2, 6))
	high := daily("high", 9, "09:00", "11:00", values(5, 20))

	It("hands over to the higher trigger and back without a dip, and restores the original", func() {
		clock := start(7)
		ns := newNamespace()
		create(autoscaler(ns, 1, 4))
		f := record(ns)
		t := trigger(ns, autoscalers, low, high)
		create(t)
		Eventually(shown(t)).Should(Equal([2]string{"Idle", ""}))
		for _, step := range []struct {
			at   float64
			want [2]int32
			name string
		}{{8, [2]int32{2, 6}, "low"}, {9, [2]int32{5, 20}, "high"}, {11, [2]int32{2, 6}, "low"}, {12, [2]int32{1, 4}, ""}} {
			clock.SetTime(hour(step.at))
			Eventually(bounds(ns)).Should(Equal(step.want))
			Eventually(statusOf(t)).Should(HaveField("ActiveTrigger", step.name))
		}
		Eventually(ledger(autoscaler(ns, 1, 4))).Should(BeEmpty())
		Eventually(f.states).Should(Equal([][2]int32{{1, 4}, {2, 6}, {5, 20}, {2, 6}, {1, 4}}), "no state in between")
	})

	It("changes nothing if a lower trigger starts and ends under a higher trigger", func() {
		clock := start(8)
		ns := newNamespace()
		create(autoscaler(ns, 1, 4))
		f := record(ns)
		t := trigger(ns, autoscalers, daily("high", 9, "07:00", "12:00", values(5, 20)), daily("low", 1, "09:00", "10:00", values(30, 40)))
		create(t)
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
		for _, at := range []float64{9, 9.5, 10, 11} {
			clock.SetTime(hour(at))
			suite.Still(bounds(ns)).Should(Equal([2]int32{5, 20}))
		}
		Eventually(statusOf(t)).Should(HaveField("NextTransitionTime.Time", BeTemporally("==", hour(12))))
		Eventually(f.states).Should(Equal([][2]int32{{1, 4}, {5, 20}}))
		Expect(reasons(t)(Default)).NotTo(HaveKey("HandedOver"))
	})

	It("applies after when the only window ends, until the next window starts", func() {
		clock := start(10)
		ns := newNamespace()
		create(autoscaler(ns, 1, 4))
		t := trigger(ns, autoscalers, with(high, func(t *v1alpha1.TimeTrigger) {
			v := values(2, 3)
			t.After = &v
		}))
		create(t)
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
		clock.SetTime(hour(11))
		Eventually(bounds(ns)).Should(Equal([2]int32{2, 3}))
		Eventually(shown(t)).Should(Equal([2]string{"After", "high"}))
		clock.SetTime(hour(24 + 8.9))
		suite.Still(bounds(ns)).Should(Equal([2]int32{2, 3}))
		clock.SetTime(hour(24 + 9))
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
	})

	It("hands back to the after of a lower trigger that ended under a higher trigger", func() {
		clock := start(10)
		ns := newNamespace()
		create(autoscaler(ns, 1, 4))
		v := values(2, 3)
		t := trigger(ns, autoscalers, with(daily("low", 1, "08:00", "10:00", values(2, 6)), func(t *v1alpha1.TimeTrigger) { t.After = &v }), high)
		create(t)
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
		clock.SetTime(hour(11))
		Eventually(bounds(ns)).Should(Equal([2]int32{2, 3}))
		Eventually(shown(t)).Should(Equal([2]string{"After", "low"}))
		By("an edit removes the after")
		edit(t, func(s *v1alpha1.TriggerSpec) { s.Triggers[0].After = nil })
		Eventually(bounds(ns)).Should(Equal([2]int32{1, 4}))
	})

	It("takes the larger of each with overlap Highest, and with equal priorities in any order", func() {
		start(10)
		wide, tall := daily("wide", 5, "08:00", "12:00", values(2, 30)), daily("tall", 5, "08:00", "12:00", values(7, 9))
		lower := with(wide, func(t *v1alpha1.TimeTrigger) { t.Priority = 1 })
		for _, tc := range []struct {
			overlap v1alpha1.Overlap
			all     []v1alpha1.TimeTrigger
			want    [2]int32
		}{
			{v1alpha1.OverlapHighest, []v1alpha1.TimeTrigger{lower, tall}, [2]int32{7, 30}},
			{v1alpha1.OverlapPriority, []v1alpha1.TimeTrigger{lower, tall}, [2]int32{7, 9}},
			{v1alpha1.OverlapPriority, []v1alpha1.TimeTrigger{wide, tall}, [2]int32{7, 30}},
			{v1alpha1.OverlapPriority, []v1alpha1.TimeTrigger{tall, wide}, [2]int32{7, 30}},
		} {
			ns := newNamespace()
			t := trigger(ns, autoscalers, tc.all...)
			t.Spec.Overlap = tc.overlap
			create(autoscaler(ns, 1, 4), t)
			Eventually(bounds(ns)).Should(Equal(tc.want))
		}
	})

	It("decides between two policies by priority, and at equal priority by capacity", func() {
		start(10)
		ns := newNamespace()
		create(autoscaler(ns, 1, 4))
		a, b := trigger(ns, autoscalers, high), trigger(ns, autoscalers, with(high, func(t *v1alpha1.TimeTrigger) { t.During = values(7, 9) }))
		b.Name = "others"
		create(a, b)
		Eventually(bounds(ns)).Should(Equal([2]int32{7, 20}))
		edit(b, func(s *v1alpha1.TriggerSpec) { s.Triggers[0].Priority = 10 })
		Eventually(bounds(ns)).Should(Equal([2]int32{7, 9}))
		Eventually(conditionOf(a, v1alpha1.ConditionConflicting)).Should(HaveExactElements("False", "Overruled",
			ContainSubstring("overruled by Trigger")))
		remove(b)
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
	})
})

var _ = Describe("A change of a trigger", func() {
	It("takes effect at once", func() {
		start(10)
		ns := newNamespace()
		create(autoscaler(ns, 1, 4))
		t := trigger(ns, autoscalers, daily("low", 1, "08:00", "12:00", values(2, 6)), daily("high", 9, "09:00", "11:00", values(5, 20)))
		create(t)
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
		By("an edit of the values")
		edit(t, func(s *v1alpha1.TriggerSpec) { s.Triggers[1].During = values(6, 7) })
		Eventually(bounds(ns)).Should(Equal([2]int32{6, 7}))
		By("suspension")
		edit(t, func(s *v1alpha1.TriggerSpec) { s.Triggers[1].Suspend = true })
		Eventually(bounds(ns)).Should(Equal([2]int32{2, 6}))
		By("an edit of the window")
		edit(t, func(s *v1alpha1.TriggerSpec) { s.Triggers[0].Window.To = "10:00" })
		Eventually(bounds(ns)).Should(Equal([2]int32{1, 4}))
		edit(t, func(s *v1alpha1.TriggerSpec) { s.Triggers[0].Window.To = "12:00" })
		Eventually(bounds(ns)).Should(Equal([2]int32{2, 6}))
		By("the removal of every trigger, which is refused: delete the Trigger, or suspend it")
		Expect(env.Patch(ctx, t, `{"spec":{"triggers":[]}}`)).To(MatchError(ContainSubstring("spec.triggers")))
		Expect(bounds(ns)(Default)).To(Equal([2]int32{2, 6}))
		By("the removal of every trigger but one inactive one")
		edit(t, func(s *v1alpha1.TriggerSpec) {
			s.Triggers = []v1alpha1.TimeTrigger{daily("later", 1, "20:00", "21:00", values(3, 3))}
		})
		Eventually(bounds(ns)).Should(Equal([2]int32{1, 4}))
		Eventually(ledger(autoscaler(ns, 1, 4))).Should(BeEmpty())
	})

	It("of the selection restores objects that are no longer selected", func() {
		start(10)
		ns := newNamespace()
		create(autoscaler(ns, 1, 4))
		t := trigger(ns, autoscalers, daily("low", 1, "08:00", "12:00", values(2, 6)))
		create(t)
		Eventually(bounds(ns)).Should(Equal([2]int32{2, 6}))
		edit(t, func(s *v1alpha1.TriggerSpec) { s.Target.Names = []string{"another"} })
		Eventually(bounds(ns)).Should(Equal([2]int32{1, 4}))
	})
})

var _ = Describe("A restart", func() {
	It("inside and outside a window finds the right values", func() {
		ns := newNamespace()
		create(autoscaler(ns, 1, 4))
		night := daily("night", 1, "22:00", "06:00", values(2, 6))
		night.Window.Days = []v1alpha1.Day{"Mon"}
		t := trigger(ns, autoscalers, night)
		Expect(env.Client.Create(ctx, t)).To(Succeed())
		for _, step := range []struct {
			at   float64
			want [2]int32
		}{{20, [2]int32{1, 4}}, {23, [2]int32{2, 6}}, {24 + 5, [2]int32{2, 6}}, {24 + 7, [2]int32{1, 4}}, {24 + 23, [2]int32{1, 4}}} {
			m := runOnce(step.at)
			Eventually(bounds(ns)).Should(Equal(step.want))
			suite.Still(bounds(ns)).Should(Equal(step.want))
			Expect(m.Stop()).To(Succeed())
		}
		start(24 + 23)
		remove(t)
	})
})
