// Package outage tests what becomes of workloads when the manager or the API server goes away in the middle of an edge. It
// has a cluster of its own, which it stops and starts as it likes.
package outage

import (
	"context"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
)

var (
	env *harness.Env
	ctx context.Context
	// binary is the manager.
	binary string
)

func TestOutage(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(harness.Patience)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "Outage")
}

var _ = BeforeSuite(func() {
	ctx = context.Background()
	var err error
	env, err = harness.Up(ctx, local.Options{Level: local.LevelAPI, Log: os.Stderr})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(env.Cluster.Stop()).To(Succeed()) })
	Expect(env.InstallAdapters(ctx, "deployments.apps", "statefulsets.apps", "cronjobs.batch")).To(Succeed())
	binary, err = env.Build(ctx, GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
})
