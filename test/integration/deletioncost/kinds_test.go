package deletioncost

import (
	"fmt"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/integration/zones"
)

// openCRD is the CustomResourceDefinition of a kind that takes any fields.
const openCRD = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %[3]s.%[1]s}, spec: {group: ` +
	`%[1]s, scope: Namespaced,
  names: {kind: %[2]s, listKind: %[2]sList, plural: %[3]s, singular: %[4]s},
  versions: [{name: %[5]s, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, ` +
	`x-kubernetes-preserve-unknown-fields: true}}}]}}
---
`

// squadAdapter is the adapter of a kind that only this suite has. Its pods belong to ReplicaSets, which belong to
// Crews, which belong to the Squad.
const squadAdapter = `{apiVersion: flyball.dev/v1alpha1, kind: Adapter, metadata: {name: squads.costs.example.com}, spec: {
  target: {group: costs.example.com, kind: Squad, versions: [v1]}, scale: [{name: main, replicas: .spec.replicas, default: 1}], pods: ` +
	`{deletionCost: true}}}`

// installKinds installs the kinds of Argo and OpenKruise that own pods, without their controllers. It also installs
// Squad and Crew.
func installKinds() {
	GinkgoHelper()
	text := ""
	for _, k := range [][]any{
		{"argoproj.io", "Rollout", "rollouts", "rollout", "v1alpha1"}, {"apps.kruise.io", "CloneSet", "clonesets", "cloneset", "v1beta1"},
		{"costs.example.com", "Squad", "squads", "squad", "v1"}, {"costs.example.com", "Crew", "crews", "crew", "v1"},
	} {
		text += fmt.Sprintf(openCRD, k...)
	}
	Expect(env.Apply(ctx, []byte(text))).To(Succeed())
	Expect(env.AwaitCRDs(ctx)).To(Succeed())
	Expect(env.InstallAdapters(ctx, "rollouts.argoproj.io", "clonesets.apps.kruise.io")).To(Succeed())
	Expect(env.Apply(ctx, []byte(squadAdapter))).To(Succeed())
}

// newOwner creates an object. If above is given, it is the owner of the new object.
func newOwner(namespace, apiVersion, kind, name string, above *unstructured.Unstructured, spec map[string]any) *unstructured.Unstructured {
	GinkgoHelper()
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	if spec != nil {
		obj.Object["spec"] = spec
	}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetNamespace(namespace)
	obj.SetName(name)
	if above != nil {
		obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(above, above.GroupVersionKind())})
	}
	Expect(env.Client.Create(ctx, obj)).To(Succeed())
	return obj
}

// replicaSet is the spec of a ReplicaSet of an app.
func replicaSet(app string, replicas int) map[string]any {
	labels := map[string]any{"app": app}
	return map[string]any{"replicas": int64(replicas), "selector": map[string]any{"matchLabels": labels}, "template": map[string]any{
		"metadata": map[string]any{"labels": labels},
		"spec": map[string]any{"terminationGracePeriodSeconds": int64(0),
			"containers": []any{map[string]any{"name": "main", "image": "example.com/app:1"}}},
	}}
}

// forKind is a policy for one kind.
func forKind(namespace, group, kind string) *v1alpha1.DeletionCost {
	d := newPolicy(namespace, "zones")
	d.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: group, Kind: kind}}
	return d
}

// evenDownTo scales a ReplicaSet down and counts the zones.
func evenDownTo(set *unstructured.Unstructured, app string, ns ...int) {
	GinkgoHelper()
	all := podsOf(Default, set.GetNamespace(), app)
	for _, n := range ns {
		Expect(env.Patch(ctx, set, fmt.Sprintf(`{"spec":{"replicas":%d}}`, n))).To(Succeed())
		Eventually(ready(set.GetNamespace(), app, n)).Should(Succeed())
		count := cluster.Count(podsOf(Default, set.GetNamespace(), app))
		for zone := range cluster.Count(all) {
			count[zone] += 0
		}
		Expect(zones.Spread(count)).To(BeNumerically("<=", cluster.Best(all, n)+1), "%d pods: %v", n, count)
	}
}

var _ = Describe("Kinds beside Deployment", Ordered, func() {
	var ns string
	BeforeAll(func() { installKinds() })
	BeforeEach(func() {
		start()
		Expect(env.AwaitAdapters(ctx, "rollouts.argoproj.io", "clonesets.apps.kruise.io", "squads.costs.example.com")).To(Succeed())
		ns = suite.Namespace(ctx, env)
	})
	remove := func(policy *v1alpha1.DeletionCost, app string) {
		GinkgoHelper()
		suite.Remove(ctx, env, policy)
		Expect(costs(Default, ns, app)).To(BeEmpty())
	}

	It("a ReplicaSet that stands alone keeps zones even", func() {
		set := newOwner(ns, "apps/v1", "ReplicaSet", "web", nil, replicaSet("web", 12))
		policy := forKind(ns, "apps", "ReplicaSet")
		Expect(env.Client.Create(ctx, policy)).To(Succeed())
		allPlanned(ns, "web", 12)
		evenDownTo(set, "web", 7, 4)
		remove(policy, "web")
	})

	It("a Rollout, whose ReplicaSet the real controller scales, keeps zones even", func() {
		rollout := newOwner(ns, "argoproj.io/v1alpha1", "Rollout", "web", nil, map[string]any{"replicas": int64(12)})
		set := newOwner(ns, "apps/v1", "ReplicaSet", "web-1", rollout, replicaSet("web", 12))
		policy := forKind(ns, "argoproj.io", "Rollout")
		Expect(env.Client.Create(ctx, policy)).To(Succeed())
		allPlanned(ns, "web", 12)
		evenDownTo(set, "web", 8, 5)
		remove(policy, "web")
	})

	It("pods three owners below, one of a kind without an adapter, belong to the target", func() {
		squad := newOwner(ns, "costs.example.com/v1", "Squad", "blue", nil, map[string]any{"replicas": int64(1)})
		crew := newOwner(ns, "costs.example.com/v1", "Crew", "blue-1", squad, nil)
		set := newOwner(ns, "apps/v1", "ReplicaSet", "blue-1-web", crew, replicaSet("web", 12))
		other := newOwner(ns, "costs.example.com/v1", "Crew", "red-1", nil, nil)
		newOwner(ns, "apps/v1", "ReplicaSet", "red-1-web", other, replicaSet("red", 3))
		policy := forKind(ns, "costs.example.com", "Squad")
		Expect(env.Client.Create(ctx, policy)).To(Succeed())
		allPlanned(ns, "web", 12)
		Eventually(func(g Gomega) { g.Expect(statusOf(g, policy).Pods).To(BeEquivalentTo(12)) }).Should(Succeed())
		evenDownTo(set, "web", 6, 3)
		Expect(costs(Default, ns, "red")).To(BeEmpty())

		// The Crew and its pods leave the Squad.
		Expect(env.Patch(ctx, crew, `{"metadata":{"ownerReferences":null}}`)).To(Succeed())
		Expect(env.Patch(ctx, set, `{"spec":{"replicas":9}}`)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(podsOf(g, ns, "web")).To(HaveLen(9))
			g.Expect(costs(g, ns, "web")).To(BeEmpty())
		}).Should(Succeed())
		remove(policy, "web")
	})

	It("a pod of two targets is ordered by the upper one, and the policy of the other says so", func() {
		squad := newOwner(ns, "costs.example.com/v1", "Squad", "blue", nil, map[string]any{"replicas": int64(1)})
		crew := newOwner(ns, "costs.example.com/v1", "Crew", "blue-1", squad, nil)
		newOwner(ns, "apps/v1", "ReplicaSet", "blue-1-web", crew, replicaSet("web", 9))
		lower := forKind(ns, "apps", "ReplicaSet")
		lower.Name, lower.Spec.Algorithm, lower.Spec.Priority = "lower", "Oldest", 100
		Expect(env.Client.Create(ctx, lower)).To(Succeed())
		Eventually(func(g Gomega) { g.Expect(statusOf(g, lower).Pods).To(BeEquivalentTo(9)) }).Should(Succeed())
		upper := forKind(ns, "costs.example.com", "Squad")
		Expect(env.Client.Create(ctx, upper)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(statusOf(g, upper).Pods).To(BeEquivalentTo(9))
			st := statusOf(g, lower)
			g.Expect(st.Pods).To(BeZero())
			g.Expect(st.Targets.Overridden).To(BeEquivalentTo(1))
		}).Should(Succeed())
		allPlanned(ns, "web", 9)
		suite.Remove(ctx, env, upper)
		Eventually(func(g Gomega) { g.Expect(statusOf(g, lower).Pods).To(BeEquivalentTo(9)) }).Should(Succeed())
		remove(lower, "web")
	})

	It("the pods of a CloneSet get their costs, also where two revisions belong to one object", func() {
		owner := newOwner(ns, "apps.kruise.io/v1beta1", "CloneSet", "web", nil, map[string]any{"replicas": int64(9)})
		for i := range 9 {
			newPodOn(owner, ns, "web", i, fmt.Sprint("node-", i%4+1), map[string]string{"controller-revision-hash": "r" + strconv.Itoa(i/6)})
		}
		policy := forKind(ns, "apps.kruise.io", "CloneSet")
		policy.Spec.DuringRollOut = true
		Expect(env.Client.Create(ctx, policy)).To(Succeed())
		allPlanned(ns, "web", 9)
		pods := podsOf(Default, ns, "web")
		f := cluster.Fleet(pods)
		Expect(f.Groups()).To(HaveLen(1))
		gone := map[*workload.Pod]bool{}
		for _, p := range workload.Victims(f.Pods, f.Pods, time.Now().Unix()) {
			gone[p] = true
			Expect(f.Spread(zones.NodeLabel, gone)).To(BeNumerically("<=", cluster.Best(pods, 9-len(gone))+1))
			if len(gone) == 8 {
				break
			}
		}
		remove(policy, "web")
	})
})

// newPodOn makes a pod on a node, as its controller and the scheduler would; the node runs it.
func newPodOn(owner *unstructured.Unstructured, namespace, app string, i int, node string, labels map[string]string) {
	GinkgoHelper()
	labels["app"] = app
	grace := int64(0)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", app, i), Labels: labels},
		Spec: corev1.PodSpec{NodeName: node, TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}}},
	}
	if owner != nil {
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())}
	}
	// A namespace gets the account of its pods a moment after it was made.
	Eventually(func() error { return env.Client.Create(ctx, pod) }).Should(Succeed())
}
