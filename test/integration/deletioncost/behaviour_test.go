package deletioncost

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/integration/zones"
)

// costs returns, by pod, the deletion cost and its writer.
func costs(g Gomega, namespace, app string) map[string]string {
	found := map[string]string{}
	for _, p := range podsOf(g, namespace, app) {
		if cost, ok := p.Annotations[workload.CostAnnotation]; ok {
			found[p.Name] = cost + " by " + zones.Writer(p)
		}
	}
	return found
}

// allPlanned waits until all pods of an app are ready and have the planned deletion costs. At least one of the pods has
// a cost then.
func allPlanned(namespace, app string, n int) {
	GinkgoHelper()
	Eventually(ready(namespace, app, n)).Should(Succeed())
	Eventually(planned(namespace, app)).Should(Succeed())
	Expect(costs(Default, namespace, app)).NotTo(BeEmpty())
}

// statusOf reads the status of a policy, once it is about the policy's latest generation.
func statusOf(g Gomega, d *v1alpha1.DeletionCost) v1alpha1.DeletionCostStatus {
	g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
	g.Expect(d.Status.ObservedGeneration).To(Equal(d.Generation))
	return d.Status
}

// metric reads a manager's gauge about a policy. The parameter at is the value of the gauge's label at, if the gauge
// has this label.
func metric(g Gomega, m *harness.Manager, name string, policy client.Object, at string) float64 {
	families, err := m.Registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		for _, one := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range one.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if family.GetName() == name && labels["policy"] == policy.GetNamespace()+"/"+policy.GetName() && labels["at"] == at {
				return one.GetGauge().GetValue()
			}
		}
	}
	g.Expect(name).To(BeEmpty(), "the manager has no such metric")
	return 0
}

// writesOf counts the writes of a policy by their result.
func writesOf(g Gomega, m *harness.Manager, policy client.Object) map[string]int {
	families, err := m.Registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	count := map[string]int{}
	for _, family := range families {
		for _, one := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range one.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if family.GetName() == "flyball_deletion_cost_writes_total" && labels["policy"] == policy.GetNamespace()+"/"+policy.GetName() {
				count[labels["result"]] += int(one.GetCounter().GetValue())
			}
		}
	}
	return count
}

// setBy sets the deletion cost of a pod as another field manager.
func setBy(manager string, p *corev1.Pod, cost string) {
	GinkgoHelper()
	body := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, workload.CostAnnotation, cost)
	Expect(env.Client.Patch(ctx, p, client.RawPatch(types.MergePatchType, []byte(body)), client.FieldOwner(manager))).To(Succeed())
}

var _ = Describe("Costs that Flyball has set", func() {
	var ns string
	var policy *v1alpha1.DeletionCost
	BeforeEach(func() {
		start()
		ns = suite.Namespace(ctx, env)
		newDeployment(ns, "web", 9)
		policy = newPolicy(ns, "zones")
		Expect(env.Client.Create(ctx, policy)).To(Succeed())
		allPlanned(ns, "web", 9)
	})
	gone := func(g Gomega) { g.Expect(costs(g, ns, "web")).To(BeEmpty()) }

	It("are removed with the policy, and the policy waits for that", func() {
		suite.Remove(ctx, env, policy)
		gone(Default)
	})

	It("are removed with a policy that does not wait", func() {
		Expect(env.Client.Delete(ctx, policy)).To(Succeed())
		Expect(client.IgnoreNotFound(env.Patch(ctx, policy, `{"metadata":{"finalizers":null}}`))).To(Succeed())
		Eventually(gone).Should(Succeed())
	})

	It("are removed by any later policy, if theirs was deleted while no manager ran", func() {
		stop()
		Expect(env.Client.Delete(ctx, policy)).To(Succeed())
		Expect(env.Patch(ctx, policy, `{"metadata":{"finalizers":null}}`)).To(Succeed())
		Expect(costs(Default, ns, "web")).NotTo(BeEmpty())
		start()
		other := newPolicy(suite.Namespace(ctx, env), "other")
		Expect(env.Client.Create(ctx, other)).To(Succeed())
		Eventually(gone).Should(Succeed())
	})

	It("are removed when the policy is suspended, and come back", func() {
		Expect(env.Patch(ctx, policy, `{"spec":{"suspend":true}}`)).To(Succeed())
		Eventually(gone).Should(Succeed())
		Eventually(func(g Gomega) {
			st := statusOf(g, policy)
			g.Expect(st.State).To(Equal("Suspended"))
			g.Expect(st.Pods).To(BeZero())
		}).Should(Succeed())
		Expect(env.Patch(ctx, policy, `{"spec":{"suspend":false}}`)).To(Succeed())
		allPlanned(ns, "web", 9)
	})

	It("are removed when a target leaves the selection, by an annotation of the target too", func() {
		web := newDeploymentRef(ns, "web")
		Expect(env.Patch(ctx, policy, `{"spec":{"target":{"annotations":{"example.com/even":"true"}}}}`)).To(Succeed())
		Eventually(gone).Should(Succeed())
		Expect(env.Patch(ctx, web, `{"metadata":{"annotations":{"example.com/even":"true"}}}`)).To(Succeed())
		allPlanned(ns, "web", 9)
		Expect(env.Patch(ctx, web, `{"metadata":{"annotations":{"example.com/even":null}}}`)).To(Succeed())
		Eventually(gone).Should(Succeed())
	})

	It("leave costs of other writers alone, and the status names the writers", func() {
		pods := podsOf(Default, ns, "web")
		setBy("karpenter", pods[0], "77")
		Eventually(func(g Gomega) {
			st := statusOf(g, policy)
			g.Expect(st.ForeignWriters).To(Equal([]v1alpha1.ForeignWriter{{Manager: "karpenter", Pods: 1}}))
			c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionContested)
			g.Expect(c).NotTo(BeNil())
			g.Expect(c.Status).To(Equal(metav1.ConditionTrue))
			g.Expect(c.Message).To(ContainSubstring("karpenter"))
		}).Should(Succeed())
		Eventually(planned(ns, "web")).Should(Succeed())
		Expect(costs(Default, ns, "web")).To(HaveKeyWithValue(pods[0].Name, "77 by karpenter"))
		suite.Remove(ctx, env, policy)
		Expect(costs(Default, ns, "web")).To(Equal(map[string]string{pods[0].Name: "77 by karpenter"}))
	})

	It("are reported in the status", func() {
		Eventually(func(g Gomega) {
			st := statusOf(g, policy)
			g.Expect(st.State).To(Equal("Active"))
			g.Expect(st.Targets.Total).To(BeEquivalentTo(1))
			g.Expect(st.Targets.Pending).To(BeZero())
			g.Expect(st.Pods).To(BeEquivalentTo(9))
			g.Expect(st.WritesLastHour).To(BeNumerically(">=", len(costs(g, ns, "web"))))
			g.Expect(st.Spread).NotTo(BeNil())
			g.Expect(int(st.Spread.Now)).To(Equal(zones.Spread(cluster.Count(podsOf(g, ns, "web")))))
			g.Expect(st.Spread.Half).To(BeNumerically("<=", max(1, st.Spread.Now)))
			ready := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionReady)
			g.Expect(ready.Status).To(Equal(metav1.ConditionTrue), ready.Message)
			g.Expect(meta.IsStatusConditionTrue(st.Conditions, v1alpha1.ConditionActive)).To(BeTrue())
		}).Should(Succeed())
	})

	It("cost no further writes while nothing changes, nor when the manager starts again", func() {
		before, told := costs(Default, ns, "web"), v1alpha1.DeletionCostStatus{}
		Eventually(func(g Gomega) {
			told = statusOf(g, policy)
			g.Expect(told.WritesLastHour).To(BeNumerically(">=", len(before)))
			g.Expect(told.WritesLastHour).To(BeEquivalentTo(writesOf(g, running, policy)["applied"]), "the last write is told of")
			g.Expect(told.Targets.Pending).To(BeZero())
			g.Expect(told.Spread.Half).To(BeNumerically("<=", max(1, told.Spread.Now)), "the status knows the last written costs")
		}).Should(Succeed())
		versions := func(g Gomega) map[string]string {
			found := map[string]string{}
			for _, p := range podsOf(g, ns, "web") {
				found[p.Name] = p.ResourceVersion
			}
			return found
		}
		at := versions(Default)
		stop()
		start()
		suite.Still(versions).Should(Equal(at))
		Expect(costs(Default, ns, "web")).To(Equal(before))
		// The new manager reports the same status and the same metrics.
		Eventually(func(g Gomega) {
			st := statusOf(g, policy)
			g.Expect(st.Pods).To(Equal(told.Pods))
			g.Expect(st.WritesLastHour).To(Equal(told.WritesLastHour))
			g.Expect(st.Spread).To(Equal(told.Spread))
			g.Expect(st.Targets).To(Equal(told.Targets))
			g.Expect(metric(g, running, "flyball_deletion_cost_pods", policy, "")).To(BeEquivalentTo(told.Pods))
			g.Expect(metric(g, running, "flyball_deletion_cost_spread", policy, "now")).To(BeEquivalentTo(told.Spread.Now))
			g.Expect(metric(g, running, "flyball_deletion_cost_spread", policy, "half")).To(BeEquivalentTo(told.Spread.Half))
			g.Expect(metric(g, running, "flyball_deletion_cost_foreign_pods", policy, "")).To(BeZero())
		}).Should(Succeed())
	})

	It("belong to one policy, and the other policy reports that", func() {
		other := newPolicy(ns, "age")
		other.Spec.Algorithm, other.Spec.Priority = "Oldest", 10
		Expect(env.Client.Create(ctx, other)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(statusOf(g, other).Pods).To(BeEquivalentTo(9))
			st := statusOf(g, policy)
			g.Expect(st.Pods).To(BeZero())
			g.Expect(st.Targets.Overridden).To(BeEquivalentTo(1))
			c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionConflicting)
			g.Expect(c.Reason).To(Equal("Overruled"))
			g.Expect(c.Message).To(ContainSubstring("age"))
		}).Should(Succeed())
		suite.Remove(ctx, env, other)
		Eventually(planned(ns, "web")).Should(Succeed())
	})

	It("are removed with the adapter, and the adapter waits for that", func() {
		// A ReplicaSet whose Deployment has no adapter is a target itself, and would get costs anew.
		Expect(env.Patch(ctx, policy.DeepCopy(), `{"spec":{"target":{"kinds":[{"group":"apps","kind":"Deployment"}]}}}`)).To(Succeed())
		Eventually(func(g Gomega) { g.Expect(statusOf(g, policy).Pods).To(BeEquivalentTo(9)) }).Should(Succeed())
		adapter := &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: "deployments.apps"}}
		DeferCleanup(func() { Expect(env.InstallAdapters(ctx, "deployments.apps")).To(Succeed()) })
		suite.Remove(ctx, env, adapter)
		gone(Default)
	})
})

// hold keeps a simulated pod from becoming ready.
const hold = "cluster.flyball.dev/hold"

func newDeploymentRef(namespace, name string) client.Object {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

var _ = Describe("A pod template that sets the cost", func() {
	It("is not overruled", func() {
		start()
		ns := suite.Namespace(ctx, env)
		text := strings.Replace(zones.DeploymentText, "template: {metadata: {labels: {app: %[2]s}}",
			`template: {metadata: {labels: {app: %[2]s}, annotations: {"`+workload.CostAnnotation+`": "5"}}`, 1)
		objs, err := harness.Objects(fmt.Appendf(nil, text, ns, "web", 6))
		Expect(err).NotTo(HaveOccurred())
		Expect(env.Client.Create(ctx, objs[0])).To(Succeed())
		Eventually(ready(ns, "web", 6)).Should(Succeed())
		policy := newPolicy(ns, "zones")
		Expect(env.Client.Create(ctx, policy)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(statusOf(g, policy).ForeignWriters).To(Equal([]v1alpha1.ForeignWriter{{Manager: "kube-controller-manager", Pods: 6}}))
		}).Should(Succeed())
		Expect(costs(Default, ns, "web")).To(HaveEach("5 by kube-controller-manager"))
	})
})

var _ = Describe("A policy for a kind that ignores the cost", func() {
	It("is refused with a condition that has the reason", func() {
		start()
		ns := suite.Namespace(ctx, env)
		policy := newPolicy(ns, "wrong")
		policy.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "StatefulSet"}}
		Expect(env.Client.Create(ctx, policy)).To(Succeed())
		Eventually(func(g Gomega) {
			c := meta.FindStatusCondition(statusOf(g, policy).Conditions, v1alpha1.ConditionReady)
			g.Expect(c).NotTo(BeNil())
			g.Expect(c.Reason).To(Equal("InvalidSpec"))
			g.Expect(c.Message).To(ContainSubstring("StatefulSet.apps"))
			g.Expect(c.Message).To(ContainSubstring("ignores the deletion cost"))
		}).Should(Succeed())
		suite.Remove(ctx, env, policy)
	})
})

var _ = Describe("Pods and nodes", func() {
	It("are planned anew when a node gets another zone", func() {
		start()
		ns := suite.Namespace(ctx, env)
		newDeployment(ns, "web", 12)
		Expect(env.Client.Create(ctx, newPolicy(ns, "zones"))).To(Succeed())
		allPlanned(ns, "web", 12)
		moved := podsOf(Default, ns, "web")[0].Spec.NodeName
		was := cluster.ZoneOf[moved]
		DeferCleanup(func() {
			cluster.ZoneOf[moved] = was
			Expect(env.Patch(ctx, zones.Node(moved), fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, zones.NodeLabel, was))).To(Succeed())
		})
		cluster.ZoneOf[moved] = "zone-d"
		Expect(env.Patch(ctx, zones.Node(moved), fmt.Sprintf(`{"metadata":{"labels":{%q:"zone-d"}}}`, zones.NodeLabel))).To(Succeed())
		Eventually(planned(ns, "web")).Should(Succeed())
	})

	It("get no cost while a roll-out is under way, unless that is asked for", func() {
		start()
		ns := suite.Namespace(ctx, env)
		newDeployment(ns, "web", 12)
		policy := newPolicy(ns, "zones")
		Expect(env.Client.Create(ctx, policy)).To(Succeed())
		allPlanned(ns, "web", 12)
		// The new pods do not become ready, so the roll-out goes on.
		Expect(env.Patch(ctx, newDeploymentRef(ns, "web"),
			fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{"revision":"2"},"annotations":{%q:"true"}}}}}`, hold))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(statusOf(g, policy).Targets.Pending).To(BeEquivalentTo(1))
			c := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionReady)
			g.Expect(c.Message).To(ContainSubstring("a roll-out is under way"))
		}).Should(Succeed())
		costed := func(g Gomega) int {
			n := 0
			for _, p := range podsOf(g, ns, "web") {
				if _, ok := p.Annotations[workload.CostAnnotation]; ok && p.Labels["revision"] == "2" {
					n++
				}
			}
			return n
		}
		suite.Still(costed).Should(BeZero())
		Expect(env.Patch(ctx, policy, `{"spec":{"duringRollOut":true}}`)).To(Succeed())
		Eventually(costed).Should(BeNumerically(">", 0))
	})
})

var _ = Describe("A scale-down without knowledge of costs", func() {
	var ns string
	BeforeEach(func() {
		start()
		ns = suite.Namespace(ctx, env)
		newDeployment(ns, "web", 12)
		Expect(env.Client.Create(ctx, newPolicy(ns, "zones"))).To(Succeed())
		allPlanned(ns, "web", 12)
	})
	// evenAt waits until n pods are left of those given, and counts the zones.
	evenAt := func(n int, all []*corev1.Pod) {
		GinkgoHelper()
		Eventually(ready(ns, "web", n)).Should(Succeed())
		count := cluster.Count(podsOf(Default, ns, "web"))
		for zone := range cluster.Count(all) {
			count[zone] += 0
		}
		Expect(zones.Spread(count)).To(BeNumerically("<=", cluster.Best(all, n)), "%d pods: %v", n, count)
	}

	DescribeTable("leaves the zones even", func(kind, spec string, n int) {
		all := podsOf(Default, ns, "web")
		Expect(env.Apply(ctx, fmt.Appendf(nil, `{apiVersion: flyball.dev/v1alpha1, kind: %s, metadata: {namespace: %s, name: less}, spec: %s}`,
			kind, ns, spec))).To(Succeed())
		evenAt(n, all)
	},
		Entry("a schedule that leaves a part", "Schedule",
			`{target: {kinds: [{group: apps, kind: Deployment}]}, asleep: [{start: "2020-01-01", end: "2100-01-01"}], asleepAs: {percent: 50}}`, 6),
		Entry("a schedule that leaves a number", "Schedule",
			`{target: {kinds: [{group: apps, kind: Deployment}]}, asleep: [{start: "2020-01-01", end: "2100-01-01"}], asleepAs: {replicas: 3}}`, 3),
		Entry("a trigger", "Trigger",
			`{target: {kinds: [{group: apps, kind: Deployment}]}, triggers: [{name: calm, window: {start: "2020-01-01", end: "2100-01-01"}, `+
				`during: {replicas: 4}}]}`, 4),
	)
})
