// Package trigger tests Trigger and ClusterTrigger with the real manager against a real Kubernetes API server, with a clock
// that the tests move.
package trigger

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

var builtin = []string{"deployments.apps", "statefulsets.apps", "horizontalpodautoscalers.autoscaling"}

var (
	env *harness.Env
	ctx context.Context
)

func TestTrigger(t *testing.T) { suite.Run(t, "Trigger") }

var _ = BeforeSuite(func() {
	ctx = context.Background()
	env = suite.Up(ctx, local.Options{Level: local.LevelAPI}, builtin...)
})

// monday is a Monday at midnight, when the tests' clocks begin.
var monday = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// hour is a time after monday.
func hour(h float64) time.Time { return monday.Add(time.Duration(h * float64(time.Hour))) }

// start runs a manager whose clock stands at an hour until the spec moves it.
func start(h float64) *suite.Clock {
	GinkgoHelper()
	clock := suite.NewClock(hour(h))
	run(clock)
	return clock
}

// run runs a manager until the spec ends.
func run(clock *suite.Clock) *harness.Manager {
	GinkgoHelper()
	return suite.Start(ctx, env, harness.Options{Clock: clock}, builtin...)
}

func newNamespace() string { return suite.Namespace(ctx, env) }

// runOnce runs a manager that the spec stops.
func runOnce(h float64) *harness.Manager {
	GinkgoHelper()
	m := env.Start(harness.Options{Clock: suite.NewClock(hour(h)), Log: GinkgoWriter})
	Expect(env.AwaitAdapters(ctx, builtin...)).To(Succeed())
	return m
}
