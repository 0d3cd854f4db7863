// Package zones has the common parts of the suites of deletion costs: a cluster with the real ReplicaSet controller and
// scheduler, nodes in three zones, and the pods in the planner's form.
package zones

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/deletioncost"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

const (
	// NodeLabel is the node label of zones.
	NodeLabel = "topology.kubernetes.io/zone"
	// manager is the field manager of Flyball.
	manager = "flyball"
)

// nodesIn are the numbers of nodes per zone.
var nodesIn = []struct {
	zone  string
	nodes int
}{{"zone-a", 3}, {"zone-b", 5}, {"zone-c", 7}}

// Cluster is a cluster with zones.
type Cluster struct {
	*harness.Env
	// ZoneOf has the zone of each node.
	ZoneOf map[string]string
}

// Up starts a cluster with zones of 3, 5 and 7 nodes, until the suite ends.
func Up(ctx context.Context, adapters ...string) *Cluster {
	GinkgoHelper()
	c := &Cluster{suite.Up(ctx, local.Options{Level: local.LevelWorkloads, Nodes: 15, HighQPS: true}, adapters...), map[string]string{}}
	next := 1
	for _, z := range nodesIn {
		for range z.nodes {
			name := fmt.Sprintf("node-%d", next)
			c.ZoneOf[name] = z.zone
			Expect(c.Patch(ctx, Node(name), fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, NodeLabel, z.zone))).To(Succeed())
			next++
		}
	}
	return c
}

// Node returns a node with a name.
func Node(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }

// Policy returns a DeletionCost for everything in a namespace, without an effective rate limit.
func Policy(namespace, name string) *v1alpha1.DeletionCost {
	return &v1alpha1.DeletionCost{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       v1alpha1.DeletionCostSpec{DeletionCostRules: v1alpha1.DeletionCostRules{WritesPerSecond: ptr.To[int32](1000)}},
	}
}

// DeploymentText is the YAML of a Deployment by namespace, name and replicas. Its pods have the name as their label app.
const DeploymentText = `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: %[1]s, name: %[2]s}, spec: {replicas: %[3]d, ` +
	`selector: {matchLabels: {app: %[2]s}},
  strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 10}},
  template: {metadata: {labels: {app: %[2]s}}, spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: ` +
	`"example.com/app:1"}]}}}}`

// NewDeployment creates a Deployment.
func (c *Cluster) NewDeployment(ctx context.Context, namespace, name string, replicas int) client.Object {
	GinkgoHelper()
	objs, err := harness.Objects(fmt.Appendf(nil, DeploymentText, namespace, name, replicas))
	Expect(err).NotTo(HaveOccurred())
	Expect(c.Client.Create(ctx, objs[0])).To(Succeed())
	return objs[0]
}

// IsCounted reports whether a controller counts a pod.
func IsCounted(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
}

// IsReady reports whether a pod is ready.
func IsReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Ready returns nil if there are n pods and all are ready.
func Ready(list []*corev1.Pod, n int) error {
	if len(list) != n {
		return fmt.Errorf("there are %d pods, want %d", len(list), n)
	}
	for _, p := range list {
		if !IsReady(p) {
			return fmt.Errorf("%s is not ready", p.Name)
		}
	}
	return nil
}

// Count returns the number of pods per zone.
func (c *Cluster) Count(list []*corev1.Pod) map[string]int {
	count := map[string]int{}
	for _, p := range list {
		if p.Spec.NodeName != "" {
			count[c.ZoneOf[p.Spec.NodeName]]++
		}
	}
	return count
}

// Spread returns the difference between the fullest and the emptiest zone.
func Spread(count map[string]int) int {
	all := slices.Collect(maps.Values(count))
	return slices.Max(all) - slices.Min(all)
}

// Best returns the smallest possible spread of n remaining pods. Whatever the costs, pods that are not ready are
// deleted first.
func (c *Cluster) Best(pods []*corev1.Pod, n int) int {
	left, broken, total := c.Count(pods), map[string]int{}, len(pods)
	for _, p := range pods {
		if !IsReady(p) {
			broken[c.ZoneOf[p.Spec.NodeName]]++
		}
	}
	fullest := func(of map[string]int) string {
		return slices.MaxFunc(slices.Collect(maps.Keys(of)), func(a, b string) int { return left[a] - left[b] })
	}
	for ; total > n; total-- {
		if len(broken) == 0 {
			left[fullest(left)]--
			continue
		}
		zone := fullest(broken)
		left[zone]--
		if broken[zone]--; broken[zone] == 0 {
			delete(broken, zone)
		}
	}
	return Spread(left)
}

// Fleet returns the pods in the planner's form.
func (c *Cluster) Fleet(list []*corev1.Pod) *workload.Fleet {
	f := &workload.Fleet{Own: manager}
	for _, p := range list {
		owner := metav1.GetControllerOf(p)
		q := &workload.Pod{Name: p.Name, UID: string(p.UID), Assigned: p.Spec.NodeName != "", Group: owner.Name, Revision: owner.Name,
			Phase: workload.PodRunning,
			Ready: IsReady(p), Created: p.CreationTimestamp.Unix(), Cost: workload.ParseCost(p.Annotations[workload.CostAnnotation]),
			Writer: Writer(p)}
		if p.Status.Phase == corev1.PodPending {
			q.Phase = workload.PodPending
		}
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodReady {
				q.Changed = c.LastTransitionTime.Unix()
			}
		}
		if q.Assigned {
			q.Node = &workload.Node{Name: p.Spec.NodeName, Labels: map[string]string{NodeLabel: c.ZoneOf[p.Spec.NodeName]}}
		}
		f.Pods = append(f.Pods, q)
	}
	return f
}

// Plan returns the changes of the planner.
func (c *Cluster) Plan(list []*corev1.Pod) []workload.CostChange {
	return deletioncost.Make(deletioncost.Default, c.Fleet(list), deletioncost.Params{SpreadBy: []string{NodeLabel}}, true, time.Now()).Changes
}

// Writer returns the field manager that has set the cost of a pod.
func Writer(p *corev1.Pod) string {
	for _, entry := range p.ManagedFields {
		if entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), workload.CostAnnotation) {
			return entry.Manager
		}
	}
	return ""
}
