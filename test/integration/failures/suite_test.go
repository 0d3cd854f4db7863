// Package failures tests the real manager against a real Kubernetes API server, with a clock that the tests move: what is done
// and said about writes that fail, requests that hang and bursts of work.
package failures

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

func TestFailures(t *testing.T) { suite.Run(t, "Failures") }

var _ = BeforeSuite(scene.Up)

// The effects of the specs' schedules are explained too.
var _ = suite.Witness(650, 30)
