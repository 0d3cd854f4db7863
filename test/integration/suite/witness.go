package suite

import (
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"flyball.dev/flyball/test/integration/witness"
)

// Clock is a clock that a spec moves. In suites with a Witness everything is explained before it moves.
type Clock = witness.Clock

// NewClock makes a clock that stands at an instant.
func NewClock(at time.Time) *Clock { return witness.NewClock(at) }

// running is what the spec that runs has made.
var running struct {
	mu         sync.Mutex
	namespaces []string
	clocks     []*Clock
}

func namespacesOfSpec() []string {
	running.mu.Lock()
	defer running.mu.Unlock()
	return running.namespaces[:len(running.namespaces):len(running.namespaces)]
}

var stories witness.Count

// witnessed is true in a suite that has a Witness.
var witnessed bool

// Witness has the end of every spec of a package explained too, and holds the stories of the whole suite against the numbers of those
// that have to be told at least, and of those of which the next change has to have come.
func Witness(told, kept int) bool {
	witnessed = true
	AfterEach(func() {
		running.mu.Lock()
		clocks := running.clocks
		running.mu.Unlock()
		for _, c := range clocks {
			c.Tell()
		}
		if CurrentSpecReport().IsInOrderedContainer {
			return // its next spec goes on with what this one has made
		}
		running.mu.Lock()
		defer running.mu.Unlock()
		running.namespaces, running.clocks = nil, nil
	})
	return ReportAfterSuite("explain is true", func(report Report) {
		_, _ = fmt.Fprintf(GinkgoWriter, "%d stories agreed with what is; of %d what was told to come next has come; of %d targets a write was pending\n", stories.Told, stories.Kept, stories.Open)
		if report.SuiteSucceeded && len(report.SuiteConfig.FocusStrings) == 0 {
			Expect(stories.Told).To(BeNumerically(">=", told), "stories that agreed with what is")
			Expect(stories.Kept).To(BeNumerically(">=", kept), "stories of which the next change has come")
		}
	})
}
