package schedules

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
)

var _ = Describe("flyball.dev/hold-until", func() {
	until := scene.Dusk.Add(3 * time.Hour)

	It("holds objects that no policy selects, and restores the originals at the end", func() {
		clock := scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		web, api := autoscaler(ns, "web", 2, 5), scene.Deployment(ns, "api", 3)
		scene.Create(web, api)
		for _, obj := range []client.Object{web, api} {
			scene.Patch(obj, scene.AnnotationPatch(v1alpha1.AnnotationHoldUntil, until.Format(time.RFC3339)))
		}
		Eventually(behavior(ns)).Should(HaveField("ScaleUp.SelectPolicy", HaveValue(Equal(autoscalingv2.DisabledPolicySelect))))
		paused := func(g Gomega) bool {
			var d appsv1.Deployment
			g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(api), &d)).To(Succeed())
			return d.Spec.Paused
		}
		Eventually(paused).Should(BeTrue())
		By("a change by hand is corrected")
		scene.Patch(api, `{"spec":{"paused":false}}`)
		Eventually(paused).Should(BeTrue())

		clock.SetTime(until)
		Eventually(behavior(ns)).Should(BeNil())
		Eventually(paused).Should(BeFalse())
	})

	It("stays in force while a schedule puts the target to sleep and wakes it, and ends with the annotation", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		web := autoscaler(ns, "web", 2, 5)
		scene.Create(scene.Deployment(ns, "web", 3), web)
		s := scene.NightlyOver(ns, func(s *v1alpha1.Schedule) {
			s.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
		})
		scene.Patch(web, scene.AnnotationPatch(v1alpha1.AnnotationHoldUntil, scene.Dawn.Add(2*time.Hour).Format(time.RFC3339)))
		Eventually(behavior(ns)).ShouldNot(BeNil())
		clock.SetTime(scene.Dusk)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Expect(behavior(ns)(Default)).NotTo(BeNil())
		clock.SetTime(scene.Dawn)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		Expect(behavior(ns)(Default)).NotTo(BeNil())
		scene.Patch(web, scene.AnnotationPatch(v1alpha1.AnnotationHoldUntil, ""))
		Eventually(behavior(ns)).Should(BeNil())
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
	})
})
