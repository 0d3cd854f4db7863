package deletioncost

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/integration/zones"
)

// twoNodes lets the pods of a Deployment run on two nodes, and returns the pods on each node.
func twoNodes(namespace, app string, replicas int) (a, b []*corev1.Pod) {
	GinkgoHelper()
	newDeployment(namespace, app, 0)
	Expect(env.Patch(ctx, newDeploymentRef(namespace, app), fmt.Sprintf(`{"spec":{"replicas":%d,"template":{"spec":{"affinity":{"nodeAffinity":
		{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"kubernetes.io/hostname",`+
		`"operator":"In","values":["node-1","node-2"]}]}]}},
		"podAntiAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":[{"weight":100,`+
		`"podAffinityTerm":{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"app":%q}}}}]}}}}}}`,
		replicas, app))).To(Succeed())
	Eventually(ready(namespace, app, replicas)).Should(Succeed())
	for _, p := range podsOf(Default, namespace, app) {
		if p.Spec.NodeName == "node-1" {
			a = append(a, p)
		} else {
			b = append(b, p)
		}
	}
	Expect(a).NotTo(BeEmpty())
	Expect(b).NotTo(BeEmpty())
	return a, b
}

// costBelow waits until each pod of some has a lower deletion cost than every pod of others.
func costBelow(some, others []*corev1.Pod) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		now := map[types.UID]int32{}
		for _, p := range podsOf(g, some[0].Namespace, "") {
			now[p.UID] = workload.ParseCost(p.Annotations[workload.CostAnnotation])
		}
		for _, p := range some {
			for _, q := range others {
				g.Expect(now[p.UID]).To(BeNumerically("<", now[q.UID]), "%s and %s", p.Name, q.Name)
			}
		}
	}).Should(Succeed())
}

// leaves scales a Deployment down and checks that the given pods remain.
func leaves(namespace, app string, stay []*corev1.Pod) {
	GinkgoHelper()
	Expect(env.Patch(ctx, newDeploymentRef(namespace, app), fmt.Sprintf(`{"spec":{"replicas":%d}}`, len(stay)))).To(Succeed())
	Eventually(func(g Gomega) {
		var names, want []string
		for _, p := range podsOf(g, namespace, app) {
			names = append(names, p.Name)
		}
		for _, p := range stay {
			want = append(want, p.Name)
		}
		g.Expect(names).To(ConsistOf(want))
	}).Should(Succeed())
}

// inTwoWaves creates a Deployment whose pods are created in two different seconds.
func inTwoWaves(namespace, app string) (older, younger []*corev1.Pod) {
	GinkgoHelper()
	newDeployment(namespace, app, 3)
	Eventually(ready(namespace, app, 3)).Should(Succeed())
	older = podsOf(Default, namespace, app)
	Eventually(func(g Gomega) {
		for _, p := range older {
			g.Expect(time.Since(p.CreationTimestamp.Time)).To(BeNumerically(">", 2*time.Second))
		}
	}).Should(Succeed())
	Expect(env.Patch(ctx, newDeploymentRef(namespace, app), `{"spec":{"replicas":6}}`)).To(Succeed())
	Eventually(ready(namespace, app, 6)).Should(Succeed())
	was := map[types.UID]bool{}
	for _, p := range older {
		was[p.UID] = true
	}
	for _, p := range podsOf(Default, namespace, app) {
		if !was[p.UID] {
			younger = append(younger, p)
		}
	}
	return older, younger
}

var _ = Describe("The algorithm", func() {
	var ns string
	BeforeEach(func() {
		start()
		ns = suite.Namespace(ctx, env)
	})
	follow := func(algorithm string, edit ...func(*v1alpha1.DeletionCost)) {
		GinkgoHelper()
		policy := newPolicy(ns, "order")
		policy.Spec.Algorithm = algorithm
		for _, do := range edit {
			do(policy)
		}
		Expect(env.Client.Create(ctx, policy)).To(Succeed())
	}
	cordon := func(name string) {
		GinkgoHelper()
		DeferCleanup(func() { Expect(env.Patch(ctx, zones.Node(name), `{"spec":{"unschedulable":null}}`)).To(Succeed()) })
		Expect(env.Patch(ctx, zones.Node(name), `{"spec":{"unschedulable":true}}`)).To(Succeed())
	}

	It("Oldest has the pods go first that were made first", func() {
		older, younger := inTwoWaves(ns, "web")
		follow("Oldest")
		costBelow(older, younger)
		leaves(ns, "web", younger)
	})

	It("Youngest has the pods go first that were made last", func() {
		older, younger := inTwoWaves(ns, "web")
		follow("Youngest")
		costBelow(younger, older)
		leaves(ns, "web", older)
	})

	It("NodeOccupancy has the pods go first that are on nearly idle nodes", func() {
		crowded, idle := twoNodes(ns, "web", 4)
		// node-1 gets so many additional pods that the two nodes count as differently full.
		for i := range 64 {
			newPodOn(nil, ns, "filler", i, "node-1", map[string]string{})
		}
		follow("NodeOccupancy")
		costBelow(idle, crowded)
		leaves(ns, "web", crowded)
	})

	It("NodeLifetime has the pods go first that are on cordoned nodes, whenever these are cordoned", func() {
		going, staying := twoNodes(ns, "web", 4)
		follow("NodeLifetime")
		cordon("node-1")
		costBelow(going, staying)
		leaves(ns, "web", staying)
	})

	It("NodeLifetime uses the given labels", func() {
		staying, going := twoNodes(ns, "web", 4)
		follow("NodeLifetime", func(d *v1alpha1.DeletionCost) {
			d.Spec.GoingNodes = &v1alpha1.GoingNodes{Labels: map[string]string{"kubernetes.io/hostname": "node-2"}}
		})
		costBelow(going, staying)
		leaves(ns, "web", staying)
	})

	It("Weighted adds up several", func() {
		going, staying := twoNodes(ns, "web", 4)
		follow("Weighted", func(d *v1alpha1.DeletionCost) {
			d.Spec.Weights = []v1alpha1.WeightedAlgorithm{{Algorithm: "NodeLifetime", Weight: 10}, {Algorithm: "Spread", Weight: 1}}
		})
		cordon("node-1")
		costBelow(going, staying)
		leaves(ns, "web", staying)
	})
})
