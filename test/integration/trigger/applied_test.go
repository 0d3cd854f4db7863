package trigger

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// appliedReplicas reads the sizes that a Trigger reports as applied.
func appliedReplicas(t *v1alpha1.Trigger) func(Gomega) []int64 {
	return func(g Gomega) []int64 {
		var all []int64
		for _, a := range statusOf(t)(g).Applied {
			if a.Replicas != nil {
				all = append(all, *a.Replicas)
			}
		}
		return all
	}
}

var _ = Describe("The size that a Trigger reports as applied", func() {
	for _, kind := range []v1alpha1.KindRef{deployments, autoscalers} {
		It("is left out while it is not in place, with a target of kind "+kind.Kind, func() {
			clock := start(7)
			ns := newNamespace()
			create(deployment(ns, 3), autoscaler(ns, 1, 10))
			t := trigger(ns, kind, daily("day", 1, "08:00", "22:00", size(6)))
			create(t)
			clock.SetTime(hour(8))
			Eventually(appliedReplicas(t)).Should(Equal([]int64{6}))
			By("the autoscaler continues from there")
			scale(ns, 9)
			Eventually(appliedReplicas(t)).Should(BeEmpty())
			scale(ns, 6)
			Eventually(appliedReplicas(t)).Should(Equal([]int64{6}))
			By("a Schedule puts the Deployment to sleep")
			s := &v1alpha1.Schedule{}
			s.Namespace, s.Name = ns, "nights"
			s.Spec.Upscale, s.Spec.Downscale = "0 6 * * *", "0 20 * * *"
			create(s)
			clock.SetTime(hour(20))
			Eventually(replicas(ns)).Should(BeEquivalentTo(0))
			Eventually(appliedReplicas(t)).Should(BeEmpty())
			suite.Still(appliedReplicas(t)).Should(BeEmpty())
		})
	}

	It("is the size inside the autoscaler's bounds", func() {
		start(9)
		ns := newNamespace()
		create(deployment(ns, 3), autoscaler(ns, 1, 4))
		t := trigger(ns, autoscalers, daily("day", 1, "08:00", "22:00", v1alpha1.TriggerValues{Min: n(2), Replicas: n(6)}))
		create(t)
		Eventually(statusOf(t)).Should(HaveField("Applied", Equal([]v1alpha1.AppliedValues{
			{Kind: "HorizontalPodAutoscaler.autoscaling", Namespace: ns, Name: "web", Min: n(2), Replicas: n(4)}})))
		scale(ns, 3)
		Eventually(statusOf(t)).Should(HaveField("Applied", Equal([]v1alpha1.AppliedValues{
			{Kind: "HorizontalPodAutoscaler.autoscaling", Namespace: ns, Name: "web", Min: n(2)}})), "the bound is in place, the size is not")
	})

	It("is the held size if the object has no autoscaler", func() {
		start(9)
		ns := newNamespace()
		create(deployment(ns, 3))
		t := trigger(ns, deployments, daily("day", 1, "08:00", "22:00", size(6)))
		create(t)
		Eventually(appliedReplicas(t)).Should(Equal([]int64{6}))
	})
})
