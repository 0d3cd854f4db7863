package engine_test

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

// Every test that the page on security names exists: a promise there without its test is not held by anything.
func TestSecurityPageNamesTests(t *testing.T) {
	page, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	exists := map[string]bool{}
	for _, root := range []string{"../adapters", "../cmd", "../crds", "../deploy", "../engine", "../test"} {
		err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(file, "_test.go") {
				return err
			}
			text, err := os.ReadFile(file)
			for _, m := range testFunction.FindAllSubmatch(text, -1) {
				exists[string(m[1])] = true
			}
			name := strings.TrimPrefix(filepath.ToSlash(file), "../")
			exists[strings.TrimPrefix(name, "test/integration/")], exists[name] = true, true
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
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
