// Package integration tests the real manager against a real Kubernetes API server, with a clock that the tests move.
package integration

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

// builtin are the adapters of kinds that every API server has.
var builtin = []string{
	"deployments.apps", "statefulsets.apps", "daemonsets.apps", "replicasets.apps",
	"cronjobs.batch", "jobs.batch", "horizontalpodautoscalers.autoscaling",
}

var (
	env *harness.Env
	ctx context.Context
)

func TestIntegration(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(harness.Patience)
	SetDefaultEventuallyPollingInterval(25 * time.Millisecond)
	SetDefaultConsistentlyDuration(time.Second)
	RunSpecs(t, "Integration")
}

var _ = BeforeSuite(func() {
	ctx = context.Background()
	var err error
	env, err = harness.Up(ctx, local.Options{Level: local.LevelAPI, Log: os.Stderr})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(env.Cluster.Stop()).To(Succeed()) })
	Expect(env.InstallAdapters(ctx, builtin...)).To(Succeed())
})

// monday is a Monday at noon, when the tests' clocks begin.
var monday = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// startManager runs a manager whose clock stands at monday until the spec moves it, and waits until the adapters are ready.
func startManager() *clocktesting.FakeClock {
	GinkgoHelper()
	clock := clocktesting.NewFakeClock(monday)
	startManagerAt(clock)
	return clock
}

func startManagerAt(clock *clocktesting.FakeClock) *harness.Manager {
	GinkgoHelper()
	m := env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
	DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
	Expect(env.AwaitAdapters(ctx, builtin...)).To(Succeed())
	return m
}

var namespaces atomic.Int32

// newNamespace makes a namespace of the spec's own, with labels given as pairs.
func newNamespace(labels ...string) string {
	GinkgoHelper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("spec-%d", namespaces.Add(1)), Labels: map[string]string{}}}
	for i := 0; i+1 < len(labels); i += 2 {
		ns.Labels[labels[i]] = labels[i+1]
	}
	Expect(env.Client.Create(ctx, ns)).To(Succeed())
	return ns.Name
}
