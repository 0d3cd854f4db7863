package suite

import (
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"flyball.dev/flyball/test/integration/witness"
)

// Clock is a clock controlled by a spec. In suites with a Witness all targets are explained before it moves.
type Clock = witness.Clock

// NewClock returns a clock that stands at an instant.
func NewClock(at time.Time) *Clock { return witness.NewClock(at) }

// running has the objects of the running spec.
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

// witnessed is true in a suite with a Witness.
var witnessed bool

// Witness also explains all targets at the end of every spec of a package. It checks that the whole suite has at least
// the given numbers of explanations, and of explanations whose next change has happened.
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
			return // the next spec uses the same objects
		}
		running.mu.Lock()
		defer running.mu.Unlock()
		running.namespaces, running.clocks = nil, nil
	})
	return ReportAfterSuite("explain is true", func(report Report) {
		_, _ = fmt.Fprintf(GinkgoWriter,
			"%d stories agreed with what is; of %d what was told to come next has come; of %d targets a write was pending\n", stories.Told,
			stories.Kept, stories.Open)
		if report.SuiteSucceeded && len(report.SuiteConfig.FocusStrings) == 0 {
			Expect(stories.Told).To(BeNumerically(">=", told), "stories that agreed with what is")
			Expect(stories.Kept).To(BeNumerically(">=", kept), "stories of which the next change has come")
		}
	})
}
