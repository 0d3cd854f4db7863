// Package adapters tests the real manager against a real Kubernetes API server, with a clock that the tests move: how objects of
// an adapter sleep and wake while the adapter, its rights or its kind change.
package adapters

import (
	"testing"

	. "github.com/onsi/ginkgo/v2"

	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

func TestAdapters(t *testing.T) { suite.Run(t, "Adapters") }

var _ = BeforeSuite(scene.Up)

// The effects of the specs' schedules are explained too.
var _ = suite.Witness(40, 10)
