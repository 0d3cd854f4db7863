package wake

import (
	"fmt"
	"slices"
	"strings"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/wake"
)

// Mark is an annotation that asks for a state until an instant, with its words.
type Mark struct {
	wake.Mark
	// kept and not describe an object with and without the mark. verb names the command.
	kept, not, verb string
}

// Awake keeps objects, namespaces and the targets of schedules awake. Held holds objects that their adapters can hold.
var (
	Awake = Mark{wake.Awake, "awake", "kept awake", "wake"}
	Held  = Mark{wake.Held, "held", "held", "hold"}
)

// CheckHold returns an error for a place that cannot be held. The error says why, and names the kinds that can be held.
func CheckHold(w *source.World, p Place) error {
	memory, err := w.Memory()
	if err != nil {
		return err
	}
	var names []string
	for _, k := range w.Kinds {
		if known := memory.Kind(k.GroupKind); known != nil && known.Adapter.Can(v1alpha1.CapabilityHold) {
			names = append(names, k.Resource.Resource)
		}
	}
	slices.Sort(names)
	those := "objects of these kinds can be held: " + strings.Join(names, ", ")
	if p.Object.Name == "" {
		return fmt.Errorf("%s is a %s, which cannot be held: %s", p, p.Kind, those)
	}
	k, obj := memory.Kind(p.Object.GroupKind), memory.Object(p.Object)
	control := decide.ControlOf(memory, k, obj)
	switch {
	case !k.Adapter.Can(v1alpha1.CapabilityHold):
		return fmt.Errorf("%s cannot be held, because its adapter %s has no hold: %s", p, k.Adapter.Name(), those)
	case control.Adapter != "":
		return fmt.Errorf("%s cannot be held: %s", p, control)
	case control.Exists() && !control.Follows:
		return fmt.Errorf("%s is controlled by %s/%s, which would undo it: hold that instead", p, strings.ToLower(control.By.Kind),
			control.By.Name)
	case decide.AsksNone(memory, k, obj):
		return fmt.Errorf("%s cannot be held: no policy may act on it; explain says why", p)
	case !k.Adapter.Observe(obj).CanHold:
		return fmt.Errorf("%s cannot be held, because no hold of its adapter %s fits it", p, k.Adapter.Name())
	}
	return nil
}
