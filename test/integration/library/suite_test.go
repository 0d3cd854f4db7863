// Package library tests every shipped adapter with its test data on a real Kubernetes API server.
package library

import (
	"testing"

	"flyball.dev/flyball/test/integration/suite"
)

func TestLibrary(t *testing.T) { suite.Run(t, "Library") }
