package doctor

import (
	"strings"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
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

// TestBudgetsMatterToNodePools checks that doctor reports only budgets of pods that stay awake, and only if a node pool
// sleeps.
func TestBudgetsMatterToNodePools(t *testing.T) {
	all := []policyv1.PodDisruptionBudget{budget("web", "web", 0, 2), budget("queue", "queue", 0, 1), budget("allows", "queue", 1, 2),
		budget("empty", "gone", 0, 0)}
	for sleeps, want := range map[string]string{"yes": "PodDisruptionBudget shop/queue allows no eviction now", "no": ""} {
		w, err := source.Files{Paths: []string{"-"}, Stdin: strings.NewReader(strings.Replace(pools, "POOL", sleeps, 1)), Namespace: "shop",
			FlyballNamespace: source.DefaultNamespace}.Load()
		if err != nil {
			t.Fatal(err)
		}
		memory, err := w.Memory()
		if err != nil {
			t.Fatal(err)
		}
		var c Checkup
		c.budgets(all, memory, sleepersOf(memory))
		found := strings.Join(c.Checks[0].Details, "\n")
		if ill := c.Checks[0].State == Problem; ill != (want != "") || !strings.Contains(found, want) || strings.Count(found, "\n") > 0 {
			t.Errorf("a pool that sleeps %q: %s\n%s", sleeps, c.Checks[0].State, found)
		}
	}
}
