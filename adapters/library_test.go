package adapters

import (
	stdcmp "cmp"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// TestLibrary walks the folders: every kind, every case in its testdata.
func TestLibrary(t *testing.T) {
	folders, err := filepath.Glob("*/*/adapter.yaml")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no adapters found: %v", err)
	}
	for _, file := range folders {
		dir := filepath.Dir(file)
		t.Run(dir, func(t *testing.T) { testKind(t, dir) })
	}
}

func testKind(t *testing.T, dir string) {
	spec := readStrict[v1alpha1.Adapter](t, filepath.Join(dir, "adapter.yaml"))
	checkIdentity(t, dir, &spec)
	cases, err := filepath.Glob(filepath.Join(dir, "testdata", "*", "case.yaml"))
	if err != nil || len(cases) == 0 {
		t.Fatalf("%s has no testdata: %v", dir, err)
	}
	covered, ran := map[v1alpha1.Capability]bool{}, 0
	for _, file := range cases {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			r := &run{dir: filepath.Dir(file), testCase: readStrict[testCase](t, file), covered: covered}
			ran++
			r.compile(t, &spec)
			r.test(t)
		})
	}
	a, errs := adapter.Compile(spec.Name, spec.Spec, adapter.Keys{})
	if len(errs) > 0 {
		t.Fatalf("compile: %v", errs.ToAggregate())
	}
	for _, c := range a.Capabilities() {
		if ran == len(cases) && !covered[c] { // not when -run leaves cases out
			t.Errorf("no case of %s exercises the capability %s", dir, c)
		}
	}
}

// checkIdentity checks that folder, name and target say the same.
func checkIdentity(t *testing.T, dir string, spec *v1alpha1.Adapter) {
	t.Helper()
	target := spec.Spec.Target
	if got := folderOf(target); got != dir {
		t.Errorf("the target is %s, but the folder is %s", got, dir)
	}
	if want := v1alpha1.GroupVersion.String(); spec.APIVersion != want || spec.Kind != "Adapter" {
		t.Errorf("apiVersion and kind are %s %s, want %s Adapter", spec.APIVersion, spec.Kind, want)
	}
	plural, group, _ := strings.Cut(spec.Name, ".")
	if group != target.Group || plural == strings.ToLower(target.Kind) || !strings.HasPrefix(plural, strings.ToLower(target.Kind)) {
		t.Errorf("metadata.name is %s, want <plural>.%s", spec.Name, target.Group)
	}
	if diff := cmp.Diff(metav1.ObjectMeta{Name: spec.Name}, spec.ObjectMeta); diff != "" {
		t.Errorf("metadata has more than a name:\n%s", diff)
	}
	if diff := cmp.Diff(v1alpha1.AdapterStatus{}, spec.Status); diff != "" {
		t.Errorf("a shipped adapter has no status:\n%s", diff)
	}
}

// folderOf is the folder of a kind; the core group has no name.
func folderOf(target v1alpha1.AdapterTarget) string {
	return filepath.Join(stdcmp.Or(target.Group, "core"), target.Kind)
}

// TestAll checks that what the program carries is what lies in the folders.
func TestAll(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for i := range all {
		got = append(got, folderOf(all[i].Spec.Target))
	}
	folders, err := filepath.Glob("*/*/adapter.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range folders {
		want = append(want, filepath.Dir(file))
	}
	sorted := func(a, b v1alpha1.Adapter) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(all, sorted) {
		t.Error("All is not sorted by name")
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("folders (-) and All (+) differ:\n%s", diff)
	}
}

// TestAdaptersAreForDifferentKinds checks that no two adapters speak of one kind.
func TestAdaptersAreForDifferentKinds(t *testing.T) {
	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for i := range all {
		kind := all[i].Spec.Target.Group + "/" + all[i].Spec.Target.Kind
		if other, ok := seen[kind]; ok {
			t.Errorf("%s and %s are both for %s", other, all[i].Name, kind)
		}
		seen[kind] = all[i].Name
	}
}

// checkPods checks, on an object, that the selector and the template are where the adapter says: the one selects what the
// other makes.
func (r *run) checkPods(t *testing.T) {
	t.Helper()
	pods := r.adapter.Pods()
	if pods.Selector == "" || pods.Template == "" {
		if pods.DeletionCost {
			t.Error("deletionCost needs pods.selector and pods.template")
		}
		return
	}
	var selector metav1.LabelSelector
	var template struct{ Metadata metav1.ObjectMeta }
	if !r.find(t, pods.Selector, &selector) || !r.find(t, pods.Template, &template) {
		return
	}
	s, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		t.Fatalf("%s: %v", pods.Selector, err)
	}
	if s.Empty() || !s.Matches(labels.Set(template.Metadata.Labels)) {
		t.Errorf("%s (%s) does not select the labels in %s: %v", pods.Selector, s, pods.Template, template.Metadata.Labels)
		return
	}
	if pods.DeletionCost {
		r.covered[v1alpha1.CapabilityDeletionCost] = true
	}
}

// find decodes what lies at a path of the object; false if there is nothing.
func (r *run) find(t *testing.T, text v1alpha1.Path, into any) bool {
	t.Helper()
	p, err := path.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	found := false
	err = p.All(r.object, func(m path.Match) bool {
		found = m.Exists()
		if found {
			err = json.Unmarshal(m.Raw, into)
		}
		return false
	})
	if err != nil {
		t.Fatalf("read %s: %v", text, err)
	}
	return found
}

// cover remembers what a case made the adapter write.
func (r *run) cover(plan workload.Plan, result adapter.Result) {
	if result.Patch == nil {
		return
	}
	for facet := range result.Values {
		switch {
		case facet == "suspend":
			r.covered[v1alpha1.CapabilitySuspend] = true
		case facet == "hold":
			r.covered[v1alpha1.CapabilityHold] = true
		case facet == "min", facet == "max":
			r.covered[v1alpha1.CapabilityBounds] = true
		case strings.HasPrefix(facet, "requests/"):
			r.covered[v1alpha1.CapabilityResources] = true
		case strings.HasPrefix(facet, "utilisation/"):
			r.covered[v1alpha1.CapabilityUtilisation] = true
		case strings.HasPrefix(facet, "replicas/"):
			r.covered[v1alpha1.CapabilityScale] = true
		case plan.Annotations[facet].Value != "":
			r.covered[v1alpha1.CapabilityAnnotate] = true
		}
	}
}

// readStrict decodes a YAML file and refuses unknown and repeated fields.
func readStrict[T any](t *testing.T, file string) T {
	t.Helper()
	var v T
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &v); err != nil {
		t.Fatalf("decode %s: %v", file, err)
	}
	return v
}
