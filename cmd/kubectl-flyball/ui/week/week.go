// Package week arranges a plan for a picture: a row for each target, with bars of states, and bands of freezes above. Every
// instant and every state comes from the plan, the ledgers and the agenda of freezes; the package decides nothing and reads no
// clock.
package week

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/freezes"
	"flyball.dev/flyball/cmd/kubectl-flyball/plan"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// State is the state that a bar shows.
type State string

// These are the states of bars.
const (
	// Asleep: nothing of the target runs.
	Asleep State = "asleep"
	// Reduced: less of it runs than its owner asks for.
	Reduced State = "reduced"
	// Awake: it runs as its owner asks for, and no policy has a value in force.
	Awake State = "awake"
	// Set: a policy has a value in force, such as a minimum of an autoscaler, and all of it runs.
	Set State = "set"
	// Raised: more of it runs than its owner asks for.
	Raised State = "raised"
	// Mixed: the targets of a group are in several states.
	Mixed State = "mixed"
	// Unknown: the time has passed, and no record of it is kept.
	Unknown State = "not recorded"
)

// States returns all states, in the order of a legend.
func States() []State { return []State{Awake, Asleep, Reduced, Raised, Set, Mixed, Unknown} }

// Bar is a span of time in one state.
type Bar struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	State State     `json:"state"`
	// Running is the running fraction of the owner's size, and Replicas the number of replicas, absent if the kind has none.
	Running  float64 `json:"running"`
	Replicas *int64  `json:"replicas,omitempty"`
	// By are the policies with a value in force.
	By []string `json:"by,omitempty"`
	// Past is true for a time before now. It is known from the ledger, and not simulated.
	Past bool `json:"past,omitempty"`
	// Text is the count of targets by state, for the bar of a group.
	Text string `json:"text,omitempty"`
}

// Row is the row of a target.
type Row struct {
	Target string `json:"target"`
	// Kind and Name name the target inside its group.
	Kind string `json:"kind"`
	Name string `json:"name"`
	Bars []Bar  `json:"bars"`

	ref workload.Ref
}

// Ref returns the target.
func (r *Row) Ref() workload.Ref { return r.ref }

// Group is all targets of a namespace with the same policies.
type Group struct {
	// Namespace is empty for cluster-scoped targets.
	Namespace string   `json:"namespace,omitempty"`
	Policies  []string `json:"policies"`
	Rows      []Row    `json:"rows"`
	// Summary are the bars of the folded group.
	Summary []Bar `json:"summary"`
	// Totals are the savings of the group in the time from now on.
	Totals plan.Totals `json:"totals"`
}

// Clock is a change of the clocks in the zone of the picture.
type Clock struct {
	At time.Time `json:"at"`
	// From and To bound the time that is repeated. Both are At if the change skips time.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Text string    `json:"text"`
}

// Week is a span of time, not only of seven days.
type Week struct {
	From   time.Time       `json:"from"`
	To     time.Time       `json:"to"`
	Now    time.Time       `json:"now"`
	Zone   string          `json:"zone"`
	Days   []time.Time     `json:"days"`
	Clocks []Clock         `json:"clocks,omitempty"`
	Bands  []freezes.Entry `json:"bands,omitempty"`
	Groups []Group         `json:"groups"`
	Totals plan.Totals     `json:"totals"`
	Notes  []string        `json:"notes,omitempty"`
	// Empty is the reason why there are no rows.
	Empty string `json:"empty,omitempty"`

	zone *time.Location
}

// Location returns the zone in which the instants are shown.
func (w *Week) Location() *time.Location { return w.zone }

// Options select the time and the zone.
type Options struct {
	// From and To bound the picture. Now is the instant when the objects were read; the simulation begins there or at From.
	From, To, Now time.Time
	Zone          *time.Location
	Namespace     string
}

// Of returns the picture of a world.
func Of(ctx context.Context, w *source.World, o Options) (*Week, error) {
	start := o.From
	if o.Now.After(start) {
		start = o.Now
	}
	if !start.Before(o.To) {
		return nil, fmt.Errorf("the time from %s to %s is over: a picture shows the time from now on", o.From.Format(time.RFC3339),
			o.To.Format(time.RFC3339))
	}
	p, err := plan.Make(ctx, w, plan.Options{From: start, To: o.To, Now: o.Now, Zone: o.Zone})
	if err != nil {
		return nil, err
	}
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	k := &Week{From: o.From, To: o.To, Now: o.Now, Zone: o.Zone.String(), Groups: []Group{}, Notes: p.Notes, zone: o.Zone}
	k.mark()
	k.Bands = freezes.Of(memory, freezes.Options{From: o.From, To: o.To, Zone: o.Zone, Namespace: o.Namespace}).Entries
	k.rows(p, policies(memory))
	k.explainEmpty(memory)
	return k, nil
}

// policies returns, for each target, the policies that act on it, in order.
func policies(memory *world.Memory) map[workload.Ref][]string {
	all := map[workload.Ref][]string{}
	memory.Policies(func(p *world.Policy) bool {
		if !p.IsBroken() && p.Kind.ActsOnTargets() {
			memory.EachTarget(p, func(ref workload.Ref) { all[ref] = append(all[ref], p.ID.String()) })
		}
		return true
	})
	for _, list := range all {
		slices.Sort(list)
	}
	return all
}

// rows adds the rows of all targets of policies, and of the objects on which a policy has left a value.
func (w *Week) rows(p *plan.Plan, by map[workload.Ref][]string) {
	groups := map[string]*Group{}
	all := p.All()
	for i := range all {
		line := &all[i]
		ref := line.Ref()
		names := slices.Compact(by[ref])
		if len(names) == 0 {
			names = line.Steps[0].By
		}
		if len(names) == 0 {
			continue
		}
		key := ref.Namespace + "\x00" + strings.Join(names, "\x00")
		g := groups[key]
		if g == nil {
			g = &Group{Namespace: ref.Namespace, Policies: names}
			groups[key] = g
		}
		g.Rows = append(g.Rows, Row{Target: ref.String(), Kind: ref.Kind, Name: ref.Name, Bars: w.bars(line), ref: ref})
		g.Totals.Add(line.Totals())
		w.Totals.Add(line.Totals())
	}
	for _, g := range groups {
		g.summarize()
		w.Groups = append(w.Groups, *g)
	}
	slices.SortFunc(w.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), slices.Compare(a.Policies, b.Policies))
	})
}

// explainEmpty sets the reason why there are no rows.
func (w *Week) explainEmpty(memory *world.Memory) {
	objects := 0
	memory.EachObject(func(workload.Ref) { objects++ })
	switch {
	case len(w.Groups) > 0:
	case memory.PolicyCount() == 0:
		w.Empty = "There are no policies here. Write a Schedule to put targets to sleep."
	case objects == 0:
		w.Empty = "There are policies, but no objects of an adapted kind here."
	default:
		w.Empty = "There are policies and objects, but no policy that can be read selects an object here. Page Policies names the problems."
	}
}

// Filter returns the week with the rows that have a text in their kind, name, namespace, policies or a state. The totals stay
// those of all rows.
func (w *Week) Filter(text string) *Week {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" || len(w.Groups) == 0 {
		return w
	}
	kept := *w
	kept.Groups = nil
	for _, g := range w.Groups {
		all := strings.ToLower(g.Namespace + " " + strings.Join(g.Policies, " "))
		g.Rows = slices.DeleteFunc(slices.Clone(g.Rows), func(r Row) bool {
			return !strings.Contains(all, text) && !strings.Contains(strings.ToLower(r.Kind+"/"+r.Name), text) &&
				!slices.ContainsFunc(r.Bars, func(b Bar) bool { return string(b.State) == text })
		})
		if len(g.Rows) > 0 {
			g.Summary = nil
			g.summarize()
			kept.Groups = append(kept.Groups, g)
		}
	}
	if len(kept.Groups) == 0 {
		kept.Empty = fmt.Sprintf("No target has %q in its kind, name, namespace, policies or states.", text)
	}
	return &kept
}
