// Package owners tests the real manager against a real Kubernetes API server, with a clock that the tests move: how Flyball and
// other writers of the same objects live together.
package owners

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

func TestOwners(t *testing.T) { suite.Run(t, "Owners") }

var _ = BeforeSuite(scene.Up)

// The effects of the specs' schedules are explained too.
var _ = suite.Witness(50, 18)
