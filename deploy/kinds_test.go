package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"flyball.dev/flyball/engine/policy/kinds"
)

// TestTemplatesNameNoPolicyKind: the templates take their lists of kinds from the generated file. A handwritten list
// would lack the next new kind.
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
