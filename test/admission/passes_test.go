package admission_test

import (
	stdcmp "cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"

	shipped "flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	freezeadmission "flyball.dev/flyball/engine/admission/freeze"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/selector"
)

// example is a request that passes a freeze of everything according to the documentation.
type example struct {
	// Object is the path of a kind's folder in the library. A third part of the path is the test case; the default is
	// normal.
	Object string `json:"object"`
	// Before is a merge patch that prepares the object. Edit is the merge patch to judge.
	Before json.RawMessage `json:"before,omitempty"`
	Edit   json.RawMessage `json:"edit,omitempty"`
	// The default of Operation is UPDATE, of Namespace shop, and of User alice. Resource is a resource of the core
	// group. The default of Resource is the object's resource.
	Operation   admissionv1.Operation `json:"operation,omitempty"`
	Subresource string                `json:"subresource,omitempty"`
	Namespace   string                `json:"namespace,omitempty"`
	Resource    string                `json:"resource,omitempty"`
	User        string                `json:"user,omitempty"`
}

// without returns the same request without its reasons to pass, other than the edit. If the edit is the only reason,
// it returns a request with a different edit.
func (e example) without(t *testing.T) example {
	bare := e
	bare.Subresource, bare.Namespace, bare.Resource, bare.User = "", "", "", ""
	if e.Operation == admissionv1.Delete && len(e.Before) > 0 {
		bare.Before = nil
	}
	if string(encode(t, bare)) != string(encode(t, e)) && bare.Subresource == e.Subresource {
		return bare
	}
	switch e.Operation {
	case admissionv1.Create, admissionv1.Delete:
		bare.Operation, bare.Edit = "", json.RawMessage(`{"spec":{"hostname":"other"}}`)
	default:
		bare.Operation, bare.Edit = admissionv1.Delete, nil
	}
	return bare
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// review returns the AdmissionReview of the request.
func (e example) review(t *testing.T) string {
	t.Helper()
	parts := strings.Split(e.Object, "/")
	kind := append(parts, "normal")[2]
	dir := filepath.Join("..", "..", "adapters", parts[0], parts[1])
	var spec v1alpha1.Adapter
	readYAML(t, filepath.Join(dir, "adapter.yaml"), &spec)
	var object json.RawMessage
	readYAML(t, filepath.Join(dir, "testdata", kind, "object.yaml"), &object)

	resource := schema.ParseGroupResource(spec.Name)
	if e.Resource != "" {
		resource = schema.GroupResource{Resource: e.Resource}
	}
	before := merge(t, object, e.Before)
	old, cur := string(before), string(merge(t, before, e.Edit))
	operation := e.Operation
	switch operation {
	case "":
		operation = admissionv1.Update
	case admissionv1.Create:
		old = none
	case admissionv1.Delete:
		cur = none
	}
	text := of(resource.Group, resource.Resource, review(string(operation), "NAMESPACE", "any", e.Subresource, old, cur))
	text = strings.Replace(text, `"NAMESPACE"`, fmt.Sprintf("%q", stdcmp.Or(e.Namespace, "shop")), 1)
	return strings.Replace(text, `"alice"`, fmt.Sprintf("%q", stdcmp.Or(e.User, "alice")), 1)
}

func merge(t *testing.T, object, patch []byte) []byte {
	t.Helper()
	if len(patch) == 0 {
		return object
	}
	merged, err := jsonpatch.MergePatch(object, patch)
	if err != nil {
		t.Fatal(err)
	}
	return merged
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// section returns a section of the documentation of freezes, from its heading to the next.
func section(t *testing.T, heading string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "policies", "freeze.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		t.Fatalf("no section %q", heading)
	}
	part, _, _ := strings.Cut(rest, "\n#")
	return part
}

// rows returns the rows of the table in a text, without the head.
func rows(text string, columns int) [][]string {
	var all [][]string
	for line := range strings.Lines(text) {
		if cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|"); strings.HasPrefix(line, "|") && len(cells) == columns {
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			all = append(all, cells)
		}
	}
	return all[2:]
}

// judgeOfEverything returns a judge with a freeze that denies everything everywhere.
func judgeOfEverything(t *testing.T) *freezeadmission.Judge {
	t.Helper()
	judges := freezes(t)
	f := &v1alpha1.ClusterChangeFreeze{}
	everything := `{metadata: {name: everything}, spec: {target: {namespaceSelector: {}}, startTime: 2026-12-20T00:00:00Z, endTime: ` +
		`2027-01-03T00:00:00Z, deny: [Create, Delete, RollOut, Scale]}}`
	if err := yaml.UnmarshalStrict([]byte(everything), f); err != nil {
		t.Fatal(err)
	}
	rule, _, errs := freeze.CompileObject(f, freeze.Context{Scope: selector.Scope{Protected: sets.New("kube-system")}})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	judges.set = judges.set.With(rule)
	return judge(t, judges, func(freezeadmission.Judgement) {})
}

// Every request that the documentation lists passes a freeze of everything, for the documented reason.
func TestDocumentedRequestsPass(t *testing.T) {
	j := judgeOfEverything(t)
	table := rows(section(t, "## What passes"), 3)
	if len(table) < 16 {
		t.Fatalf("found only %d rows", len(table))
	}
	for _, row := range table {
		t.Run(row[0], func(t *testing.T) {
			var e example
			if err := yaml.UnmarshalStrict([]byte(strings.Trim(row[2], "`")), &e); err != nil {
				t.Fatalf("%v in %s", err, row[2])
			}
			if got := ask(t, j, e.review(t)); !got.Allowed {
				t.Errorf("refused: %s", got.Result.Message)
			}
			other := e.without(t)
			if got := ask(t, j, other.review(t)); got.Allowed {
				t.Errorf("passes too: %s", encode(t, other))
			}
		})
	}
}

// The documentation names every account that is not judged, and no other.
func TestExemptAccountsAreDocumented(t *testing.T) {
	_, text, found := strings.Cut(section(t, "## What passes"), "\nThe accounts of the control plane are ")
	text, _, _ = strings.Cut(text, ".\n")
	if !found {
		t.Fatal("no paragraph of accounts")
	}
	var got []string
	for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(text, -1) {
		switch name := m[1]; {
		case name == "kube-system":
		case strings.Contains(name, ":"):
			got = append(got, name)
		default:
			got = append(got, "system:serviceaccount:kube-system:"+name)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(freeze.ControlPlaneUsers(), got); diff != "" {
		t.Errorf("not judged (-) and documented (+):\n%s", diff)
	}
}

// The documentation lists every field that a shipped adapter ignores, and every judged field of a status.
func TestIgnoredFieldsAreDocumented(t *testing.T) {
	all, err := shipped.All()
	if err != nil {
		t.Fatal(err)
	}
	inStatus := func(c *v1alpha1.Changes) []v1alpha1.Path {
		judged := slices.Concat(c.Create, c.Delete, c.Rollout, c.Scale)
		judged = slices.DeleteFunc(judged, func(p v1alpha1.Path) bool { return !strings.HasPrefix(string(p), ".status.") })
		slices.Sort(judged)
		return slices.Compact(judged)
	}
	for heading, pathsOf := range map[string]func(*v1alpha1.Changes) []v1alpha1.Path{
		"### Fields that are nothing": func(c *v1alpha1.Changes) []v1alpha1.Path { return c.Ignore },
		"### Fields of a status":      inStatus,
	} {
		got, want := map[string]string{}, map[string]string{}
		for _, row := range rows(section(t, heading), 2) {
			got[row[0]] = row[1]
		}
		for _, a := range all {
			if a.Spec.Changes == nil || len(pathsOf(a.Spec.Changes)) == 0 {
				continue
			}
			var paths []string
			for _, p := range pathsOf(a.Spec.Changes) {
				paths = append(paths, "`"+string(p)+"`")
			}
			want[stdcmp.Or(a.Spec.Target.Group, "core")+"/"+a.Spec.Target.Kind] = strings.Join(paths, ", ")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: in adapters (-) and documented (+):\n%s", heading, diff)
		}
	}
}
