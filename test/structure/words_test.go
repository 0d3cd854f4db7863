package structure_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// onlyOnce are the words that once named types of several meanings. Each names at most one type of the engine and the commands, so that a
// reader knows it without its package.
var onlyOnce = []string{"Keeper", "Kind", "Loop", "Members", "Objects", "Owner", "Request", "State"}

// retired are words of the engine of which the glossary has another: autoscaler for governor, and for the others the thing itself.
var retired = regexp.MustCompile(`(?i)governor|foreseer|unseen|stakes`)

// looking finds functions named after a look. Their names say the result instead.
var looking = regexp.MustCompile(`^[lL]ook(s|ed)?([A-Z]|$)`)

// holding finds names of functions and types with the word hold. The packages of holders know it by the meaning of the glossary: to stop
// an autoscaler or a controller.
var (
	holding = regexp.MustCompile(`(^[hH]|H)(old|eld)([^a-z]|s|er|ers|ing|$)`)
	holders = []string{"engine/adapter", "engine/decide", "engine/pipeline", "engine/policy", "engine/reconcile", "engine/workload",
		"engine/world", "cmd/kubectl-flyball"}
)

// misnamed returns the reason for which a declared name has a second meaning, or "".
func misnamed(isHolder bool, n ast.Node) (name *ast.Ident, why string) {
	switch n := n.(type) {
	case *ast.FuncDecl:
		name = n.Name
	case *ast.TypeSpec:
		name = n.Name
	case *ast.Field:
		if len(n.Names) == 1 && strings.HasSuffix(types.ExprString(n.Type), ".OwnerReference") && n.Names[0].Name == "Owner" {
			return n.Names[0], "an owner reference is called by its full name"
		}
	}
	switch {
	case name == nil:
	case looking.MatchString(name.Name):
		why = "name the result of the look"
	case !isHolder && holding.MatchString(name.Name):
		why = "to hold is to stop an autoscaler or a controller"
	}
	return name, why
}

func TestNamesOfTheEngineHaveOneMeaning(t *testing.T) {
	declared, files := map[string][]string{}, map[string][]string{}
	for _, l := range list(t) {
		if !in(l.ImportPath, []string{"engine", "cmd"}) {
			continue
		}
		for _, name := range l.GoFiles {
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, filepath.Join(l.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			if name == "guard.go" {
				files[name] = append(files[name], l.ImportPath)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if name, why := misnamed(in(l.ImportPath, holders), n); why != "" {
					t.Errorf("%s: %s: %s", set.Position(name.Pos()), name.Name, why)
				}
				switch n := n.(type) {
				case *ast.TypeSpec:
					if slices.Contains(onlyOnce, n.Name.Name) {
						declared[n.Name.Name] = append(declared[n.Name.Name], l.ImportPath)
					}
				case *ast.Ident:
					if in(l.ImportPath, []string{"engine"}) && retired.MatchString(n.Name) {
						t.Errorf("%s: the glossary has another word for %s", set.Position(n.Pos()), n.Name)
					}
				}
				return true
			})
		}
	}
	for _, m := range []map[string][]string{declared, files} {
		for word, all := range m {
			if len(all) > 1 {
				t.Errorf("%s has one meaning in each of %s", word, strings.Join(all, ", "))
			}
		}
	}
}
