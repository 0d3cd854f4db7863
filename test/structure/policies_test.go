package structure_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// policyUsers has, for each policy, the packages of the engine and the manager that import the policy's package. The table of
// kinds imports every policy. The verbs of the CLI are left out: some draft, suggest or explain policies of one kind.
var policyUsers = map[string][]string{
	"deletioncost": nil,
	"trigger":      nil,
	"tortoise":     nil,
	"schedule":     nil,
	"override":     nil,
	// freezes judge the changes of other writers, so the webhook is their actuator
	"freeze": {"engine/world", "engine/decide", "engine/admission", "engine/controller/freezes", "cmd/flyball-manager/app"},
}

// TestAPolicyIsOnePackageAndOneRow counts the files that import the package of each policy.
func TestAPolicyIsOnePackageAndOneRow(t *testing.T) {
	rows, used := map[string]int{}, map[string]map[string]bool{}
	for _, l := range list(t) {
		if !in(l.ImportPath, []string{"engine", "cmd/flyball-manager"}) {
			continue
		}
		for _, name := range l.GoFiles {
			for _, policy := range policiesIn(t, l, name) {
				switch {
				case in(l.ImportPath, []string{"engine/policy/" + policy}):
				case l.ImportPath == module+"engine/policy/kinds":
					rows[policy]++
				case !in(l.ImportPath, policyUsers[policy]):
					t.Errorf("%s/%s imports the policy %s: ask a capability of policy.Policy", l.ImportPath, name, policy)
				default:
					i := slices.IndexFunc(policyUsers[policy], func(p string) bool { return in(l.ImportPath, []string{p}) })
					if used[policy] == nil {
						used[policy] = map[string]bool{}
					}
					used[policy][policyUsers[policy][i]] = true
				}
			}
		}
	}
	for policy, users := range policyUsers {
		if rows[policy] != 1 {
			t.Errorf("%d files of the table import the policy %s", rows[policy], policy)
		}
		for _, user := range users {
			if !used[policy][user] {
				t.Errorf("%s imports the policy %s no more: take it off the list", user, policy)
			}
		}
	}
}

// policiesIn returns the policies that a file imports.
func policiesIn(t *testing.T, l listed, name string) (found []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(l.Dir, name), nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, imp := range file.Imports {
		path, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		for policy := range policyUsers {
			if in(path, []string{"engine/policy/" + policy}) {
				found = append(found, policy)
			}
		}
	}
	return found
}

// actuators has, for each capability that is carried out on pods or requests, the packages of its actuator.
var actuators = map[string][]string{
	"PodOrderer": {"engine/pods/cost"},
	"Tuner":      {"engine/tuning"},
}

// capabilityUsers are other packages that ask whether a policy has a capability: the decision, the result of a target, and the
// limits of roll-outs.
var capabilityUsers = map[string][]string{
	"PodOrderer": {"engine/status"},
	"Tuner":      {"engine/decide", "engine/world"},
}

// TestOnlyActuatorsNameTheirCapability: the loop over targets and the statuses know actuators by their interface only, so no
// other package names the capability behind one.
func TestOnlyActuatorsNameTheirCapability(t *testing.T) {
	named := 0
	for _, l := range list(t) {
		if !in(l.ImportPath, []string{"engine", "cmd/flyball-manager"}) || in(l.ImportPath, []string{"engine/policy"}) {
			continue
		}
		for _, imp := range l.Imports {
			if in(l.ImportPath, []string{"engine/reconcile", "engine/status"}) && in(imp, []string{"engine/pods", "engine/tuning"}) {
				t.Errorf("%s imports %s: the wiring gives it the actuator", l.ImportPath, imp)
			}
		}
		for _, name := range l.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(l.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok || actuators[sel.Sel.Name] == nil {
					return true
				}
				named++
				if !in(l.ImportPath, slices.Concat(actuators[sel.Sel.Name], capabilityUsers[sel.Sel.Name])) {
					t.Errorf("%s/%s names %s", l.ImportPath, name, sel.Sel.Name)
				}
				return true
			})
		}
	}
	if named == 0 {
		t.Error("no capability was found")
	}
}
