package tortoise

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// withoutVerticals removes the kind VerticalPodAutoscaler with all its objects, until the returned function is called.
func withoutVerticals() (back func()) {
	GinkgoHelper()
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	Expect(env.Client.Get(ctx, client.ObjectKey{Name: "verticalpodautoscalers.autoscaling.k8s.io"}, crd)).To(Succeed())
	kept := crd.DeepCopy()
	suite.Remove(ctx, env, crd)
	gone := true
	back = func() {
		if !gone {
			return
		}
		gone = false
		kept.SetResourceVersion("")
		kept.SetUID("")
		kept.SetFinalizers(nil)
		unstructured.RemoveNestedField(kept.Object, "status")
		Expect(env.Client.Create(ctx, kept)).To(Succeed())
		Expect(env.AwaitCRDs(ctx)).To(Succeed())
	}
	DeferCleanup(func() { back() })
	return back
}

// recommends writes the recommendation of a VerticalPodAutoscaler in place of the cluster's recommender.
func recommends(g Gomega, v unstructured.Unstructured, memory string) {
	amounts := map[string]string{"cpu": "300m", "memory": memory}
	v.Object["status"] = map[string]any{"recommendation": map[string]any{"containerRecommendations": []any{
		map[string]any{"containerName": "main", "target": amounts, "lowerBound": amounts, "upperBound": amounts, "uncappedTarget": amounts},
	}}}
	g.Expect(env.Client.Status().Update(ctx, &v)).To(Succeed())
}

var _ = Describe("A Tortoise that loses the kind VerticalPodAutoscaler", Label("vertical"), func() {
	made := func(ns string) func(Gomega) types.UID {
		return func(g Gomega) types.UID {
			all := verticals(ns)(g)
			g.Expect(all).To(HaveLen(1))
			return all[0].GetUID()
		}
	}

	It("reports it, keeps the applied requests, and continues by itself once the kind is back", func() {
		ns, other := web(), web()
		ownWeb := owned(&appsv1.Deployment{}, ns, "web")(Default)
		ownHPA := owned(&autoscalingv2.HorizontalPodAutoscaler{}, ns, "web")(Default)
		remember(ns, learnt(ns))
		remember(other, learnt(other))
		clock := clocktesting.NewFakeClock(noon.Add(time.Minute))
		start(clock)
		t := newTortoise(ns, v1alpha1.TortoiseAuto, fromVertical(true), func(s *v1alpha1.TortoiseSpec) { s.Vertical.Cooldown = "5s" })
		newTortoise(other, v1alpha1.TortoiseAuto)
		sized := func(g Gomega) {
			clock.Step(time.Second)
			st := recommendation(ns, "web")(g)
			g.Expect(st.Containers).To(HaveLen(1))
			g.Expect(st.Containers[0].Memory.Reason).To(ContainSubstring("VerticalPodAutoscaler deployment.apps-web recommends"))
			g.Expect(st.Containers[0].Memory.Applied).To(BeTrue())
			g.Expect(requests(ns, "web")(g)).NotTo(HaveKeyWithValue("memory", "1Gi"))
			g.Expect(readyOf(ns)(g)).To(HaveField("Status", BeEquivalentTo("True")))
		}
		Eventually(sized).Should(Succeed())
		before := made(ns)(Default)

		By("removing the kind")
		back := withoutVerticals()
		Eventually(readyOf(ns)).Should(And(HaveField("Reason", "NoVerticalPodAutoscalers"),
			HaveField("Message", ContainSubstring("the cluster does not have that kind"))))
		Expect(readyOf(other)(Default)).To(HaveField("Status", BeEquivalentTo("True")), "it needs none")
		memory := func(g Gomega) string { return requests(ns, "web")(g)["memory"] }
		inPlace := memory(Default)
		for range 5 {
			step(clock, time.Second)
			Expect(memory(Default)).To(Equal(inPlace))
			Expect(readyOf(ns)(Default)).To(HaveField("Reason", "NoVerticalPodAutoscalers"))
		}
		Expect(inPlace).NotTo(Equal("1Gi"))

		By("restoring it")
		back()
		Eventually(made(ns)).ShouldNot(Equal(before))
		Eventually(func(g Gomega) {
			recommends(g, verticals(ns)(g)[0], "1500Mi") // the recommender may be back, and say something else
			sized(g)
			g.Expect(requests(ns, "web")(g)).To(HaveKeyWithValue("memory", "1500Mi"))
		}).Should(Succeed())

		By("deleting the policy while the kind is away")
		back = withoutVerticals()
		suite.Remove(ctx, env, t)
		Eventually(owned(&appsv1.Deployment{}, ns, "web")).Should(MatchJSON(ownWeb))
		Eventually(owned(&autoscalingv2.HorizontalPodAutoscaler{}, ns, "web")).Should(MatchJSON(ownHPA))
		back()
	})
})
