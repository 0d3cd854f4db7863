//go:build !race

package trigger

import "flyball.dev/flyball/test/integration/suite"

// The race detector makes explaining so slow that the specs wait for nothing else. Without it the whole suite is explained.
var _ = suite.Witness(150, 35)
