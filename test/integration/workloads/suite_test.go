// Package workloads tests schedules beside the real controllers of Kubernetes, which act on sleeping and waking
// objects: pods are created and deleted, owners follow, and namespaces are finalised.
package workloads

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

var (
	env *harness.Env
	ctx context.Context
)

func TestWorkloads(t *testing.T) { suite.Run(t, "Workloads") }

var _ = BeforeSuite(func() {
	ctx = context.Background()
	env = suite.Up(ctx, local.Options{Level: local.LevelWorkloads}, "deployments.apps", "statefulsets.apps", "daemonsets.apps",
		"replicasets.apps",
		"cronjobs.batch", "jobs.batch", "horizontalpodautoscalers.autoscaling")
})

var monday = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// startManager runs a manager whose clock stands at Monday noon.
func startManager() *clocktesting.FakeClock {
	clock := clocktesting.NewFakeClock(monday)
	suite.Start(ctx, env, harness.Options{Clock: clock})
	return clock
}

const pod = `{metadata: {labels: {app: %[2]s}}, spec: {terminationGracePeriodSeconds: 0, restartPolicy: %[3]s, containers: [{name: main, image: "example.com/app:1"}]}}`

var kinds = map[string]string{
	"Deployment":  `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: %[1]s, name: %[2]s}, spec: {replicas: 3, selector: {matchLabels: {app: %[2]s}}, template: ` + pod + `}}`,
	"StatefulSet": `{apiVersion: apps/v1, kind: StatefulSet, metadata: {namespace: %[1]s, name: %[2]s}, spec: {replicas: 2, serviceName: a, selector: {matchLabels: {app: %[2]s}}, template: ` + pod + `}}`,
	"DaemonSet":   `{apiVersion: apps/v1, kind: DaemonSet, metadata: {namespace: %[1]s, name: %[2]s}, spec: {selector: {matchLabels: {app: %[2]s}}, template: ` + pod + `}}`,
	"CronJob":     `{apiVersion: batch/v1, kind: CronJob, metadata: {namespace: %[1]s, name: %[2]s}, spec: {schedule: "0 4 29 2 *", jobTemplate: {spec: {template: ` + pod + `}}}}`,
}

// workload returns an object of one of the kinds. It does not create it.
func workload(namespace, name, kind string) *unstructured.Unstructured {
	GinkgoHelper()
	restart := "Always"
	if kind == "CronJob" {
		restart = "Never"
	}
	objs, err := harness.Objects(fmt.Appendf(nil, kinds[kind], namespace, name, restart))
	Expect(err).NotTo(HaveOccurred())
	return objs[0]
}

// newNamespace makes a namespace with a workload of each kind, called by its kind in lower case letters.
func newNamespace(name string, labels map[string]string) {
	GinkgoHelper()
	Expect(env.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})).To(Succeed())
	for kind := range kinds {
		Expect(env.Client.Create(ctx, workload(name, "w", kind))).To(Succeed())
	}
}

// pods counts the pods of a namespace that run.
func pods(namespace string) func(Gomega) int {
	return func(g Gomega) int {
		var list corev1.PodList
		g.Expect(env.Client.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
		n := 0
		for i := range list.Items {
			if list.Items[i].DeletionTimestamp == nil && list.Items[i].Status.Phase == corev1.PodRunning {
				n++
			}
		}
		return n
	}
}

// awakePods is the number of pods that the workloads of newNamespace have on six nodes: 3 of the Deployment, 2 of the
// StatefulSet, and one of the DaemonSet on each node.
const awakePods = 3 + 2 + 6

// rules are those of a schedule asleep from 20:00 to 08:00 UTC.
func rules() v1alpha1.ScheduleRules {
	return v1alpha1.ScheduleRules{Upscale: "0 8 * * *", Downscale: "0 20 * * *"}
}

// vanished returns a check that an object no longer exists.
func vanished(obj client.Object) func() error {
	return func() error { return suite.Vanished(ctx, env, obj) }
}
