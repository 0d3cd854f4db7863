package tortoise

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/tuning/measure"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/integration/suite"
)

// verticals lists the VerticalPodAutoscalers of a namespace.
func verticals(namespace string) func(Gomega) []unstructured.Unstructured {
	return func(g Gomega) []unstructured.Unstructured {
		all := &unstructured.UnstructuredList{}
		all.SetAPIVersion("autoscaling.k8s.io/v1")
		all.SetKind("VerticalPodAutoscalerList")
		g.Expect(env.Client.List(ctx, all, client.InNamespace(namespace))).To(Succeed())
		return all.Items
	}
}

// foreign creates, or edits, another user's VerticalPodAutoscaler for the Deployment web. Its recommender recommends at
// least 1.5 GiB.
func foreign(namespace, mode string) {
	GinkgoHelper()
	Expect(env.Apply(ctx, fmt.Appendf(nil,
		`{apiVersion: autoscaling.k8s.io/v1, kind: VerticalPodAutoscaler, metadata: {namespace: %s, name: theirs},
  spec: {targetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, updatePolicy: {updateMode: %q},
    resourcePolicy: {containerPolicies: [{containerName: "*", minAllowed: {memory: 1536Mi}}]}}}`, namespace, mode))).To(Succeed())
}

func fromVertical(create bool) func(*v1alpha1.TortoiseSpec) {
	return func(s *v1alpha1.TortoiseSpec) {
		s.History.Source, s.History.Create = v1alpha1.HistoryVertical, create
	}
}

// The recommender is the real one; see the level of the cluster.
var _ = Describe("A Tortoise beside VerticalPodAutoscalers", Label("vertical"), func() {
	It("creates a recommending one, sizes requests by its recommendation, and deletes it at the end", func() {
		ns := web()
		ownWeb := owned(&appsv1.Deployment{}, ns, "web")(Default)
		ownHPA := owned(&autoscalingv2.HorizontalPodAutoscaler{}, ns, "web")(Default)
		remember(ns, learnt(ns))
		clock := clocktesting.NewFakeClock(noon.Add(time.Minute))
		start(clock)
		t := newTortoise(ns, v1alpha1.TortoiseAuto, fromVertical(true), func(s *v1alpha1.TortoiseSpec) { s.Vertical.Cooldown = "5s" })
		Eventually(verticals(ns)).Should(HaveLen(1))
		made := verticals(ns)(Default)[0]
		Expect(made.GetOwnerReferences()).To(ConsistOf(And(HaveField("Kind", "Deployment"), HaveField("Name", "web"))))
		Expect(made.GetLabels()).To(HaveKeyWithValue(v1alpha1.LabelMade, "true"))
		mode, _, err := unstructured.NestedString(made.Object, "spec", "updatePolicy", "updateMode")
		Expect(err).NotTo(HaveOccurred())
		Expect(mode).To(Equal("Off"))

		By("following the recommender, by steps")
		Eventually(func(g Gomega) {
			clock.Step(time.Second)
			st := recommendation(ns, "web")(g)
			g.Expect(st.Containers).To(HaveLen(1))
			g.Expect(st.Containers[0].Memory.Reason).To(ContainSubstring("VerticalPodAutoscaler " + made.GetName() + " recommends"))
			g.Expect(st.Containers[0].Memory.Applied).To(BeTrue())
			g.Expect(requests(ns, "web")(g)).NotTo(HaveKeyWithValue("memory", "1Gi"))
		}).Should(Succeed())
		reader, err := measure.NewVerticals(env.Config, time.Minute)
		Expect(err).NotTo(HaveOccurred())
		all, err := reader.List(ctx)
		Expect(err).NotTo(HaveOccurred())
		target := workload.Ref{Namespace: ns, Name: "web"}
		target.Group, target.Kind = "apps", "Deployment"
		Expect(all.Of(target)).To(HaveLen(1))
		said := all.Of(target)[0].Recommended["main"]
		Expect(said.Target.MemoryBytes).To(BeNumerically(">", 100<<20))
		Expect(said.Target.MemoryBytes).To(BeNumerically("<", 1<<30))
		Expect(said.Lower.MemoryBytes).To(And(BeNumerically(">", 0), BeNumerically("<=", said.Target.MemoryBytes)))
		Expect(said.Uncapped.MilliCPU).To(BeNumerically(">", 0))

		By("restoring")
		suite.Remove(ctx, env, t)
		Eventually(verticals(ns)).Should(BeEmpty())
		Eventually(owned(&appsv1.Deployment{}, ns, "web")).Should(MatchJSON(ownWeb))
		Eventually(owned(&autoscalingv2.HorizontalPodAutoscaler{}, ns, "web")).Should(MatchJSON(ownHPA))
	})

	It("has the numbers of the pure packages for the recommendation, and changes nothing with mode Off", func() {
		ns := web()
		ownWeb := owned(&appsv1.Deployment{}, ns, "web")(Default)
		remember(ns, learnt(ns))
		start(clocktesting.NewFakeClock(noon.Add(time.Minute)))
		t := newTortoise(ns, v1alpha1.TortoiseOff, fromVertical(true))
		Eventually(verticals(ns)).Should(HaveLen(1))
		foreign(ns, "Off")
		Eventually(func(g Gomega) {
			st := recommendation(ns, "web")(g)
			g.Expect(st.Containers).To(HaveLen(1))
			g.Expect(st.Containers[0].Memory.Recommended.String()).To(Equal("1536Mi"))
			g.Expect(st.Containers[0].Memory.Reason).To(HavePrefix("1536 MiB: VerticalPodAutoscaler theirs recommends 1536, from 1536 to"))
		}).Should(Succeed())
		names := func(g Gomega) (names []string) {
			for _, v := range verticals(ns)(g) {
				names = append(names, v.GetName())
			}
			return names
		}
		Eventually(names).Should(ConsistOf("theirs"), "beside somebody else's none stays that was made")
		Expect(owned(&appsv1.Deployment{}, ns, "web")(Default)).To(MatchJSON(ownWeb))
		suite.Remove(ctx, env, t)
		suite.Still(names).Should(ConsistOf("theirs"))
	})

	It("names an acting one of another owner, leaves requests to it, and tunes them once it stops acting", func() {
		ns := web()
		foreign(ns, "Recreate")
		ownWeb := owned(&appsv1.Deployment{}, ns, "web")(Default)
		remember(ns, learnt(ns))
		start(clocktesting.NewFakeClock(noon.Add(time.Minute)))
		newTortoise(ns, v1alpha1.TortoiseAuto)
		Eventually(readyOf(ns)).Should(And(HaveField("Reason", "TargetsFailed"),
			HaveField("Message", ContainSubstring("VerticalPodAutoscaler theirs (update mode Recreate)"))))
		Eventually(func(g Gomega) { g.Expect(*hpa(ns)(g).MinReplicas).NotTo(BeEquivalentTo(5)) }).Should(Succeed())
		still(owned(&appsv1.Deployment{}, ns, "web")).Should(MatchJSON(ownWeb))
		foreign(ns, "Off")
		Eventually(requests(ns, "web")).ShouldNot(HaveKeyWithValue("memory", "1Gi"))
		Eventually(readyOf(ns)).Should(HaveField("Status", BeEquivalentTo("True")))
	})

	It("reports that none exists, and creates none unasked", func() {
		ns := web()
		remember(ns, learnt(ns))
		start(clocktesting.NewFakeClock(noon.Add(time.Minute)))
		newTortoise(ns, v1alpha1.TortoiseAuto, fromVertical(false))
		Eventually(readyOf(ns)).Should(And(HaveField("Reason", "TargetsFailed"),
			HaveField("Message", ContainSubstring("none is for it: requests stay"))))
		still(verticals(ns)).Should(BeEmpty())
		Expect(requests(ns, "web")(Default)).To(HaveKeyWithValue("memory", "1Gi"))
	})
})
