// Package idle tests sleep by idleness: a real Prometheus scrapes a real HAProxy, and the real manager asks that Prometheus.
package idle

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

var (
	env *harness.Env
	ctx context.Context
)

func TestIdle(t *testing.T) { suite.Run(t, "Idle") }

var _ = BeforeSuite(func() {
	ctx = context.Background()
	env = suite.Up(ctx, local.Options{Level: local.LevelAPI, With: []string{"prometheus", "promtool"}}, "deployments.apps")
})

// The app is asleep after asleepAfter without a request.
const asleepAfter = 10 * time.Second

// front is a HAProxy before one app.
type front struct{ harness.Front }

// newFront starts a HAProxy with a backend for an app.
func newFront(namespace, name string) front {
	GinkgoHelper()
	binary, err := exec.CommandContext(ctx, "./haproxy").Output()
	Expect(err).NotTo(HaveOccurred(), "%s", err)
	f, stop, err := harness.StartFront(strings.TrimSpace(string(binary)), GinkgoT().TempDir(), namespace, name, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(stop)
	return front{f}
}

// get requests the app as a browser does, and returns the page.
func (f front) get(g Gomega) string {
	page, err := f.Get(ctx)
	g.Expect(err).NotTo(HaveOccurred())
	return page
}

// runApp serves the app of a front while its Deployment has replicas, in place of a kubelet.
func runApp(d *appsv1.Deployment, f front) {
	running, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	DeferCleanup(func() {
		stop()
		<-done
	})
	go func() {
		defer GinkgoRecover()
		defer close(done)
		Expect(env.ServeApp(running, client.ObjectKeyFromObject(d), f.App)).To(Succeed())
	}()
}

// newApp creates a Deployment with three replicas.
func newApp(namespace, name string) *appsv1.Deployment {
	GinkgoHelper()
	Expect(env.Apply(ctx, fmt.Appendf(nil, `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %[1]s, name: %[2]s}
spec:
  replicas: 3
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec: {containers: [{name: main, image: "example.com/app:1"}]}
`, namespace, name))).To(Succeed())
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// newSchedule creates a ClusterSchedule for a namespace, with the demand above.
func newSchedule(namespace string, change ...func(*v1alpha1.ClusterScheduleSpec)) *v1alpha1.ClusterSchedule {
	GinkgoHelper()
	s := &v1alpha1.ClusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: "idle-" + namespace}}
	s.Spec.Target.Namespaces = []string{namespace}
	s.Spec.Idle = &v1alpha1.IdleRule{Demand: harness.FrontDemand, AsleepAfter: v1alpha1.Duration(asleepAfter.String()), Interval: "2s"}
	for _, c := range change {
		c(&s.Spec)
	}
	Expect(env.Client.Create(ctx, s)).To(Succeed())
	return s
}

// replicas reads the count of a Deployment.
func replicas(d *appsv1.Deployment) func(Gomega) int {
	return func(g Gomega) int {
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		return int(*d.Spec.Replicas)
	}
}

// ready reads the condition Ready of a schedule. status is a pointer into the schedule.
func ready(s client.Object, status *v1alpha1.PolicyStatus) func(Gomega) metav1.Condition {
	return func(g Gomega) metav1.Condition {
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
		c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
		g.Expect(c).NotTo(BeNil())
		return *c
	}
}

// start runs a manager that asks a Prometheus.
func start(o app.PrometheusOptions) *harness.Manager {
	GinkgoHelper()
	return suite.Start(ctx, env, harness.Options{Prometheus: o}, "deployments.apps")
}
