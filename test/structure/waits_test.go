package structure_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fixedWaits is the largest number of waits for a fixed real time in tests and in the programs below test. A test waits for a fact instead:
// by await, by Eventually, or, where nothing is to happen, by suite.Still. Lower the number when a wait goes.
const fixedWaits = 9

var (
	waitRE = regexp.MustCompile(`\bConsistently\(|\btime\.Sleep\(`)
	// simulated finds files whose sleeps pass in the simulated time of synctest; inSimulation are their helpers.
	simulated    = regexp.MustCompile(`"testing/synctest"`)
	inSimulation = map[string]bool{"engine/reconcile/gate/trial_test.go": true}
)

func TestTestsHaveFewWaitsForAFixedTime(t *testing.T) {
	var found []string
	err := filepath.WalkDir("../..", func(file string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(file), "../../")
		isTest := strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "test/") && strings.HasSuffix(name, ".go")
		if err != nil || d.IsDir() || !isTest || inSimulation[name] {
			return err
		}
		raw, err := os.ReadFile(file)
		if err != nil || simulated.Match(raw) {
			return err
		}
		for line := range strings.Lines(string(raw)) {
			if waitRE.MatchString(line) && !strings.HasPrefix(strings.TrimSpace(line), "//") && !strings.Contains(line, "regexp.") {
				found = append(found, name+": "+strings.TrimSpace(line))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) > fixedWaits {
		t.Errorf("%d waits for a fixed time, want at most %d:\n%s", len(found), fixedWaits, strings.Join(found, "\n"))
	}
}
