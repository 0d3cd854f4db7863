package cases

import (
	"fmt"
	"slices"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
)

// unexercised returns a failure for each path of spec.changes in metadata, status or operation that no case tests. By
// default a change of these parts passes a freeze. So a case must have an edit that changes the field and has the action
// of the adapter.
func unexercised(changes *v1alpha1.Changes, runs []*run) (failures []string) {
	if changes == nil {
		return nil
	}
	for _, rule := range []struct {
		action string
		paths  []v1alpha1.Path
	}{{"Create", changes.Create}, {"Delete", changes.Delete}, {"RollOut", changes.Rollout}, {"Scale", changes.Scale}} {
		for _, text := range rule.paths {
			p := path.MustParse(string(text)) // does not panic: the adapter has compiled
			if section := p.Steps()[0].Name; section != "metadata" && section != "status" && section != "operation" {
				continue
			}
			if !slices.ContainsFunc(runs, func(r *run) bool { return r.exercises(p, rule.action) }) {
				failures = append(failures, fmt.Sprintf("no case has an edit of %s that is a %s", text, rule.action))
			}
		}
	}
	return failures
}

// exercises reports whether the case has an edit that changes the field at a path and is expected to be the action.
func (r *run) exercises(p path.Path, action string) bool {
	return slices.ContainsFunc(r.Classify, func(e Edit) bool {
		before, err := p.Get(r.object)
		if err != nil {
			return false
		}
		edited, err := mutate(r.object, e.Mutate)
		if err != nil {
			return false
		}
		after, err := p.Get(edited)
		return err == nil && before.Raw() != after.Raw() && slices.Contains(e.Want, action)
	})
}
