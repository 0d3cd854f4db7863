package adapters

import (
	"path/filepath"
	"slices"
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
)

// TestEveryAnnotationHasACase checks that what an adapter says of metadata and status, which pass a freeze by default, is
// exercised: some edit in its testdata changes the field and is classified as the adapter says.
func TestEveryAnnotationHasACase(t *testing.T) {
	folders, err := filepath.Glob("*/*/adapter.yaml")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no adapters found: %v", err)
	}
	for _, file := range folders {
		dir := filepath.Dir(file)
		spec := readStrict[v1alpha1.Adapter](t, file)
		changes := spec.Spec.Changes
		if changes == nil {
			continue
		}
		runs := classifyRuns(t, dir, &spec)
		for action, texts := range map[string][]v1alpha1.Path{
			"Create": changes.Create, "Delete": changes.Delete, "RollOut": changes.Rollout, "Scale": changes.Scale,
		} {
			for _, text := range texts {
				p := path.MustParse(string(text))
				if section := p.Steps()[0].Name; section != "metadata" && section != "status" && section != "operation" {
					continue
				}
				if !slices.ContainsFunc(runs, func(r *run) bool { return r.exercises(t, p, action) }) {
					t.Errorf("%s: no case has an edit of %s that is a %s", dir, text, action)
				}
			}
		}
	}
}

func classifyRuns(t *testing.T, dir string, spec *v1alpha1.Adapter) []*run {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "testdata", "*", "case.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var runs []*run
	for _, file := range files {
		r := &run{dir: filepath.Dir(file), testCase: readStrict[testCase](t, file)}
		r.compile(t, spec)
		runs = append(runs, r)
	}
	return runs
}

// exercises says whether an edit of the case changes a field and is wanted to be an action.
func (r *run) exercises(t *testing.T, p path.Path, action string) bool {
	return slices.ContainsFunc(r.Classify, func(e edit) bool {
		before, err := p.Get(r.object)
		if err != nil {
			t.Fatal(err)
		}
		after, err := p.Get(mutate(t, r.object, e.Mutate))
		if err != nil {
			t.Fatal(err)
		}
		return before.Raw() != after.Raw() && slices.Contains(e.Want, action)
	})
}
