package integration

import "flyball.dev/flyball/test/integration/suite"

// What the specs of schedules come to is explained, too.
var _ = suite.Witness(1200, 80)
