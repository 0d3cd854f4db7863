package compiled

import (
	"cmp"
	"slices"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter/projection"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// Ready reports whether a raw JSON object has settled by the adapter's ready predicates, Flyball's changes included.
// Otherwise why names the first failed predicate and its value. An object that is not JSON is not ready.
func (a *Spec) Ready(raw []byte) (ready bool, why string) { return a.ready.settled(readFrom(raw)) }

// settled reports whether the predicates hold, and names the first that does not.
func (all predicates) settled(read func(*projection.Slot) string) (settled bool, why string) {
	if p := all.Failing(read); p != nil {
		return false, p.String() + " does not hold: " + p.Finding(read)
	}
	return true, ""
}

// readFrom returns a function that reads the values of slots from a raw object. An absent value is empty.
func readFrom(raw []byte) func(*projection.Slot) string {
	return func(s *projection.Slot) (found string) {
		err := s.Path.All(raw, func(m path.Match) bool {
			if m.Exists() && m.Type() != path.Null {
				found = string(m.Raw)
			}
			return found == ""
		})
		if err != nil {
			return ""
		}
		return found
	}
}

// Settled reports whether an object has settled, Flyball's changes included, and names the first predicate that fails. Objects of a kind
// without ready predicates have always settled. Objects that were read without the fields of the predicates have not.
func (a *Spec) Settled(obj *workload.Object) (settled bool, why string) {
	switch {
	case len(a.ready) == 0:
		return true, ""
	case !a.keepsReady:
		return false, "its state is not read yet"
	}
	return a.ready.settled(func(s *projection.Slot) string { return s.Of(obj).Raw })
}

// Unsettled returns the reason why an object has not settled. It is "" for a settled object, and for an object of unknown
// state: read without the fields of the predicates, or with none of them written by its controller. The API server writes zeros of
// required fields by itself, such as status.replicas of a StatefulSet.
func (a *Spec) Unsettled(obj *workload.Object) (why string) {
	known := func(s *projection.Slot) bool { raw := s.Of(obj).Raw; return raw != "" && raw != "0" }
	if a.keepsReady && slices.ContainsFunc(a.reported, known) {
		_, why = a.Settled(obj)
	}
	return why
}

// NotSeen returns the reason why the controller of an autoscaler does not act on its hold or its bounds yet, or that of a GitOps
// object on its hold. Empty: the controller does.
func (a *Spec) NotSeen(obj *workload.Object) (why string) {
	_, why = a.seenWhen.settled(func(s *projection.Slot) string { return s.Of(obj).Raw })
	return why
}

// IsSettled reports whether an object that was read with the fields of the ready predicates has settled. It is false while
// no policy needs these fields.
func (a *Spec) IsSettled(obj *workload.Object) bool {
	return a.keepsReady && a.ready.AreTrue(func(s *projection.Slot) string { return s.Of(obj).Raw })
}

// String returns the predicate in the words of the spec, without its default.
func (p *predicate) String() string {
	text := p.slot.Path.String() + " " + string(p.op)
	switch {
	case p.from != nil:
		return text + " " + p.from.Path.String()
	case p.value != "":
		return text + " " + p.value
	}
	return text
}

// Finding describes, for messages, the value that a predicate has found in its field.
func (p *predicate) Finding(read func(*projection.Slot) string) string {
	raw := read(p.slot)
	switch {
	case raw == "":
		return p.slot.Path.String() + " is absent"
	case p.op == v1alpha1.OpNotExists:
		return p.slot.Path.String() + " exists"
	}
	return p.slot.Path.String() + " is " + path.Brief(raw)
}

// isTrue reports whether the predicate holds on the values of read. A comparison with an absent field is false, also with
// the operator Ne. A predicate holds for every object that does not match its conditions.
func (p *predicate) isTrue(read func(*projection.Slot) string) bool {
	for i := range p.when {
		if !p.when[i].isTrue(read) {
			return true
		}
	}
	raw := read(p.slot)
	switch p.op {
	case v1alpha1.OpExists:
		return raw != ""
	case v1alpha1.OpNotExists:
		return raw == ""
	}
	raw = cmp.Or(raw, p.absent)
	operand := p.value
	if p.from != nil {
		operand = read(p.from)
	}
	if raw == "" || operand == "" {
		return false
	}
	switch p.op {
	case v1alpha1.OpEq:
		return path.Equal(raw, operand)
	case v1alpha1.OpNe:
		return !path.Equal(raw, operand)
	case v1alpha1.OpIn:
		return p.isListed(raw, operand)
	}
	order, ok := path.Compare(raw, operand)
	return ok && matches(p.op, order)
}

// isListed reports whether the value is in the list of the predicate, or in the list that another field holds.
func (p *predicate) isListed(raw, operand string) bool {
	if p.from != nil {
		found := false
		err := path.MustParse("[*]").All([]byte(operand), func(m path.Match) bool {
			found = path.Equal(string(m.Raw), raw)
			return !found
		})
		return err == nil && found && operand[0] == '['
	}
	for _, v := range p.list {
		if path.Equal(string(v), raw) {
			return true
		}
	}
	return false
}

func matches(op v1alpha1.PredicateOp, order int) bool {
	switch op {
	case v1alpha1.OpLt:
		return order < 0
	case v1alpha1.OpLe:
		return order <= 0
	case v1alpha1.OpGt:
		return order > 0
	default:
		return order >= 0
	}
}

// AreTrue reports whether every predicate holds on the values of read.
func (all predicates) AreTrue(read func(*projection.Slot) string) bool {
	return all.Failing(read) == nil
}

// Failing returns the first predicate that does not hold, or nil.
func (all predicates) Failing(read func(*projection.Slot) string) *predicate {
	for i := range all {
		if !all[i].isTrue(read) {
			return &all[i]
		}
	}
	return nil
}
