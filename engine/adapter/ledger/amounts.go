package ledger

import (
	"cmp"

	"flyball.dev/flyball/engine/adapter/compiled"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// AmountField is one amount of an object.
type AmountField struct {
	Part *compiled.Amount
	Key  workload.Amount
	// Element is the index of the amount in Object.Elements; -1 for a plain field.
	Element int
	// Original is the owner's JSON text; empty if the amount is absent and the default counts.
	Original string
	// Value is the meaning of original.
	Value int64
	// Entry is the ledger entry of the amount; nil: none.
	Entry *TrackedField
}

// Amounts returns the requests, limits and utilisations of the object. fault describes the first amount that cannot be
// read or identified. With a fault, no amount of the object is usable.
func (v *View) Amounts() (all []AmountField, fault string) {
	if fault = v.crowdFault(workload.PartAmount); fault != "" {
		return nil, fault
	}
	elements := v.index()
	for i := range v.Spec.Amounts {
		x := &v.Spec.Amounts[i]
		if x.Slot != nil {
			if x.When.AreTrue(v.Original) {
				f := AmountField{Part: x, Key: x.Key(x.Name), Element: -1, Original: v.Original(x.Slot),
					Entry: v.EntryAt(projection.AtSlot(x.Slot.Index))}
				all, fault = appendAmount(all, fault, f, v.Current(x.Slot), x.Slot.Pointer)
			}
			continue
		}
		for k := range v.Object.Elements {
			e := &v.Object.Elements[k]
			if e.Part != (workload.Part{Kind: workload.PartAmount, Index: uint8(i)}) || e.Outside {
				continue
			}
			f := AmountField{Part: x, Key: x.Key(ElementLabel(e)), Element: k, Original: v.OriginalOf(k), Entry: v.EntryAt(projection.AtElement(k))}
			if f.Original != "" || x.Absent != "" {
				fault = cmp.Or(fault, elements.Fault(k))
			}
			all, fault = appendAmount(all, fault, f, e.Field, e.Pointer)
		}
	}
	return all, fault
}

// appendAmount adds one readable and writable amount. It adds none if the meaning of an absent amount is unknown.
func appendAmount(all []AmountField, fault string, f AmountField, at workload.Field, pointer string) ([]AmountField, string) {
	if f.Original == "" && f.Part.Absent == "" {
		return all, fault
	}
	if at.Depth == projection.Blocked {
		return all, cmp.Or(fault, f.Label()+" has no place at "+pointer)
	}
	n, ok := f.Part.Read(f.Original)
	if !ok {
		return all, cmp.Or(fault, f.Label()+" is "+path.Brief(f.Original)+", which is no amount of 0 or more")
	}
	f.Value = n
	return append(all, f), fault
}

// Label returns the name of an amount in messages: web cpu request.
func (f *AmountField) Label() string { return f.Part.Label(f.Key) }

// AmountAt returns the amount at a location, or nil.
func (v *View) AmountAt(at projection.Location) *compiled.Amount {
	if at.Kind == projection.InElement {
		if part := v.Object.Elements[at.Index].Part; part.Kind == workload.PartAmount {
			return &v.Spec.Amounts[part.Index]
		}
		return nil
	}
	for i := range v.Spec.Amounts {
		if x := &v.Spec.Amounts[i]; at.Kind == projection.InSlot && x.Slot != nil && x.Slot.Index == at.Index {
			return x
		}
	}
	return nil
}

// observeAmounts returns the owner's requests and limits of components, and the target utilisations of an autoscaler. A
// limit without a request counts as the request too, as in the API server.
func (v *View) observeAmounts() (allocations workload.Allocations, targets []workload.Utilisation) {
	if !v.Spec.KeepsAmounts() {
		return nil, nil
	}
	all, _ := v.Amounts()
	for i := range all {
		switch f := &all[i]; {
		case f.Part.Kind == workload.AmountUtilisation:
			targets = append(targets, workload.Utilisation{Container: f.Key.Component, Resource: f.Key.Resource, Percent: f.Value})
		case f.Part.Limit:
			allocations = allocations.Set(f.Key.Component, true, f.Key.Resource, f.Value)
		default:
			allocations = allocations.Set(f.Key.Component, false, f.Key.Resource, Requested(all, f))
		}
	}
	return allocations, targets
}

// AmountFault returns the reason why requests, limits and utilisations of an object cannot be read and written, or "".
func (v *View) AmountFault() string {
	_, fault := v.Amounts()
	return fault
}

// FindAmount returns an amount, or the limit beside a request, or nil.
func FindAmount(all []AmountField, key workload.Amount, limit bool) *AmountField {
	for i := range all {
		if all[i].Key == key && all[i].Part.Limit == limit {
			return &all[i]
		}
	}
	return nil
}

// Requested returns the effective value of a request.
func Requested(all []AmountField, f *AmountField) int64 {
	if limit := FindAmount(all, f.Key, true); f.Original == "" && limit != nil {
		return limit.Value
	}
	return f.Value
}
