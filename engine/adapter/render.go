package adapter

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter/compiled"
	"flyball.dev/flyball/engine/adapter/ledger"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// Result is the effect of a plan on an object.
type Result struct {
	// Patch is the write to make; nil if nothing changes.
	Patch *workload.Patch
	// State is the state of the object after the patch.
	State workload.State
	// Direction is the direction of the patch; a patch in both directions counts as down.
	Direction workload.Direction
	// By is the policy that the write is counted for: the claimant of the first written field, or the policy of the
	// restored entry.
	By workload.Policy
	// Overridden are the JSON pointers of fields that a foreign writer has changed and whose new values Flyball accepts.
	Overridden []string
	// Corrected is true if a different writer's change is overwritten.
	Corrected bool
	// Impact is Rollout if a written field restarts pods.
	Impact v1alpha1.Impact
	// Changed are the JSON pointers of the written fields, without the ledger.
	Changed []string
	// Edits are the fields written with their values, in the order of Changed.
	Edits []Edit
	// Actions are the actions of the patch by the rules of freezes. To suspend or to hold only stops work, so only the
	// restore of these fields counts.
	Actions workload.Change
	// Sized is true if the size is written: a count, or a switch of suspend.
	Sized bool
	// MoreMemory is true if some part requests more memory than before.
	MoreMemory bool
	// Values are the values that the plan wants, by facet: "suspend", "hold", "replicas/<component>", "min", "max", an amount
	// (workload.Amount.String) or an annotation key.
	Values map[string]string
	// Ignored are the JSON pointers of ledger entries that are not carried out: no adapter could have written the
	// field, or a value on the way to it is no longer an object.
	Ignored []string
	// Failure describes the manual step that is needed before the object can be restored, or put to sleep again; empty:
	// none.
	Failure string
	// Message is the result in one line, for example "replicas 3 -> 0".
	Message string
}

// Edit is a field that a patch writes.
type Edit struct {
	// Pointer is the JSON pointer of the field. Label is the name of the field in messages.
	Pointer, Label string
	// From and To are JSON texts; empty for an absent field.
	From, To string
}

// ErrLedger is wrapped by Render's error for an object with an unreadable ledger. Such an object is never written.
var ErrLedger = errors.New("the ledger cannot be read")

// renderer turns a plan into decisions about the fields of an object, and these into a patch.
type renderer struct{ *ledger.View }

// Render returns the writes that bring an object to a plan. It writes each field together with the ledger, in at most
// one patch (and one to /scale after it), and none at all if nothing changes. An object with a broken ledger (ErrLedger),
// an object of a different projection, and a plan that does not fit are errors.
func (a *Adapter) Render(obj *workload.Object, plan workload.Plan) (Result, error) {
	return a.render(obj, plan, renderer.waitsForNone)
}

// RenderFirst returns Render's writes without those that a freeze or a budget may refuse: restarts of pods, creations and deletions.
// They must hold up neither a size nor a name in the ledger, by which alone a policy that stops keeps a value. Its errors are Render's.
func (a *Adapter) RenderFirst(obj *workload.Object, plan workload.Plan) (Result, error) {
	return a.render(obj, plan, renderer.isRefusable)
}

func (renderer) waitsForNone(*ledger.Decision) bool { return false }

// isRefusable reports whether a freeze or a budget may refuse a write that does not set the size.
func (v renderer) isRefusable(d *ledger.Decision) bool {
	return !v.IsSize(d.Location) && (v.restartsPods(d) || v.actionsOf(d)&^workload.ChangeScale != 0)
}

// render returns the writes of a plan without those that wait.
func (a *Adapter) render(obj *workload.Object, plan workload.Plan, waits func(renderer, *ledger.Decision) bool) (Result, error) {
	result := Result{Impact: v1alpha1.ImpactNone}
	if obj.LedgerError != "" {
		return result, fmt.Errorf("render %s: annotation %s: %w: %s", a.RefOf(obj), v1alpha1.AnnotationLedger, ErrLedger, obj.LedgerError)
	}
	if obj.Deleting {
		result.Message = "being deleted"
		return result, nil
	}
	if of := obj.Notes().CopyOf; of != "" {
		// Nothing is written: a new ledger would replace the only record of the originals.
		result.Failure = fmt.Sprintf("this is a copy of %s, made while that object had values of Flyball: the originals "+
			"of the copy are unknown, so it is not restored. Set the fields by hand and remove the annotation %s", of, v1alpha1.AnnotationLedger)
		result.Message = result.Failure
		return result, nil
	}
	v := renderer{ledger.NewView(a.Spec, obj)}
	if !v.Complete() {
		return result, fmt.Errorf("render %s: the object was not projected by this version of adapter %s", a.RefOf(obj), a.Name())
	}
	w, err := v.wantsOf(plan)
	if err != nil {
		return result, fmt.Errorf("render %s: %w", a.RefOf(obj), err)
	}
	decisions := v.DecideAll(w.list, w.keeps, plan, func(d *ledger.Decision) bool { return waits(v, d) })
	result = v.summary(w.first, decisions)
	result.Values, result.Ignored, result.Failure = w.values, v.ignored(), v.UnclearFault()
	result.State = v.stateAfter(&w, decisions, plan)
	reasons := slices.Concat(w.fixed, w.reasons)
	for _, pointer := range result.Ignored {
		reasons = append(reasons, "the ledger's entry for "+pointer+" is not carried out: the field cannot be written")
	}
	result.Message = message(result.State, decisions, reasons)
	result.Patch, err = v.patch(decisions)
	if err != nil {
		return Result{}, fmt.Errorf("render %s: %w", a.RefOf(obj), err)
	}
	return result, nil
}

// ignored returns the pointers of entries with a field that cannot be written.
func (v renderer) ignored() []string {
	var pointers []string
	for i := range v.Entries {
		if l := &v.Entries[i]; l.State == ledger.FieldUnwritable {
			pointers = append(pointers, l.Entry.Pointer)
		}
	}
	return pointers
}

// summary describes the writes of the decisions, and the policy that they are counted for. Without a write this is the
// policy first, or, if first is empty, the policy of the first ledger entry.
func (v renderer) summary(first workload.Policy, decisions []ledger.Decision) Result {
	r := Result{By: first, Impact: v1alpha1.ImpactNone}
	charged := false
	for i := range decisions {
		d := &decisions[i]
		if d.Overridden {
			r.Overridden = append(r.Overridden, d.Pointer)
		}
		if !d.Write {
			continue
		}
		if !charged {
			charged, r.By = true, workload.ParsePolicy(d.By)
		}
		r.Changed = append(r.Changed, d.Pointer)
		r.Edits = append(r.Edits, Edit{Pointer: d.Pointer, Label: d.Label, From: d.Field.Text(), To: d.Result()})
		r.Actions |= v.actionsOf(d)
		r.Corrected = r.Corrected || d.Corrected
		r.Sized = r.Sized || v.IsSize(d.Location)
		r.MoreMemory = r.MoreMemory || v.raisesMemory(d)
		if d.Direction == workload.DirectionDown || r.Direction == workload.DirectionNone {
			r.Direction = d.Direction
		}
		if v.restartsPods(d) {
			r.Impact = v1alpha1.ImpactRollout
			r.Actions |= workload.ChangeRollOut
		}
	}
	if r.By == (workload.Policy{}) && len(v.Entries) > 0 {
		r.By = workload.ParsePolicy(v.Entries[0].Entry.By)
	}
	return r
}

// restartsPods reports whether a write changes the pod template, or is declared to restart pods.
func (v renderer) restartsPods(d *ledger.Decision) bool {
	switch d.Location.Kind {
	case projection.InSlot:
		return v.slotRestartsPods(v.Spec.Projection.Slots[d.Location.Index])
	case projection.InElement:
		x := v.AmountAt(d.Location)
		return x != nil && x.Kind == workload.AmountRequest
	case projection.InUnwritten:
		t := v.Spec.Template
		pointer, err := t.Pointer()
		written := path.Pointer(d.Pointer)
		return err == nil && t.Len() > 0 && (pointer.IsPrefixOf(written) || written.IsPrefixOf(pointer))
	}
	return false
}

// slotRestartsPods reports whether a write of the field restarts pods. If a variant declares this, the variant that fits
// the object decides.
func (v renderer) slotRestartsPods(s *projection.Slot) bool {
	for _, all := range [][]compiled.Variant{v.Spec.Suspend, v.Spec.Hold} {
		if !s.Declared {
			break
		}
		fits := v.VariantOf(all)
		if fits != nil && slices.ContainsFunc(fits.Set, func(w compiled.Write) bool { return w.Slot == s }) {
			return fits.Rollout
		}
	}
	return s.Rollout
}

// stateAfter returns the state of the object after the decisions.
func (v renderer) stateAfter(w *wants, decisions []ledger.Decision, plan workload.Plan) workload.State {
	overridden := slices.ContainsFunc(decisions, func(d ledger.Decision) bool { return d.Overridden })
	switch {
	case w.asksSize && !w.canSize && plan.Asleep() && v.Spec.AlreadyAsleep(v.Original):
		return workload.StateAlreadyAsleep
	case w.asksSize && !w.canSize:
		return workload.StateUnable
	case !w.asksSize && w.asksOther && !w.canOther:
		return workload.StateUnable
	case overridden:
		return workload.StateOverridden
	case w.asksSize && !plan.Asleep():
		return workload.StateSet
	case w.asksSize && w.leavesSize():
		return workload.StateAlreadyAsleep
	case w.asksSize:
		return workload.StateAsleep
	case w.asksOther:
		return workload.StateSet
	}
	return v.stateKept(decisions)
}

// leavesSize reports whether the owner's size is already the wanted size.
func (w *wants) leavesSize() bool {
	return !slices.ContainsFunc(w.list, func(n ledger.Want) bool { return n.Sized && !path.Same(n.Value, n.Original) })
}

// stateKept returns the state of an object without a claim, from the ledger entries that stay.
func (v renderer) stateKept(decisions []ledger.Decision) workload.State {
	state := workload.StateAwake
	for i := range decisions {
		d := &decisions[i]
		if d.After == nil || d.Write {
			continue
		}
		if v.isReduced(d) {
			return workload.StateAsleep
		}
		state = workload.StateSet
	}
	return state
}

// isReduced reports whether a kept entry took capacity away: a switch of suspend, or a lower count.
func (v renderer) isReduced(d *ledger.Decision) bool {
	if d.After.Once != "" {
		return false
	}
	if v.IsSuspend(d.Location) {
		return true
	}
	part := v.ComponentAt(d.Location)
	if part == nil {
		return false
	}
	was, okWas := part.Read(d.After.Was)
	set, okSet := part.Read(d.After.Set)
	return okWas && okSet && set < was
}

// message describes in one line the writes and the respected fields, or the reasons for no write.
func message(state workload.State, decisions []ledger.Decision, reasons []string) string {
	var parts []string
	for i := range decisions {
		if d := &decisions[i]; d.Write {
			parts = append(parts, d.Label+" "+path.Brief(d.Field.Text())+" -> "+path.Brief(d.Result()))
		}
	}
	for i := range decisions {
		if d := &decisions[i]; d.Overridden {
			parts = append(parts, d.Label+" is "+path.Brief(d.Field.Text())+", changed by another writer: left until the next transition")
		}
	}
	if parts = append(parts, reasons...); len(parts) > 0 {
		return strings.Join(parts, ", ")
	}
	switch state {
	case workload.StateUnable:
		return "nothing on this object can be set that way"
	case workload.StateAlreadyAsleep:
		return "already asleep by its owner"
	}
	return ""
}

// actionsOf returns the actions of a write, by those rules of Classify that do not need the object. To suspend or to
// hold only stops work. To undo this can start a waiting roll-out.
func (v renderer) actionsOf(d *ledger.Decision) workload.Change {
	all := v.Spec.Changes.ActionsAt(path.Pointer(d.Pointer).Tokens())
	switch {
	case !v.Spec.StopsAt(d.Pointer):
		return all
	case d.Direction == workload.DirectionUp:
		return all & (workload.ChangeRollOut | workload.ChangeScale)
	default:
		return all & workload.ChangeScale
	}
}

// Bounds returns the bounds of an object after a plan is carried out; nil for a missing bound or no limit. An object of a
// different projection and a plan that does not fit are errors.
func (a *Adapter) Bounds(obj *workload.Object, plan workload.Plan) (workload.Bounds, error) {
	var b workload.Bounds
	v := renderer{ledger.NewView(a.Spec, obj)}
	if !v.Complete() {
		return b, fmt.Errorf("read the bounds of %s: the object was not projected by this version of adapter %s", a.RefOf(obj), a.Name())
	}
	w, err := v.wantsOf(plan)
	if err != nil {
		return b, fmt.Errorf("read the bounds of %s: %w", a.RefOf(obj), err)
	}
	decisions := v.DecideAll(w.list, w.keeps, plan, v.waitsForNone)
	if a.Min != nil {
		b.Min = v.boundAfter(a.Min, decisions)
	}
	if a.Max != nil {
		b.Max = v.boundAfter(a.Max, decisions)
	}
	return b, nil
}

// boundAfter returns a bound after the decisions are carried out; nil for none or no limit.
func (v renderer) boundAfter(b *compiled.Bound, decisions []ledger.Decision) *int64 {
	raw := v.Current(b.Slot).Raw
	for i := range decisions {
		if d := &decisions[i]; d.Write && d.Location == projection.AtSlot(b.Slot.Index) {
			raw = d.Value
		}
	}
	n, ok := v.Spec.ReadBound(b, raw)
	if !ok || n == nil || b.Unlimited != nil && *n == *b.Unlimited {
		return nil
	}
	return n
}
