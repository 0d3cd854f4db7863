package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("At night", func() {
	It("another level in the spec takes effect at once, and the original stays known", func() {
		clock := startManagerAsleep()
		ns := newNamespace()
		create(deployment(ns, "web", 5))
		s := nightly(ns, "nights")
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		patch(s, `{"spec":{"asleepAs":{"percent":40}}}`)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(2))
		patch(s, `{"spec":{"asleepAs":{"percent":null,"replicas":1}}}`)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(1))
		patch(s, `{"spec":{"asleepAs":null}}`)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		clock.SetTime(dawn)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(5))
		Eventually(ledger(ns, "web")).Should(BeEmpty())
	})

	It("other hours in the spec take effect at once", func() {
		startManagerAsleep()
		ns := newNamespace()
		create(deployment(ns, "web", 5))
		s := nightly(ns, "nights")
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		patch(s, `{"spec":{"downscale":"0 22 * * *"}}`)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(5))
		patch(s, `{"spec":{"timeZone":"Europe/Skopje"}}`) // an hour ahead
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
	})

	It("an object recreated under the name of a sleeping one sleeps with its own original", func() {
		clock := startManagerAsleep()
		ns := newNamespace()
		old := deployment(ns, "web", 5)
		create(old)
		nightly(ns, "nights")
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		Expect(env.Client.Delete(ctx, old)).To(Succeed())
		create(deployment(ns, "web", 2))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		clock.SetTime(dawn)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(2))
	})

	It("objects that an adapted object controls are left to it", func() {
		startManagerAsleep()
		ns := newNamespace()
		web := deployment(ns, "web", 3)
		create(web)
		owned := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web-1", Labels: web.Labels}}
		owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(web, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
		owned.Spec.Replicas, owned.Spec.Selector, owned.Spec.Template = web.Spec.Replicas, web.Spec.Selector, web.Spec.Template
		create(owned)
		nightly(ns, "nights")
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
		Expect(versionOf(owned)(Default)).To(Equal(owned.ResourceVersion))
	})

	It("the hours that a window of the day before reaches into are asleep too, in the zone of the schedule", func() {
		friday := time.Date(2026, 3, 6, 21, 0, 0, 0, time.UTC) // 22:00 in Skopje
		clock := suite.NewClock(friday)
		startManagerAt(clock)
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		nightly(ns, "nights", func(r *v1alpha1.ScheduleRules) {
			r.Upscale, r.Downscale, r.TimeZone = "", "", "Europe/Skopje"
			r.Asleep = []v1alpha1.Window{{Name: "nights", Days: []v1alpha1.Day{"Mon", "Tue", "Wed", "Thu", "Fri"}, From: "20:00", To: "08:00"}}
		})
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		saturday := friday.Add(10*time.Hour - time.Second)
		clock.SetTime(saturday)
		Consistently(replicas(ns, "web")).Should(BeEquivalentTo(0))
		clock.SetTime(saturday.Add(time.Second)) // 08:00 in Skopje
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
		clock.SetTime(saturday.Add(12*time.Hour + time.Minute))
		Consistently(replicas(ns, "web")).Should(BeEquivalentTo(3))
	})

	It("a transition that passes while no manager runs is carried out by the next manager", func() {
		clock := suite.NewClock(monday)
		manager := env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
		DeferCleanup(func() { Expect(manager.Stop()).To(Succeed()) })
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		nightly(ns, "nights")
		Eventually(targetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(1)))
		for _, transition := range []struct {
			at   time.Time
			want int
		}{{dusk.Add(time.Minute), 0}, {dawn.Add(time.Minute), 3}} {
			Expect(manager.Stop()).To(Succeed())
			clock.SetTime(transition.at)
			manager = env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
			Eventually(replicas(ns, "web")).Should(BeEquivalentTo(transition.want))
		}
	})
})
