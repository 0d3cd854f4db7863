// Package adapters is the shipped library of Adapters, one folder per kind: <group>/<Kind> with adapter.yaml and
// testdata. The folder core stands for the group without a name. Every adapter of the library decodes strictly,
// compiles, and restores exactly what it changed on each object in its testdata. A new kind needs only a new folder. The
// text of the files is part of the program, so the library needs no files at run time.
package adapters

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
)

//go:embed */*/adapter.yaml
var files embed.FS

// All returns the Adapters of the library, sorted by name. Each call returns copies, so the caller may change the result.
// An error names the file, and can only come from a mistake in the library itself.
func All() ([]v1alpha1.Adapter, error) {
	library, err := decoded()
	all := make([]v1alpha1.Adapter, len(library))
	for i := range library {
		library[i].DeepCopyInto(&all[i])
	}
	return all, err
}

var decoded = sync.OnceValues(func() ([]v1alpha1.Adapter, error) {
	names, err := fs.Glob(files, "*/*/adapter.yaml")
	if err != nil {
		return nil, fmt.Errorf("list the adapter library: %w", err)
	}
	all := make([]v1alpha1.Adapter, len(names))
	for i, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("read the adapter library: %w", err)
		}
		if err := yaml.UnmarshalStrict(text, &all[i]); err != nil {
			return nil, fmt.Errorf("decode adapters/%s: %w", name, err)
		}
	}
	slices.SortFunc(all, func(a, b v1alpha1.Adapter) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
})
