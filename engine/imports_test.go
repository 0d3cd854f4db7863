// Package engine_test holds the tests that speak of the whole tree: who may import whom.
package engine_test

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "flyball.dev/flyball/"

// pure are the packages that see no client and call no clock.
var pure = []string{"engine/path", "engine/timeline", "engine/workload", "engine/adapter", "engine/pipeline", "engine/policy"}

// ioPackages are the packages that talk to the network. They import pure ones, never one another.
var ioPackages = []string{"engine/watch", "engine/apply", "engine/inspect", "engine/admit"}

type listed struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	Deps       []string
}

func list(t *testing.T) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps=false", "-json=ImportPath,Dir,GoFiles,Imports,Deps", "./...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		switch err := d.Decode(&l); {
		case err == io.EOF:
			return all
		case err != nil:
			t.Fatalf("decode go list: %v", err)
		}
		all = append(all, l)
	}
}

func in(path string, packages []string) bool {
	return slices.ContainsFunc(packages, func(p string) bool {
		return path == module+p || strings.HasPrefix(path, module+p+"/")
	})
}

func TestPurePackagesReachNoClient(t *testing.T) {
	seen := 0
	for _, l := range list(t) {
		if !in(l.ImportPath, pure) {
			continue
		}
		seen++
		for _, dep := range l.Deps {
			if strings.HasPrefix(dep, "k8s.io/client-go") || strings.HasPrefix(dep, "sigs.k8s.io/controller-runtime") {
				t.Errorf("%s reaches %s", l.ImportPath, dep)
			}
		}
	}
	if seen < len(pure) {
		t.Errorf("%d pure packages were looked at, there are at least %d", seen, len(pure))
	}
}

func TestPurePackagesCallNoClock(t *testing.T) {
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	for _, l := range list(t) {
		if !in(l.ImportPath, pure) {
			continue
		}
		for _, name := range l.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(l.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "time" && pkg.Obj == nil && slices.Contains(clock, sel.Sel.Name) {
					t.Errorf("%s/%s calls time.%s", l.ImportPath, name, sel.Sel.Name)
				}
				return true
			})
		}
	}
}

// TestImportsGoOneWay checks path <- workload <- adapter; timeline, workload <- pipeline <- policy; I/O packages beside one another.
func TestImportsGoOneWay(t *testing.T) {
	layer := map[string]int{"engine/path": 0, "engine/timeline": 0, "engine/workload": 1, "engine/adapter": 2, "engine/pipeline": 3, "engine/policy": 4}
	rank := func(path string) (int, bool) {
		for p, n := range layer {
			if in(path, []string{p}) {
				return n, true
			}
		}
		return 0, false
	}
	for _, l := range list(t) {
		from, isPure := rank(l.ImportPath)
		for _, imp := range l.Imports {
			if to, ok := rank(imp); isPure && ok && to > from {
				t.Errorf("%s imports %s, which comes after it", l.ImportPath, imp)
			}
			if isPure && in(imp, append([]string{"engine/reconcile", "cmd"}, ioPackages...)) {
				t.Errorf("%s is pure and imports %s", l.ImportPath, imp)
			}
			if in(l.ImportPath, ioPackages) && in(imp, ioPackages) && !sameRoot(l.ImportPath, imp) {
				t.Errorf("%s and %s both do I/O; only reconcile and cmd join them", l.ImportPath, imp)
			}
		}
	}
}

func sameRoot(a, b string) bool {
	root := func(p string) string { return strings.Join(strings.Split(strings.TrimPrefix(p, module), "/")[:2], "/") }
	return root(a) == root(b)
}
