// Package trigger tests Trigger and ClusterTrigger with the real manager against a real Kubernetes API server, with a clock
// that the tests move.
package trigger

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
)

var builtin = []string{"deployments.apps", "statefulsets.apps", "horizontalpodautoscalers.autoscaling"}

var (
	env *harness.Env
	ctx context.Context
)

func TestTrigger(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(harness.Patience)
	SetDefaultEventuallyPollingInterval(25 * time.Millisecond)
	SetDefaultConsistentlyDuration(500 * time.Millisecond)
	RunSpecs(t, "Trigger")
}

var _ = BeforeSuite(func() {
	ctx = context.Background()
	var err error
	env, err = harness.Up(ctx, local.Options{Level: local.LevelAPI, Log: os.Stderr})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(env.Cluster.Stop()).To(Succeed()) })
	Expect(env.InstallAdapters(ctx, builtin...)).To(Succeed())
})

// monday is a Monday at midnight, when the tests' clocks begin.
var monday = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// hour is a time after monday.
func hour(h float64) time.Time { return monday.Add(time.Duration(h * float64(time.Hour))) }

// start runs a manager whose clock stands at an hour until the spec moves it.
func start(h float64) *clocktesting.FakeClock {
	GinkgoHelper()
	clock := clocktesting.NewFakeClock(hour(h))
	run(clock)
	return clock
}

// run runs a manager until the spec ends.
func run(clock *clocktesting.FakeClock) *harness.Manager {
	GinkgoHelper()
	m := env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
	DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
	Expect(env.AwaitAdapters(ctx, builtin...)).To(Succeed())
	return m
}

var namespaces atomic.Int32

func newNamespace() string {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("spec-%d", namespaces.Add(1))}}
	Expect(env.Client.Create(ctx, ns)).To(Succeed())
	return ns.Name
}

// runOnce runs a manager that the spec stops.
func runOnce(h float64) *harness.Manager {
	GinkgoHelper()
	m := env.Start(harness.Options{Clock: clocktesting.NewFakeClock(hour(h)), Log: GinkgoWriter})
	Expect(env.AwaitAdapters(ctx, builtin...)).To(Succeed())
	return m
}
