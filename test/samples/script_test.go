package samples

import (
	"bufio"
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/test/harness"
)

// sample is one file: its objects, and the expectations in its comment.
type sample struct {
	// name is the path below the samples directory.
	name    string
	objects []*unstructured.Unstructured
	steps   []step
}

// step is one expectation or command: a field to check, or a command to run.
type step struct {
	file string
	line int
	text string
	at   time.Time
	// command is a shell command; the other fields are empty then.
	command               string
	kind, namespace, name string
	path                  path.Path
	want                  string
}

// absent is the expected value of a missing field.
const absent = "(absent)"

var (
	// heading begins the list: "# Expect, in Europe/Berlin:".
	heading = regexp.MustCompile(`^# Expect, in (\S+):$`)
	// entry is an instant with an expectation or a command.
	entry = regexp.MustCompile(`^#   (\d{4}-\d\d-\d\d \d\d:\d\d(?::\d\d)?)\s+(.+)$`)
	// look is an object, a field and its value: "Deployment ns/web   .spec.replicas = 3".
	look = regexp.MustCompile(`^(\w+) (?:([\w-]+)/)?([\w.-]+)\s+(\..+) = (.+)$`)
)

// read parses a sample. From the heading on, every line of its comment must be valid.
func read(name string, text []byte) (sample, error) {
	s := sample{name: name}
	var err error
	if s.objects, err = harness.Objects(text); err != nil {
		return s, err
	}
	if !bytes.HasPrefix(text, []byte("# ")) {
		return s, fmt.Errorf("%s: does not begin with a comment that says what it does", name)
	}
	var zone *time.Location
	lines := bufio.NewScanner(bytes.NewReader(text))
	for number := 1; lines.Scan() && strings.HasPrefix(lines.Text(), "#"); number++ {
		line := lines.Text()
		if m := heading.FindStringSubmatch(line); m != nil {
			if zone, err = time.LoadLocation(m[1]); err != nil {
				return s, fmt.Errorf("%s:%d: %w", name, number, err)
			}
			continue
		}
		if zone == nil {
			continue
		}
		st, err := readStep(line, zone)
		if err != nil {
			return s, fmt.Errorf("%s:%d: %w", name, number, err)
		}
		st.file, st.line = name, number
		s.steps = append(s.steps, st)
	}
	if len(s.steps) == 0 {
		return s, fmt.Errorf("%s: its comment does not say what to expect (a line %q and then lines)", name, "# Expect, in <time zone>:")
	}
	return s, nil
}

func readStep(line string, zone *time.Location) (step, error) {
	m := entry.FindStringSubmatch(line)
	if m == nil {
		return step{}, fmt.Errorf("%q is no instant and what to expect then", line)
	}
	st := step{text: m[2]}
	layout := "2006-01-02 15:04:05"
	var err error
	if st.at, err = time.ParseInLocation(layout[:len(m[1])], m[1], zone); err != nil {
		return st, fmt.Errorf("read the instant: %w", err)
	}
	if command, ok := strings.CutPrefix(m[2], "$ "); ok {
		st.command = command
		return st, nil
	}
	parts := look.FindStringSubmatch(m[2])
	if parts == nil {
		return st, fmt.Errorf("%q is neither a command ($ ...) nor: Kind namespace/name .path = value", m[2])
	}
	st.kind, st.namespace, st.name, st.want = parts[1], parts[2], parts[3], parts[5]
	if st.path, err = path.Parse(strings.TrimSpace(parts[4])); err != nil {
		return st, err
	}
	return st, nil
}
