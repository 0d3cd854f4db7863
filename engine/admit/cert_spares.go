package admit

import (
	"crypto/x509"
	"maps"
	"slices"
	"time"
)

// spares are the authorities that a configuration trusts and this replica does not need. Another replica may: one that has newer
// certificates, or older ones, or makes them another way. They stay for three overlaps: one in which others get what this
// replica has, one in which they announce it, and one to spare. What is put back afterwards, since a replica still needs it,
// stays for twice as long each time, so that replicas write against one another ever more rarely.
type spares struct {
	overlap time.Duration
	// others are by their DER encoding.
	others map[string]*other
}

// other is an authority that this replica does not need.
type other struct {
	authority *x509.Certificate
	// until is how long it stays, wait how long that was from the start, tries how often it was left out since.
	until time.Time
	wait  time.Duration
	tries int
	// missed is since when no configuration trusts it; zero: one does. After an overlap it is forgotten.
	missed time.Time
}

// maxTries is how often an authority is left out before it is taken to be put back by somebody. It is more than once, because
// a write may fail.
const maxTries = 2

// join adds to what this replica needs what stays of that which each webhook of the configurations trusts, in an order that all
// replicas agree on. It says when to look again.
func (s *spares) join(needed []*x509.Certificate, live [][]*x509.Certificate, at time.Time) (bundle []*x509.Certificate, wake time.Time) {
	for _, authority := range needed {
		delete(s.others, string(authority.Raw))
	}
	bundle, wake = slices.Clone(needed), at.Add(maxSleep)
	for _, o := range s.stay(needed, live, at) {
		bundle, wake = append(bundle, o.authority), earliest(wake, o.until)
	}
	return canonical(bundle), wake
}

// remember makes an authority that was not known before one that only somebody else needs.
func (s *spares) remember(authority *x509.Certificate, at time.Time) {
	key := string(authority.Raw)
	if s.others[key] != nil {
		return
	}
	if s.others == nil {
		s.others = map[string]*other{}
	}
	wait := 3 * s.overlap
	s.others[key] = &other{authority: authority, wait: wait, until: at.Add(wait)}
}

// stay lists the authorities that stay for somebody else's sake.
func (s *spares) stay(needed []*x509.Certificate, live [][]*x509.Certificate, at time.Time) (stay []*other) {
	trusted := slices.Concat(live...)
	maps.DeleteFunc(s.others, func(_ string, o *other) bool {
		return !at.Before(o.authority.NotAfter) || !o.missed.IsZero() && !at.Before(o.missed.Add(s.overlap)) && !at.Before(o.until)
	})
	for _, authority := range trusted {
		if !slices.ContainsFunc(needed, authority.Equal) && at.Before(authority.NotAfter) {
			s.remember(authority, at)
		}
	}
	for _, o := range s.others {
		there := slices.ContainsFunc(trusted, o.authority.Equal)
		if there {
			o.missed = time.Time{}
		} else if o.missed.IsZero() {
			o.missed = at
		}
		switch {
		case at.Before(o.until) && (there || len(live) == 0):
			stay = append(stay, o)
		case at.Before(o.until) || !there:
			// Another replica has dropped it.
		case o.tries < maxTries:
			o.tries++
		default:
			o.tries, o.wait = 0, 2*o.wait
			o.until = at.Add(o.wait)
			stay = append(stay, o)
		}
	}
	return stay
}

// canonical sorts authorities, the newest first, and takes each once.
func canonical(list []*x509.Certificate) []*x509.Certificate {
	slices.SortFunc(list, func(a, b *x509.Certificate) int {
		if order := b.NotBefore.Compare(a.NotBefore); order != 0 {
			return order
		}
		return slices.Compare(a.Raw, b.Raw)
	})
	return slices.CompactFunc(list, (*x509.Certificate).Equal)
}
