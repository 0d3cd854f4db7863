package cli_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
)

var update = flag.Bool("update", false, "write the golden files anew")

// now is the evening before a public holiday, in the demo's week.
var now = time.Date(2037, 5, 13, 19, 0, 0, 0, time.UTC)

// demo has the flags that use a copy of the demo's manifests.
const demo = "--offline testdata/shop -n shop"

// outcome returns the output and the exit code of a command line.
func outcome(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	return outcomeAt(t, now, stdin, args...)
}

// outcomeAt returns the outcome of a command line at an instant.
func outcomeAt(t *testing.T, now time.Time, stdin string, args ...string) string {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	var out, errOut bytes.Buffer
	env := factory.Env{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &out, ErrOut: &errOut},
		Now:       func() time.Time { return now },
	}
	code := cli.Run(t.Context(), args, env)
	text := fmt.Sprintf("exit code %d\n", code)
	if errOut.Len() > 0 {
		text += "--- standard error\n" + errOut.String()
	}
	if out.Len() > 0 {
		text += "--- standard output\n" + out.String()
	}
	return text
}

// golden compares a text with a golden file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("there is no %s; make it with -update", file)
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s, golden (-) and found (+):\n%s", file, diff)
	}
}

var unsafeName = regexp.MustCompile(`[^a-z0-9]+`)

// TestCommandsMatchGoldenFiles runs the command lines of testdata/commands, one per line as "name: arguments", and
// compares their
// outcomes with golden files.
func TestCommandsMatchGoldenFiles(t *testing.T) {
	files, err := filepath.Glob("testdata/commands/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of commands, %v", len(files), err)
	}
	for _, file := range files {
		verb := strings.TrimSuffix(filepath.Base(file), ".txt")
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
				continue
			}
			name, args, ok := strings.Cut(line, ":")
			if !ok {
				t.Fatalf("%s: %q is no name and arguments", file, line)
			}
			t.Run(verb+"/"+name, func(t *testing.T) {
				args = strings.ReplaceAll(args, "DEMO", demo)
				args = strings.ReplaceAll(args, "TUNED", "--offline testdata/tuned -n shop")
				fields := strings.Fields(args)
				if !strings.Contains(args, "--time-zone") && !strings.Contains(args, "__complete") {
					fields = append(fields, "--time-zone=Europe/Berlin")
				}
				golden(t, verb+"/"+unsafeName.ReplaceAllString(strings.ToLower(name), "-"), "$ kubectl flyball"+args+"\n"+outcome(t, "", fields...))
			})
		}
	}
}

// reading is an instant before all instants in the documents. The command lines of documents run at this instant.
var reading = time.Date(2027, 1, 4, 9, 0, 0, 0, time.UTC)

// TestCommandsInDocumentsMatchTheirOutput runs the command lines in documents that need no cluster, and compares the
// outputs with the documents.
func TestCommandsInDocumentsMatchTheirOutput(t *testing.T) {
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []struct {
		file, dir string
		atLeast   int
	}{{"README.md", ".", 1}, {"docs/migrating.md", "test/docs/testdata/migrating", 9},
		{"docs/policies/schedule.md", "test/docs/testdata/cli", 1}, {"docs/policies/trigger.md", "test/docs/testdata/cli", 1}} {
		text, err := os.ReadFile(filepath.Join(root, d.file))
		if err != nil {
			t.Fatal(err)
		}
		t.Chdir(filepath.Join(root, d.dir))
		blocks := regexp.MustCompile("(?s)```console(?: docs/cli)?\n\\$ kubectl flyball ([^\n]*)\n(.*?)```").FindAllStringSubmatch(string(text),
			-1)
		if len(blocks) < d.atLeast {
			t.Fatalf("there are %d command lines in %s", len(blocks), d.file)
		}
		for _, b := range blocks {
			_, got, _ := strings.Cut(outcomeAt(t, reading, "", strings.Fields(b[1])...), "--- standard output\n")
			if diff := cmp.Diff(b[2], got); diff != "" {
				t.Errorf("%s: %s (-) and found (+):\n%s", b[1], d.file, diff)
			}
		}
	}
}

// TestREADMEShowsOutputBeforeInstallation checks that the README shows the output of explain before the installation.
func TestREADMEShowsOutputBeforeInstallation(t *testing.T) {
	text, err := os.ReadFile("../../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	shown, _, found := strings.Cut(string(text), "\n## Install\n")
	for _, verb := range []string{"explain"} {
		if !found || !strings.Contains(shown, "$ kubectl flyball "+verb+" ") {
			t.Errorf("%s is not shown before the section that installs", verb)
		}
	}
}

// TestColorsNeedACapableTerminal checks that colours appear only on a terminal that shows them, and not if the user
// disabled them.
func TestColorsNeedACapableTerminal(t *testing.T) {
	run := func(color bool, more ...string) string {
		var out bytes.Buffer
		env := factory.Env{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}, Now: func() time.Time { return now }, Color: color}
		if code := cli.Run(t.Context(), append(strings.Fields("status "+demo), more...), env); code != 0 {
			t.Fatal(out.String())
		}
		return out.String()
	}
	if !strings.Contains(run(true), "\x1b[1mPOLICY") {
		t.Error("there are no colours on a terminal")
	}
	for _, plain := range []string{run(false), run(true, "--no-color"), run(true, "-o", "json")} {
		if strings.Contains(plain, "\x1b") {
			t.Errorf("there are colours in %q", plain)
		}
	}
	t.Setenv("NO_COLOR", "")
	if factory.Terminal().Color {
		t.Error("NO_COLOR is set, and there are colours")
	}
}
