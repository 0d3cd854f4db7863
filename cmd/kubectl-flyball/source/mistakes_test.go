package source_test

import (
	"fmt"
	"strings"
	"testing"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/test/mistakes"
)

// TestErrorsOfTypicalMistakesNameTheField checks the errors for typical mistakes. Each error is one sentence that
// names the field and does not
// mention a schema.
func TestErrorsOfTypicalMistakesNameTheField(t *testing.T) {
	for _, m := range mistakes.Mistakes {
		manifest := fmt.Sprintf("{apiVersion: flyball.dev/v1alpha1, kind: %s, metadata: {name: a}, spec: %s}", m.Kind, m.Spec)
		files := source.Files{Paths: []string{"-"}, Stdin: strings.NewReader(manifest), Namespace: "shop"}
		manifests, err := files.Read()
		if err == nil {
			var w *source.World
			if w, err = files.World(manifests); err == nil {
				err = w.Check(manifests)
			}
		}
		switch {
		case err == nil:
			t.Errorf("%s %s is taken", m.Kind, m.Spec)
		case !strings.Contains(err.Error(), m.Field) || !strings.Contains(err.Error(), m.Says):
			t.Errorf("%s %s: %v\nwant %s and %q in it", m.Kind, m.Spec, err, m.Field, m.Says)
		case strings.Contains(err.Error(), "anyOf") || strings.Contains(err.Error(), "should match"):
			t.Errorf("%s %s: %v", m.Kind, m.Spec, err)
		}
	}
}

// Ontario, Norway and Bas-Rhin have codes that YAML reads as truth values and as a number.
func TestCodesWithoutQuotesAreToBeQuoted(t *testing.T) {
	for holidays, want := range map[string]string{
		"{country: CA, subdivisions: [ON]}": `spec.holidays.subdivisions[0] must be of type string: "boolean": put it in quotes`,
		"{country: NO}":                     `spec.holidays.country must be of type string: "boolean": put it in quotes`,
		"{country: FR, subdivisions: [67]}": `spec.holidays.subdivisions[0] must be of type string: "number": put it in quotes`,
	} {
		manifest := "apiVersion: flyball.dev/v1alpha1\nkind: Calendar\nmetadata: {name: a}\nspec: {timeZone: UTC, holidays: " + holidays + "}\n"
		_, err := source.Files{Paths: []string{"-"}, Stdin: strings.NewReader(manifest)}.Read()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", holidays, err, want)
		}
	}
}
