package adapter

import (
	"fmt"
	"slices"

	"flyball.dev/flyball/engine/workload"
)

// Rescaled returns the objects whose size can be different after a change of an autoscaler: its targets before and after
// the change, each once. It returns none if the kind governs nothing, or if nothing changes. If before is empty, the
// change is a creation; if after is empty, it is a deletion. The objects may not exist. It returns an error if one of
// the texts is not an object.
func (a *Adapter) Rescaled(before, after []byte) ([]workload.Ref, error) {
	if a.governs == nil || a.Classify(before, after) == 0 {
		return nil, nil
	}
	var all []workload.Ref
	for _, manifest := range [][]byte{before, after} {
		if len(manifest) == 0 {
			continue
		}
		obj, err := a.Project(manifest)
		if err != nil {
			return nil, fmt.Errorf("read what a %s governs: %w", a.gk.Kind, err)
		}
		if ref, ok := a.Governs(obj); ok && !slices.Contains(all, ref) {
			all = append(all, ref)
		}
	}
	return all, nil
}
