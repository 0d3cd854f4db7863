// Package deletioncost tests deletion costs beside the real ReplicaSet controller and scheduler. It checks which pods
// get which costs, what happens to the costs, and the reports about them. Package scaledown counts the zones.
package deletioncost

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/integration/zones"
)

var (
	cluster *zones.Cluster
	env     *harness.Env
	ctx     context.Context
)

var shipped = []string{"deployments.apps", "replicasets.apps", "statefulsets.apps", "jobs.batch"}

func TestDeletionCost(t *testing.T) { suite.Run(t, "DeletionCost") }

var _ = BeforeSuite(func() {
	ctx = context.Background()
	cluster = zones.Up(ctx, shipped...)
	env = cluster.Env
	DeferCleanup(stop)
})

// running is the manager that specs share.
var running *harness.Manager

// start runs a manager, and waits until the adapters are ready.
func start() {
	GinkgoHelper()
	if running == nil {
		running = env.Start(harness.Options{Log: GinkgoWriter})
	}
	Expect(env.AwaitAdapters(ctx, shipped...)).To(Succeed())
}

func stop() {
	GinkgoHelper()
	if running != nil {
		Expect(running.Stop()).To(Succeed())
		running = nil
	}
}

func newPolicy(namespace, name string) *v1alpha1.DeletionCost { return zones.Policy(namespace, name) }

func newDeployment(namespace, name string, replicas int) client.Object {
	GinkgoHelper()
	return cluster.NewDeployment(ctx, namespace, name, replicas)
}

// podsOf lists the pods of an app that a controller counts. If app is empty, it lists the pods of all apps in the
// namespace.
func podsOf(g Gomega, namespace, app string) []*corev1.Pod {
	var list corev1.PodList
	opts := []client.ListOption{client.InNamespace(namespace)}
	if app != "" {
		opts = append(opts, client.MatchingLabels{"app": app})
	}
	g.Expect(env.Client.List(ctx, &list, opts...)).To(Succeed())
	var out []*corev1.Pod
	for i := range list.Items {
		if p := &list.Items[i]; zones.IsCounted(p) {
			out = append(out, p)
		}
	}
	return out
}

// ready returns a check that an app has exactly n pods and all of them are ready.
func ready(namespace, app string, n int) func(Gomega) {
	return func(g Gomega) { g.Expect(zones.Ready(podsOf(g, namespace, app), n)).To(Succeed()) }
}

// planned returns a check that the pods of an app have the deletion costs that the planner wants.
func planned(namespace, app string) func(Gomega) {
	return func(g Gomega) {
		g.Expect(len(cluster.Plan(podsOf(g, namespace, app)))).To(BeZero(), "pods of %s that cost something else than planned", app)
	}
}
