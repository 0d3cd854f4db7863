package page

import (
	"context"
	"slices"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/plan"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Space has the replica hours of the targets of a namespace by day.
type Space struct {
	// Namespace is empty for cluster-scoped targets.
	Namespace string
	Days      []SavedDay
}

// SavedDay has the replica hours of a day, or of the part of it in the picture.
type SavedDay struct {
	From, To time.Time
	plan.Saved
	// Kept are the hours that policies would save, but for Overrides that keep targets awake.
	Kept float64
}

// DayStarts returns the beginning of the picture and of each later day.
func (w *Week) DayStarts() []time.Time {
	all := []time.Time{w.From}
	for _, d := range w.Days {
		if d.After(w.From) {
			all = append(all, d)
		}
	}
	return all
}

// days calls yield with each day of the picture.
func (w *Week) days(yield func(i int, from, to time.Time)) {
	starts := append(w.DayStarts(), w.To)
	for i := range starts[1:] {
		yield(i, starts[i], starts[i+1])
	}
}

// saved returns the replica hours saved on a target by day.
func (w *Week) saved(line *plan.Timeline) []plan.Saved {
	var all []plan.Saved
	w.days(func(_ int, from, to time.Time) { all = append(all, line.Saved(from, to)) })
	return all
}

// Spaces returns the replica hours by namespace and day, in the order of the namespaces.
func (w *Week) Spaces() (all []Space) {
	for i := range w.Groups {
		g := &w.Groups[i]
		if len(all) == 0 || all[len(all)-1].Namespace != g.Namespace {
			s := Space{Namespace: g.Namespace}
			w.days(func(_ int, from, to time.Time) { s.Days = append(s.Days, SavedDay{From: from, To: to}) })
			all = append(all, s)
		}
		days := all[len(all)-1].Days
		for j := range g.Rows {
			for d := range days {
				days[d].Add(g.Rows[j].days[d])
				days[d].Kept += g.Rows[j].kept[d]
			}
		}
	}
	return all
}

// addKept finds the hours in which only Overrides keep targets awake, by a plan without these Overrides.
func (w *Week) addKept(ctx context.Context, in *source.World, memory *world.Memory, o plan.Input) error {
	orders, namespaces, whole := map[workload.Policy]bool{}, map[string]bool{}, false
	memory.Policies(func(p *world.Policy) bool {
		if p.Override != nil && p.Override.Effect == v1alpha1.OverrideAwake {
			orders[p.ID], namespaces[p.ID.Namespace] = true, true
			whole = whole || p.ID.Namespace == ""
		}
		return true
	})
	if len(orders) == 0 {
		return nil
	}
	without := *in
	without.Notes = nil
	without.Policies = slices.DeleteFunc(slices.Clone(in.Policies), func(p policy.Object) bool { return orders[source.IDOf(p)] })
	if !whole {
		without.Objects = slices.DeleteFunc(slices.Clone(in.Objects), func(raw []byte) bool {
			ns := rawjson.GetBytes(raw, "metadata.namespace").Str
			return ns != "" && !namespaces[ns]
		})
	}
	p, err := plan.Make(ctx, &without, o)
	if err != nil {
		return err
	}
	lines := map[workload.Ref]*plan.Timeline{}
	for all, i := p.All(), 0; i < len(all); i++ {
		lines[all[i].Ref()] = &all[i]
	}
	for i := range w.Groups {
		for j := range w.Groups[i].Rows {
			row := &w.Groups[i].Rows[j]
			if line := lines[row.ref]; line != nil {
				w.days(func(d int, from, to time.Time) { row.kept[d] = max(0, line.Saved(from, to).All()-row.days[d].All()) })
			}
		}
	}
	return nil
}
