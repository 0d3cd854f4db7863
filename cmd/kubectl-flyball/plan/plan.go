// Package plan lists every write of the policies of a world before it happens, by the manager's own simulation, and sums up what
// the policies save. Two plans can be compared, so that an edit of a policy is seen before it is made.
package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/runup"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// Change is one field that is written, or a write of the ledger alone, at an instant.
type Change struct {
	// Diff is + for a change that comes with the edit, - for one that goes; empty where nothing is compared.
	Diff   string    `json:"diff,omitempty"`
	At     time.Time `json:"at"`
	Target string    `json:"target"`
	// Field is the JSON pointer of what is written; empty where only the ledger is.
	Field string `json:"field,omitempty"`
	// From and To are JSON texts; absent where the field is.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
	By   string `json:"by"`
	// Created is true where the object itself is made, by the template of a policy.
	Created bool `json:"created,omitempty"`

	ref workload.Ref
}

func (c *Change) compare(o *Change) int {
	return cmp.Or(c.At.Compare(o.At), c.ref.Compare(o.ref), cmp.Compare(c.Field, o.Field), cmp.Compare(c.Diff, o.Diff))
}

// same says whether two plans make the same change.
func (c *Change) same(o *Change) bool {
	return c.At.Equal(o.At) && c.ref == o.ref && c.Field == o.Field && c.From == o.From && c.To == o.To && c.By == o.By && c.Created == o.Created
}

// Plan is what happens between two instants.
type Plan struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Hypothetical says so where the plan begins before now; absent otherwise.
	Hypothetical string   `json:"hypothetical,omitempty"`
	Changes      []Change `json:"changes"`
	// Writes counts the writes; one may change several fields.
	Writes int      `json:"writes"`
	Totals Totals   `json:"totals"`
	Notes  []string `json:"notes,omitempty"`
	// Compared is true where the changes are the difference to another plan, whose totals are Before.
	Compared bool    `json:"compared,omitempty"`
	Before   *Totals `json:"before,omitempty"`
	// Timelines are how much of each target runs, over time.
	Timelines []Timeline `json:"timelines,omitempty"`

	zone *time.Location
	// start is the instant at which the simulation begins.
	start time.Time
}

// Options say what is planned.
type Options struct {
	From, To time.Time
	// Now is the instant at which the objects are as they were read; zero: From. What is written between it and From is simulated and
	// not listed.
	Now time.Time
	// Zone is that in which instants are shown.
	Zone *time.Location
	// Keep picks the targets whose changes are listed; nil: all. What is not listed is simulated all the same.
	Keep func(workload.Ref, *workload.Object) bool
	// Progress is told how far the simulation has come; it may be nil.
	Progress func(at time.Time)
}

// Make plans a world. It ends with the context.
func Make(ctx context.Context, w *source.World, o Options) (*Plan, error) {
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	p := &Plan{From: o.From, To: o.To, Hypothetical: runup.Note(o.Now, o.From), Changes: []Change{}, Notes: slices.Clone(w.Notes), zone: o.Zone, start: runup.Start(o.Now, o.From)}
	p.noteUnsimulated(memory)
	if memory, err = p.templates(w, memory, o); err != nil {
		return nil, err
	}
	l := newLedger(memory, o)
	for write, err := range decide.Writes(memory, p.start, o.To) {
		if errors.Is(err, decide.ErrRestless) {
			return nil, fmt.Errorf("%w: the policies named would undo each other for ever; explain the target to see them", err)
		}
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if o.Progress != nil {
			o.Progress(write.At)
		}
		if !l.keeps(write.Target) {
			continue
		}
		if write.At.Before(o.From) {
			l.begin(write.Target)
			continue
		}
		l.note(write.Target, write.At)
		p.take(&write)
	}
	p.Totals, p.Timelines = l.close()
	slices.SortStableFunc(p.Changes, func(a, b Change) int { return a.compare(&b) })
	return p, nil
}

// take adds the changes of one write.
func (p *Plan) take(write *decide.Write) {
	p.Writes++
	base := Change{At: write.At, Target: write.Target.String(), By: write.By.String(), ref: write.Target}
	if len(write.Edits) == 0 {
		p.Changes = append(p.Changes, base)
	}
	for _, e := range write.Edits {
		c := base
		c.Field, c.From, c.To = e.Pointer, e.From, e.To
		p.Changes = append(p.Changes, c)
	}
}

// Compare gives the difference that an edit makes: the changes that come and go.
func Compare(before, after *Plan) *Plan {
	d := *after
	d.Compared, d.Before, d.Changes = true, &before.Totals, []Change{}
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
