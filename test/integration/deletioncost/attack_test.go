package deletioncost

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/integration/zones"
)

// locked is a label of pods that an admission policy protects from any change.
const locked = "example.com/locked"

// admission creates an admission policy for changes of pods in one namespace. The returned function lift removes it.
// Otherwise it is removed at the end of the spec.
func admission(kind, namespace, spec string) (lift func()) {
	GinkgoHelper()
	const group = "admissionregistration.k8s.io/v1"
	actions := ""
	if kind == "ValidatingAdmissionPolicy" {
		actions = ", validationActions: [Deny]"
	}
	Expect(env.Apply(ctx, fmt.Appendf(nil, `
apiVersion: %[1]s
kind: %[2]s
metadata: {name: pods-%[3]s}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [pods]}]}
  matchConditions: [{name: this, expression: "object.metadata.namespace == '%[3]s'"}]
  %[4]s
---
apiVersion: %[1]s
kind: %[2]sBinding
metadata: {name: pods-%[3]s}
spec: {policyName: pods-%[3]s%[5]s}
`, group, kind, namespace, spec, actions))).To(Succeed())
	lift = func() {
		for _, kind := range []string{kind + "Binding", kind} {
			obj := &unstructured.Unstructured{}
			obj.SetAPIVersion(group)
			obj.SetKind(kind)
			obj.SetName("pods-" + namespace)
			Expect(client.IgnoreNotFound(env.Client.Delete(ctx, obj))).To(Succeed())
		}
	}
	DeferCleanup(lift)
	return lift
}

// dryRun tries a change of a pod in a dry run, and returns the pod after the change.
func dryRun(p *corev1.Pod, body string) (*corev1.Pod, error) {
	p = p.DeepCopy()
	return p, env.Client.Patch(ctx, p, client.RawPatch("application/merge-patch+json", []byte(body)), client.DryRunAll)
}

// allCosts returns, by pod, the deletion cost and its writer, for all pods of a namespace. It includes pods that have
// finished.
func allCosts(g Gomega, namespace string) map[string]string {
	var list corev1.PodList
	g.Expect(env.Client.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	found := map[string]string{}
	for i := range list.Items {
		if cost, ok := list.Items[i].Annotations[workload.CostAnnotation]; ok {
			found[list.Items[i].Name] = cost + " by " + zones.Writer(&list.Items[i])
		}
	}
	return found
}

// costed returns a pod with a deletion cost.
func costed(namespace, app string) *corev1.Pod {
	GinkgoHelper()
	for _, p := range podsOf(Default, namespace, app) {
		if p.Annotations[workload.CostAnnotation] != "" {
			return p
		}
	}
	Fail("no pod has a cost")
	return nil
}

// message returns the message of a policy's condition.
func message(g Gomega, d *v1alpha1.DeletionCost, condition string) string {
	c := meta.FindStatusCondition(statusOf(g, d).Conditions, condition)
	g.Expect(c).NotTo(BeNil())
	return c.Message
}

var _ = Describe("Pods whose cost cannot be written", func() {
	var ns string
	var policy *v1alpha1.DeletionCost
	BeforeEach(func() {
		start()
		ns = suite.Namespace(ctx, env)
		policy = newPolicy(ns, "zones")
		newDeployment(ns, "web", 9)
		Eventually(ready(ns, "web", 9)).Should(Succeed())
	})

	It("do not keep other pods from getting or losing their costs, and the status has the reason", func() {
		lift := admission("ValidatingAdmissionPolicy", ns, `validations: [{expression: "!has(oldObject.metadata.labels) || !('`+locked+
			`' in oldObject.metadata.labels)", message: "the pod is locked"}]`)
		// Two of these pods get a deletion cost. The others are to have none.
		pods := podsOf(Default, ns, "web")
		plan := cluster.Plan(pods)
		pods = slices.DeleteFunc(pods, func(p *corev1.Pod) bool {
			return !slices.ContainsFunc(plan[:2], func(c workload.CostChange) bool { return c.Pod.Name == p.Name })
		})
		Expect(env.Patch(ctx, pods[0], `{"metadata":{"labels":{"`+locked+`":"yes"}}}`)).To(Succeed())
		Eventually(func() error {
			_, err := dryRun(pods[0],
				`{"metadata":{"labels":{"a":"b"}}}`)
			return err
		}).Should(MatchError(ContainSubstring("the pod is locked")))
		// The annotations of this pod have the maximum size, so there is no room for another annotation.
		const most = 256 << 10
		Expect(env.Patch(ctx, pods[1], fmt.Sprintf(`{"metadata":{"annotations":{"example.com/full":%q}}}`,
			strings.Repeat("x", most-len("example.com/full")-20)))).To(Succeed())

		Expect(env.Client.Create(ctx, policy)).To(Succeed())
		blocked := map[string]bool{pods[0].Name: true, pods[1].Name: true}
		Eventually(func(g Gomega) {
			plan := cluster.Plan(podsOf(g, ns, "web"))
			for _, c := range plan {
				g.Expect(blocked).To(HaveKey(c.Pod.Name))
			}
			g.Expect(statusOf(g, policy).Targets.Failed).To(BeEquivalentTo(1))
			g.Expect(message(g, policy, v1alpha1.ConditionReady)).To(Or(ContainSubstring("the pod is locked"), ContainSubstring("Too long")))
		}).Should(Succeed())

		By("the policy goes while one of the pods that have a cost is locked")
		last := costed(ns, "web")
		Expect(env.Patch(ctx, last, `{"metadata":{"labels":{"`+locked+`":"yes"}}}`)).To(Succeed())
		Expect(env.Client.Delete(ctx, policy)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(costs(g, ns, "web")).To(HaveLen(1))
			g.Expect(costs(g, ns, "web")).To(HaveKey(last.Name))
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(policy), policy)).To(Succeed())
			c := meta.FindStatusCondition(policy.Status.Conditions, v1alpha1.ConditionReady)
			g.Expect(c.Message).To(And(ContainSubstring("the deletion costs of 1 pod have still to be removed"),
				ContainSubstring("the pod is locked")))
		}).Should(Succeed())
		lift()
		Eventually(func() error { return suite.Vanished(ctx, env, policy) }).Should(Succeed())
		Expect(allCosts(Default, ns)).To(BeEmpty())
	})

	It("because an admission policy drops it are left after one try, and the status reports it", func() {
		admission("MutatingAdmissionPolicy", ns, `reinvocationPolicy: Never
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: 'has(object.metadata.annotations) &&
    "`+workload.CostAnnotation+`" in object.metadata.annotations ?
    [JSONPatch{op: "remove", path: "/metadata/annotations/" + jsonpatch.escapeKey("`+workload.CostAnnotation+`")}] : []'}}]`)
		pod := podsOf(Default, ns, "web")[0]
		Eventually(func(g Gomega) {
			p, err := dryRun(pod, `{"metadata":{"annotations":{"`+workload.CostAnnotation+`":"1"}}}`)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(p.Annotations).NotTo(HaveKey(workload.CostAnnotation))
		}).Should(Succeed())
		Expect(env.Client.Create(ctx, policy)).To(Succeed())
		n := len(cluster.Plan(podsOf(Default, ns, "web")))
		Eventually(func(g Gomega) {
			g.Expect(message(g, policy,
				v1alpha1.ConditionContested)).To(ContainSubstring(fmt.Sprintf("another writer keeps removing the deletion cost of %d pods", n)))
		}).Should(Succeed())
		// There is one write for each pod, because the answer shows that the cost was dropped. Writes that failed because the
		// pod had changed do not count.
		unchanged := HaveKeyWithValue("unchanged", n)
		suite.Still(func(g Gomega) {
			g.Expect(writesOf(g, running, policy)).To(And(unchanged, HaveKeyWithValue("applied", 0)))
			g.Expect(statusOf(g, policy).WritesLastHour).To(BeZero())
		}).Should(Succeed())
		suite.Remove(ctx, env, policy)
	})
})

var _ = Describe("Costs of other pods", func() {
	var ns string
	var policy *v1alpha1.DeletionCost
	BeforeEach(func() {
		start()
		ns = suite.Namespace(ctx, env)
		policy = newPolicy(ns, "zones")
		newDeployment(ns, "web", 9)
		Expect(env.Client.Create(ctx, policy)).To(Succeed())
		allPlanned(ns, "web", 9)
	})
	gone := func(g Gomega) { g.Expect(allCosts(g, ns)).To(BeEmpty()) }

	It("are removed from failed pods too, with the policy", func() {
		failed := costed(ns, "web")
		Expect(env.Client.Status().Patch(ctx, failed, client.RawPatch("application/merge-patch+json",
			[]byte(`{"status":{"phase":"Failed","reason":"Evicted"}}`)))).To(Succeed())
		allPlanned(ns, "web", 9)
		Expect(allCosts(Default, ns)).To(HaveKey(failed.Name))
		suite.Remove(ctx, env, policy)
		gone(Default)
		Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(failed), failed)).To(Succeed(), "it is still there")
	})

	It("are removed from a pod that leaves its ReplicaSet", func() {
		left := costed(ns, "web")
		Expect(env.Patch(ctx, left, `{"metadata":{"labels":{"app":"other"}}}`)).To(Succeed())
		Eventually(func(g Gomega) { g.Expect(costs(g, ns, "other")).To(BeEmpty()) }).Should(Succeed())
		allPlanned(ns, "web", 9)
	})

	It("stay if another manager has applied them as well, or instead", func() {
		pods := podsOf(Default, ns, "web")
		own, other := costed(ns, "web"), pods[0]
		if other.Name == own.Name {
			other = pods[1]
		}
		apply := func(p *corev1.Pod, annotations map[string]string) {
			GinkgoHelper()
			u := &unstructured.Unstructured{}
			u.SetAPIVersion("v1")
			u.SetKind("Pod")
			u.SetNamespace(ns)
			u.SetName(p.Name)
			u.SetAnnotations(annotations)
			Expect(env.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner("gitops"),
				client.ForceOwnership)).To(Succeed())
		}
		cost := own.Annotations[workload.CostAnnotation]
		apply(own, map[string]string{workload.CostAnnotation: cost})
		apply(other, map[string]string{workload.CostAnnotation: "2147483647"})
		Eventually(func(g Gomega) {
			g.Expect(statusOf(g, policy).ForeignWriters).To(Equal([]v1alpha1.ForeignWriter{{Manager: "gitops", Pods: 2}}))
		}).Should(Succeed())
		Expect(env.Patch(ctx, policy, `{"spec":{"suspend":true}}`)).To(Succeed())
		Eventually(func(g Gomega) {
			found := allCosts(g, ns)
			g.Expect(found).To(HaveLen(2))
			g.Expect(found[own.Name]).To(HavePrefix(cost + " by "))
			g.Expect(found).To(HaveKeyWithValue(other.Name, "2147483647 by gitops"))
		}).Should(Succeed())

		By("they apply no cost any more: what Flyball has set goes, now that it is Flyball's alone")
		apply(own, nil)
		apply(other, nil)
		Eventually(gone).Should(Succeed())
		Expect(env.Patch(ctx, policy, `{"spec":{"suspend":false}}`)).To(Succeed())
		allPlanned(ns, "web", 9)
	})

	It("belong to the new policy of a target after a change of policies", func() {
		by := func(policy string) {
			GinkgoHelper()
			Expect(env.Patch(ctx, newDeploymentRef(ns, "web"), fmt.Sprintf(`{"metadata":{"labels":{"by":%q}}}`, policy))).To(Succeed())
		}
		by("zones")
		other := newPolicy(ns, "age")
		other.Spec.Algorithm = "Oldest"
		other.Spec.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"by": "age"}}
		Expect(env.Client.Create(ctx, other)).To(Succeed())
		Expect(env.Patch(ctx, policy, `{"spec":{"target":{"selector":{"matchLabels":{"by":"zones"}}}}}`)).To(Succeed())
		for range 2 {
			by("age")
			Eventually(func(g Gomega) {
				g.Expect(statusOf(g, other).Pods).To(BeEquivalentTo(9))
				g.Expect(statusOf(g, policy).Pods).To(BeZero())
			}).Should(Succeed())
			by("zones")
			Eventually(func(g Gomega) {
				g.Expect(statusOf(g, policy).Pods).To(BeEquivalentTo(9))
				g.Expect(statusOf(g, other).Pods).To(BeZero())
			}).Should(Succeed())
			allPlanned(ns, "web", 9)
		}
		suite.Remove(ctx, env, other)
		Expect(costs(Default, ns, "web")).NotTo(BeEmpty())
		suite.Remove(ctx, env, policy)
		gone(Default)
	})

	It("keep no namespace from being deleted", func() {
		suite.Remove(ctx, env, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
	})
})

var _ = Describe("An adapter of pods with costs", func() {
	var ns string
	var policy *v1alpha1.DeletionCost
	adapter := func(name string) *v1alpha1.Adapter {
		return &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	BeforeEach(func() {
		start()
		ns = suite.Namespace(ctx, env)
		policy = newPolicy(ns, "zones")
		newDeployment(ns, "web", 9)
		Expect(env.Client.Create(ctx, policy)).To(Succeed())
		allPlanned(ns, "web", 9)
	})
	gone := func(g Gomega) { g.Expect(allCosts(g, ns)).To(BeEmpty()) }

	It("has them removed once it says that its controller ignores them, and set again", func() {
		ignore := func(ignores bool) {
			GinkgoHelper()
			Expect(env.Patch(ctx, adapter("deployments.apps"), fmt.Sprintf(`{"spec":{"pods":{"deletionCost":%t}}}`, !ignores))).To(Succeed())
		}
		DeferCleanup(ignore, false)
		ignore(true)
		Eventually(gone).Should(Succeed())
		Eventually(func(g Gomega) { g.Expect(statusOf(g, policy).Pods).To(BeZero()) }).Should(Succeed())
		ignore(false)
		allPlanned(ns, "web", 9)
	})

	It("lets their policy remove them although the adapter is no longer ready", func() {
		version := func(v string) {
			GinkgoHelper()
			Expect(env.Patch(ctx, adapter("deployments.apps"), `{"spec":{"target":{"versions":["`+v+`"]}}}`)).To(Succeed())
		}
		DeferCleanup(version, "v1")
		version("v99")
		Eventually(func(g Gomega) {
			a := adapter("deployments.apps")
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(a), a)).To(Succeed())
			g.Expect(meta.IsStatusConditionFalse(a.Status.Conditions, v1alpha1.ConditionReady)).To(BeTrue())
		}).Should(Succeed())
		Expect(allCosts(Default, ns)).NotTo(BeEmpty())
		Expect(env.Client.Delete(ctx, policy)).To(Succeed())
		Eventually(func() error { return suite.Vanished(ctx, env, policy) }).Should(Succeed())
		gone(Default)
	})

	It("is deleted at once if the costs belong to another kind", func() {
		DeferCleanup(func() { Expect(env.InstallAdapters(ctx, "replicasets.apps")).To(Succeed()) })
		before := allCosts(Default, ns)
		Expect(env.Patch(ctx, adapter("replicasets.apps"), `{"metadata":{"finalizers":["`+v1alpha1.FinalizerRestore+`"]}}`)).To(Succeed())
		suite.Remove(ctx, env, adapter("replicasets.apps"))
		Expect(allCosts(Default, ns)).To(Equal(before))
		allPlanned(ns, "web", 9)
	})

	It("is deleted, and with the last adapter the costs go, even if their policy cannot be read any more", func() {
		names := []string{"deployments.apps", "replicasets.apps"}
		DeferCleanup(func() { Expect(env.InstallAdapters(ctx, names...)).To(Succeed()) })
		Expect(env.Patch(ctx, policy, `{"spec":{"target":{"kinds":[{"group":"apps","kind":"StatefulSet"}]}}}`)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(message(g, policy, v1alpha1.ConditionReady)).To(ContainSubstring("StatefulSet"))
		}).Should(Succeed())
		Expect(allCosts(Default, ns)).NotTo(BeEmpty())
		for _, name := range names {
			Expect(env.Client.Delete(ctx, adapter(name))).To(Succeed())
		}
		for _, name := range names {
			Eventually(func() error { return suite.Vanished(ctx, env, adapter(name)) }).Should(Succeed())
		}
		gone(Default)
		suite.Remove(ctx, env, policy)
	})
})
