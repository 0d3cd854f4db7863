package integration

import "flyball.dev/flyball/test/integration/suite"

// The effects of the specs' schedules are explained too.
var _ = suite.Witness(1200, 80)
