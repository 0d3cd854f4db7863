package integration

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

// calendar creates a Calendar of one date with a name of its own.
func calendar(date string) *v1alpha1.Calendar {
	GinkgoHelper()
	c := &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("holidays-%d", schedules.Add(1))}}
	c.Spec.Dates = []v1alpha1.CalendarDate{{Date: date, Name: "holiday"}}
	create(c)
	DeferCleanup(func() { Expect(client.IgnoreNotFound(env.Client.Delete(ctx, c))).To(Succeed()) })
	return c
}

func on(c *v1alpha1.Calendar, effect v1alpha1.CalendarEffect) func(*v1alpha1.ScheduleRules) {
	return func(r *v1alpha1.ScheduleRules) { r.Calendars = []v1alpha1.CalendarRef{{Name: c.Name, Effect: effect}} }
}

var _ = Describe("A calendar", func() {
	It("makes its days asleep, from midnight to midnight", func() {
		clock := startManager()
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		nightly(ns, "nights", on(calendar("2026-03-04"), v1alpha1.EffectAsleep))
		wednesday := monday.AddDate(0, 0, 2)
		clock.SetTime(wednesday)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		clock.SetTime(dawn.AddDate(0, 0, 2))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
	})

	It("keeps its days awake, the nights that reach into them too", func() {
		clock := startManager()
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		nightly(ns, "nights", on(calendar("2026-03-03"), v1alpha1.EffectAwake))
		clock.SetTime(dusk)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		midnight := monday.AddDate(0, 0, 1).Truncate(24 * 60 * 60 * 1e9)
		clock.SetTime(midnight)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
		clock.SetTime(dusk.AddDate(0, 0, 1))
		Consistently(replicas(ns, "web")).Should(BeEquivalentTo(3))
		clock.SetTime(midnight.AddDate(0, 0, 1))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
	})

	It("that is edited takes effect at once", func() {
		startManager()
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		c := calendar("2026-03-02")
		nightly(ns, "nights", on(c, v1alpha1.EffectAsleep))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		patch(c, `{"spec":{"dates":[{"date":"2026-03-05"}]}}`)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
		patch(c, `{"spec":{"dates":[{"date":"2026-03-02"}]}}`)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
	})

	It("takes events from a file in a ConfigMap, and says which of them it cannot read", func() {
		startManager()
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		file := func(date string) string {
			return "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:move\nDTSTART:" + date +
				"\nEND:VEVENT\nBEGIN:VEVENT\nDTSTART:soon\nEND:VEVENT\nEND:VCALENDAR\n"
		}
		c := &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("company-%d", schedules.Add(1))}}
		c.Spec.ICS = &v1alpha1.CalendarICS{ConfigMap: &v1alpha1.ConfigMapKey{Namespace: ns, Name: "company"}}
		create(c)
		DeferCleanup(func() { Expect(client.IgnoreNotFound(env.Client.Delete(ctx, c))).To(Succeed()) })
		nightly(ns, "nights", on(c, v1alpha1.EffectAsleep))
		ready := func() *metav1.Condition {
			Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			return meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady)
		}
		Eventually(ready).Should(And(beCondition(metav1.ConditionFalse, "InvalidSpec"),
			HaveField("Message", ContainSubstring("there is no ConfigMap company in the namespace "+ns))))
		Consistently(replicas(ns, "web")).Should(BeEquivalentTo(3))

		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "company"},
			Data: map[string]string{"calendar.ics": file("20260302")}}
		create(cm)
		patch(c, `{"metadata":{"annotations":{"looked-at":"1"}}}`)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(ready).Should(beCondition(metav1.ConditionTrue, "Valid"))
		Expect(c.Status.Coming).To(ContainElement(v1alpha1.CalendarComing{Date: "2026-03-02", Name: "move"}))
		Expect(meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionEventsIgnored)).To(HaveField("Message",
			HavePrefix("line 7: DTSTART is \"soon\"")))

		cm.Data["calendar.ics"] = file("20260401")
		Expect(env.Client.Update(ctx, cm)).To(Succeed())
		patch(c, `{"metadata":{"annotations":{"looked-at":"2"}}}`)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
	})

	It("that is deleted makes its schedules invalid, and they change nothing until the calendar is back", func() {
		clock := startManager()
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		c := calendar("2026-03-02")
		nightly(ns, "nights", on(c, v1alpha1.EffectAsleep))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))

		Expect(env.Client.Delete(ctx, c)).To(Succeed())
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(
			beCondition(metav1.ConditionFalse, "InvalidSpec"), HaveField("Message", ContainSubstring("spec.calendars[0].name"))))
		create(deployment(ns, "late", 2))
		clock.SetTime(dawn)
		Consistently(counts(ns)).Should(Equal(map[string]int{"late": 2, "web": 0}))

		back := &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Name: c.Name}, Spec: c.Spec}
		create(back)
		Eventually(counts(ns)).Should(Equal(map[string]int{"late": 2, "web": 3}))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
		DeferCleanup(func() { Expect(env.Client.Delete(ctx, back)).To(Succeed()) })
	})

	It("counts the policies that name it", func() {
		startManager()
		ns := newNamespace()
		c := calendar("2026-12-25")
		used := func(g Gomega) int32 {
			var now v1alpha1.Calendar
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(c), &now)).To(Succeed())
			g.Expect(now.Status.Conditions).NotTo(BeEmpty())
			return now.Status.UsedBy
		}
		Eventually(used).Should(BeZero())
		first := nightly(ns, "first", on(c, v1alpha1.EffectAsleep))
		nightly(ns, "second", on(c, v1alpha1.EffectAwake))
		Eventually(used).Should(BeEquivalentTo(2))
		remove(first)
		Eventually(used).Should(BeEquivalentTo(1))
		patch(&v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "second"}}, `{"spec":{"calendars":null}}`)
		Eventually(used).Should(BeZero())
	})
})
