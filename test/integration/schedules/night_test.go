package schedules

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("At night", func() {
	It("another level in the spec takes effect at once, and the original stays known", func() {
		clock := scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 5))
		s := scene.Nightly(ns, "nights")
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		scene.Patch(s, `{"spec":{"asleepAs":{"percent":40}}}`)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(2))
		scene.Patch(s, `{"spec":{"asleepAs":{"percent":null,"replicas":1}}}`)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(1))
		scene.Patch(s, `{"spec":{"asleepAs":null}}`)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		clock.SetTime(scene.Dawn)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(5))
		Eventually(scene.Ledger(ns, "web")).Should(BeEmpty())
	})

	It("other hours in the spec take effect at once", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 5))
		s := scene.Nightly(ns, "nights")
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		scene.Patch(s, `{"spec":{"downscale":"0 22 * * *"}}`)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(5))
		scene.Patch(s, `{"spec":{"timeZone":"Europe/Skopje"}}`) // an hour ahead
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
	})

	It("an object recreated under the name of a sleeping one sleeps with its own original", func() {
		clock := scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		old := scene.Deployment(ns, "web", 5)
		scene.Create(old)
		scene.Nightly(ns, "nights")
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Expect(scene.Env.Client.Delete(scene.Ctx, old)).To(Succeed())
		scene.Create(scene.Deployment(ns, "web", 2))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		clock.SetTime(scene.Dawn)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(2))
	})

	It("objects that an adapted object controls are left to it", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		web := scene.Deployment(ns, "web", 3)
		scene.Create(web)
		owned := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web-1", Labels: web.Labels}}
		owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(web, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
		owned.Spec.Replicas, owned.Spec.Selector, owned.Spec.Template = web.Spec.Replicas, web.Spec.Selector, web.Spec.Template
		scene.Create(owned)
		scene.Nightly(ns, "nights")
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
		Expect(scene.VersionOf(owned)(Default)).To(Equal(owned.ResourceVersion))
	})

	It("objects whose controller has no adapter stay as they are, and the policy names the adapter until it is used", func() {
		scene.StartManagerAsleep()
		ns, press := scene.NewNamespace(), scene.InstallKind()
		daily := scene.Press(press, ns, "daily", 3)
		web := scene.Deployment(ns, "web", 3)
		scene.Create(web)
		owned := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "daily-1", Labels: web.Labels}}
		owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(daily, daily.GroupVersionKind())}
		owned.Spec.Replicas, owned.Spec.Selector, owned.Spec.Template = web.Spec.Replicas, web.Spec.Selector, web.Spec.Template
		scene.Create(owned)
		written := scene.Follow(owned)
		scene.Nightly(ns, "nights")
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 2, Asleep: 1, Unable: 1}))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionSelecting)).Should(And(
			scene.BeCondition(metav1.ConditionTrue, "Controlled"), HaveField("Message", HavePrefix(
				fmt.Sprintf("1 object is controlled by Press.%s: put the adapter %s to use", press.Group, press.Name())))))

		By("the adapter comes")
		scene.Adapt(press.Adapter(".spec.replicas"))
		Eventually(scene.PressCount(press, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 2, Asleep: 2}))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionSelecting)).Should(scene.BeCondition(metav1.ConditionTrue, "Selected"))
		Expect(written.Values("spec", "replicas")).To(HaveEach("3"))
	})

	It("the hours that a window of the day before reaches into are asleep too, in the zone of the schedule", func() {
		friday := time.Date(2026, 3, 6, 21, 0, 0, 0, time.UTC) // 22:00 in Skopje
		clock := suite.NewClock(friday)
		scene.StartManagerAt(clock)
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.Nightly(ns, "nights", func(r *v1alpha1.ScheduleRules) {
			r.Upscale, r.Downscale, r.TimeZone = "", "", "Europe/Skopje"
			r.Asleep = []v1alpha1.Window{{Name: "nights", Days: []v1alpha1.Day{"Mon", "Tue", "Wed", "Thu", "Fri"}, From: "20:00", To: "08:00"}}
		})
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		saturday := friday.Add(10*time.Hour - time.Second)
		clock.SetTime(saturday)
		suite.Still(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		clock.SetTime(saturday.Add(time.Second)) // 08:00 in Skopje
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		clock.SetTime(saturday.Add(12*time.Hour + time.Minute))
		suite.Still(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
	})

	It("a transition that passes while no manager runs is carried out by the next manager", func() {
		clock := suite.NewClock(scene.Monday)
		manager := scene.Env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
		DeferCleanup(func() { Expect(manager.Stop()).To(Succeed()) })
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.Nightly(ns, "nights")
		Eventually(scene.TargetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(1)))
		for _, transition := range []struct {
			at   time.Time
			want int
		}{{scene.Dusk.Add(time.Minute), 0}, {scene.Dawn.Add(time.Minute), 3}} {
			Expect(manager.Stop()).To(Succeed())
			clock.SetTime(transition.at)
			manager = scene.Env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
			Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(transition.want))
		}
	})
})
