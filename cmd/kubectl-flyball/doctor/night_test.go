package doctor

import (
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/world"
)

// pools has two workloads, one of which sleeps, and a schedule that may put a node pool to sleep.
const pools = `
apiVersion: flyball.dev/v1alpha1
kind: ClusterSchedule
metadata: {name: nights}
spec:
  upscale: "0 8 * * *"
  downscale: "0 20 * * *"
  target:
    kinds: [{group: apps, kind: Deployment}, {group: karpenter.sh, kind: NodePool}]
    namespaces: [shop]
    selector: {matchLabels: {sleeps: "yes"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {sleeps: "yes"}}
spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: queue, namespace: shop}
spec: {replicas: 1, selector: {matchLabels: {app: queue}}, template: {metadata: {labels: {app: queue}}}}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: general, labels: {sleeps: "POOL"}}
spec: {limits: {cpu: "10"}}
`

func budget(name, app string, allowed, expected int32) policyv1.PodDisruptionBudget {
	return policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		Spec:   policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
		Status: policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed, ExpectedPods: expected}}
}

// TestBudgetsMatterToNodePools checks that doctor reports only budgets of pods that stay awake, only if a node pool of this
// cluster sleeps, and only if all namespaces were read.
func TestBudgetsMatterToNodePools(t *testing.T) {
	all := []policyv1.PodDisruptionBudget{budget("web", "web", 0, 2), budget("queue", "queue", 0, 1), budget("allows", "queue", 1, 2),
		budget("empty", "gone", 0, 0)}
	machines := strings.NewReplacer("karpenter.sh/v1", "cluster.x-k8s.io/v1beta2", "karpenter.sh", "cluster.x-k8s.io", "NodePool",
		"MachineDeployment", "name: general", "name: general, namespace: shop").Replace
	for _, tc := range []struct {
		reason, world string
		isPart        bool
		state         Outcome
		want          string
	}{
		{"a pool sleeps", pools, false, Problem, "PodDisruptionBudget shop/queue allows no eviction now"},
		{"a pool sleeps, and one namespace was read", pools, true, NotChecked, "-A reads all namespaces"},
		{"no pool sleeps", strings.ReplaceAll(pools, "POOL", "no"), false, OK, "no node pool sleeps"},
		{"no pool sleeps, and one namespace was read", strings.ReplaceAll(pools, "POOL", "no"), true, OK, "no node pool sleeps"},
		{"machines of another cluster sleep", machines(pools), false, NotChecked,
			"MachineDeployment.cluster.x-k8s.io/shop/general belong to another cluster"},
	} {
		memory := memoryOf(t, strings.ReplaceAll(tc.world, "POOL", "yes"))
		var c Checkup
		c.disruption(memory, !tc.isPart, func() ([]policyv1.PodDisruptionBudget, error) { return all, nil })
		if got := c.Checks[0]; got.Outcome != tc.state || len(got.Details) != 1 || !strings.Contains(got.Details[0], tc.want) {
			t.Errorf("%s: %s %q, want %s %q", tc.reason, got.Outcome, got.Details, tc.state, tc.want)
		}
	}
}

// worldOf returns a world made of manifests, also in memory.
func worldOf(t *testing.T, manifests string) (*source.World, *world.Memory) {
	t.Helper()
	w, err := source.Files{Paths: []string{"-"}, Stdin: strings.NewReader(manifests), Namespace: "shop",
		FlyballNamespace: source.DefaultNamespace}.Load()
	if err != nil {
		t.Fatal(err)
	}
	memory, err := w.Memory()
	if err != nil {
		t.Fatal(err)
	}
	return w, memory
}

func memoryOf(t *testing.T, manifests string) *world.Memory {
	t.Helper()
	_, memory := worldOf(t, manifests)
	return memory
}
