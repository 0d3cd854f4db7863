package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

var _ = Describe("flyball.dev/hold-until", func() {
	until := dusk.Add(3 * time.Hour)

	It("holds objects that no policy selects, and restores the originals at the end", func() {
		clock := startManagerAsleep()
		ns := newNamespace()
		web, api := autoscaler(ns, "web", 2, 5), deployment(ns, "api", 3)
		create(web, api)
		for _, obj := range []client.Object{web, api} {
			patch(obj, annotation(v1alpha1.AnnotationHoldUntil, until.Format(time.RFC3339)))
		}
		Eventually(behavior(ns)).Should(HaveField("ScaleUp.SelectPolicy", HaveValue(Equal(autoscalingv2.DisabledPolicySelect))))
		paused := func(g Gomega) bool {
			var d appsv1.Deployment
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(api), &d)).To(Succeed())
			return d.Spec.Paused
		}
		Eventually(paused).Should(BeTrue())
		By("a change by hand is corrected")
		patch(api, `{"spec":{"paused":false}}`)
		Eventually(paused).Should(BeTrue())

		clock.SetTime(until)
		Eventually(behavior(ns)).Should(BeNil())
		Eventually(paused).Should(BeFalse())
	})

	It("stays in force while a schedule puts the target to sleep and wakes it, and ends with the annotation", func() {
		clock := startManager()
		ns := newNamespace()
		web := autoscaler(ns, "web", 2, 5)
		create(deployment(ns, "web", 3), web)
		s := nightlyOver(ns, func(s *v1alpha1.Schedule) {
			s.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
		})
		patch(web, annotation(v1alpha1.AnnotationHoldUntil, dawn.Add(2*time.Hour).Format(time.RFC3339)))
		Eventually(behavior(ns)).ShouldNot(BeNil())
		clock.SetTime(dusk)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		Expect(behavior(ns)(Default)).NotTo(BeNil())
		clock.SetTime(dawn)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
		Expect(behavior(ns)(Default)).NotTo(BeNil())
		patch(web, annotation(v1alpha1.AnnotationHoldUntil, ""))
		Eventually(behavior(ns)).Should(BeNil())
		Expect(env.Client.Delete(ctx, s)).To(Succeed())
	})
})
