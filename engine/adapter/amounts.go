package adapter

import (
	"cmp"
	"maps"
	"slices"

	"flyball.dev/flyball/engine/adapter/compiled"
	"flyball.dev/flyball/engine/adapter/ledger"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/workload"
)

// raisesMemory reports whether a write raises a request for memory.
func (v renderer) raisesMemory(d *ledger.Decision) bool {
	x := v.AmountAt(d.Location)
	if x == nil || x.Kind != workload.AmountRequest || x.Resource != workload.Memory || x.Limit {
		return false
	}
	before, ok := x.Read(d.Field.Raw)
	after, okAfter := x.Read(d.Value)
	return ok && okAfter && after > before
}

// addAmounts adds requests with the limits that follow them, and utilisations.
func (v renderer) addAmounts(w *wants, amounts map[workload.Amount]workload.Claim[int64]) {
	amounts = ofObjects(amounts)
	if len(amounts) == 0 {
		return
	}
	all, fault := v.Amounts()
	fault = cmp.Or(fault, v.UnclearFault())
	for _, key := range slices.SortedFunc(maps.Keys(amounts), workload.Amount.Compare) {
		c := amounts[key]
		w.asksOther = true
		w.setFirst(c.By)
		f := ledger.FindAmount(all, key, false)
		switch {
		case fault != "":
			continue
		case f == nil:
			w.reasons = append(w.reasons, "there is no "+(&compiled.Amount{Kind: key.Kind}).Label(key)+" to set")
			continue
		}
		w.canOther = true
		if limit := ledger.FindAmount(all, key, true); limit != nil && key.Kind == workload.AmountRequest {
			c.Value, _ = workload.FitLimit(c.Limits, c.Value, ledger.Requested(all, f), limit.Value)
		}
		n := v.wantAmount(f, c, c.Value)
		w.setValue(key.String(), n.Value)
		w.add(n)
		v.addLimit(w, all, f, &n, c)
	}
	if fault != "" {
		w.keepEntries(fault, func(at projection.Location) bool { return v.AmountAt(at) != nil })
	}
}

// ofObjects returns the amounts for the object, without the amounts for its pods.
func ofObjects(amounts map[workload.Amount]workload.Claim[int64]) map[workload.Amount]workload.Claim[int64] {
	isOfPods := func(key workload.Amount) bool {
		return key.Kind == workload.AmountInPlace || key.Kind == workload.AmountOnCreate
	}
	for key := range amounts {
		if isOfPods(key) {
			amounts = maps.Clone(amounts)
			maps.DeleteFunc(amounts, func(key workload.Amount, _ workload.Claim[int64]) bool { return isOfPods(key) })
			break
		}
	}
	return amounts
}

// wantAmount returns the want of a value on an amount.
func (v renderer) wantAmount(f *ledger.AmountField, c workload.Claim[int64], value int64) ledger.Want {
	var n ledger.Want
	if f.Element < 0 {
		n = v.wantSlot(f.Part.Slot, "")
	} else {
		e := &v.Object.Elements[f.Element]
		n = ledger.Want{Pointer: e.Pointer, Location: projection.AtElement(f.Element), Field: e.Field, Element: e, Original: f.Original}
	}
	n.Label = f.Label()
	n.Value = f.Part.Spell(value, f.Original, n.Field.Raw)
	n.ValueForWas = n.Value
	if f.Entry != nil {
		n.ValueForWas = f.Part.Spell(value, f.Entry.Entry.Was, f.Entry.Entry.Set)
	}
	return claimedBy(n, &c)
}

// addLimit adds the limit beside a request. While a different writer's request is respected, the limit stays.
func (v renderer) addLimit(w *wants, all []ledger.AmountField, f *ledger.AmountField, request *ledger.Want, c workload.Claim[int64]) {
	limit := ledger.FindAmount(all, f.Key, true)
	if f.Part.Kind != workload.AmountRequest || limit == nil || c.Limits == workload.LimitsStay {
		return
	}
	own := ledger.Requested(all, f)
	if l := f.Entry; l != nil && (l.State == ledger.FieldChanged || l.State == ledger.FieldAdopted) {
		switch {
		case request.Renews(l): // the present value becomes the original
		case !request.Enforce:
			if limit.Entry != nil {
				w.kept = append(w.kept, func(at projection.Location) bool { return at == limit.Entry.Location })
			}
			return
		default: // the different writer's request is overwritten, and the original stays
			own = limit.Value
			if was, ok := f.Part.Read(l.Entry.Was); ok && l.Entry.Was != "" {
				own = was
			}
		}
	}
	n := v.wantAmount(limit, c, limit.Value)
	if c.Limits == workload.LimitsGo {
		n.Value, n.ValueForWas = "", ""
		w.add(n)
		return
	}
	_, to := workload.FitLimit(c.Limits, c.Value, own, limit.Value)
	n.Value = limit.Part.Spell(to, n.Original, n.Field.Raw)
	n.ValueForWas = n.Value
	if l := limit.Entry; l != nil {
		if was, ok := limit.Part.Read(l.Entry.Was); ok {
			_, to := workload.FitLimit(c.Limits, c.Value, own, was)
			n.ValueForWas = limit.Part.Spell(to, l.Entry.Was, l.Entry.Set)
		}
	}
	w.add(n)
}
