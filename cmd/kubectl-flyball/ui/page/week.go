package page

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

// BarState is the state that a bar shows.
type BarState string

// These are the states of bars.
const (
	// Asleep means that nothing of the target runs.
	Asleep BarState = "asleep"
	// Reduced means that less of the target runs than its owner asks for.
	Reduced BarState = "reduced"
	// Awake means that the target runs as its owner asks for, and that no policy has a value in force.
	Awake BarState = "awake"
	// Set means that all of the target runs, and that a policy has a value in force, such as a minimum of an autoscaler.
	Set BarState = "set"
	// Raised means that more of the target runs than its owner asks for.
	Raised BarState = "raised"
	// ByUse means that use decides whether the target is asleep, which is not known in advance.
	ByUse BarState = "asleep if unused"
	// Mixed means that the targets of a group are in several states.
	Mixed BarState = "mixed"
	// Unknown means that the time has passed and that no record of it is kept.
	Unknown BarState = "not recorded"
)

// BarStates returns all states, in the order in which a legend lists them.
func BarStates() []BarState {
	return []BarState{Awake, Asleep, Reduced, Raised, Set, ByUse, Mixed, Unknown}
}

// Bar is a span of time in one state.
type Bar struct {
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	State BarState  `json:"state"`
	// Running is the running fraction of the owner's size. Replicas is the number of replicas. It is absent if the kind
	// has no replicas.
	Running  float64 `json:"running"`
	Replicas *int64  `json:"replicas,omitempty"`
	// By are the policies with a value in force.
	By []string `json:"by,omitempty"`
	// Past is true for a time before now. The state of such a bar comes from the ledger and is not simulated.
	Past bool `json:"past,omitempty"`
	// Text has the number of targets by state. Only the bars of a group have it.
	Text string `json:"text,omitempty"`
}

// Row is the row of a target.
type Row struct {
	Target string `json:"target"`
	// Kind and Name identify the target in its group.
	Kind string `json:"kind"`
	Name string `json:"name"`
	Bars []Bar  `json:"bars"`

	ref    workload.Ref
	totals plan.Totals
	shares map[string]plan.Totals
	days   []plan.Saved
	// kept are the replica hours of each day in which only Overrides keep the target awake.
	kept []float64
}

// Ref returns the target.
func (r *Row) Ref() workload.Ref { return r.ref }

// Group has all targets that are in the same namespace and have the same policies.
type Group struct {
	// Namespace is empty for cluster-scoped targets.
	Namespace string   `json:"namespace,omitempty"`
	Policies  []string `json:"policies"`
	Rows      []Row    `json:"rows"`
	// Summary has the bars that are shown if the group is folded.
	Summary []Bar `json:"summary"`
	// Totals are the savings of the group from now on.
	Totals plan.Totals `json:"totals"`
}

// Shares adds up the savings of the targets of the group by policy.
func (g *Group) Shares() map[string]plan.Totals {
	all := map[string]plan.Totals{}
	for i := range g.Rows {
		for by, share := range g.Rows[i].shares {
			share.Add(all[by])
			all[by] = share
		}
	}
	return all
}

// Clock is a change of the clocks in the time zone of the picture.
type Clock struct {
	At time.Time `json:"at"`
	// From is the beginning and To is the end of the time that is repeated. Both are At if the change skips time.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	Text string    `json:"text"`
}

// Week is the picture of a span of time. The span may also be shorter or longer than seven days.
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

// WeekOptions select the time and the time zone of the picture.
type WeekOptions struct {
	// From is the beginning of the picture, and To is its end. Now is the instant at which the objects were read. The
	// simulation begins at Now or at From.
	From, To, Now time.Time
	Zone          *time.Location
	Namespace     string
	// Progress is called with each instant that the simulation reaches. It may be nil.
	Progress func(at time.Time)
}

// WeekOf returns the picture of a world.
func WeekOf(ctx context.Context, w *source.World, o WeekOptions) (*Week, error) {
	start := o.From
	if o.Now.After(start) {
		start = o.Now
	}
	if !start.Before(o.To) {
		return nil, fmt.Errorf("the time from %s to %s is over: a picture shows the time from now on", o.From.Format(time.RFC3339),
			o.To.Format(time.RFC3339))
	}
	simulated := plan.Input{From: start, To: o.To, Now: o.Now, Zone: o.Zone, OnlyTimelines: true}
	watched := simulated
	watched.Progress = o.Progress
	p, err := plan.Make(ctx, w, watched)
	if err != nil {
		return nil, err
	}
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	k := &Week{From: o.From, To: o.To, Now: o.Now, Zone: o.Zone.String(), Groups: []Group{}, Notes: p.Notes, zone: o.Zone}
	k.mark()
	k.Bands = freezes.Of(memory, freezes.Input{From: o.From, To: o.To, Zone: o.Zone, Namespace: o.Namespace}).Entries
	k.rows(p)
	if err := k.addKept(ctx, w, memory, simulated); err != nil {
		return nil, err
	}
	k.explainEmpty(memory)
	return k, nil
}

// Difference returns the picture of a compared plan, with a group for each target that runs differently: a row without the
// edit and a row with it.
func Difference(p *plan.Plan, zone *time.Location) *Week {
	k := &Week{From: p.From, To: p.To, Now: p.From, Zone: zone.String(), Groups: []Group{}, zone: zone}
	k.mark()
	for i := range p.Timelines {
		with, without := &p.Timelines[i], &p.TimelinesBefore[i]
		ref := with.Ref()
		k.Groups = append(k.Groups, Group{Namespace: ref.Namespace, Rows: []Row{
			{Target: with.Target, Kind: ref.Kind, Name: ref.Name, Bars: k.bars(without), ref: ref},
			{Target: with.Target, Kind: ref.Kind, Name: ref.Name, Bars: k.bars(with), ref: ref}}})
	}
	return k
}

// rows adds a row for each target of a policy, and for each object on which a policy has left a value.
func (w *Week) rows(p *plan.Plan) {
	groups := map[string]*Group{}
	all := p.All()
	for i := range all {
		line := &all[i]
		ref := line.Ref()
		names := line.Policies()
		if len(names) == 0 {
			continue
		}
		key := ref.Namespace + "\x00" + strings.Join(names, "\x00")
		g := groups[key]
		if g == nil {
			g = &Group{Namespace: ref.Namespace, Policies: names}
			groups[key] = g
		}
		g.Rows = append(g.Rows, Row{Target: ref.String(), Kind: ref.Kind, Name: ref.Name, Bars: w.bars(line), ref: ref,
			totals: line.Totals(), shares: line.Shares(), days: w.saved(line), kept: make([]float64, len(w.DayStarts()))})
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

// Row returns the row of a target, or nil.
func (w *Week) Row(ref workload.Ref) *Row {
	for i := range w.Groups {
		for j := range w.Groups[i].Rows {
			if row := &w.Groups[i].Rows[j]; row.ref == ref {
				return row
			}
		}
	}
	return nil
}

// In returns all targets of a namespace as one group, without policies and savings.
func (w *Week) In(namespace string) *Group {
	all := &Group{Namespace: namespace}
	for i := range w.Groups {
		if w.Groups[i].Namespace == namespace {
			all.Rows = append(all.Rows, w.Groups[i].Rows...)
		}
	}
	all.summarize()
	return all
}

// Filter returns the week with only those rows that contain a text in their kind, name, namespace, policies or in a
// state. The totals are those of the rows that are left.
func (w *Week) Filter(text string) *Week {
	text = strings.ToLower(strings.TrimSpace(text))
	if text == "" || len(w.Groups) == 0 {
		return w
	}
	kept := *w
	kept.Groups, kept.Totals = nil, plan.Totals{}
	for _, g := range w.Groups {
		all := strings.ToLower(g.Namespace + " " + strings.Join(g.Policies, " "))
		g.Rows = slices.DeleteFunc(slices.Clone(g.Rows), func(r Row) bool {
			return !strings.Contains(all, text) && !strings.Contains(strings.ToLower(r.Kind+"/"+r.Name), text) &&
				!slices.ContainsFunc(r.Bars, func(b Bar) bool { return string(b.State) == text })
		})
		if len(g.Rows) > 0 {
			g.Summary, g.Totals = nil, plan.Totals{}
			for i := range g.Rows {
				g.Totals.Add(g.Rows[i].totals)
			}
			kept.Totals.Add(g.Totals)
			g.summarize()
			kept.Groups = append(kept.Groups, g)
		}
	}
	if len(kept.Groups) == 0 {
		kept.Empty = fmt.Sprintf("No target has %q in its kind, name, namespace, policies or states.", text)
	}
	return &kept
}
