package trigger

import (
	"os/exec"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// series reads the values of a policy's metric by the label by. If by is empty, the value has the key "".
func series(m *harness.Manager, metric, policy, by string) func(Gomega) map[string]float64 {
	return func(g Gomega) map[string]float64 {
		families, err := m.Registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		out := map[string]float64{}
		for _, f := range families {
			if f.GetName() != metric {
				continue
			}
			for _, s := range f.GetMetric() {
				if labelOf(s, "policy_kind") == "Trigger" && labelOf(s, "policy") == policy {
					out[labelOf(s, by)] = s.GetGauge().GetValue()
				}
			}
		}
		return out
	}
}

func labelOf(s *dto.Metric, name string) string {
	for _, l := range s.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

var _ = Describe("The report of a Trigger", func() {
	low := daily("low", 1, "08:00", "12:00", values(2, 6))
	high := daily("high", 9, "09:00", "11:00", values(5, 20))

	It("is the active trigger, the next transition and the values in place", func() {
		clock := start(7)
		ns := newNamespace()
		create(autoscaler(ns, 1, 4))
		t := trigger(ns, autoscalers, low, high)
		create(t)
		Eventually(statusOf(t)).Should(And(HaveField("State", "Idle"), HaveField("Applied", BeEmpty()), HaveField("ActiveTrigger", ""),
			HaveField("NextTransitionTime.Time", BeTemporally("==", hour(8)))))
		clock.SetTime(hour(9))
		Eventually(statusOf(t)).Should(And(
			HaveField("State", "Active"), HaveField("ActiveTrigger", "high"),
			HaveField("PreviousTransitionTime.Time", BeTemporally("==", hour(9))),
			HaveField("NextTransitionTime.Time", BeTemporally("==", hour(11))),
			HaveField("Applied", Equal([]v1alpha1.AppliedValues{{Kind: "HorizontalPodAutoscaler.autoscaling", Namespace: ns, Name: "web", Min: n(5),
				Max: n(20)}})),
		))
		Eventually(conditionOf(t, v1alpha1.ConditionActive)).Should(HaveExactElements("True", "Active",
			ContainSubstring("high since 2026-03-02T09:00:00Z, min 5, max 20")))
		Expect(conditionOf(t, v1alpha1.ConditionAsleep)(Default)).To(BeNil())
		out, err := exec.Command(env.Cluster.Bin("kubectl"), "--kubeconfig", env.Cluster.Kubeconfig, "get", "ftrg", "-n", ns).CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(out))
		Expect(strings.Fields(string(out))).To(ContainElements("STATE", "ACTIVE", "NEXT", "high", "2026-03-02T11:00:00Z"))
	})

	It("is an event when one trigger takes over from another, and at no other time", func() {
		clock := start(7)
		ns := newNamespace()
		create(autoscaler(ns, 1, 4))
		t := trigger(ns, autoscalers, low, high)
		create(t)
		Eventually(shown(t)).Should(Equal([2]string{"Idle", ""}))
		clock.SetTime(hour(8))
		Eventually(reasons(t)).Should(HaveKeyWithValue("Active", 1))
		Expect(reasons(t)(Default)).NotTo(HaveKey("HandedOver"))
		clock.SetTime(hour(9))
		Eventually(reasons(t)).Should(HaveKeyWithValue("HandedOver", 1))
		clock.SetTime(hour(10))
		suite.Still(reasons(t)).Should(HaveKeyWithValue("HandedOver", 1))
		clock.SetTime(hour(11))
		Eventually(reasons(t)).Should(HaveKeyWithValue("HandedOver", 2))
	})

	It("is counted by metrics, which are deleted with the Trigger", func() {
		m := env.Start(harness.Options{Clock: suite.NewClock(hour(10)), Log: GinkgoWriter})
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		ns := newNamespace()
		create(autoscaler(ns, 1, 4))
		t := trigger(ns, autoscalers, low, high)
		create(t)
		Eventually(series(m, "flyball_targets", ns+"/peaks", "state")).Should(HaveKeyWithValue("set", 1.0))
		Eventually(statusOf(t)).Should(HaveField("Targets", HaveValue(Equal(v1alpha1.TargetCounts{Total: 1, Set: 1}))))
		Eventually(series(m, "flyball_next_transition_timestamp_seconds", ns+"/peaks", "")).Should(HaveKeyWithValue("", float64(hour(11).Unix())))
		remove(t)
		Eventually(series(m, "flyball_targets", ns+"/peaks", "state")).Should(BeEmpty())
	})

	It("does not change while nothing happens", func() {
		clock := start(8)
		ns := newNamespace()
		create(autoscaler(ns, 1, 4))
		t := trigger(ns, autoscalers, low, high, daily("lowest", 0, "08:10", "08:20", values(1, 2)))
		create(t)
		Eventually(statusOf(t)).Should(And(HaveField("Applied", HaveLen(1)),
			HaveField("Targets", HaveValue(Equal(v1alpha1.TargetCounts{Total: 1, Set: 1})))))
		Eventually(conditionOf(t, v1alpha1.ConditionReady)).Should(HaveExactElements("True", "AsExpected", Not(BeEmpty())))
		before := t.ResourceVersion
		for _, minute := range []time.Duration{5, 10, 15, 20, 25} {
			clock.SetTime(hour(8).Add(minute * time.Minute))
			suite.Still(func(g Gomega) string {
				g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(t), t)).To(Succeed())
				return t.ResourceVersion
			}).WithTimeout(200 * time.Millisecond).Should(Equal(before))
		}
	})
})
