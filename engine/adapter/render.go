package adapter

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"flyball.dev/flyball/crds/v1alpha1"
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

// Render returns the writes that bring an object to a plan. It writes each field together with the ledger, in at most
// one patch (and one to /scale after it), and none at all if nothing changes.
func (a *Adapter) Render(obj *workload.Object, plan workload.Plan) (Result, error) {
	result := Result{Impact: v1alpha1.ImpactNone}
	if obj.LedgerError != "" {
		return result, fmt.Errorf("render %s: annotation %s: %w: %s", a.refOf(obj), v1alpha1.AnnotationLedger, ErrLedger, obj.LedgerError)
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
	v := a.view(obj)
	if !v.complete() {
		return result, fmt.Errorf("render %s: the object was not projected by this version of adapter %s", a.refOf(obj), a.name)
	}
	w, err := v.wantsOf(plan)
	if err != nil {
		return result, fmt.Errorf("render %s: %w", a.refOf(obj), err)
	}
	decisions := v.decideAll(&w, plan)
	result = v.summary(w.first, decisions)
	result.Values, result.Ignored, result.Failure = w.values, v.ignored(), v.unclearFault()
	result.State = v.state(&w, decisions, plan)
	reasons := slices.Concat(w.fixed, w.reasons)
	for _, pointer := range result.Ignored {
		reasons = append(reasons, "the ledger's entry for "+pointer+" is not carried out: the field cannot be written")
	}
	result.Message = message(result.State, decisions, reasons)
	result.Patch, err = v.patch(decisions)
	if err != nil {
		return Result{}, fmt.Errorf("render %s: %w", a.refOf(obj), err)
	}
	return result, nil
}

func (a *Adapter) refOf(obj *workload.Object) workload.Ref {
	return workload.Ref{GroupKind: a.gk, Namespace: obj.Namespace, Name: obj.Name}
}

// decideAll decides the fields that only the ledger lists, and then the wanted fields. If one of two fields contains
// the other, they are not written together: the later one waits, and keeps its ledger entry if it has one.
func (v *view) decideAll(w *wants, plan workload.Plan) []decision {
	released := make([]decision, 0, len(v.entries))
	for i := range v.entries {
		l := &v.entries[i]
		if w.has(l.location) {
			continue
		}
		d := v.decide(releasedSituation(l, plan, w.keeps(l.location)), nil, l, plan.Within)
		if d.write && touchesAny(d.pointer, released) {
			d = v.keep(l)
		}
		released = append(released, d)
	}
	decisions := make([]decision, 0, len(w.list)+len(released))
	for i := range w.list {
		n := &w.list[i]
		switch l := v.entryAt(n.location); {
		case !touchesAny(n.pointer, released):
			decisions = append(decisions, v.decide(claimedSituation(n, l), n, l, plan.Within))
		case l != nil:
			decisions = append(decisions, v.keep(l))
		}
	}
	decisions = append(decisions, released...)
	v.disclaimContainersIn(decisions)
	return decisions
}

// has reports whether the field at a location is wanted.
func (w *wants) has(at location) bool {
	return slices.ContainsFunc(w.list, func(n want) bool { return n.location == at })
}

// touchesAny reports whether a field is inside, or contains, a different field that is written or stays in the ledger.
func touchesAny(pointer string, decisions []decision) bool {
	for i := range decisions {
		d := &decisions[i]
		if !d.write && d.after == nil || d.pointer == pointer {
			continue
		}
		p, q := path.Pointer(d.pointer), path.Pointer(pointer)
		if p.IsPrefixOf(q) || q.IsPrefixOf(p) {
			return true
		}
	}
	return false
}

// ignored returns the pointers of entries with a field that cannot be written.
func (v *view) ignored() []string {
	var pointers []string
	for i := range v.entries {
		if l := &v.entries[i]; l.state == fieldUnwritable {
			pointers = append(pointers, l.entry.Pointer)
		}
	}
	return pointers
}

// summary describes the writes of the decisions, and the policy that they are counted for. Without a write this is the
// policy first, or, if first is empty, the policy of the first ledger entry.
func (v *view) summary(first workload.Policy, decisions []decision) Result {
	r := Result{By: first, Impact: v1alpha1.ImpactNone}
	charged := false
	for i := range decisions {
		d := &decisions[i]
		if d.overridden {
			r.Overridden = append(r.Overridden, d.pointer)
		}
		if !d.write {
			continue
		}
		if !charged {
			charged, r.By = true, workload.ParsePolicy(d.by)
		}
		r.Changed = append(r.Changed, d.pointer)
		r.Edits = append(r.Edits, Edit{Pointer: d.pointer, Label: d.label, From: d.field.Text(), To: d.result()})
		r.Actions |= v.actionsOf(d)
		r.Corrected = r.Corrected || d.corrected
		r.Sized = r.Sized || v.isSize(d.location)
		r.MoreMemory = r.MoreMemory || v.raisesMemory(d)
		if d.direction == workload.DirectionDown || r.Direction == workload.DirectionNone {
			r.Direction = d.direction
		}
		if v.restartsPods(d) {
			r.Impact = v1alpha1.ImpactRollout
			r.Actions |= workload.ChangeRollOut
		}
	}
	if r.By == (workload.Policy{}) && len(v.entries) > 0 {
		r.By = workload.ParsePolicy(v.entries[0].entry.By)
	}
	return r
}

// restartsPods reports whether a write changes the pod template, or is declared to restart pods.
func (v *view) restartsPods(d *decision) bool {
	switch d.location.kind {
	case inSlot:
		return v.slotRestartsPods(v.a.projection.slots[d.location.index])
	case inElement:
		x := v.amountAt(d.location)
		return x != nil && x.kind == workload.AmountRequest
	case inUnwritten:
		t := v.a.template
		pointer, err := t.Pointer()
		written := path.Pointer(d.pointer)
		return err == nil && t.Len() > 0 && (pointer.IsPrefixOf(written) || written.IsPrefixOf(pointer))
	}
	return false
}

// slotRestartsPods reports whether a write of the field restarts pods. If a variant declares this, the variant that fits
// the object decides.
func (v *view) slotRestartsPods(s *slot) bool {
	for _, all := range [][]variant{v.a.suspend, v.a.hold} {
		if !s.declared {
			break
		}
		fits := v.variantOf(all)
		if fits != nil && slices.ContainsFunc(fits.set, func(w write) bool { return w.slot == s }) {
			return fits.rollout
		}
	}
	return s.rollout
}

// state returns the state of the object after the decisions.
func (v *view) state(w *wants, decisions []decision, plan workload.Plan) workload.State {
	overridden := slices.ContainsFunc(decisions, func(d decision) bool { return d.overridden })
	switch {
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
	return !slices.ContainsFunc(w.list, func(n want) bool { return n.sized && !same(n.value, n.original) })
}

// stateKept returns the state of an object without a claim, from the ledger entries that stay.
func (v *view) stateKept(decisions []decision) workload.State {
	state := workload.StateAwake
	for i := range decisions {
		d := &decisions[i]
		if d.after == nil || d.write {
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
func (v *view) isReduced(d *decision) bool {
	if d.after.Once != "" {
		return false
	}
	if v.isSuspend(d.location) {
		return true
	}
	part := v.componentAt(d.location)
	if part == nil {
		return false
	}
	was, okWas := part.read(d.after.Was)
	set, okSet := part.read(d.after.Set)
	return okWas && okSet && set < was
}

// message describes in one line the writes and the respected fields, or the reasons for no write.
func message(state workload.State, decisions []decision, reasons []string) string {
	var parts []string
	for i := range decisions {
		if d := &decisions[i]; d.write {
			parts = append(parts, d.label+" "+brief(d.field.Text())+" -> "+brief(d.result()))
		}
	}
	for i := range decisions {
		if d := &decisions[i]; d.overridden {
			parts = append(parts, d.label+" is "+brief(d.field.Text())+", changed by another writer: left until the next transition")
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

// brief shortens a JSON text for messages.
func brief(raw string) string {
	const limit = 40 // bytes
	switch {
	case raw == "":
		return "absent"
	case len(raw) > limit && raw[0] == '{':
		return "{...}"
	case len(raw) > limit && raw[0] == '[':
		return "[...]"
	case len(raw) > limit:
		return strings.ToValidUTF8(raw[:limit], "") + "..."
	}
	return raw
}

// ledgerText returns the ledger after the decisions: nil if it stays, empty if it goes.
func (v *view) ledgerText(decisions []decision) (*string, error) {
	var after workload.Ledger
	for i := range decisions {
		if e := decisions[i].after; e != nil {
			after = append(after, *e)
		}
	}
	// Of two entries with the same pointer, the first counts.
	slices.SortStableFunc(after, func(a, b workload.Entry) int { return cmp.Compare(a.Pointer, b.Pointer) })
	after = slices.CompactFunc(after, func(a, b workload.Entry) bool { return a.Pointer == b.Pointer })
	same := func(a, b workload.Entry) bool {
		equal := a.Since.Equal(b.Since)
		a.Since = b.Since
		return equal && a == b
	}
	switch {
	case slices.EqualFunc(after, v.obj.Ledger, same):
		return nil, nil
	case len(after) == 0:
		return new(string), nil
	case len(after) > maxEntries:
		return nil, fmt.Errorf("%d fields would have to be remembered, where a ledger has at most %d entries", len(after), maxEntries)
	}
	text, err := after.Encode(v.origin())
	return &text, err
}

// origin returns the identity of the object that the ledger was begun on. An existing ledger keeps its UID.
func (v *view) origin() workload.Origin {
	on := workload.Origin{Of: workload.LedgerOf(v.a.gk.Kind, v.obj.Name), Namespace: v.obj.Namespace, UID: v.obj.UID}
	if len(v.obj.Ledger) > 0 {
		on.UID = v.obj.Notes().UID
	}
	return on
}
