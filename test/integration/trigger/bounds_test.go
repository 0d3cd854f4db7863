package trigger

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("Min and max", func() {
	It("are written together, so that they are valid at every moment", func() {
		clock := start(7)
		ns := newNamespace()
		create(autoscaler(ns, 4, 6))
		f := record(ns)
		create(trigger(ns, autoscalers,
			daily("above", 1, "08:00", "09:00", values(10, 20)), // min above the old max
			daily("below", 1, "09:00", "10:00", values(1, 2)),   // max below the old min
		))
		for _, step := range []struct {
			at   float64
			want [2]int32
		}{{8, [2]int32{10, 20}}, {9, [2]int32{1, 2}}, {10, [2]int32{4, 6}}} {
			clock.SetTime(hour(step.at))
			Eventually(bounds(ns)).Should(Equal(step.want))
		}
		Eventually(f.states).Should(Equal([][2]int32{{4, 6}, {10, 20}, {1, 2}, {4, 6}}))
	})

	It("keep an omitted end, and stay in order with it", func() {
		clock := start(7)
		ns := newNamespace()
		create(autoscaler(ns, 4, 6))
		create(trigger(ns, autoscalers,
			daily("min", 1, "08:00", "09:00", v1alpha1.TriggerValues{Min: n(5)}),
			daily("min above max", 1, "09:00", "10:00", v1alpha1.TriggerValues{Min: n(9)}),
			daily("max below min", 1, "10:00", "11:00", v1alpha1.TriggerValues{Max: n(2)}),
		))
		for _, step := range []struct {
			at   float64
			want [2]int32
		}{{8, [2]int32{5, 6}}, {9, [2]int32{6, 6}}, {10, [2]int32{4, 4}}, {11, [2]int32{4, 6}}} {
			clock.SetTime(hour(step.at))
			Eventually(bounds(ns)).Should(Equal(step.want))
		}
	})

	It("are corrected after a change by another writer", func() {
		clock := start(10)
		ns := newNamespace()
		create(autoscaler(ns, 1, 4))
		t := trigger(ns, autoscalers, daily("peak", 1, "08:00", "12:00", values(5, 20)))
		create(t)
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
		Expect(env.Patch(ctx, autoscaler(ns, 1, 4), `{"spec":{"minReplicas":2,"maxReplicas":3}}`)).To(Succeed())
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
		clock.SetTime(hour(12))
		Eventually(bounds(ns)).Should(Equal([2]int32{1, 4}))
	})

	It("come back when the Trigger is deleted", func() {
		start(10)
		ns := newNamespace()
		create(autoscaler(ns, 1, 4))
		t := trigger(ns, autoscalers, daily("peak", 1, "08:00", "12:00", values(5, 20)))
		create(t)
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
		remove(t)
		Expect(bounds(ns)(Default)).To(Equal([2]int32{1, 4}))
	})

	It("that the API server refuses are reported with the field, the object and the reason", func() {
		start(10)
		ns := newNamespace()
		hpa := autoscaler(ns, 1, 4)
		hpa.Spec.Metrics = cpuMetric()
		t := trigger(ns, autoscalers, daily("night", 0, "20:00", "08:00", values(1, 4)), daily("peak", 1, "08:00", "12:00", values(0, 4)))
		create(hpa, t)
		Eventually(conditionOf(t, v1alpha1.ConditionReady)).Should(HaveExactElements("False", "TargetsFailed", And(
			ContainSubstring("HorizontalPodAutoscaler.autoscaling/"+ns+"/web: spec.triggers[1].during.min of Trigger/"+ns+"/peaks: 0 is refused: "),
			Not(ContainSubstring("during.max")), ContainSubstring("scaling to zero"))))
		Expect(statusOf(t)(Default).Failures).To(HaveExactElements(And(
			HaveField("Name", "web"), HaveField("Message", ContainSubstring("spec.triggers[1].during.min")))))
		Expect(bounds(ns)(Default)).To(Equal([2]int32{1, 4}))
		By("a metric that can be read without pods")
		Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(hpa), hpa)).To(Succeed())
		hpa.Spec.Metrics = externalMetric()
		Expect(env.Client.Update(ctx, hpa)).To(Succeed())
		Eventually(bounds(ns)).Should(Equal([2]int32{0, 4}))
		Eventually(conditionOf(t, v1alpha1.ConditionReady)).Should(HaveExactElements("True", "AsExpected", Not(BeEmpty())))
	})
})

var _ = Describe("A ClusterTrigger", func() {
	It("reaches the namespaces that it names and no others", func() {
		start(10)
		a, b, other := newNamespace(), newNamespace(), newNamespace()
		for _, ns := range []string{a, b, other} {
			create(autoscaler(ns, 1, 4))
		}
		t := &v1alpha1.ClusterTrigger{ObjectMeta: metav1.ObjectMeta{Name: "peaks"}}
		t.Spec.Target.Kinds = []v1alpha1.KindRef{autoscalers}
		t.Spec.Target.Namespaces = []string{a, b}
		t.Spec.Triggers = []v1alpha1.TimeTrigger{daily("peak", 1, "08:00", "12:00", values(5, 20))}
		create(t)
		Eventually(bounds(a)).Should(Equal([2]int32{5, 20}))
		Eventually(bounds(b)).Should(Equal([2]int32{5, 20}))
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(t), t)).To(Succeed())
			g.Expect(t.Status.Applied).To(HaveLen(2))
		}).Should(Succeed())
		Expect(bounds(other)(Default)).To(Equal([2]int32{1, 4}))
		remove(t)
		Expect(bounds(a)(Default)).To(Equal([2]int32{1, 4}))
	})
})

var _ = Describe("An invalid Trigger", func() {
	It("is refused at once by the schema, with the field", func() {
		ns := newNamespace()
		peak := daily("peak", 1, "08:00", "12:00", values(5, 20))
		for _, tc := range []struct {
			field string
			all   []v1alpha1.TimeTrigger
		}{
			{"spec.triggers[0].during: Invalid value: min must not be above max",
				[]v1alpha1.TimeTrigger{with(peak, func(t *v1alpha1.TimeTrigger) { t.During = values(20, 5) })}},
			{"spec.triggers[0].during: Invalid value: give min, max, replicas",
				[]v1alpha1.TimeTrigger{with(peak, func(t *v1alpha1.TimeTrigger) { t.During = v1alpha1.TriggerValues{} })}},
			{"spec.triggers[0].during.min", []v1alpha1.TimeTrigger{with(peak, func(t *v1alpha1.TimeTrigger) { t.During.Min = n(-1) })}},
			{"spec.triggers[0].after: Invalid value: min must not be above max", []v1alpha1.TimeTrigger{with(peak, func(t *v1alpha1.TimeTrigger) {
				v := values(2, 1)
				t.After = &v
			})}},
			{`spec.triggers[1]: Duplicate value: {"name":"peak"}`, []v1alpha1.TimeTrigger{peak, peak}},
			{"spec.triggers[0].window.days[0]: Unsupported value",
				[]v1alpha1.TimeTrigger{with(peak, func(t *v1alpha1.TimeTrigger) { t.Window.Days = []v1alpha1.Day{"Monday"} })}},
			{"spec.triggers[0].window.from", []v1alpha1.TimeTrigger{with(peak, func(t *v1alpha1.TimeTrigger) { t.Window.From = "08:00:30" })}},
			{"spec.triggers[0]: Invalid value: give window, or a calendar with the effect Open",
				[]v1alpha1.TimeTrigger{with(peak, func(t *v1alpha1.TimeTrigger) { t.Window = v1alpha1.Window{} })}},
		} {
			Expect(env.Client.Create(ctx, trigger(ns, autoscalers, tc.all...))).To(MatchError(ContainSubstring(tc.field)))
		}
	})

	It("is reported with the field, and changes nothing, if only Flyball sees the error", func() {
		start(10)
		for _, tc := range []struct {
			field  string
			change func(*v1alpha1.Trigger)
		}{
			{"spec.timeZone: Invalid value", func(t *v1alpha1.Trigger) { t.Spec.TimeZone = "Europe/Atlantis" }},
			{"spec.triggers[0].window.to: Invalid value", func(t *v1alpha1.Trigger) { t.Spec.Triggers[0].Window.To = "08:00" }},
			{"spec.triggers[0].during.max: Invalid value: 0: HorizontalPodAutoscaler.autoscaling accepts no less than 1", func(t *v1alpha1.Trigger) {
				t.Spec.Triggers[0].During = v1alpha1.TriggerValues{Max: n(0)}
			}},
		} {
			ns := newNamespace()
			create(autoscaler(ns, 1, 4))
			t := trigger(ns, autoscalers, daily("peak", 1, "08:00", "12:00", values(5, 20)))
			tc.change(t)
			create(t)
			Eventually(conditionOf(t, v1alpha1.ConditionReady)).Should(HaveExactElements("False", "InvalidSpec", ContainSubstring(tc.field)))
			Expect(bounds(ns)(Default)).To(Equal([2]int32{1, 4}))
		}
	})

	It("keeps its values while it is broken", func() {
		start(10)
		ns := newNamespace()
		create(autoscaler(ns, 1, 4))
		t := trigger(ns, autoscalers, daily("peak", 1, "08:00", "12:00", values(5, 20)))
		create(t)
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
		edit(t, func(s *v1alpha1.TriggerSpec) { s.TimeZone = "Europe/Atlantis" })
		Eventually(conditionOf(t, v1alpha1.ConditionReady)).Should(HaveExactElements("False", "InvalidSpec", Not(BeEmpty())))
		suite.Still(bounds(ns)).Should(Equal([2]int32{5, 20}))
		edit(t, func(s *v1alpha1.TriggerSpec) { s.TimeZone = "UTC" })
		Eventually(conditionOf(t, v1alpha1.ConditionReady)).Should(HaveExactElements("True", "AsExpected", Not(BeEmpty())))
	})
})
