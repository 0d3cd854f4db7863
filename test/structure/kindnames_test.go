package structure_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"flyball.dev/flyball/engine/policy/kinds"
)

// ownKindNames are the packages in which kinds of policies may be named: those of the kinds themselves, the API, what stands
// outside the program, the golden cases of adapters, and migrate, suggest and analysis, which speak of objects and
// profiles of another tool that is called as a kind is.
var ownKindNames = []string{"engine/policy", "crds", "test", "docs", "samples", "adapters/cases", "cmd/kubectl-flyball/migrate",
	"cmd/kubectl-flyball/suggest", "cmd/kubectl-flyball/analysis"}

// TestPolicyKindsAreNamedInTheirTableOnly: whatever is done for every kind of policy loops over the table of package kinds. A
// name elsewhere is a list that the next kind is missing from.
func TestPolicyKindsAreNamedInTheirTableOnly(t *testing.T) {
	names := map[string]bool{}
	for _, k := range kinds.All() {
		names[k.Name], names[k.Name+"List"], names[k.Resource] = true, true, true
	}
	looked := 0
	for _, l := range list(t) {
		if in(l.ImportPath, ownKindNames) {
			continue
		}
		looked++
		for _, name := range l.GoFiles {
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range kindNames(file, names) {
				t.Errorf("%s names %s: ask package kinds, or the row of the kind", set.Position(found.Pos()), found.name)
			}
		}
	}
	if looked < 20 {
		t.Errorf("%d packages were looked at", looked)
	}
}

type kindName struct {
	ast.Node
	name string
}

// kindNames finds the names in a file: as types of the API, and as texts that are a name and no more than that, or the full
// name of a resource.
func kindNames(file *ast.File, names map[string]bool) []kindName {
	api := ""
	for _, imp := range file.Imports {
		if imp.Path.Value == strconv.Quote(module+"crds/v1alpha1") {
			api = "v1alpha1"
			if imp.Name != nil {
				api = imp.Name.Name
			}
		}
	}
	var found []kindName
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && api != "" && pkg.Name == api && names[n.Sel.Name] {
				found = append(found, kindName{n, api + "." + n.Sel.Name})
			}
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && names[strings.TrimSuffix(text, ".flyball.dev")] {
				found = append(found, kindName{n, text})
			}
		}
		return true
	})
	return found
}

// TestKindNamesAreFound shows what counts as a name and what does not.
func TestKindNamesAreFound(t *testing.T) {
	const text = `package p
import (
	api "flyball.dev/flyball/crds/v1alpha1"
	"example.com/v1alpha1"
)
var _ = []any{api.Schedule{}, api.Adapter{}, v1alpha1.Schedule{}, "schedules", "schedules.flyball.dev", "all schedules", "Trigger"}
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{"Schedule": true, "schedules": true, "Trigger": true}
	var got []string
	for _, f := range kindNames(file, names) {
		got = append(got, f.name)
	}
	if want := []string{"api.Schedule", "schedules", "schedules.flyball.dev", "Trigger"}; !slices.Equal(got, want) {
		t.Errorf("found %v, want %v", got, want)
	}
}
