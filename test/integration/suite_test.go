// Package integration tests the real manager against a real Kubernetes API server, with a clock that the tests move.
package integration

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
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

func TestIntegration(t *testing.T) { suite.Run(t, "Integration") }

var _ = BeforeSuite(func() {
	ctx = context.Background()
	env = suite.Up(ctx, local.Options{Level: local.LevelAPI}, builtin...)
})

// monday is a Monday at noon, when the tests' clocks begin.
var monday = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// startManager runs a manager whose clock stands at monday until the spec moves it, and waits until the adapters are ready.
func startManager() *suite.Clock {
	GinkgoHelper()
	clock := suite.NewClock(monday)
	startManagerAt(clock)
	return clock
}

func startManagerAt(clock *suite.Clock) *harness.Manager {
	GinkgoHelper()
	return suite.Start(ctx, env, harness.Options{Clock: clock}, builtin...)
}

// newNamespace makes a namespace of the spec's own, with labels given as pairs.
func newNamespace(labels ...string) string {
	GinkgoHelper()
	return suite.Namespace(ctx, env, labels...)
}
