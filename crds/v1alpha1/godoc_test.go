package v1alpha1_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestDocsOfTypesHaveNoMarkers: controller-gen reads the markers of a type also from the comment above its doc comment, which readers
// of the documentation do not see.
func TestDocsOfTypesHaveNoMarkers(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	types := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE || gen.Doc == nil {
				continue
			}
			types++
			if strings.Contains(gen.Doc.Text(), "+kubebuilder:validation") {
				t.Errorf("%s: the doc comment of a type has markers: put them above it, with an empty line between", name)
			}
		}
	}
	if types < 50 {
		t.Errorf("%d types have a doc comment", types)
	}
}
