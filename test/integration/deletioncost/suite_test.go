// Package deletioncost tests deletion costs beside the real ReplicaSet controller and scheduler: Deployments over zones of three, five
// and seven nodes are scaled down, and the zones are counted.
package deletioncost

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/fleet"
	"flyball.dev/flyball/engine/policy/deletioncost/algorithm"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

const (
	zoneLabel = "topology.kubernetes.io/zone"
	manager   = "flyball"
)

// nodesIn is how many nodes each zone has.
var nodesIn = []struct {
	zone  string
	nodes int
}{{"zone-a", 3}, {"zone-b", 5}, {"zone-c", 7}}

var (
	env *harness.Env
	ctx context.Context
	// zoneOf has the zone of each node.
	zoneOf = map[string]string{}
)

func TestDeletionCost(t *testing.T) { suite.Run(t, "DeletionCost") }

var _ = BeforeSuite(func() {
	ctx = context.Background()
	env = suite.Up(ctx, local.Options{Level: local.LevelWorkloads, Nodes: 15, HighQPS: true}, "deployments.apps", "replicasets.apps", "statefulsets.apps", "jobs.batch")
	next := 1
	for _, z := range nodesIn {
		for range z.nodes {
			name := fmt.Sprintf("node-%d", next)
			zoneOf[name] = z.zone
			Expect(env.Patch(ctx, node(name), fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, zoneLabel, z.zone))).To(Succeed())
			next++
		}
	}
})

func node(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }

// start runs a manager until the spec ends.
func start() *harness.Manager {
	return suite.Start(ctx, env, harness.Options{}, "deployments.apps", "replicasets.apps", "statefulsets.apps", "jobs.batch")
}

// newPolicy is a DeletionCost over everything in a namespace, with as many writes as it takes.
func newPolicy(namespace, name string) *v1alpha1.DeletionCost {
	return &v1alpha1.DeletionCost{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.DeletionCostSpec{DeletionCostRules: v1alpha1.DeletionCostRules{WritesPerSecond: ptr.To[int32](1000)}},
	}
}

const deployment = `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: %[1]s, name: %[2]s}, spec: {replicas: %[3]d, selector: {matchLabels: {app: %[2]s}},
  strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 10}},
  template: {metadata: {labels: {app: %[2]s}}, spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: "example.com/app:1"}]}}}}`

func newDeployment(namespace, name string, replicas int) client.Object {
	GinkgoHelper()
	objs, err := harness.Objects(fmt.Appendf(nil, deployment, namespace, name, replicas))
	Expect(err).NotTo(HaveOccurred())
	Expect(env.Client.Create(ctx, objs[0])).To(Succeed())
	return objs[0]
}

// podsOf lists the pods of an app that a controller counts, or of all apps in a namespace.
func podsOf(g Gomega, namespace, app string) []*corev1.Pod {
	var list corev1.PodList
	opts := []client.ListOption{client.InNamespace(namespace)}
	if app != "" {
		opts = append(opts, client.MatchingLabels{"app": app})
	}
	g.Expect(env.Client.List(ctx, &list, opts...)).To(Succeed())
	var out []*corev1.Pod
	for i := range list.Items {
		if p := &list.Items[i]; p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed {
			out = append(out, p)
		}
	}
	return out
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// ready has no error once an app has that many pods and all of them are ready.
func ready(namespace, app string, n int) func(Gomega) {
	return func(g Gomega) {
		list := podsOf(g, namespace, app)
		g.Expect(list).To(HaveLen(n))
		for _, p := range list {
			g.Expect(isReady(p)).To(BeTrue(), p.Name)
		}
	}
}

// zones counts pods by zone.
func zones(list []*corev1.Pod) map[string]int {
	count := map[string]int{}
	for _, p := range list {
		if p.Spec.NodeName != "" {
			count[zoneOf[p.Spec.NodeName]]++
		}
	}
	return count
}

// asFleet is a fleet as it is seen from outside.
func asFleet(list []*corev1.Pod) *fleet.Fleet {
	f := &fleet.Fleet{Own: manager}
	for _, p := range list {
		owner := metav1.GetControllerOf(p)
		q := &fleet.Pod{Name: p.Name, UID: string(p.UID), Assigned: p.Spec.NodeName != "", Group: owner.Name, Revision: owner.Name, Phase: fleet.Running,
			Ready: isReady(p), Created: p.CreationTimestamp.Unix(), Cost: fleet.ParseCost(p.Annotations[fleet.CostAnnotation])}
		if p.Status.Phase == corev1.PodPending {
			q.Phase = fleet.Pending
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady {
				q.Changed = c.LastTransitionTime.Unix()
			}
		}
		if q.Assigned {
			q.Node = &fleet.Node{Name: p.Spec.NodeName, Labels: map[string]string{zoneLabel: zoneOf[p.Spec.NodeName]}}
		}
		q.Writer = writerOf(p)
		f.Pods = append(f.Pods, q)
	}
	return f
}

// writerOf names who has set the cost of a pod.
func writerOf(p *corev1.Pod) string {
	for _, entry := range p.ManagedFields {
		if entry.FieldsV1 != nil && containsCost(entry.FieldsV1.GetRawString()) {
			return entry.Manager
		}
	}
	return ""
}

// planOf is what the planner would change.
func planOf(list []*corev1.Pod) []fleet.Change {
	return algorithm.Make(algorithm.Default, asFleet(list), algorithm.Params{SpreadBy: []string{zoneLabel}}, true, clock()).Changes
}

// planned has no error once an app's pods cost what the planner would have them cost.
func planned(namespace, app string) func(Gomega) {
	return func(g Gomega) {
		g.Expect(len(planOf(podsOf(g, namespace, app)))).To(BeZero(), "pods of %s that cost something else than planned", app)
	}
}
