package migrate_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/cmd/kubectl-flyball/migrate"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

var update = flag.Bool("update", false, "write the golden files anew")

// now is the evening before a public holiday.
var now = time.Date(2037, 5, 13, 19, 0, 0, 0, time.UTC)

// TestMigrationsMatchGoldenFiles runs the cases of testdata. There is a directory for each tool, with a file for
// each field or trap of the
// tool's objects. The first line of a case describes it. The golden file beside a case has the output and the writes of
// a take-over. Every printed manifest is read again as a manifest of Flyball, so it is checked against the schemas and
// compiled.
func TestMigrationsMatchGoldenFiles(t *testing.T) {
	for _, tool := range migrate.Tools() {
		cases, err := filepath.Glob(filepath.Join("testdata", tool.Name, "*.yaml"))
		if err != nil || len(cases) == 0 {
			t.Errorf("%s: %d cases, %v", tool.Name, len(cases), err)
		}
		for _, file := range cases {
			t.Run(tool.Name+"/"+strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
				checkCase(t, file)
			})
		}
	}
}

func checkCase(t *testing.T, file string) {
	files := source.Files{Paths: []string{file}, Namespace: "shop", FlyballNamespace: source.DefaultNamespace}
	m, err := files.Read()
	if err != nil {
		t.Fatal(err)
	}
	in := &migrate.Input{Files: true}
	for i, raw := range m.Others {
		in.Objects = append(in.Objects, migrate.NewObject(raw, filepath.Base(m.Place(i))))
	}
	w, err := files.World(m)
	if err != nil {
		t.Fatal(err)
	}
	out, err := migrate.Convert(migrate.Tools(), in, w.Lists)
	if err != nil {
		t.Fatal(err)
	}
	finding, err := migrate.NewFinding(out, migrate.Tools())
	if err != nil {
		t.Fatal(err)
	}
	printed := text(t, finding)
	readAgain(t, printed, len(out.Emitted))

	slept := &migrate.Output{}
	for _, tool := range migrate.Tools() {
		if tool.Sleepers != nil {
			tool.Sleepers(in, slept)
		}
	}
	handovers := &migrate.Handovers{Left: slept.Left}
	if handovers.Items, err = migrate.TakeOver(out.Over(w.Lists), slept.Sleepers, now); err != nil {
		t.Fatal(err)
	}
	if len(handovers.Items)+len(handovers.Left) > 0 {
		printed += "\n=== taken over\n" + text(t, handovers)
	}
	golden(t, strings.TrimSuffix(file, ".yaml")+".txt", printed)
}

func text(t *testing.T, f printer.Finding) string {
	t.Helper()
	var b bytes.Buffer
	if err := printer.Print(&b, f, printer.Wide, false); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// readAgain loads the output as Flyball's own manifests.
func readAgain(t *testing.T, printed string, want int) {
	t.Helper()
	if want == 0 {
		return
	}
	w, err := source.Files{Paths: []string{"-"}, Stdin: io.NopCloser(strings.NewReader(printed)), Namespace: "shop",
		FlyballNamespace: source.DefaultNamespace}.Read()
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	if got := len(w.Policies) + len(w.Adapters); got != want {
		t.Errorf("%d objects were given, and %d are printed", want, got)
	}
	if _, err := (source.Files{FlyballNamespace: source.DefaultNamespace}).World(w); err != nil {
		t.Errorf("what is printed does not compile: %v\n%s", err, printed)
	}
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; make it with -update", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s, golden (-) and found (+):\n%s", file, diff)
	}
}
