// Package scene has what the suites of test/integration share: the API server of a suite, and the objects, edits and
// looks of their specs.
package scene

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

// Builtin are the adapters of kinds that every API server has.
var Builtin = []string{
	"deployments.apps", "statefulsets.apps", "daemonsets.apps", "replicasets.apps",
	"cronjobs.batch", "jobs.batch", "horizontalpodautoscalers.autoscaling",
}

// Env is the API server of the suite, which Up sets. Ctx is the context of its specs.
var (
	Env *harness.Env
	Ctx = context.Background()
)

// Up starts the API server of a suite, with Flyball's kinds and the adapters of builtin kinds. It is called in BeforeSuite.
func Up() {
	GinkgoHelper()
	Env = suite.Up(Ctx, local.Options{Level: local.LevelAPI}, Builtin...)
}

// Monday is a Monday at noon, when the tests' clocks begin.
var Monday = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// StartManager runs a manager whose clock stands at monday until the spec moves it, and waits until the adapters are ready.
func StartManager() *suite.Clock {
	GinkgoHelper()
	clock := suite.NewClock(Monday)
	StartManagerAt(clock)
	return clock
}

func StartManagerAt(clock *suite.Clock) *harness.Manager {
	GinkgoHelper()
	return suite.Start(Ctx, Env, harness.Options{Clock: clock}, Builtin...)
}

// NewNamespace makes a namespace of the spec's own, with labels given as pairs.
func NewNamespace(labels ...string) string {
	GinkgoHelper()
	return suite.Namespace(Ctx, Env, labels...)
}
