package admit

import (
	"crypto/tls"
	"crypto/x509"
	"slices"
	"time"
)

// issued is a certificate that somebody else has made, with the authorities by which API servers know it.
type issued struct {
	serving *tls.Certificate // with its Leaf
	// authorities is empty where those of the API servers' system do.
	authorities []*x509.Certificate
}

func (i issued) equal(o issued) bool {
	return slices.EqualFunc(i.serving.Certificate, o.serving.Certificate, slices.Equal) && slices.EqualFunc(i.authorities, o.authorities, (*x509.Certificate).Equal)
}

// handover is how one replica goes from one issued certificate to the next while others do the same at another time. What
// somebody may still need is trusted: what this replica serves and is going to serve, and what the configurations already
// trust, for a while. New files are first only announced, and served once every API server had the overlap to learn of
// their authorities; the others are spares.
type handover struct {
	spares
	// now is what is served, next what is in the files; nil if that is the same.
	now  issued
	next *issued
	// since is since when all configurations have been known to trust next; zero: they do not.
	since time.Time
}

// step is one look at the files and at what each webhook of the configurations trusts. Afterwards h.now is to be served. It
// gives what the configurations are to trust, in an order that all replicas agree on, and when to look again.
func (h *handover) step(files issued, live [][]*x509.Certificate, at time.Time) (bundle []*x509.Certificate, wake time.Time) {
	h.take(files)
	wake = h.turn(live, at)
	if len(h.now.authorities) == 0 {
		return nil, wake
	}
	bundle = slices.Clone(h.now.authorities)
	if h.next != nil {
		bundle = append(bundle, h.next.authorities...)
	}
	bundle, next := h.join(bundle, live, at)
	return bundle, earliest(wake, next)
}

// take notes what is in the files. Between a certificate with authorities and one without there is no handover.
func (h *handover) take(files issued) {
	switch {
	case h.now.serving == nil, len(files.authorities) == 0, len(h.now.authorities) == 0:
		h.now, h.next = files, nil
	case h.now.equal(files):
		h.next = nil
	case h.next == nil || !h.next.equal(files):
		h.next, h.since = &files, time.Time{}
	}
}

// turn puts next in the place of now when its time has come, and says when that is.
func (h *handover) turn(live [][]*x509.Certificate, at time.Time) (wake time.Time) {
	if h.next == nil {
		return at.Add(maxSleep)
	}
	switch {
	case !trustedBy(live, h.next.authorities):
		h.since = time.Time{}
	case h.since.IsZero():
		h.since = at
	}
	due := h.now.serving.Leaf.NotAfter
	if !h.since.IsZero() {
		due = earliest(due, h.since.Add(h.overlap))
		if !trustedBy(live, h.now.authorities) {
			// Somebody else has put the new authority in the old one's place: waiting for long helps nobody.
			due = earliest(due, h.since.Add(h.overlap/60))
		}
	}
	if at.Before(due) && !within(h.next.authorities, h.now.authorities) {
		return due
	}
	for _, authority := range h.now.authorities {
		h.remember(authority, at)
	}
	h.now, h.next = *h.next, nil
	return at.Add(maxSleep)
}

// trustedBy says whether each list has all of the authorities.
func trustedBy(lists [][]*x509.Certificate, authorities []*x509.Certificate) bool {
	return !slices.ContainsFunc(lists, func(list []*x509.Certificate) bool { return !within(authorities, list) })
}

// within says whether a list has all of the authorities.
func within(authorities, list []*x509.Certificate) bool {
	return !slices.ContainsFunc(authorities, func(a *x509.Certificate) bool { return !slices.ContainsFunc(list, a.Equal) })
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
