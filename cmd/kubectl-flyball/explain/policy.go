package explain

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// PolicyStory is the description of one policy.
type PolicyStory struct {
	Policy       string    `json:"policy"`
	At           time.Time `json:"at"`
	Hypothetical string    `json:"hypothetical,omitempty"`
	// State is the policy's own state. Since is the beginning of the state and is absent if the state has always lasted.
	// Until is its end and is absent if the state never ends.
	State   string    `json:"state"`
	Message string    `json:"message,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	Until   time.Time `json:"until,omitzero"`
	// Next are the next transitions, at most three.
	Next []Transition `json:"next"`
	// Targets are the objects that the policy selects.
	Targets []PolicyTarget `json:"targets"`
	Notes   []string       `json:"notes,omitempty"`

	zone *time.Location
	// acts is true if the policy acts on its targets. selects is true if the policy's kind has targets.
	acts, selects bool
}

// Transition is a change of a policy's state.
type Transition struct {
	At    time.Time `json:"at"`
	State string    `json:"state"`
}

// PolicyTarget is one object that a policy selects.
type PolicyTarget struct {
	Target string `json:"target"`
	// State is the state of the object: that of an explanation, or failed. Pending describes its pending writes. By is the
	// policy that decides its size; empty: none.
	State   string `json:"state,omitempty"`
	Pending string `json:"pending,omitempty"`
	By      string `json:"by,omitempty"`
	// Wave is the object's wave in the policy's order. Waits is the wave for which the object's writes wait.
	Wave  string `json:"wave,omitempty"`
	Waits string `json:"waits,omitempty"`
	// Error is the reason why nothing can be decided about the object.
	Error string `json:"error,omitempty"`

	ref workload.Ref
}

// Ref returns the object.
func (t *PolicyTarget) Ref() workload.Ref { return t.ref }

// Detail returns the wave, the pending writes and their wait as one text.
func (t *PolicyTarget) Detail() string {
	wave := t.Wave
	if wave != "" {
		wave = "wave " + wave
	}
	return strings.Join(slices.DeleteFunc([]string{wave, t.Pending, t.Waits}, func(text string) bool { return text == "" }), "; ")
}

// OfPolicy returns the explanation of one policy of a world. A missing policy is an error.
func OfPolicy(w *source.World, id workload.Policy, o Input) (*PolicyStory, error) {
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	p := memory.Find(id)
	if p == nil {
		return nil, missingPolicy(memory, id)
	}
	s := &PolicyStory{Policy: id.String(), At: o.At, Hypothetical: source.Hypothetical(o.Now, o.At), Next: []Transition{},
		Targets: []PolicyTarget{},
		Notes:   slices.Clone(w.Notes),
		zone:    o.Zone, acts: p.Kind.ActsOnTargets()}
	if p.IsBroken() {
		s.State, s.Message = "Invalid", p.Invalid.ToAggregate().Error()
		return s, nil
	}
	s.foresee(p, o.At)
	if freeze.ExceptionOf(p.Policy.Policy) != nil {
		return s, nil
	}
	s.selects = true
	if start := source.RunUp(o.Now, o.At); start.Before(o.At) {
		if _, err := decide.Simulate(memory, start, o.At); err != nil && !errors.Is(err, decide.ErrRestless) {
			return nil, err
		}
	}
	s.targets(memory, p)
	return s, nil
}

// missingPolicy returns the error for a policy that does not exist. The error suggests the policy that was probably
// meant.
func missingPolicy(memory *world.Memory, id workload.Policy) error {
	var names []string
	memory.Policies(func(p *world.Policy) bool {
		if p.ID.Kind == id.Kind && p.ID.Namespace == id.Namespace {
			names = append(names, p.ID.Name)
		}
		return true
	})
	return fmt.Errorf("there is no %s%s", id, workload.Meant(id.Name, names))
}

// foresee adds the state and the next transitions.
func (s *PolicyStory) foresee(p *world.Policy, at time.Time) {
	state := func(at time.Time) (name string, next time.Time) {
		if e := freeze.ExceptionOf(p.Policy.Policy); e != nil {
			return e.State(at)
		}
		st := p.State(at)
		return st.Name, st.Next
	}
	s.State, s.Until = state(at)
	if freeze.ExceptionOf(p.Policy.Policy) == nil {
		st := p.State(at)
		s.Since, s.Message = st.Since, st.Message
	}
	if p.Deleting {
		s.State = "Restoring"
	}
	for next := s.Until; !next.IsZero() && len(s.Next) < shown; {
		t := Transition{At: next}
		t.State, next = state(next)
		s.Next = append(s.Next, t)
	}
}

// targets adds the selected objects with their states and pending writes.
func (s *PolicyStory) targets(memory *world.Memory, p *world.Policy) {
	var refs []workload.Ref
	memory.EachTarget(p, func(ref workload.Ref) { refs = append(refs, ref) })
	if rule := freeze.RuleOf(p.Policy.Policy); rule != nil { // a freeze may judge more objects than it suspends
		memory.EachObject(func(ref workload.Ref) {
			if rule.Selects(ref.GroupKind, memory.Object(ref), memory.Namespace(ref.Namespace).Labels) {
				refs = append(refs, ref)
			}
		})
	}
	slices.SortFunc(refs, workload.Ref.Compare)
	survey := decide.NewSurvey(memory, s.At)
	for _, ref := range slices.Compact(refs) {
		t := PolicyTarget{Target: ref.String(), ref: ref}
		if s.acts && freeze.RuleOf(p.Policy.Policy) == nil {
			v := survey.Target(ref)
			t.State = strings.ReplaceAll(stateOf(&v), "_", " ")
			switch {
			case v.Err != nil:
				t.State, t.Error = "failed", v.Err.Error()
			case v.Result.Patch != nil:
				t.Pending = v.Result.Message
			}
			if v.Object != nil {
				t.Wave = decide.WaveOf(memory, &p.Policy, v.Kind, v.Object)
			}
			if h := v.Gate.Order; h != nil {
				t.Waits = v.Gate.Reason + ": " + h.Why
				if h.Since.Before(s.At) {
					t.Waits += ", since " + printer.InstantText(h.Since, s.zone)
				}
			}
			if c := v.Plan.Size; c != nil && c.By != p.ID {
				t.By = c.By.String()
			}
		}
		s.Targets = append(s.Targets, t)
	}
}

// Names implements printer.Finding.
func (s *PolicyStory) Names() []string {
	names := make([]string, len(s.Targets))
	for i, t := range s.Targets {
		names[i] = t.Target
	}
	return names
}

// Text implements printer.Finding.
func (s *PolicyStory) Text(w *printer.Writer) {
	w.Line("%s at %s", w.Styled(s.Policy, printer.Bold), printer.InstantText(s.At, s.zone))
	if s.Hypothetical != "" {
		w.Line("  %s", w.Styled(s.Hypothetical, printer.Warn))
	}
	w.Line("  %s", s.stateText())
	w.Heading("Next transitions")
	if len(s.Next) == 0 {
		w.Line("  none")
	}
	var rows [][]printer.Cell
	for _, t := range s.Next {
		rows = append(rows, printer.Row(printer.InstantText(t.At, s.zone), t.State))
	}
	w.Grid("  ", nil, rows)
	if s.selects {
		s.textTargets(w)
	}
	for _, n := range s.Notes {
		w.Line("")
		w.Line("note: %s", n)
	}
}

// Why returns the reason for the state, without the state, its begin and its end.
func (s *PolicyStory) Why() string {
	return (&Explanation{zone: s.zone}).local(printer.Beyond(s.Message, s.State, s.Since, s.Until))
}

// Has reports whether any target has a state, a deciding policy (by) or details, so that a table has the column.
func (s *PolicyStory) Has(column string) bool {
	return slices.ContainsFunc(s.Targets, func(t PolicyTarget) bool {
		switch column {
		case "state":
			return t.State != ""
		case "by":
			return t.By != ""
		}
		return t.Detail()+t.Error != ""
	})
}

// stateText returns the state with its begin, its end and its reason.
func (s *PolicyStory) stateText() string {
	text := s.State
	if !s.Since.IsZero() {
		text += " since " + printer.InstantText(s.Since, s.zone)
	}
	if !s.Until.IsZero() {
		text += ", until " + printer.InstantText(s.Until, s.zone)
	}
	if why := s.Why(); why != "" {
		text += ": " + why
	}
	return text
}

func (s *PolicyStory) textTargets(w *printer.Writer) {
	w.Heading("Targets")
	if len(s.Targets) == 0 {
		w.Line("  none: no object here is selected")
	}
	rows := make([][]printer.Cell, len(s.Targets))
	for i, t := range s.Targets {
		state := t.State
		if t.Pending != "" {
			state = strings.TrimPrefix(state+", to be written: "+t.Pending, ", ")
		}
		if t.Error != "" {
			state += ": " + t.Error
		}
		if t.By != "" {
			state += ", as " + t.By + " decides"
		}
		if t.Wave != "" {
			state = strings.TrimSuffix("wave "+t.Wave+": "+state, ": ")
		}
		if t.Waits != "" {
			state += "; " + t.Waits
		}
		rows[i] = printer.Row(t.Target, state)
	}
	w.Grid("  ", nil, rows)
}
