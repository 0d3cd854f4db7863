package adapter

import (
	"cmp"
	"strconv"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// Ready reports whether a raw JSON object has settled by the adapter's ready predicates, Flyball's changes included.
// Otherwise why names the first failed predicate and its value. An object that is not JSON is not ready.
func (a *Adapter) Ready(raw []byte) (ready bool, why string) {
	read := readFrom(raw)
	for i := range a.ready {
		if p := &a.ready[i]; !p.holds(read) {
			return false, p.String() + " does not hold: " + p.finding(read)
		}
	}
	return true, ""
}

// readFrom returns a function that reads the values of slots from a raw object. An absent value is empty.
func readFrom(raw []byte) func(*slot) string {
	return func(s *slot) (found string) {
		err := s.path.All(raw, func(m path.Match) bool {
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
func (a *Adapter) Settled(obj *workload.Object) (settled bool, why string) {
	switch {
	case len(a.ready) == 0:
		return true, ""
	case !a.keepsReady:
		return false, "its state is not read yet"
	}
	v := a.view(obj)
	read := func(s *slot) string { return v.current(s).Raw }
	if p := v.failing(a.ready, read); p != nil {
		return false, p.String() + " does not hold: " + p.finding(read)
	}
	return true, ""
}

// String returns the predicate in the words of the spec, without its default.
func (p *predicate) String() string {
	text := p.slot.path.String() + " " + string(p.op)
	switch {
	case p.from != nil:
		return text + " " + p.from.path.String()
	case p.value != "":
		return text + " " + p.value
	}
	return text
}

// all reports whether every predicate holds on the values of read.
func (v *view) all(predicates []predicate, read func(*slot) string) bool {
	return v.failing(predicates, read) == nil
}

// failing returns the first predicate that does not hold, or nil.
func (v *view) failing(predicates []predicate, read func(*slot) string) *predicate {
	for i := range predicates {
		if !predicates[i].holds(read) {
			return &predicates[i]
		}
	}
	return nil
}

// finding describes, for messages, the value that a predicate has found in its field.
func (p *predicate) finding(read func(*slot) string) string {
	raw := read(p.slot)
	switch {
	case raw == "":
		return p.slot.path.String() + " is absent"
	case p.op == v1alpha1.OpNotExists:
		return p.slot.path.String() + " exists"
	}
	return p.slot.path.String() + " is " + brief(raw)
}

// holds reports whether the predicate holds on the values of read. A comparison with an absent field is false, also with
// the operator Ne. A predicate holds for every object that does not match its conditions.
func (p *predicate) holds(read func(*slot) string) bool {
	for i := range p.when {
		if !p.when[i].holds(read) {
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
	order, ok := compare(raw, operand)
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

// compare orders two JSON numbers. It returns false if one of the texts is no number. Whole numbers are compared
// exactly.
func compare(a, b string) (int, bool) {
	x, errX := path.NewValue(a, "").Int64()
	y, errY := path.NewValue(b, "").Int64()
	if errX == nil && errY == nil {
		return cmp.Compare(x, y), true
	}
	f, okF := float(a)
	g, okG := float(b)
	return cmp.Compare(f, g), okF && okG
}

func float(raw string) (float64, bool) {
	if path.NewValue(raw, "").Type() != path.Number {
		return 0, false
	}
	f, err := strconv.ParseFloat(raw, 64)
	return f, err == nil
}
