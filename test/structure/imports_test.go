// Package structure_test holds the tests that speak of the whole tree: who may import whom.
package structure_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "flyball.dev/flyball/"

// pure are the packages that see no client and call no clock.
var pure = []string{"engine/path", "engine/timeline", "engine/workload", "engine/adapter", "engine/pipeline",
	"engine/policy", "engine/decide", "engine/tuning/podsize", "engine/notify"}

// ioPackages are the packages that talk to the network. They import pure ones, never one another.
var ioPackages = []string{"engine/watch", "engine/apply", "engine/inspect", "engine/admission", "engine/tuning/measure"}

// world holds the state that pure packages look at. It sees no client and calls no clock either.
const world = "engine/world"

// joining are the packages that join those that do I/O.
var joining = []string{"engine/reconcile", "engine/status", "engine/pods",
	"engine/tuning", "engine/controller", "cmd"}

type listed struct {
	ImportPath                string
	Dir                       string
	GoFiles                   []string
	Imports                   []string
	TestImports, XTestImports []string
	Deps                      []string
}

// list returns all packages of the module.
func list(t *testing.T) []listed {
	t.Helper()
	all, err := listOnce()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(all)
}

// listOnce runs go list, which takes longer than all tests of its answer together.
var listOnce = sync.OnceValues(func() (all []listed, err error) {
	cmd := exec.Command("go", "list", "-deps=false", "-json=ImportPath,Dir,GoFiles,Imports,TestImports,XTestImports,Deps", "../../...")
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		switch err := d.Decode(&l); {
		case err == io.EOF:
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("decode go list: %w", err)
		}
		all = append(all, l)
	}
})

func in(path string, packages []string) bool {
	return slices.ContainsFunc(packages, func(p string) bool {
		return path == module+p || strings.HasPrefix(path, module+p+"/")
	})
}

// clientless are the packages that see no client and call no clock.
func clientless() []string { return append([]string{world}, pure...) }

func TestPurePackagesReachNoClient(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range list(t) {
		if !in(l.ImportPath, clientless()) {
			continue
		}
		for _, p := range clientless() {
			seen[p] = seen[p] || in(l.ImportPath, []string{p})
		}
		for _, dep := range l.Deps {
			if strings.HasPrefix(dep, "k8s.io/client-go") || strings.HasPrefix(dep, "sigs.k8s.io/controller-runtime") {
				t.Errorf("%s reaches %s", l.ImportPath, dep)
			}
		}
	}
	for _, p := range clientless() {
		if !seen[p] {
			t.Errorf("there is no package %s", p)
		}
	}
}

// homes are the libraries that one package alone knows, so that another can take their place.
var homes = map[string]string{
	"github.com/tidwall/gjson": "engine/path/rawjson",
}

func TestLibrariesHaveOneHome(t *testing.T) {
	found := map[string]bool{}
	for _, l := range list(t) {
		for _, library := range slices.Concat(l.Imports, l.TestImports, l.XTestImports) {
			home, known := homes[library]
			found[library] = known
			if known && l.ImportPath != module+home {
				t.Errorf("%s imports %s, which only %s knows", l.ImportPath, library, home)
			}
		}
	}
	for library := range homes {
		if !found[library] {
			t.Errorf("nothing imports %s", library)
		}
	}
}

// TestProgramsLinkOnlyUsedClients proves that no program links the clients of all groups of Kubernetes, which take eight
// megabytes.
func TestProgramsLinkOnlyUsedClients(t *testing.T) {
	for _, l := range list(t) {
		if in(l.ImportPath, []string{"engine", "cmd"}) && slices.Contains(l.Imports, "k8s.io/client-go/kubernetes") {
			t.Errorf("%s imports the clients of all groups; import those below k8s.io/client-go/kubernetes/typed", l.ImportPath)
		}
	}
}

// TestManagerRendersNoGoTemplates proves that the engine has no template that calls methods by name. With one, the linker keeps every
// exported method of every type, which takes 11 megabytes of the manager.
func TestManagerRendersNoGoTemplates(t *testing.T) {
	for _, l := range list(t) {
		if !in(l.ImportPath, []string{"engine", "cmd/flyball-manager"}) {
			continue
		}
		for _, library := range []string{"text/template", "html/template"} {
			if slices.Contains(l.Imports, library) {
				t.Errorf("%s imports %s", l.ImportPath, library)
			}
		}
	}
}

func TestPurePackagesCallNoClock(t *testing.T) {
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	for _, l := range list(t) {
		if !in(l.ImportPath, clientless()) {
			continue
		}
		for _, imp := range l.Imports {
			if strings.HasPrefix(imp, "k8s.io/utils/clock") {
				t.Errorf("%s imports %s", l.ImportPath, imp)
			}
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

// TestPureImportsGoOneWay checks path <- workload; timeline, workload <- adapter <- pipeline <- policy <- decide,
// notify <- podsize.
func TestPureImportsGoOneWay(t *testing.T) {
	layers := map[string]int{
		"engine/path": 0, "engine/timeline": 0, "engine/workload": 1, "engine/adapter": 2,
		"engine/pipeline": 3, "engine/policy": 4, "engine/decide": 5,
		"engine/tuning/podsize": 6,
		"engine/notify":         5,
	}
	rank := func(path string) (int, bool) {
		for p, n := range layers {
			if in(path, []string{p}) {
				return n, true
			}
		}
		return 0, false
	}
	for _, p := range pure {
		if _, ok := layers[p]; !ok {
			t.Errorf("%s has no rank", p)
		}
	}
	for _, l := range list(t) {
		from, isPure := rank(l.ImportPath)
		for _, imp := range l.Imports {
			if !isPure || !strings.HasPrefix(imp, module) || in(imp, []string{"crds"}) {
				continue
			}
			if to, ok := rank(imp); !ok || to > from {
				t.Errorf("%s is pure and imports %s, which is not pure or comes after it", l.ImportPath, imp)
			}
		}
	}
}

// TestWorldIsOfPurePackagesOnly, and so can be looked at by everybody. The helpers of its tests may use the adapter
// library.
func TestWorldIsOfPurePackagesOnly(t *testing.T) {
	for _, l := range list(t) {
		if l.ImportPath != module+world {
			continue
		}
		for _, imp := range l.Imports {
			if strings.HasPrefix(imp, module) && !in(imp, append([]string{"crds"}, pure...)) {
				t.Errorf("%s imports %s, which is not pure", l.ImportPath, imp)
			}
		}
	}
}

// TestOnlyTheJoiningPackagesJoinIO has the packages that do I/O stay beside one another.
func TestOnlyTheJoiningPackagesJoinIO(t *testing.T) {
	for _, l := range list(t) {
		if !in(l.ImportPath, []string{"engine", "cmd"}) {
			continue
		}
		for _, imp := range l.Imports {
			if !in(imp, ioPackages) || sameRoot(l.ImportPath, imp) {
				continue
			}
			switch {
			case in(l.ImportPath, ioPackages):
				t.Errorf("%s and %s both do I/O", l.ImportPath, imp)
			case !in(l.ImportPath, joining):
				t.Errorf("%s imports %s; only %s do that", l.ImportPath, imp, strings.Join(joining, ", "))
			}
		}
	}
}

// TestEngineDoesNotImportControllers: they drive the loop, its status and its templates, and not the other way round.
func TestEngineDoesNotImportControllers(t *testing.T) {
	for _, l := range list(t) {
		if !in(l.ImportPath, []string{"engine"}) || in(l.ImportPath, []string{"engine/controller"}) {
			continue
		}
		for _, imp := range l.Imports {
			if in(imp, []string{"engine/controller", "cmd"}) {
				t.Errorf("%s imports %s", l.ImportPath, imp)
			}
		}
	}
}

// TestOnlyTheWiringImportsTuning: whoever reads schedules and freezes never meets tuning.
func TestOnlyTheWiringImportsTuning(t *testing.T) {
	tuning := []string{"engine/tuning"}
	for _, l := range list(t) {
		if !in(l.ImportPath, []string{"engine"}) || in(l.ImportPath, tuning) {
			continue
		}
		for _, imp := range l.Imports {
			if in(imp, tuning) {
				t.Errorf("%s imports %s", l.ImportPath, imp)
			}
		}
	}
}

// TestMigrationReadsJSONOnly: the packages below migrate work out the meaning of objects from their JSON, and the verb reads them
// from a cluster.
func TestMigrationReadsJSONOnly(t *testing.T) {
	for _, l := range list(t) {
		if !strings.HasPrefix(l.ImportPath, module+"cmd/kubectl-flyball/migrate/") {
			continue
		}
		for _, imp := range l.Imports {
			if strings.HasPrefix(imp, "k8s.io/client-go") || strings.HasPrefix(imp, "sigs.k8s.io/controller-runtime") || imp == module+
				"cmd/kubectl-flyball/source" {
				t.Errorf("%s imports %s", l.ImportPath, imp)
			}
		}
	}
}

// TestAdapterImportsGoOneWay checks projection <- compiled <- ledger <- adapter, and that other packages use the last only.
func TestAdapterImportsGoOneWay(t *testing.T) {
	layers := map[string]int{"/projection": 1, "/compiled": 2, "/ledger": 3, "": 4}
	const door = module + "engine/adapter"
	seen := 0
	for _, l := range list(t) {
		name, isPart := strings.CutPrefix(l.ImportPath, door)
		from, known := layers[name]
		if isPart {
			seen++
		}
		for _, imp := range l.Imports {
			below, isAdapter := strings.CutPrefix(imp, door)
			switch to, ok := layers[below]; {
			case !isAdapter || imp == door && !isPart:
			case !isPart:
				t.Errorf("%s imports %s, and not %s", l.ImportPath, imp, door)
			case !known || !ok || to >= from:
				t.Errorf("%s imports %s, which does not come before it", l.ImportPath, imp)
			}
		}
	}
	if seen != len(layers) {
		t.Errorf("there are %d packages, want %d", seen, len(layers))
	}
}

func sameRoot(a, b string) bool {
	root := func(p string) string { return strings.Join(strings.Split(strings.TrimPrefix(p, module), "/")[:2], "/") }
	return root(a) == root(b)
}
