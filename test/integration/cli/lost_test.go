package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// warnings collects the warnings of the API server.
type warnings struct{ texts []string }

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.texts = append(w.texts, text)
}

// aLaunch is a calendar with an event of one hour on 4 March 2026 in an unknown zone.
const aLaunch = `
apiVersion: flyball.dev/v1alpha1
kind: Calendar
metadata: {name: %s}
spec:
  ics:
    inline: |
      BEGIN:VCALENDAR
      BEGIN:VEVENT
      SUMMARY:Launch
      DTSTART;TZID=Headquarters:20260304T100000
      DURATION:PT1H
      END:VEVENT
      BEGIN:VEVENT
      SUMMARY:Audit
      DTSTART;VALUE=DATE:20260320
      END:VEVENT
      END:VCALENDAR
`

var _ = Describe("A freeze of which an event cannot be read", func() {
	It("denies changes on the day of the event, and says everywhere that it cannot say", func() {
		ns := suite.Namespace(ctx, env)
		apply("%s", manifest("apps/v1", "Deployment", ns, "free", kindsOfTable[0].spec))
		apply(aLaunch, ns)
		DeferCleanup(func() {
			Expect(env.Client.DeleteAllOf(ctx, &v1alpha1.ChangeFreeze{}, client.InNamespace(ns))).To(Succeed())
			Expect(env.Client.DeleteAllOf(ctx, &v1alpha1.Schedule{}, client.InNamespace(ns))).To(Succeed())
			Expect(env.Client.Delete(ctx, &v1alpha1.Calendar{ObjectMeta: objectMeta("", ns)})).To(Succeed())
		})
		lost := `Calendar ` + ns + `: "Launch", line 4: DTSTART: the time zone "Headquarters" is no IANA name`

		By("applying the freeze and a schedule")
		freeze := &v1alpha1.ChangeFreeze{ObjectMeta: objectMeta(ns, "launches")}
		freeze.Spec.Calendars = []v1alpha1.FreezeCalendar{{Name: ns, Effect: v1alpha1.EffectFrozen}}
		schedule := &v1alpha1.Schedule{ObjectMeta: objectMeta(ns, "nights")}
		schedule.Spec.Upscale, schedule.Spec.Downscale = "0 8 * * *", "0 20 * * *"
		schedule.Spec.Calendars = []v1alpha1.CalendarRef{{Name: ns, Effect: v1alpha1.EffectAwake}}
		heard := &warnings{}
		config := rest.CopyConfig(env.Config)
		config.WarningHandlerWithContext = heard
		warned, err := client.New(config, client.Options{Scheme: app.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		again := &v1alpha1.Calendar{ObjectMeta: objectMeta("", "again")}
		again.Spec.ICS = &v1alpha1.CalendarICS{Inline: strings.ReplaceAll(strings.SplitAfter(aLaunch, "inline: |\n")[1], "      ", "")}
		Expect(warned.Create(ctx, again, client.DryRunAll)).To(Succeed())
		Expect(heard.texts).To(ContainElement(HavePrefix(`spec.ics.inline: an event is ignored: "Launch", line 4: DTSTART`)))
		for _, policy := range []client.Object{freeze, schedule} {
			Eventually(func(g Gomega) string { // the manager learns of the calendar by a watch
				heard.texts = nil
				g.Expect(warned.Create(ctx, policy.DeepCopyObject().(client.Object), client.DryRunAll)).To(Succeed())
				return strings.Join(heard.texts, "\n")
			}).Should(ContainSubstring(lost))
			Expect(env.Client.Create(ctx, policy)).To(Succeed())
		}

		By("reading the conditions of both")
		for policy, conditions := range map[client.Object]*[]metav1.Condition{
			freeze: &freeze.Status.Conditions, schedule: &schedule.Status.Conditions} {
			Eventually(func(g Gomega) string {
				g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(policy), policy)).To(Succeed())
				found := meta.FindStatusCondition(*conditions, v1alpha1.ConditionEventsIgnored)
				g.Expect(found).NotTo(BeNil())
				return found.Message
			}).Should(ContainSubstring(lost))
		}
		doctor := run("", "", "doctor", "-n", ns)
		for _, policy := range []string{"ChangeFreeze/" + ns + "/launches: ", "Schedule/" + ns + "/nights: "} {
			Expect(doctor.Out).To(ContainSubstring(policy + "calendars: " + lost))
		}
		Expect(run("", "", "explain", "changefreeze/launches", "-n", ns).Out).To(ContainSubstring(lost))
		Expect(run("", "", "explain", "schedule/nights", "-n", ns).Out).To(ContainSubstring(lost))

		coming := run("viewer", "", "explain", "calendar/"+ns, "-n", ns)
		Expect(coming.Code).To(Equal(0), coming.ErrOut)
		Expect(coming.Out).To(And(ContainSubstring("2026-03-20   Audit   line 7 of spec.ics.inline"), ContainSubstring(lost),
			MatchRegexp("2026-03-03 to 2026-03-05 +Launch")))

		asker := pipelines.of(ns, "asker", "people")
		web := object("apps/v1", "Deployment", ns, "free")
		remove := func() error { return client.NewDryRunClient(as("alice")).Delete(ctx, web.DeepCopy()) }
		question := fmt.Sprintf("{action: Delete, object: {group: apps, kind: Deployment, namespace: %s, name: free}}", ns)
		for _, day := range []int{2, 4, 6} {
			By(fmt.Sprintf("asking on day %d", day))
			clock.SetTime(time.Date(2026, 3, day, 12, 0, 0, 0, time.UTC))
			got := run("alice:people", "", "can-i", "delete", "deployment/free", "-n", ns)
			answer := asker.ask(question).Review.Status
			Expect(answer.Allowed).To(Equal(day != 4))
			Expect(answer.Undecided).To(Equal(day == 4))
			if day != 4 {
				Expect(remove()).To(Succeed())
				Expect(got.Code).To(Equal(0), got.ErrOut)
				continue
			}
			Eventually(remove).Should(MatchError(ContainSubstring("ChangeFreeze/" + ns + // the API server learns of the webhook by a watch
				"/launches denies Delete: it cannot be said whether changes are frozen now, because of " + lost)))
			Expect(got.Code).To(Equal(2), got.ErrOut)
			Expect(got.Out).To(HavePrefix("cannot say: Delete Deployment.apps/" + ns + "/free"))
			Expect(answer.Denials[0].Doubt).To(ContainSubstring(lost))
			Expect(run("", "", "explain", "deployment/free", "-n", ns).Out).To(MatchRegexp("Delete +cannot say .*" + "Launch"))
		}
	})
})
