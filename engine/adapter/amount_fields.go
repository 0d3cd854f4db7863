package adapter

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"flyball.dev/flyball/engine/podplan"
	"flyball.dev/flyball/engine/workload"
)

// amountField is one amount of an object.
type amountField struct {
	part *amount
	key  workload.Amount
	// element is the index of the amount in Object.Elements; -1 for a plain field.
	element int
	// original is the owner's JSON text; empty if the amount is absent and the default counts.
	original string
	// value is the meaning of original.
	value int64
	// entry is the ledger entry of the amount; nil: none.
	entry *ledgerField
}

// amounts returns the requests, limits and utilisations of the object. fault describes the first amount that cannot be
// read or identified. With a fault, no amount of the object is usable.
func (v *view) amounts() (all []amountField, fault string) {
	if fault = v.crowdFault(isAmount); fault != "" {
		return nil, fault
	}
	elements := v.index()
	for i := range v.a.amounts {
		x := &v.a.amounts[i]
		if x.slot != nil {
			if v.all(x.when, v.original) {
				f := amountField{part: x, key: x.key(x.name), element: -1, original: v.original(x.slot),
					entry: v.entryAt(location{inSlot, x.slot.index})}
				all, fault = appendAmount(all, fault, f, v.current(x.slot), x.slot.pointer)
			}
			continue
		}
		for k := range v.obj.Elements {
			e := &v.obj.Elements[k]
			if int(e.Component) != amountElements+i || e.Outside {
				continue
			}
			f := amountField{part: x, key: x.key(elementLabel(e)), element: k, original: v.originalOf(k), entry: v.entryAt(location{inElement, k})}
			if f.original != "" || x.absent != "" {
				fault = cmp.Or(fault, elements.fault(k))
			}
			all, fault = appendAmount(all, fault, f, e.Field, e.Pointer)
		}
	}
	return all, fault
}

// appendAmount adds one readable and writable amount. It adds none if the meaning of an absent amount is unknown.
func appendAmount(all []amountField, fault string, f amountField, at workload.Field, pointer string) ([]amountField, string) {
	if f.original == "" && f.part.absent == "" {
		return all, fault
	}
	if at.Depth == blocked {
		return all, cmp.Or(fault, f.label()+" has no place at "+pointer)
	}
	n, ok := f.part.read(f.original)
	if !ok {
		return all, cmp.Or(fault, f.label()+" is "+brief(f.original)+", which is no amount of 0 or more")
	}
	f.value = n
	return append(all, f), fault
}

// key returns the key of the amount of a component or an element.
func (x *amount) key(name string) workload.Amount {
	if x.kind == workload.AmountRequest {
		return workload.Amount{Kind: x.kind, Component: name, Resource: x.resource}
	}
	container, of, found := strings.Cut(name, "/")
	if !found {
		container, of = "", name
	}
	return workload.Amount{Kind: x.kind, Component: container, Resource: workload.Resource(of)}
}

// label returns the name of an amount in messages: web cpu request.
func (f *amountField) label() string { return f.part.label(f.key) }

func (x *amount) label(key workload.Amount) string {
	what := "request"
	switch {
	case x.kind == workload.AmountUtilisation:
		what = "utilisation"
	case x.limit:
		what = "limit"
	}
	return strings.TrimSpace(key.Component + " " + string(key.Resource) + " " + what)
}

// amountAt returns the amount at a location, or nil.
func (v *view) amountAt(at location) *amount {
	for i := range v.a.amounts {
		x := &v.a.amounts[i]
		if at.kind == inElement && int(v.obj.Elements[at.index].Component) == amountElements+i ||
			at.kind == inSlot && x.slot != nil && x.slot.index == at.index {
			return x
		}
	}
	return nil
}

// raisesMemory reports whether a write raises a request for memory.
func (v *view) raisesMemory(d *decision) bool {
	x := v.amountAt(d.location)
	if x == nil || x.kind != workload.AmountRequest || x.resource != workload.Memory || x.limit {
		return false
	}
	before, ok := x.read(d.field.Raw)
	after, okAfter := x.read(d.value)
	return ok && okAfter && after > before
}

// observeAmounts returns the owner's requests and limits of components, and the target utilisations of an autoscaler. A
// limit without a request counts as the request too, as in the API server.
func (v *view) observeAmounts() (allocations workload.Allocations, targets []workload.Utilisation) {
	if !v.a.keepsAmounts {
		return nil, nil
	}
	all, _ := v.amounts()
	for i := range all {
		switch f := &all[i]; {
		case f.part.kind == workload.AmountUtilisation:
			targets = append(targets, workload.Utilisation{Container: f.key.Component, Resource: f.key.Resource, Percent: f.value})
		case f.part.limit:
			allocations = allocations.Set(f.key.Component, true, f.key.Resource, f.value)
		default:
			allocations = allocations.Set(f.key.Component, false, f.key.Resource, requested(all, f))
		}
	}
	return allocations, targets
}

// AmountFault returns the reason why requests, limits and utilisations of an object cannot be read and written, or "".
func (a *Adapter) AmountFault(obj *workload.Object) string {
	_, fault := a.view(obj).amounts()
	return fault
}

// findAmount returns an amount, or the limit beside a request, or nil.
func findAmount(all []amountField, key workload.Amount, limit bool) *amountField {
	for i := range all {
		if all[i].key == key && all[i].part.limit == limit {
			return &all[i]
		}
	}
	return nil
}

// requested returns the effective value of a request.
func requested(all []amountField, f *amountField) int64 {
	if limit := findAmount(all, f.key, true); f.original == "" && limit != nil {
		return limit.value
	}
	return f.value
}

// addAmounts adds requests with the limits that follow them, and utilisations.
func (v *view) addAmounts(w *wants, amounts map[workload.Amount]workload.Claim[int64]) {
	amounts = ofObjects(amounts)
	if len(amounts) == 0 {
		return
	}
	all, fault := v.amounts()
	fault = cmp.Or(fault, v.unclearFault())
	for _, key := range slices.SortedFunc(maps.Keys(amounts), workload.Amount.Compare) {
		c := amounts[key]
		w.asksOther = true
		w.setFirst(c.By)
		f := findAmount(all, key, false)
		switch {
		case fault != "":
			continue
		case f == nil:
			w.reasons = append(w.reasons, "there is no "+(&amount{kind: key.Kind}).label(key)+" to set")
			continue
		}
		w.canOther = true
		if limit := findAmount(all, key, true); limit != nil && key.Kind == workload.AmountRequest {
			c.Value, _ = podplan.Fit(c.Limits, c.Value, requested(all, f), limit.value)
		}
		n := v.wantAmount(f, c, c.Value)
		w.setValue(key.String(), n.value)
		w.add(n)
		v.addLimit(w, all, f, &n, c)
	}
	if fault != "" {
		w.keepEntries(fault, func(at location) bool { return v.amountAt(at) != nil })
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
func (v *view) wantAmount(f *amountField, c workload.Claim[int64], value int64) want {
	var n want
	if f.element < 0 {
		n = v.wantSlot(f.part.slot, "")
	} else {
		e := &v.obj.Elements[f.element]
		n = want{pointer: e.Pointer, location: location{inElement, f.element}, field: e.Field, element: e, original: f.original}
	}
	n.label = f.label()
	n.value = f.part.spell(value, f.original, n.field.Raw)
	n.valueForWas = n.value
	if f.entry != nil {
		n.valueForWas = f.part.spell(value, f.entry.entry.Was, f.entry.entry.Set)
	}
	return claimedBy(n, &c)
}

// addLimit adds the limit beside a request. While a different writer's request is respected, the limit stays.
func (v *view) addLimit(w *wants, all []amountField, f *amountField, request *want, c workload.Claim[int64]) {
	limit := findAmount(all, f.key, true)
	if f.part.kind != workload.AmountRequest || limit == nil || c.Limits == workload.LimitsStay {
		return
	}
	own := requested(all, f)
	if l := f.entry; l != nil && (l.state == fieldChanged || l.state == fieldAdopted) {
		switch {
		case request.renews(l): // the present value becomes the original
		case !request.enforce:
			if limit.entry != nil {
				w.kept = append(w.kept, func(at location) bool { return at == limit.entry.location })
			}
			return
		default: // the different writer's request is overwritten, and the original stays
			own = limit.value
			if was, ok := f.part.read(l.entry.Was); ok && l.entry.Was != "" {
				own = was
			}
		}
	}
	n := v.wantAmount(limit, c, limit.value)
	if c.Limits == workload.LimitsGo {
		n.value, n.valueForWas = "", ""
		w.add(n)
		return
	}
	_, to := podplan.Fit(c.Limits, c.Value, own, limit.value)
	n.value = limit.part.spell(to, n.original, n.field.Raw)
	n.valueForWas = n.value
	if l := limit.entry; l != nil {
		if was, ok := limit.part.read(l.entry.Was); ok {
			_, to := podplan.Fit(c.Limits, c.Value, own, was)
			n.valueForWas = limit.part.spell(to, l.entry.Was, l.entry.Set)
		}
	}
	w.add(n)
}

// InTemplate returns the requests and limits of the containers in a template, from the claims for the template and the
// owner's allocations.
func InTemplate(amounts map[workload.Amount]workload.Claim[int64], own workload.Allocations) workload.Allocations {
	all := slices.Clone(own)
	for i := range all {
		_ = allocate(&all[i], amounts, workload.AmountRequest, own[i])
	}
	return all
}

// InPlace returns the requests and limits of each container, from the claims for pods and the owner's allocations. A
// zero means that the present value stays.
func InPlace(amounts map[workload.Amount]workload.Claim[int64], own workload.Allocations) map[string]workload.Allocation {
	all := map[string]workload.Allocation{}
	for _, a := range own {
		to := workload.Allocation{Component: a.Component}
		if allocate(&to, amounts, workload.AmountInPlace, a) {
			all[a.Component] = to
		}
	}
	return all
}

// allocate sets the requests in the claims of one kind, and the limits beside these requests. It reports whether it has
// set a request.
func allocate(to *workload.Allocation, amounts map[workload.Amount]workload.Claim[int64], kind workload.AmountKind,
	own workload.Allocation) (any bool) {
	for _, of := range []workload.Resource{workload.CPU, workload.Memory} {
		claim, asked := amounts[workload.Amount{Kind: kind, Component: own.Component, Resource: of}]
		if !asked {
			continue
		}
		request, limit := podplan.Fit(claim.Limits, claim.Value, own.Requests.Of(of), own.Limits.Of(of))
		to.Requests.Set(of, request)
		to.Limits.Set(of, limit)
		any = any || request > 0
	}
	return any
}
