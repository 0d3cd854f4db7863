package compiled

import (
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// Read returns the meaning of a count, or false if it is unknown.
func (c *Component) Read(raw string) (int64, bool) {
	if raw == "" {
		if c.absent == nil {
			return 0, false
		}
		return *c.absent, true
	}
	n, ok := path.Natural(raw)
	if raw[0] == '"' && !c.viaScale {
		if q, isQuantity := workload.QuantityOf(raw); isQuantity && q.Sign() >= 0 {
			n, ok = q.Value(), true // rounded up
		}
	}
	if n == 0 && ok {
		n = c.zero
	}
	return n, ok
}

// ReadBound returns a bound from the kind's encoding: nil for none. It returns false for an invalid bound.
func (a *Spec) ReadBound(b *Bound, raw string) (*int64, bool) {
	if raw == "" && b.absent == nil {
		return nil, true
	}
	if raw == "" {
		return new(*b.absent), true
	}
	n, ok := path.Natural(raw)
	if a.encoding == v1alpha1.EncodingString {
		n, ok = path.NaturalText(raw)
	}
	if !ok {
		return nil, false
	}
	return &n, true
}

// encode returns a bound in the kind's encoding.
func (a *Spec) encode(n int64) string {
	if a.encoding == v1alpha1.EncodingString {
		return `"` + path.Integer(n) + `"`
	}
	return path.Integer(n)
}

// Text returns the JSON text of the count after a size. It is the owner's own text if the size changes nothing, or if
// that text is no count.
func (c *Component) Text(size workload.Size, own string) string {
	n, ok := c.Read(own)
	if !ok {
		return own
	}
	want := size.Of(workload.Component{Replicas: n, Minimum: c.Minimum})
	if want == n {
		return own
	}
	return path.Integer(want)
}

// BoundText returns a bound in the kind's encoding; the owner's text if it means the same number.
func (a *Spec) BoundText(b *Bound, n int64, own string) string {
	if has, ok := a.ReadBound(b, own); ok && has != nil && *has == n {
		return own
	}
	return a.encode(n)
}

// RefOf returns the name of an object of the adapter's kind.
func (a *Spec) RefOf(obj *workload.Object) workload.Ref {
	return workload.Ref{GroupKind: a.gk, Namespace: obj.Namespace, Name: obj.Name}
}
