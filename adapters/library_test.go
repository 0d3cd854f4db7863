package adapters

import (
	stdcmp "cmp"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/adapters/cases"
	"flyball.dev/flyball/crds/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// TestEveryKindPassesItsTestdata runs every case in the testdata of every kind.
func TestEveryKindPassesItsTestdata(t *testing.T) {
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
	text, err := os.ReadFile(filepath.Join(dir, "adapter.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var spec v1alpha1.Adapter
	if err := yaml.UnmarshalStrict(text, &spec); err != nil {
		t.Fatal(err)
	}
	checkIdentity(t, dir, &spec)
	results, err := cases.Run(dir, *update)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		t.Run(stdcmp.Or(r.Case, "all"), func(t *testing.T) {
			for _, failure := range r.Failures {
				t.Error(failure)
			}
		})
	}
}

// checkIdentity checks that the folder, the name and the target of an adapter agree.
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

// folderOf returns the folder of a kind. For the core group, which has no name, the folder is core.
func folderOf(target v1alpha1.AdapterTarget) string {
	return filepath.Join(stdcmp.Or(target.Group, "core"), target.Kind)
}

// TestAllReturnsTheAdaptersInTheFolders checks that All returns exactly the adapters in the folders.
func TestAllReturnsTheAdaptersInTheFolders(t *testing.T) {
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

// TestAdaptersAreForDifferentKinds checks that no two adapters are for the same kind.
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
