package plan

import (
	"fmt"
	"maps"
	"slices"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/reconcile"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// noteUnsimulated adds notes about effects that the simulation does not show.
func (p *Plan) noteUnsimulated(memory *world.Memory) {
	var notes []string
	memory.Policies(func(q *world.Policy) bool {
		if q.IsBroken() {
			notes = append(notes, fmt.Sprintf("%s cannot be read, so the values that it has set stay: %v", q.ID, q.Invalid.ToAggregate()))
			return true
		}
		if q.PodOrderer != nil {
			notes = append(notes, fmt.Sprintf("%s gives pods deletion costs as they come and go, which is not part of the plan", q.ID))
		}
		if q.Idle != nil {
			notes = append(notes, fmt.Sprintf("%s may put targets to sleep after %s without use, and wakes them by use: "+
				"nobody knows both in advance, so they are not part of the plan", q.ID, spanText(q.Idle.AsleepAfter)))
		}
		if q.Tuner != nil {
			notes = append(notes, fmt.Sprintf("%s goes on to learn from what pods use: what it finds later is not part of the plan", q.ID))
		}
		for _, d := range []workload.Direction{workload.DirectionDown, workload.DirectionUp} {
			if opened := memory.BatchOpened(q.ID, d); !opened.IsZero() && opened.Add(max(q.Down.Delay, q.Up.Delay)).After(p.start) &&
				!opened.After(p.start) {
				notes = append(notes, fmt.Sprintf("a batch of %s is open, and counts as used up: the first changes may come earlier than shown", q.ID))
				break
			}
		}
		return true
	})
	slices.Sort(notes)
	p.Notes = append(p.Notes, notes...)
}

// templates returns a world in which the objects of all templates exist and have the fields of their templates. The
// manager creates and corrects these objects at once, so a plan begins with them.
func (p *Plan) templates(w *source.World, memory *world.Memory, o Input) (*world.Memory, error) {
	var makers []*world.Policy
	memory.Policies(func(q *world.Policy) bool {
		if t := q.Template; t != nil && !q.IsBroken() && !q.Deleting {
			makers = append(makers, q)
		}
		return true
	})
	slices.SortFunc(makers, func(a, b *world.Policy) int { return a.ID.Compare(b.ID) })
	kept := map[workload.Ref][]byte{}
	for _, q := range makers {
		ref := q.Template.Ref()
		kind := memory.InUse(ref.GroupKind)
		if kind == nil || kind.Blocked != "" || kind.Releasing || kept[ref] != nil {
			continue
		}
		raw, write := q.Template.Manifest, decide.Write{At: p.start, Target: ref, By: q.ID}
		there := memory.Raw(ref) != nil
		if there {
			var err error
			if write.Edits, raw, err = reconcile.TemplateEdits(memory.Snapshot, kind, q, memory.Raw(ref)); err != nil {
				p.Notes = append(p.Notes, fmt.Sprintf("the plan leaves out the fields that %s keeps by its template: %v", q.ID, err))
				continue
			}
			if len(write.Edits) == 0 {
				continue
			}
		}
		kept[ref] = raw
		obj, err := kind.Adapter.Project(raw)
		if err != nil {
			return nil, fmt.Errorf("plan with the template of %s: %w", q.ID, err)
		}
		if !p.start.Before(o.From) && (o.Keep == nil || o.Keep(ref, obj)) {
			p.take(&write, write.Target.String(), !there)
		}
		if !there {
			p.Notes = append(p.Notes, fmt.Sprintf("%s is planned with the fields of its template alone: the API server may add defaults", ref))
		}
	}
	if len(kept) == 0 {
		return memory, nil
	}
	next := *w
	next.Objects = slices.Collect(maps.Values(kept))
	memory.EachObject(func(ref workload.Ref) {
		if kept[ref] == nil {
			next.Objects = append(next.Objects, memory.Raw(ref))
		}
	})
	return next.Memory()
}
