// Package outage tests the state of workloads when the manager or the API server ends in the middle of a transition, and
// a manager that cannot list a kind. It has a cluster of its own, which it stops, starts and damages.
package outage

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

var (
	env *harness.Env
	ctx context.Context
	// binary is the path of the manager's program.
	binary string
)

func TestOutage(t *testing.T) { suite.Run(t, "Outage") }

var _ = BeforeSuite(func() {
	ctx = context.Background()
	env = suite.Up(ctx, local.Options{Level: local.LevelAPI}, "deployments.apps", "replicasets.apps", "statefulsets.apps", "cronjobs.batch")
	var err error
	binary, err = env.Build(ctx, GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
})
