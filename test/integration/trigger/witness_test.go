//go:build !race

package trigger

import "flyball.dev/flyball/test/integration/suite"

// Only without the race detector is the whole suite explained. With it, explaining is so slow that the specs would
// mostly wait for it.
var _ = suite.Witness(150, 35)
