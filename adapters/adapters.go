// Package adapters is the shipped library of Adapters, one folder per kind: <group>/<Kind>/adapter.yaml with its testdata beside
// it, where core stands for the group without a name. It promises that every adapter in it decodes strictly, compiles, and gives
// back exactly what it changed on each object in its testdata; adding a kind is adding a folder. The text of the files is part of
// the program, so the library needs no files at run time.
package adapters

import (
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"slices"

	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
)

//go:embed */*/adapter.yaml
var files embed.FS

// All gives the Adapters of the library, sorted by name. Each call decodes them anew, so that the caller may change them.
// An error names the file; it can only be a mistake in the library itself.
func All() ([]v1alpha1.Adapter, error) {
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
}
