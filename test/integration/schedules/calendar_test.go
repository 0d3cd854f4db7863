package schedules

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// calendar creates a Calendar of one date with a name of its own.
func calendar(date string) *v1alpha1.Calendar {
	GinkgoHelper()
	c := &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("holidays-%d", scene.Schedules.Add(1))}}
	c.Spec.Dates = []v1alpha1.CalendarDate{{Date: date, Name: "holiday"}}
	scene.Create(c)
	DeferCleanup(func() { Expect(client.IgnoreNotFound(scene.Env.Client.Delete(scene.Ctx, c))).To(Succeed()) })
	return c
}

func on(c *v1alpha1.Calendar, effect v1alpha1.CalendarEffect) func(*v1alpha1.ScheduleRules) {
	return func(r *v1alpha1.ScheduleRules) { r.Calendars = []v1alpha1.CalendarRef{{Name: c.Name, Effect: effect}} }
}

var _ = Describe("A calendar", func() {
	It("makes its days asleep, from midnight to midnight", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.Nightly(ns, "nights", on(calendar("2026-03-04"), v1alpha1.EffectAsleep))
		wednesday := scene.Monday.AddDate(0, 0, 2)
		clock.SetTime(wednesday)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		clock.SetTime(scene.Dawn.AddDate(0, 0, 2))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
	})

	It("keeps its days awake, the nights that reach into them too", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.Nightly(ns, "nights", on(calendar("2026-03-03"), v1alpha1.EffectAwake))
		clock.SetTime(scene.Dusk)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		midnight := scene.Monday.AddDate(0, 0, 1).Truncate(24 * 60 * 60 * 1e9)
		clock.SetTime(midnight)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		clock.SetTime(scene.Dusk.AddDate(0, 0, 1))
		suite.Still(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		clock.SetTime(midnight.AddDate(0, 0, 1))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
	})

	It("that is edited takes effect at once", func() {
		scene.StartManager()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		c := calendar("2026-03-02")
		scene.Nightly(ns, "nights", on(c, v1alpha1.EffectAsleep))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		scene.Patch(c, `{"spec":{"dates":[{"date":"2026-03-05"}]}}`)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		scene.Patch(c, `{"spec":{"dates":[{"date":"2026-03-02"}]}}`)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
	})

	It("names holidays that were not compared with an official list", func() {
		scene.StartManager()
		c := &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("holidays-%d", scene.Schedules.Add(1))},
			Spec: v1alpha1.CalendarSpec{Holidays: &v1alpha1.CalendarHolidays{Country: "MW"}}}
		scene.Create(c)
		DeferCleanup(func() { Expect(client.IgnoreNotFound(scene.Env.Client.Delete(scene.Ctx, c))).To(Succeed()) })
		unchecked := func() *metav1.Condition {
			Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			return meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionHolidaysUnchecked)
		}
		Eventually(unchecked).Should(HaveField("Message", HavePrefix("the holidays of MW were not checked")))
		scene.Patch(c, `{"spec":{"holidays":{"country":"DE"}}}`)
		Eventually(unchecked).Should(BeNil())
	})

	It("takes events from a file in a ConfigMap, and says which of them it cannot read", func() {
		scene.StartManager()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		file := func(date string) string {
			return "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:move\nDTSTART:" + date +
				"\nEND:VEVENT\nBEGIN:VEVENT\nDTSTART:soon\nEND:VEVENT\nEND:VCALENDAR\n"
		}
		c := &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("company-%d", scene.Schedules.Add(1))}}
		c.Spec.ICS = &v1alpha1.CalendarICS{ConfigMap: &v1alpha1.ConfigMapKey{Namespace: ns, Name: "company"}}
		scene.Create(c)
		DeferCleanup(func() { Expect(client.IgnoreNotFound(scene.Env.Client.Delete(scene.Ctx, c))).To(Succeed()) })
		scene.Nightly(ns, "nights", on(c, v1alpha1.EffectAsleep))
		ready := func() *metav1.Condition {
			Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			return meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionReady)
		}
		Eventually(ready).Should(And(scene.BeCondition(metav1.ConditionFalse, "InvalidSpec"),
			HaveField("Message", ContainSubstring("there is no ConfigMap company in the namespace "+ns))))
		suite.Still(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))

		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "company"},
			Data: map[string]string{"calendar.ics": file("20260302")}}
		scene.Create(cm)
		scene.Patch(c, `{"metadata":{"annotations":{"looked-at":"1"}}}`)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(ready).Should(scene.BeCondition(metav1.ConditionTrue, "Valid"))
		Expect(c.Status.Coming).To(ContainElement(v1alpha1.CalendarComing{Date: "2026-03-02", Name: "move"}))
		Expect(meta.FindStatusCondition(c.Status.Conditions, v1alpha1.ConditionEventsIgnored)).To(HaveField("Message",
			HavePrefix("line 7: DTSTART is \"soon\"")))

		// kubectl puts a file that is not UTF-8 into binaryData.
		cm.Data, cm.BinaryData = nil, map[string][]byte{"calendar.ics": []byte(strings.ReplaceAll(file("20260401"), "move", "K\xf6ln"))}
		Expect(scene.Env.Client.Update(scene.Ctx, cm)).To(Succeed())
		scene.Patch(c, `{"metadata":{"annotations":{"looked-at":"2"}}}`)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		Eventually(ready).Should(HaveField("Message", "every day is valid; the file is not UTF-8, and is read as Latin-1"))
		Expect(c.Status.Coming).To(ContainElement(v1alpha1.CalendarComing{Date: "2026-04-01", Name: "Köln"}))
	})

	It("that is deleted makes its schedules invalid, and they change nothing until the calendar is back", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		c := calendar("2026-03-02")
		scene.Nightly(ns, "nights", on(c, v1alpha1.EffectAsleep))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))

		Expect(scene.Env.Client.Delete(scene.Ctx, c)).To(Succeed())
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(
			scene.BeCondition(metav1.ConditionFalse, "InvalidSpec"), HaveField("Message", ContainSubstring("spec.calendars[0].name"))))
		scene.Create(scene.Deployment(ns, "late", 2))
		clock.SetTime(scene.Dawn)
		suite.Still(scene.Counts(ns)).Should(Equal(map[string]int{"late": 2, "web": 0}))

		back := &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Name: c.Name}, Spec: c.Spec}
		scene.Create(back)
		Eventually(scene.Counts(ns)).Should(Equal(map[string]int{"late": 2, "web": 3}))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
		DeferCleanup(func() { Expect(scene.Env.Client.Delete(scene.Ctx, back)).To(Succeed()) })
	})

	It("counts the policies that name it", func() {
		scene.StartManager()
		ns := scene.NewNamespace()
		c := calendar("2026-12-25")
		used := func(g Gomega) int32 {
			var now v1alpha1.Calendar
			g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(c), &now)).To(Succeed())
			g.Expect(now.Status.Conditions).NotTo(BeEmpty())
			return now.Status.UsedBy
		}
		Eventually(used).Should(BeZero())
		first := scene.Nightly(ns, "first", on(c, v1alpha1.EffectAsleep))
		scene.Nightly(ns, "second", on(c, v1alpha1.EffectAwake))
		Eventually(used).Should(BeEquivalentTo(2))
		scene.Remove(first)
		Eventually(used).Should(BeEquivalentTo(1))
		scene.Patch(&v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "second"}}, `{"spec":{"calendars":null}}`)
		Eventually(used).Should(BeZero())
	})
})
