package suite

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
)

// Each suite prints the name, the result and the time of its specs for test/report.
var _ = ReportAfterSuite("times of specs", func(report Report) {
	for _, s := range report.SpecReports {
		if s.State.Is(types.SpecStateSkipped | types.SpecStatePending) {
			continue
		}
		result := "passed"
		if s.Failed() {
			result = "failed"
		}
		name := s.FullText()
		if name == "" {
			name = s.LeafNodeType.String()
		}
		fmt.Printf("\nflyball-spec\t%s\t%.1f\t%s\n", result, s.RunTime.Seconds(), name)
	}
})
