package migrate

import (
	"encoding/json"
	"slices"
	"strings"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
)

// Handovers are the writes of a take-over, planned or made.
type Handovers struct {
	Items []*Handover `json:"items"`
	// Left are parts of the tools' objects that a take-over cannot move.
	Left []Left `json:"leftBehind,omitempty"`
	// Unapplied are the names of printed policies that are not in the cluster. A dry run treats these policies as applied.
	Unapplied []string `json:"unapplied,omitempty"`
	// Changes are the objects that go to sleep or wake because of the policies and the take-over. Only a dry run finds
	// them.
	Changes []StateChange `json:"changes,omitempty"`
	// DryRun is true if nothing was written.
	DryRun bool `json:"dryRun,omitempty"`
}

// LeavesSomething reports whether anything is left behind, any object changes its state, or any object is not taken
// over.
func (h *Handovers) LeavesSomething() bool {
	return len(h.Left)+len(h.Changes) > 0 || slices.ContainsFunc(h.Items, func(item *Handover) bool {
		return item.Left != "" || item.Error != "" || len(item.ByHand) > 0
	})
}

// Names implements printer.Finding.
func (h *Handovers) Names() []string {
	names := make([]string, len(h.Items))
	for i, item := range h.Items {
		names[i] = strings.ToLower(item.Ref.Kind) + "/" + item.Ref.Name
	}
	return names
}

// Text implements printer.Finding.
func (h *Handovers) Text(w *printer.Writer) {
	for _, name := range h.Unapplied {
		w.Line("not applied yet, and taken for applied: %s", name)
	}
	if len(h.Items)+len(h.Left)+len(h.Changes) == 0 {
		w.Line("There is nothing to take over.")
		return
	}
	for _, item := range h.Items {
		h.item(w, item)
	}
	for _, l := range h.Left {
		w.Line("%s: left as it is: %s", l.Object, l.Part)
	}
	if h.DryRun {
		h.dryRun(w)
	}
}

func (h *Handovers) dryRun(w *printer.Writer) {
	w.Line("")
	if len(h.Changes) == 0 {
		w.Line("No object changes its state.")
	} else {
		w.Line("Once the policies are applied and this is written, these objects change their state:")
	}
	for _, c := range h.Changes {
		w.Line("  %s: %s, because of %s", c.Target, w.Styled(c.Change, printer.Warn), c.By)
	}
	w.Line("This was a dry run: nothing was written. --apply writes it.")
}

func (h *Handovers) item(w *printer.Writer, item *Handover) {
	switch {
	case item.Error != "":
		w.Line("%s: %s", item.Target, w.Styled("not written: "+item.Error, printer.Bad))
	case item.Left != "":
		w.Line("%s: %s", item.Target, w.Styled("left as it is: "+item.Left, printer.Warn))
	case item.Patch == nil:
		w.Line("%s: nothing to write", item.Target)
	case item.By == "":
		w.Line("%s: marks removed", item.Target)
	default:
		w.Line("%s: taken over for %s", item.Target, item.By)
	}
	if item.Wake != "" {
		w.Line("  to wake it: %s", item.Wake)
	}
	for _, f := range item.Fields {
		w.Line("  %s was %s, set %s", f.Pointer, brief(f.Was), brief(f.Set))
	}
	for _, m := range item.Marks {
		w.Line("  out: %s", m)
	}
	for _, n := range item.ByHand {
		w.Line("  by hand: %s", w.Styled(n, printer.Warn))
	}
	for _, n := range item.Notes {
		w.Line("  note: %s", n)
	}
	if w.Wide && item.Patch != nil {
		w.Line("  patch: %s", withoutManagers(item.Patch))
	}
}

// withoutManagers returns a patch without managed fields. They are long and do not help a reader.
func withoutManagers(patch json.RawMessage) json.RawMessage {
	var m map[string]any
	if json.Unmarshal(patch, &m) != nil {
		return patch
	}
	if metadata, ok := m["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	short, err := json.Marshal(m)
	if err != nil {
		return patch
	}
	return short
}
