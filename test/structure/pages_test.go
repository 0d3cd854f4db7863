package structure_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	namedTest    = regexp.MustCompile("`((?:Test|Fuzz)\\w+|[\\w/]+_test\\.go)`")
)

var (
	decisionForm = regexp.MustCompile(`(?s)^# (\d{4}) [^\n]+\n\nDate: \d{4}-\d\d-\d\d\. Status: \w+\.\n\n` +
		`\*\*Context\.\*\* .*\n\n\*\*Decision\.\*\* .*\n\n\*\*Consequences\.\*\* .`)
	decisionsLine = regexp.MustCompile(`(?m)^// Decisions \(docs/decisions\): (\d{4}(?:, \d{4})*)\.$`)
)

// Every decision has one form and is named by the package that it explains, and no package names a decision that is gone.
func TestDecisionsAreNamedByPackages(t *testing.T) {
	named := map[string]string{}
	for _, root := range []string{"../../cmd", "../../crds", "../../engine"} {
		eachFile(t, root, ".go", func(file string, text []byte) {
			for _, m := range decisionsLine.FindAllSubmatch(text, -1) {
				for number := range strings.SplitSeq(string(m[1]), ", ") {
					named[number] = file
				}
			}
		})
	}
	eachFile(t, "../../docs/decisions", ".md", func(file string, text []byte) {
		m := decisionForm.FindSubmatch(text)
		number, _, _ := strings.Cut(filepath.Base(file), "-")
		switch {
		case m == nil || string(m[1]) != number:
			t.Errorf("%s lacks its number, date and status, or the paragraphs Context, Decision and Consequences", file)
		case named[number] == "":
			t.Errorf("no package names %s: add its number to the line Decisions of a package comment", file)
		}
		delete(named, number)
	})
	for number, file := range named {
		t.Errorf("%s names the decision %s, which does not exist", file, number)
	}
}

// stepOfChange finds the file and the function of a step in the architecture: world/intake.go: World.ObjectChanged.
var stepOfChange = regexp.MustCompile("`((?:[a-z]+/)+[a-z_]+\\.go): (?:[A-Z]\\w+\\.)?(\\w+)`")

func TestArchitectureNamesFunctionsOfTheirFiles(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	steps := stepOfChange.FindAllSubmatch(text, -1)
	if len(steps) != 11 {
		t.Errorf("the architecture has %d steps with a file, want 11", len(steps))
	}
	for _, m := range steps {
		code, err := os.ReadFile("../../engine/" + string(m[1]))
		if err != nil || !regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|var )`+string(m[2])+`\b`).Match(code) {
			t.Errorf("%s has no %s: %v", m[1], m[2], err)
		}
	}
}

// eachFile calls visit with each file below a directory whose name has the suffix.
func eachFile(t *testing.T, root, suffix string, visit func(file string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, suffix) {
			return err
		}
		text, err := os.ReadFile(file)
		visit(filepath.ToSlash(file), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Every test that the page on security names exists: a promise there without its test is not held by anything.
func TestSecurityPageNamesTests(t *testing.T) {
	page, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{}
	for _, root := range []string{"../../adapters", "../../cmd", "../../crds", "../../deploy", "../../engine", "../../test"} {
		eachFile(t, root, "_test.go", func(file string, text []byte) {
			for _, m := range testFunction.FindAllSubmatch(text, -1) {
				exists[string(m[1])] = true
			}
			name := strings.TrimPrefix(file, "../../")
			exists[strings.TrimPrefix(name, "test/integration/")], exists[name] = true, true
		})
	}
	named := namedTest.FindAllSubmatch(page, -1)
	if len(named) < 100 {
		t.Errorf("docs/security.md names %d tests, at least 100 are wanted", len(named))
	}
	for _, m := range named {
		if !exists[string(m[1])] {
			t.Errorf("docs/security.md names %s, and there is no such test", m[1])
		}
	}
}
