package structure_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// onlyOnce are the words that once named types of several meanings. Each names at most one type of the engine, so that a reader knows it
// without its package.
var onlyOnce = []string{"Keeper", "Kind", "Loop", "Members", "Objects", "Owner", "Request", "State"}

// retired are words of which the glossary has another: autoscaler for governor, and for the others the thing itself.
var retired = regexp.MustCompile(`(?i)governor|foreseer|unseen|stakes`)

func TestNamesOfTheEngineHaveOneMeaning(t *testing.T) {
	types, files := map[string][]string{}, map[string][]string{}
	for _, l := range list(t) {
		if !in(l.ImportPath, []string{"engine"}) {
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
				switch n := n.(type) {
				case *ast.TypeSpec:
					if slices.Contains(onlyOnce, n.Name.Name) {
						types[n.Name.Name] = append(types[n.Name.Name], l.ImportPath)
					}
				case *ast.Ident:
					if retired.MatchString(n.Name) {
						t.Errorf("%s: the glossary has another word for %s", set.Position(n.Pos()), n.Name)
					}
				}
				return true
			})
		}
	}
	for _, m := range []map[string][]string{types, files} {
		for word, all := range m {
			if len(all) > 1 {
				t.Errorf("%s has one meaning in each of %s", word, strings.Join(all, ", "))
			}
		}
	}
}
