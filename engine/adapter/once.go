package adapter

import "flyball.dev/flyball/engine/workload"

// setOnce decides a field that is set when a claim comes into force and then left alone: again only when the policy makes a
// later claim or asks for another value. A claim of another policy is set too, whenever its window began, unless the entry
// says that it was set before and interrupted. The entry says that it was done, also where the field had the value already.
func (v *view) setOnce(w *want, l *listed) decision {
	claim := workload.Once{By: w.by.String(), Since: w.since, Asked: w.once}
	if l == nil || l.entry.Once == "" {
		return v.setNow(w, l)
	}
	lost := l.ours || l.entry.Pending && same(l.field.Raw, l.entry.Was) && !same(l.entry.Was, l.entry.Set)
	next := l.entry.HandOnce(claim, !lost)
	if !l.ours && (w.resumed || l.entry.WasSet(claim) && (!lost || l.entry.By != claim.By)) {
		if l.entry.By != next.By || l.entry.Once != next.Once {
			next.Set = w.value // what the field was set to for the other claim says nothing of this one
		}
		next.Prior, next.Pending = "", false
		d := w.decision()
		d.after = &next
		return d
	}
	d := v.setNow(w, l)
	d.after.Since, d.after.Interrupted = next.Since, next.Interrupted
	return d
}

func (v *view) setNow(w *want, l *listed) decision {
	d := v.take(w)
	d.after.Once = w.once
	d.direction = towards(w.field.Raw, w.value)
	switch {
	case same(w.field.Raw, w.value):
		d.write, d.viaScale, d.after.Pending, d.direction = false, false, false, workload.DirectionNone
	case w.viaScale && l != nil && l.ours: // until the write is through there is an original to give back
		e := l.seen()
		d.after.Was, d.after.Made, d.after.Prior = e.Was, e.Made, e.Set
	}
	return d
}
