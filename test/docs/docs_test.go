package docs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"flyball.dev/flyball/test/harness"
)

// notRun are the commands that cannot run here, by their prefix, with the reason.
var notRun = map[string]string{
	"docker build ":                  "it needs a container engine",
	"make try":                       "it serves until it is stopped; TestTryServesTheWeekOfTheDemo starts and stops it",
	"make demo":                      "test/demo runs it, in its own tests",
	"make test":                      "it runs this test",
	"make unit":                      "make test runs the same packages",
	"make lint":                      "it runs for every change, beside the tests",
	"make generate":                  "tests compare what it writes with what is there",
	"go test ./test/integration/":    "make test runs it",
	"kubectl flyball status --watch": "it does not end; the tests of the command line watch and stop",
	"kubectl flyball ui":             "it serves until it is stopped; TestUI of the command line starts and stops it",
	"kubectl flyball migrate ":       "it reads the objects of tools that are not in this cluster; the tests of the command line have them",
	"kubectl flyball adapter new rayc": "it writes over the file that the other examples use; the next example does the same with a file " +
		"of CRDs",
}

// elsewhere are the pages whose commands another test runs.
var elsewhere = map[string]string{
	"docs/migrating.md": "TestREADME of cmd/kubectl-flyball/cli runs those that need no tool in the cluster",
	"docs/evaluate.md":  "test/integration/cli serves the API that they call",
	"docs/wake.md":      "test/integration/cli serves the API that they call",
}

// TestCommandsOfDocumentsPrintTheirOutput runs every command of the documents, except listed exceptions, and
// compares the output with the page.
func TestCommandsOfDocumentsPrintTheirOutput(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	order, blocks, total := readScenes(t, root)
	plugin := buildPlugin(t, root)
	var ran atomic.Int32
	t.Cleanup(func() { t.Logf("ran %d of %d commands", ran.Load(), total) })
	t.Run("shared", func(t *testing.T) {
		t.Parallel() // clusters mostly wait
		s := openShared(t, plugin)
		for _, name := range inTurn(order) {
			t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
				s.enter(t, plugin, scenes[name])
				ran.Add(int32(s.play(blocks[name])))
				s.leave()
			})
		}
	})
	for _, name := range order {
		if scenes[name].bare {
			t.Run(strings.ReplaceAll(name, "/", "-"), func(t *testing.T) {
				t.Parallel()
				ran.Add(int32(openBare(t, root, plugin, scenes[name]).play(blocks[name])))
			})
		}
	}
}

// readScenes returns the blocks of each scene that has commands to run, the scenes in order, and the number of all commands.
func readScenes(t *testing.T, root string) (order []string, blocks map[string][]block, total int) {
	t.Helper()
	blocks = map[string][]block{}
	unused := map[string]bool{}
	for beginning := range notRun {
		unused[beginning] = true
	}
	for _, b := range readBlocks(t, root) {
		commands := b.commands()
		if elsewhere[b.page] != "" {
			continue
		}
		total += len(commands)
		for _, c := range commands {
			delete(unused, skipped(c))
		}
		if !slices.ContainsFunc(commands, func(c command) bool { return skipped(c) == "" }) && b.language != "yaml" {
			continue
		}
		name := sceneOf(b)
		if blocks[name] == nil {
			order = append(order, name)
		}
		blocks[name] = append(blocks[name], b)
	}
	for beginning := range unused {
		t.Errorf("no page has a command that begins with %q any more", beginning)
	}
	if total < 50 || len(notRun) > 12 {
		t.Errorf("found %d commands, and %d exceptions", total, len(notRun))
	}
	order = slices.DeleteFunc(order, func(name string) bool { // objects without commands; their schemas are tested
		return !slices.ContainsFunc(blocks[name], func(b block) bool { return len(b.commands()) > 0 })
	})
	return order, blocks, total
}

// skipped returns the prefix that excludes a command, or "" if the command is to run.
func skipped(c command) string {
	for beginning := range notRun {
		if strings.HasPrefix(c.text, beginning) {
			return beginning
		}
	}
	return ""
}

// play runs the blocks of a scene in order and returns the number of commands. Objects on a page are applied at their
// place.
func (s *stage) play(blocks []block) (ran int) {
	for _, b := range blocks {
		if b.language == "yaml" && !s.bare {
			s.apply(b)
		}
		for _, c := range b.commands() {
			if skipped(c) != "" {
				continue
			}
			ran++
			if err := s.run(b, c); err != nil {
				s.Errorf("%s: %v", b, err)
			}
		}
	}
	return ran
}

// run runs a command. A command with a documented output is repeated until the output matches, because the expected
// state may need a moment.
func (s *stage) run(b block, c command) error {
	if c.output == "" {
		out, code, err := s.shell(s.Context(), c.text)
		if err != nil {
			return fmt.Errorf("$ %s: %w", c.text, err)
		}
		if code != 0 && (!b.example || code != 2) { // the plugin's exit code for changes or a denial
			return fmt.Errorf("$ %s\nexit code %d\n%s", c.text, code, out)
		}
		return nil
	}
	want := shown(c.output)
	return harness.PollEvery(s.Context(), repeatAfter, harness.Patience, func() error {
		out, _, err := s.shell(s.Context(), c.text)
		if err == nil && !want.MatchString(plain(out)) {
			err = fmt.Errorf("$ %s\nshows\n%s\nand the page has\n%s", c.text, out, c.output)
		}
		return err
	})
}

// repeatAfter is the pause between repetitions. Without it the commands would take the processor from the program they
// wait for.
const repeatAfter = 250 * time.Millisecond

// shell runs a line in a shell and returns the output, including errors, and the exit code.
func (s *stage) shell(ctx context.Context, line string) (out string, code int, err error) {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", line)
	cmd.Dir, cmd.Env = s.dir, append(os.Environ(), s.env...)
	text, err := cmd.CombinedOutput()
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		err = nil
	}
	return string(text), cmd.ProcessState.ExitCode(), err
}

var (
	space = regexp.MustCompile(`\s+`)
	// span matches durations and ages. The manager's clock is ahead of the machine's, so kubectl prints <invalid>.
	span = regexp.MustCompile(`\b(\d+[dhms])+\b|<invalid>`)
)

// plain removes the parts of a text that differ between runs or terminals.
func plain(text string) string {
	return strings.TrimSpace(space.ReplaceAllString(span.ReplaceAllString(text, "~"), " "))
}

// shown returns the pattern for a documented output, in which three dots match any text.
func shown(output string) *regexp.Regexp {
	parts := strings.Split(plain(output), "...")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
}
