package plan

import (
	"bytes"
	"fmt"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// noteUnsimulated names what happens besides and is not simulated.
func (p *Plan) noteUnsimulated(memory *world.Memory) {
	var notes []string
	memory.Policies(func(q *world.Policy) bool {
		if q.IsBroken() {
			notes = append(notes, fmt.Sprintf("%s cannot be read, so what it has set stays: %v", q.ID, q.Invalid.ToAggregate()))
			return true
		}
		if t := q.Template(); t != nil && differs(memory.Raw(t.Ref()), t.Manifest) {
			notes = append(notes, fmt.Sprintf("%s keeps the fields of its template in %s, which differs from it now; what that writes is not part of the plan", q.ID, t.Ref()))
		}
		if q.PodOrderer() != nil {
			notes = append(notes, fmt.Sprintf("%s gives pods deletion costs as they come and go, which is not part of the plan", q.ID))
		}
		for _, d := range []workload.Direction{workload.DirectionDown, workload.DirectionUp} {
			if opened := memory.BatchOpened(q.ID, d); !opened.IsZero() && opened.Add(max(q.Down.Delay, q.Up.Delay)).After(p.From) && !opened.After(p.From) {
				notes = append(notes, fmt.Sprintf("a batch of %s is open, and counts as used up: the first changes may come earlier than shown", q.ID))
				break
			}
		}
		return true
	})
	slices.Sort(notes)
	p.Notes = append(p.Notes, notes...)
}

// differs says whether an object that exists has other fields than a manifest says.
func differs(raw, manifest []byte) bool {
	if raw == nil {
		return false
	}
	before, err := jsonpatch.MergePatch(raw, []byte("{}"))
	if err != nil {
		return true
	}
	after, err := jsonpatch.MergePatch(raw, manifest)
	return err != nil || !bytes.Equal(before, after)
}

// create makes the objects that templates ask for and that are missing, as the manager does at once, and gives the world with them.
func (p *Plan) create(w *source.World, memory *world.Memory, o Options) (*world.Memory, error) {
	var makers []*world.Policy
	memory.Policies(func(q *world.Policy) bool {
		t := q.Template()
		if t != nil && !q.IsBroken() && !q.Deleting && memory.Raw(t.Ref()) == nil && memory.InUse(t.GroupKind()) != nil {
			makers = append(makers, q)
		}
		return true
	})
	slices.SortFunc(makers, func(a, b *world.Policy) int { return a.ID.Compare(b.ID) })
	next := *w
	next.Objects = slices.Clone(w.Objects)
	done := map[workload.Ref]bool{}
	for _, q := range makers {
		t := q.Template()
		if done[t.Ref()] {
			continue
		}
		done[t.Ref()] = true
		made, err := jsonpatch.MergePatch(t.Manifest, []byte(`{"metadata":{"resourceVersion":"1"}}`))
		if err != nil {
			return nil, fmt.Errorf("plan with the template of %s: %w", q.ID, err)
		}
		next.Objects = append(next.Objects, made)
		p.Notes = append(p.Notes, fmt.Sprintf("%s is planned with the fields of its template alone: the API server may add defaults", t.Ref()))
		p.Writes++
		p.Changes = append(p.Changes, Change{At: o.From, Target: t.Ref().String(), By: q.ID.String(), Created: true, ref: t.Ref()})
	}
	if len(next.Objects) == len(w.Objects) {
		return memory, nil
	}
	return next.Memory()
}
