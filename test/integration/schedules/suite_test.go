// Package schedules tests the real manager against a real Kubernetes API server, with a clock that the tests move: what a
// schedule selects, does and says at night and by day, and how Flyball and other writers of the same objects live together.
package schedules

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

func TestSchedules(t *testing.T) { suite.Run(t, "Schedules") }

var _ = BeforeSuite(scene.Up)

// The effects of the specs' schedules are explained too.
var _ = suite.Witness(650, 98)
