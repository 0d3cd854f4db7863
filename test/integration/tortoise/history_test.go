package tortoise

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// checkpointOf reads the UID of the checkpoint of web.
func checkpointOf(namespace string) func(Gomega) types.UID {
	return func(g Gomega) types.UID {
		c := &v1alpha1.UsageCheckpoint{}
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "deployment.apps-web"}, c)).To(Succeed())
		return c.UID
	}
}

// appliedMemory reads the applied memory request of web from the metrics. It is 0 if the metrics have none.
func appliedMemory(m *harness.Manager, namespace string) func(Gomega) float64 {
	return func(g Gomega) float64 { return tunedMemory(m, namespace, "applied")(g)["web"] }
}

// tunedMemory reads memory requests from the metrics, by the name of the target. The parameter of is the kind of
// request, such as applied or proposed.
func tunedMemory(m *harness.Manager, namespace, of string) func(Gomega) map[string]float64 {
	return func(g Gomega) map[string]float64 {
		told := map[string]float64{}
		families, err := m.Registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		for _, f := range families {
			for _, series := range f.GetMetric() {
				labels := map[string]string{}
				for _, l := range series.GetLabel() {
					labels[l.GetName()] = l.GetValue()
				}
				if f.GetName() == "flyball_tuned_request" && labels["target_namespace"] == namespace && labels["resource"] == "memory" &&
					labels["of"] == of {
					told[labels["name"]] = series.GetGauge().GetValue()
				}
			}
		}
		return told
	}
}

var _ = Describe("A Tortoise", func() {
	It("keeps its learnt state while its spec cannot be read, also over a restart", func() {
		ns := web()
		remember(ns, learnt(ns))
		kept := checkpointOf(ns)(Default)
		clock := clocktesting.NewFakeClock(noon.Add(time.Minute))
		t := newTortoise(ns, v1alpha1.TortoiseAuto)
		m := env.Start(optionsAt(clock))
		Eventually(phaseOf(ns, "web")).Should(Equal("Working"))

		By("giving it a contradictory spec, which only the webhook refuses")
		contradict := client.RawPatch(types.MergePatchType,
			[]byte(`{"spec":{"resources":[{"container":"main","min":{"cpu":"2"},"max":{"cpu":"1"}}]}}`))
		Expect(env.Client.Patch(ctx, t, contradict)).To(Succeed())
		unread := func(g Gomega) {
			g.Expect(readyOf(ns)(g).Message).To(ContainSubstring("spec.resources[0].min.cpu"))
		}
		Eventually(unread).Should(Succeed())
		suite.Still(checkpointOf(ns)).Should(Equal(kept))
		Expect(m.Stop()).To(Succeed())
		mark := client.RawPatch(types.MergePatchType, []byte(`{"status":{"conditions":null}}`))
		Expect(env.Client.Status().Patch(ctx, t, mark)).To(Succeed())
		manage(clock, t)
		Eventually(unread).Should(Succeed())
		suite.Still(checkpointOf(ns)).Should(Equal(kept))

		By("repairing it")
		Expect(env.Client.Patch(ctx, t, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"resources":null}}`)))).To(Succeed())
		Eventually(func(g Gomega) { g.Expect(string(readyOf(ns)(g).Status)).To(Equal("True")) }).Should(Succeed())
		Expect(phaseOf(ns, "web")(Default)).To(Equal("Working"))
		Expect(checkpointOf(ns)(Default)).To(Equal(kept))
	})

	It("reports the applied numbers and the mode of a target without pods", func() {
		ns := suite.Namespace(ctx, env)
		Expect(env.Apply(ctx, fmt.Appendf(nil, deployment, ns, "web"))).To(Succeed())
		remember(ns, learnt(ns))
		t := newTortoise(ns, v1alpha1.TortoiseAuto)
		m := manage(clocktesting.NewFakeClock(noon.Add(time.Minute)), t)
		Eventually(func(g Gomega) {
			st := recommendation(ns, "web")(g)
			g.Expect(st.Containers).To(HaveLen(1))
			g.Expect(st.Containers[0].Memory.Applied).To(BeTrue())
			g.Expect(st.Mode).To(Equal(v1alpha1.TortoiseAuto))
		}).Should(Succeed())
		By("reporting it in metrics too, for as long as it lasts")
		Eventually(appliedMemory(m, ns)).Should(BeNumerically(">", 0))
		still(appliedMemory(m, ns)).Should(Equal(820.0 * (1 << 20)))

		By("scaling it to zero, and then switching tuning off")
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
		Expect(env.Patch(ctx, d, `{"spec":{"replicas":0}}`)).To(Succeed())
		Eventually(func(g Gomega) { g.Expect(podsOf(ns)(g)).To(BeEmpty()) }).Should(Succeed())
		Expect(env.Patch(ctx, t, `{"spec":{"mode":"Off"}}`)).To(Succeed())
		Eventually(func(g Gomega) { g.Expect(requests(ns, "web")(g)).To(HaveKeyWithValue("memory", "1Gi")) }).Should(Succeed())
		Eventually(func(g Gomega) {
			st := recommendation(ns, "web")(g)
			g.Expect(st.Mode).To(Equal(v1alpha1.TortoiseOff))
			g.Expect(st.Containers[0].Memory.Applied).To(BeFalse())
		}).Should(Succeed())
	})
})
