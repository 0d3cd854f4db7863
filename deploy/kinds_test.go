package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"flyball.dev/flyball/engine/policy/kinds"
)

// TestTemplatesNameNoPolicyKind: a list of kinds that somebody wrote is one that the next kind is missing from. The templates
// take their lists from the generated file.
func TestTemplatesNameNoPolicyKind(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("helm", "flyball", "templates", "[^N]*")) // NOTES.txt is prose
	if err != nil || len(files) < 10 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range kinds.All() {
			named := regexp.MustCompile(`\b` + k.Resource + `\b`).Match(text)
			if generated := filepath.Base(file) == "_kinds.tpl"; named != generated {
				t.Errorf("%s names %s: %t", file, k.Resource, named)
			}
		}
	}
}
