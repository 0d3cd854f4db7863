// Package plan lists every write of a world's policies before it happens, by the manager's own simulation, and sums up
// the savings. Two plans can be compared, to see the effect of an edit before it is made.
package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Change is the write of one field at an instant, or a write of only the ledger.
type Change struct {
	// Diff is "+" for a change that the edit adds, and "-" for a change that the edit removes. It is empty if no plans are
	// compared.
	Diff   string    `json:"diff,omitempty"`
	At     time.Time `json:"at"`
	Target string    `json:"target"`
	// Field is the JSON pointer of the written field. It is empty if only the ledger is written.
	Field string `json:"field,omitempty"`
	// From is the JSON text of the field before the change. To is the JSON text after the change. Each is absent if the
	// field is absent.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	By   string `json:"by"`
	// Wave is the object's wave in the order of the policy. It is empty if the policy has no order.
	Wave string `json:"wave,omitempty"`
	// Created is true if Flyball creates the object itself, from the template of a policy.
	Created bool `json:"created,omitempty"`

	ref workload.Ref
	// place is the number of waves before the wave of the object.
	place int
}

func (c *Change) compare(o *Change) int {
	return cmp.Or(c.At.Compare(o.At), c.ref.Compare(o.ref), cmp.Compare(c.Field, o.Field), cmp.Compare(c.Diff, o.Diff))
}

// same reports whether two changes of different plans are equal.
func (c *Change) same(o *Change) bool {
	return c.At.Equal(o.At) && c.ref == o.ref && c.Field == o.Field && c.From == o.From && c.To == o.To && c.By == o.By &&
		c.Created == o.Created
}

// Plan lists the changes between two instants.
type Plan struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Hypothetical is a note that the plan begins in the past. It is absent for other plans.
	Hypothetical string   `json:"hypothetical,omitempty"`
	Changes      []Change `json:"changes"`
	// Writes is the number of writes. A write may change several fields.
	Writes int      `json:"writes"`
	Totals Totals   `json:"totals"`
	Notes  []string `json:"notes,omitempty"`
	// Compared is true if the changes are the difference from an earlier plan. Before holds the totals of this earlier
	// plan.
	Compared bool    `json:"compared,omitempty"`
	Before   *Totals `json:"before,omitempty"`
	// Timelines show how much of each changed target runs over time. In a comparison they show the targets affected by the
	// edit, and TimelinesBefore shows the same targets without the edit.
	Timelines       []Timeline `json:"timelines,omitempty"`
	TimelinesBefore []Timeline `json:"timelinesBefore,omitempty"`

	// all holds the timelines of all targets, in order.
	all []Timeline
	// by has the policies that act on each target.
	by   map[workload.Ref][]string
	zone *time.Location
	// start is the instant at which the simulation begins.
	start time.Time
	// unlisted is true if no changes are listed.
	unlisted bool
}

// Input configures a plan.
type Input struct {
	From, To time.Time
	// Now is the instant at which the objects were read. The zero time means From. Writes between Now and From are
	// simulated, but not listed.
	Now time.Time
	// Zone is the time zone of the printed times.
	Zone *time.Location
	// Keep reports whether the changes of a target are listed. If it is nil, all changes are listed. Targets that are not
	// listed are simulated too.
	Keep func(workload.Ref, *workload.Object) bool
	// OnlyTimelines leaves the list of changes empty. A month of thousands of targets has a hundred thousand changes.
	OnlyTimelines bool
	// Progress is called with each instant that the simulation reaches. It may be nil.
	Progress func(at time.Time)
}

// Make returns the plan of a world. It stops when the context ends.
func Make(ctx context.Context, w *source.World, o Input) (*Plan, error) {
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	p := &Plan{From: o.From, To: o.To, Hypothetical: source.Hypothetical(o.Now, o.From), Changes: []Change{}, Notes: slices.Clone(w.Notes),
		zone: o.Zone, start: source.RunUp(o.Now, o.From), unlisted: o.OnlyTimelines}
	p.noteUnsimulated(memory)
	p.noteOwners(memory, w.Within)
	p.noteControllers(memory)
	if memory, err = p.templates(w, memory, o); err != nil {
		return nil, err
	}
	p.by = policies(memory)
	if err := p.simulate(ctx, memory, o); err != nil {
		return nil, err
	}
	for _, t := range p.all {
		if t.changes() || t.byUse() {
			p.Timelines = append(p.Timelines, t)
		}
	}
	slices.SortStableFunc(p.Changes, func(a, b Change) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.place, b.place), a.compare(&b))
	})
	return p, nil
}

// All returns the timelines of all listed targets, in order. It includes targets without a change.
func (p *Plan) All() []Timeline { return p.all }

// noteOwners adds a note for each owner that a policy holds, or cannot hold, and for each policy that holds none though it should.
func (p *Plan) noteOwners(memory *world.Memory, within string) {
	var notes []string
	for policy := range memory.Policies {
		if !policy.HoldsOwners || policy.Deleting {
			continue
		}
		owners := memory.OwnersOf(policy)
		for _, owner := range owners {
			notes = append(notes, fmt.Sprintf("%s has holdOwner: %s", policy.ID, owner))
		}
		switch {
		case !memory.HoldsOwners():
			notes = append(notes, fmt.Sprintf("%s has holdOwner and holds nothing: %s", policy.ID, world.NoOwnerAdapter))
		case within != "":
			notes = append(notes, fmt.Sprintf("%s has holdOwner: owners outside of %s are not read, and -A lists them", policy.ID, within))
		case len(owners) == 0:
			notes = append(notes, fmt.Sprintf("%s has holdOwner and holds nothing: %s", policy.ID, world.NoOwnerRecord))
		}
	}
	slices.Sort(notes)
	p.Notes = append(p.Notes, notes...)
}

// noteControllers adds a note for the objects left to controllers without an adapter.
func (p *Plan) noteControllers(memory *world.Memory) {
	var notes []string
	for policy := range memory.Policies {
		for _, text := range memory.ControlsOf(policy).Each {
			notes = append(notes, fmt.Sprintf("%s: %s", policy.ID, text))
		}
	}
	slices.Sort(notes)
	p.Notes = append(p.Notes, notes...)
}

// take adds the changes of one write to the plan. target is the name of the written object. created is true for a write that creates
// the object.
func (p *Plan) take(write *decide.Write, target string, created bool) {
	p.Writes++
	if p.unlisted {
		return
	}
	base := Change{At: write.At, Target: target, By: write.By.String(), Wave: write.Wave, ref: write.Target, place: write.Place,
		Created: created}
	if len(write.Edits) == 0 {
		p.Changes = append(p.Changes, base)
	}
	for _, e := range write.Edits {
		c := base
		c.Field, c.From, c.To = e.Pointer, e.From, e.To
		p.Changes = append(p.Changes, c)
	}
}

// Compare returns the difference between two plans: the added and the removed changes.
func Compare(before, after *Plan) *Plan {
	d := *after
	d.Compared, d.Before, d.Changes = true, &before.Totals, []Change{}
	d.compareTimelines(before, after)
	before, after = before.byObject(), after.byObject()
	i, j := 0, 0
	for i < len(before.Changes) || j < len(after.Changes) {
		switch {
		case j == len(after.Changes) || i < len(before.Changes) && before.Changes[i].compare(&after.Changes[j]) < 0:
			d.add("-", &before.Changes[i])
			i++
		case i == len(before.Changes) || before.Changes[i].compare(&after.Changes[j]) > 0:
			d.add("+", &after.Changes[j])
			j++
		case before.Changes[i].same(&after.Changes[j]):
			i, j = i+1, j+1
		default:
			d.add("-", &before.Changes[i])
			d.add("+", &after.Changes[j])
			i, j = i+1, j+1
		}
	}
	return &d
}

// byObject returns the plan with its changes in the order of compare.
func (p *Plan) byObject() *Plan {
	sorted := *p
	sorted.Changes = slices.SortedStableFunc(slices.Values(p.Changes), func(a, b Change) int { return a.compare(&b) })
	return &sorted
}

// compareTimelines leaves only the timelines of targets that differ between the two plans.
func (p *Plan) compareTimelines(before, after *Plan) {
	p.Timelines = nil
	for i := range after.all {
		t := &after.all[i]
		j, known := slices.BinarySearchFunc(before.all, t.ref, func(o Timeline, ref workload.Ref) int { return o.ref.Compare(ref) })
		if known && !t.same(&before.all[j]) {
			p.Timelines, p.TimelinesBefore = append(p.Timelines, *t), append(p.TimelinesBefore, before.all[j])
		}
	}
}

func (p *Plan) add(diff string, c *Change) {
	own := *c
	own.Diff = diff
	p.Changes = append(p.Changes, own)
}

// Names implements report.Finding.
func (p *Plan) Names() []string {
	var names []string
	for i := range p.Changes {
		r := p.Changes[i].ref
		name := strings.ToLower(r.GroupKind.String()) + "/" + r.Name
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
