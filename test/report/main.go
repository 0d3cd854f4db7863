// Command report runs "go test -json" with its arguments. It prints a line for each package, and the whole output of failed packages.
// TEST_TIMES names a file to which it adds the time of each package and its three slowest tests. The exit status is 0 if every
// failed test is in the quarantine.
package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// quarantine has a line for each test or spec whose failure is printed but does not fail the run: date, package, name and the
// observed failure, separated by tabs. Lines with # are comments. TestQuarantineHasAtMostThreeEntriesWithDateAndCause limits its length.
//
//go:embed quarantine.txt
var quarantine string

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "tests failed:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("connect to go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start go test: %w", err)
	}
	r := newReport(out, quarantined(quarantine))
	readErr := r.read(stdout)
	err = cmd.Wait()
	if path := os.Getenv("TEST_TIMES"); path != "" {
		readErr = errors.Join(readErr, appendTo(path, r.rows))
	}
	return errors.Join(readErr, r.verdict(err))
}

// quarantined returns the names in a quarantine list, as "package name".
func quarantined(list string) map[string]bool {
	names := map[string]bool{}
	for line := range strings.Lines(list) {
		if fields := strings.Split(strings.TrimSpace(line), "\t"); !strings.HasPrefix(line, "#") && len(fields) == 4 {
			names[fields[1]+" "+fields[2]] = true
		}
	}
	return names
}

func appendTo(path string, rows []string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("write the times of tests: %w", err)
	}
	_, err = file.WriteString(strings.Join(rows, ""))
	return errors.Join(err, file.Close())
}

// read takes the events of go test until their end.
func (r *report) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				_, _ = r.out.Write(line) // the go command itself has printed it
			} else {
				r.take(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the output of go test: %w", err)
		}
	}
}
