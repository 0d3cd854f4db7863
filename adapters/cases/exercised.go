package cases

import (
	"fmt"
	"slices"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
)

// unexercised is what an adapter says in changes of metadata, status and operation, which pass a freeze by default, and no case
// shows: by an edit that changes the field and is classified as the adapter says.
func unexercised(changes *v1alpha1.Changes, runs []*run) (failures []string) {
	if changes == nil {
		return nil
	}
	for _, rule := range []struct {
		action string
		paths  []v1alpha1.Path
	}{{"Create", changes.Create}, {"Delete", changes.Delete}, {"RollOut", changes.Rollout}, {"Scale", changes.Scale}} {
		for _, text := range rule.paths {
			p := path.MustParse(string(text)) // it has compiled
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

// exercises says whether an edit of the case changes a field and is wanted to be an action.
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
