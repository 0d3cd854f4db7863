// Package cases runs the golden cases of an adapter: a folder has adapter.yaml, and in testdata one folder for each
// case. Run puts the object of each case to sleep and wakes it, in memory. It compares the writes, and the actions of
// edits by the rules of freezes, with files. If nothing fails, the adapter restores exactly what it changed in each
// case, and each of its capabilities has a case.
package cases

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
)

// Result is the result of one case.
type Result struct {
	// Adapter is the name of the adapter. Case is the name of the case's folder; empty: the failures concern all cases.
	Adapter string `json:"adapter"`
	Case    string `json:"case,omitempty"`
	// Failures describe the differences from the expected results.
	Failures []string `json:"failures,omitempty"`
}

// Run runs the cases of a folder. With update it writes the golden files and does not compare with them. The first
// result is of the adapter as a whole. After an error no case has run.
func Run(dir string, update bool) ([]Result, error) {
	spec, err := readStrict[v1alpha1.Adapter](filepath.Join(dir, "adapter.yaml"))
	if err != nil {
		return nil, err
	}
	compiled, errs := adapter.Compile(spec.Name, spec.Spec, adapter.Keys{})
	if len(errs) > 0 {
		return nil, fmt.Errorf("compile %s: %w", filepath.Join(dir, "adapter.yaml"), errs.ToAggregate())
	}
	files, err := filepath.Glob(filepath.Join(dir, "testdata", "*", "case.yaml"))
	if err != nil || len(files) == 0 {
		return nil,
			fmt.Errorf("%s has no cases: each is a folder in testdata with case.yaml and object.yaml; kubectl flyball adapter new RESOURCE "+
				"--into DIR drafts some", dir)
	}
	results := []Result{{Adapter: spec.Name}}
	var runs []*run
	for _, file := range files {
		r := &run{dir: filepath.Dir(file), update: update, covered: map[v1alpha1.Capability]bool{}}
		if err := r.open(&spec); err != nil {
			r.failf("%v", err)
		} else {
			r.test()
		}
		runs = append(runs, r)
		results = append(results, Result{spec.Name, filepath.Base(r.dir), r.failures})
	}
	results[0].Failures = append(uncovered(compiled, runs), unexercised(spec.Spec.Changes, runs)...)
	return results, nil
}

// Asks has, by capability, an example of a claim that exercises it, as the text of case.yaml.
var Asks = map[v1alpha1.Capability]string{
	v1alpha1.CapabilityScale: "{replicas: 1}", v1alpha1.CapabilitySuspend: "{sleep: true}", v1alpha1.CapabilityHold: "{hold: true}",
	v1alpha1.CapabilityBounds: "{bounds: {min: 1, max: 1}}", v1alpha1.CapabilityAnnotate: `{annotations: {team.example.com/asleep: "true"}}`,
	v1alpha1.CapabilityResources: "{requests: {main: {cpu: 250m}}}",
}

// exercise returns an instruction to add a case for a capability; empty: there is no example of a claim.
func exercise(c v1alpha1.Capability) string {
	ask, ok := Asks[c]
	if !ok {
		return ""
	}
	return fmt.Sprintf(": add a folder to testdata with an object.yaml and a case.yaml that has ask: %s", ask)
}

// uncovered returns a failure for each capability that no case has used.
func uncovered(a *adapter.Adapter, runs []*run) (failures []string) {
	for _, c := range a.Capabilities() {
		if !slices.ContainsFunc(runs, func(r *run) bool { return r.covered[c] }) {
			failures = append(failures, fmt.Sprintf("no case exercises the capability %s%s", c, exercise(c)))
		}
	}
	return failures
}

// Folders returns the folders with an adapter.yaml below a directory and the directory itself if it has one, sorted.
func Folders(dir string) ([]string, error) {
	var found []string
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && entry.Name() == "adapter.yaml" {
			found = append(found, filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for adapters: %w", err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("look for adapters: there is no adapter.yaml in %s", dir)
	}
	slices.SortFunc(found, cmp.Compare)
	return found, nil
}

// readStrict decodes a YAML file and refuses unknown and repeated fields.
func readStrict[T any](file string) (v T, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return v, err
	}
	if err := yaml.UnmarshalStrict(text, &v); err != nil {
		return v, fmt.Errorf("decode %s: %w", file, err)
	}
	return v, nil
}
