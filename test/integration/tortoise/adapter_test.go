package tortoise

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// withoutAdapter deletes an adapter, and waits until it is gone. The returned function installs it again.
func withoutAdapter(name string) (back func()) {
	GinkgoHelper()
	gone := true
	back = func() {
		GinkgoHelper()
		if gone {
			gone = false
			Expect(env.InstallAdapters(ctx, name)).To(Succeed())
			Expect(env.AwaitAdapters(ctx, name)).To(Succeed())
		}
	}
	DeferCleanup(func() { back() })
	suite.Remove(ctx, env, &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return back
}

var _ = Describe("A Tortoise whose targets lose their adapter", func() {
	It("restores, and continues from its checkpoint once the adapter is back", func() {
		ns := web()
		ownWeb := owned(&appsv1.Deployment{}, ns, "web")(Default)
		ownHPA := owned(&autoscalingv2.HorizontalPodAutoscaler{}, ns, "web")(Default)
		remember(ns, learnt(ns))
		kept := checkpointOf(ns)(Default)
		start(clocktesting.NewFakeClock(noon.Add(time.Minute)))
		t := newTortoise(ns, v1alpha1.TortoiseAuto)
		tuned := func(g Gomega) {
			st := recommendation(ns, "web")(g)
			g.Expect(st.Phase).To(Equal("Working"))
			g.Expect(st.Containers).To(HaveLen(1))
			g.Expect(st.Containers[0].Memory.Applied).To(BeTrue())
		}
		Eventually(tuned).Should(Succeed())
		recommended := &v1alpha1.Recommendation{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "deployment.apps-web"}}
		isBack := func() {
			GinkgoHelper()
			Eventually(func() error { return suite.Vanished(ctx, env, recommended) }).Should(Succeed())
			Expect(owned(&appsv1.Deployment{}, ns, "web")(Default)).To(MatchJSON(ownWeb))
			Eventually(owned(&autoscalingv2.HorizontalPodAutoscaler{}, ns, "web")).Should(MatchJSON(ownHPA))
		}
		back := withoutAdapter("deployments.apps")
		isBack()
		Expect(checkpointOf(ns)(Default)).To(Equal(kept))
		back()
		Eventually(tuned).Should(Succeed())
		Expect(checkpointOf(ns)(Default)).To(Equal(kept))

		By("deleting the policy while the adapter is away")
		back = withoutAdapter("deployments.apps")
		isBack()
		suite.Remove(ctx, env, t)
		Eventually(func() error {
			return suite.Vanished(ctx, env, &v1alpha1.UsageCheckpoint{ObjectMeta: recommended.ObjectMeta})
		}).Should(Succeed())
		back()
	})
})
