package admit

import (
	"crypto/x509"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var dawn = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// issue makes a certificate under an authority of its own, made at an instant.
func issue(t rapid.TB, at time.Time, life time.Duration) issued {
	t.Helper()
	authority, key, err := newAuthority(at, 365*day)
	if err != nil {
		t.Fatal(err)
	}
	serving, err := newServing(at, life, []string{"flyball.flyball-system.svc"}, authority, key)
	if err != nil {
		t.Fatal(err)
	}
	return issued{serving: serving, authorities: []*x509.Certificate{authority}}
}

// site is one configuration and the replicas that keep it.
type site struct{ live [][]*x509.Certificate }

// look has a replica look and write what it wants, and says whether that was a change.
func (s *site) look(h *handover, files issued, at time.Time) (wrote bool, wake time.Time) {
	bundle, wake := h.step(files, s.live, at)
	wrote = len(s.live) == 0 || !slices.EqualFunc(s.live[0], bundle, (*x509.Certificate).Equal)
	s.live = [][]*x509.Certificate{bundle}
	return wrote, wake
}

func (s *site) trusts(i issued) bool { return trustedBy(s.live, i.authorities) }

func TestHandover(t *testing.T) {
	const overlap = 10 * time.Minute
	first, second := issue(t, dawn, 90*day), issue(t, dawn.Add(time.Hour), 90*day)
	h, s := &handover{spares: spares{overlap: overlap}}, &site{}
	if wrote, _ := s.look(h, first, dawn); !wrote || !h.now.equal(first) {
		t.Fatal("the first files are not served at once")
	}
	if wrote, wake := s.look(h, first, dawn.Add(time.Minute)); wrote || !wake.Equal(dawn.Add(time.Minute+maxSleep)) {
		t.Errorf("nothing has changed: wrote %t, wake %v", wrote, wake)
	}

	at := dawn.Add(2 * time.Hour)
	if wrote, _ := s.look(h, second, at); !wrote || !h.now.equal(first) || !s.trusts(first) || !s.trusts(second) {
		t.Fatal("new files: want both authorities trusted and the old certificate served")
	}
	if _, wake := s.look(h, second, at.Add(time.Second)); !h.now.equal(first) || !wake.Equal(at.Add(time.Second+overlap)) {
		t.Errorf("announced: wake %v, want it an overlap later, and the old one served until then", wake)
	}
	at = at.Add(time.Second + overlap)
	wrote, wake := s.look(h, second, at)
	if wrote || !h.now.equal(second) || !s.trusts(first) || wake.After(at.Add(3*overlap)) {
		t.Errorf("after the overlap: wrote %t, wake %v; want the new one served, and the old authority trusted for three overlaps more", wrote, wake)
	}
	if wrote, _ := s.look(h, second, at.Add(3*overlap-time.Second)); wrote {
		t.Error("a second before that is over: wrote")
	}
	if wrote, _ := s.look(h, second, at.Add(3*overlap)); !wrote || s.trusts(first) || !s.trusts(second) {
		t.Errorf("in the end: wrote %t; want only the new authority trusted", wrote)
	}
	if wrote, _ := s.look(h, second, at.Add(30*day)); wrote {
		t.Error("once done: wrote again")
	}
}

func TestHandoverWithoutDelay(t *testing.T) {
	const overlap = 10 * time.Minute
	first, short := issue(t, dawn, 90*day), issue(t, dawn, time.Minute)
	renewed := first
	renewed.serving = issue(t, dawn.Add(day), 90*day).serving
	system := issued{serving: renewed.serving}
	for _, test := range []struct {
		reason      string
		old, new    issued
		live        []*x509.Certificate
		want, trust []*x509.Certificate
	}{
		{"the authority is the same", first, renewed, first.authorities, renewed.authorities, first.authorities},
		{"the old certificate has expired", short, first, short.authorities, first.authorities, canonical(slices.Concat(first.authorities, short.authorities))},
		{"the new one is for authorities of the system", first, system, first.authorities, nil, nil},
		{"the old one was for authorities of the system", system, first, nil, first.authorities, first.authorities},
	} {
		h, s := &handover{spares: spares{overlap: overlap}}, &site{}
		s.look(h, test.old, dawn)
		s.look(h, test.new, dawn.Add(time.Hour))
		if !h.now.equal(test.new) || !slices.EqualFunc(s.live[0], test.trust, (*x509.Certificate).Equal) {
			t.Errorf("%s: served %v, trusted %d", test.reason, h.now.equal(test.new), len(s.live[0]))
		}
	}
}

// Who sets the caBundle of one configuration to the new authority alone, as cert-manager does, makes waiting pointless.
func TestHandoverWhenAnotherHasSwitched(t *testing.T) {
	const overlap = 10 * time.Minute
	first, second := issue(t, dawn, 90*day), issue(t, dawn.Add(time.Hour), 90*day)
	h := &handover{spares: spares{overlap: overlap}}
	h.step(first, [][]*x509.Certificate{first.authorities, first.authorities}, dawn)
	ours, _ := h.step(second, [][]*x509.Certificate{first.authorities, second.authorities}, dawn)
	_, wake := h.step(second, [][]*x509.Certificate{ours, second.authorities}, dawn)
	if !wake.Equal(dawn.Add(overlap/60)) || !h.now.equal(first) {
		t.Errorf("wake %v, want it in a sixtieth of the overlap", wake)
	}
	if h.step(second, [][]*x509.Certificate{ours, second.authorities}, wake); !h.now.equal(second) {
		t.Error("the new certificate is not served then")
	}
}

// Two replicas whose files differ for good write ever more rarely.
func TestReplicasWithOtherFilesDoNotFight(t *testing.T) {
	const overlap = 10 * time.Minute
	one, two := issue(t, dawn, 365*day), issue(t, dawn.Add(time.Hour), 365*day)
	a, b, s := &handover{spares: spares{overlap: overlap}}, &handover{spares: spares{overlap: overlap}}, &site{}
	var writes [2]int // in the first 50 days and in the next
	for at := dawn; at.Before(dawn.Add(100 * day)); at = at.Add(overlap / 2) {
		for h, files := range map[*handover]issued{a: one, b: two} {
			if wrote, _ := s.look(h, files, at); wrote {
				writes[at.Sub(dawn)/(50*day)]++
			}
		}
	}
	if !s.trusts(one) && !s.trusts(two) {
		t.Error("neither is trusted")
	}
	if writes[0] > 120 || writes[1] > 12 {
		t.Errorf("%d writes in 50 days, and %d in the next 50", writes[0], writes[1])
	}
}

// While replicas get the files of one authority after another, each within an overlap of the others, every API server that
// lags by less than the overlap accepts what every replica serves, whoever fails to write and whenever; and in the end only
// the last authority is trusted.
func TestHandoverNeverServesTheUnknown(t *testing.T) {
	const overlap, tick = 10 * time.Minute, 30 * time.Second
	pool := []issued{issue(t, dawn, 365*day), issue(t, dawn, 365*day), issue(t, dawn.Add(time.Hour), 365*day), issue(t, dawn.Add(2*time.Hour), 365*day)}
	rapid.Check(t, func(t *rapid.T) {
		w := &world{replicas: make([]handover, rapid.IntRange(1, 3).Draw(t, "replicas")), overlap: overlap, at: dawn}
		w.files, w.looked = make([]issued, len(w.replicas)), make([]time.Time, len(w.replicas))
		for i := range w.replicas {
			w.replicas[i].overlap, w.files[i] = overlap, pool[0]
			w.look(t, i, false)
		}
		for range rapid.IntRange(1, 3).Draw(t, "renewals") {
			next := rapid.SampledFrom(pool).Draw(t, "next")
			arrivals := rapid.SliceOfN(rapid.IntRange(0, int(overlap*3/4/tick)), len(w.replicas), len(w.replicas)).Draw(t, "arrivals")
			troubled := rapid.IntRange(0, 60).Draw(t, "troubled ticks")
			for n := range troubled + int(12*overlap/tick) {
				w.at = w.at.Add(tick)
				for i := range w.replicas {
					if n >= arrivals[i] {
						w.files[i] = next
					}
					asleep := n < troubled && w.at.Sub(w.looked[i]) < overlap/8 && rapid.Bool().Draw(t, "asleep")
					if !asleep {
						w.look(t, i, n < troubled && rapid.IntRange(0, 3).Draw(t, "luck") == 0)
					}
				}
			}
			if !slices.EqualFunc(w.live[0], next.authorities, (*x509.Certificate).Equal) {
				t.Fatalf("in the end %d authorities are trusted", len(w.live[0]))
			}
		}
	})
}

// world is replicas with their files, and what the configuration trusted and when.
type world struct {
	site
	overlap  time.Duration
	at       time.Time
	replicas []handover
	files    []issued
	looked   []time.Time
	history  []trusting
}

// look has one replica look, and checks what all serve against whatever was trusted less than an overlap ago.
func (w *world) look(t *rapid.T, i int, fail bool) {
	before := w.live
	if w.site.look(&w.replicas[i], w.files[i], w.at); fail {
		w.live = before
	}
	w.looked[i] = w.at
	w.history = append(w.history, trusting{from: w.at, trusted: w.live[0]})
	for n := len(w.history) - 1; n >= 0; n-- {
		past := w.history[n]
		for i := range w.replicas {
			if w.replicas[i].now.serving != nil && !within(w.replicas[i].now.authorities, past.trusted) {
				t.Fatalf("at +%v: replica %d is refused by who trusts what was trusted at +%v", w.at.Sub(dawn), i, past.from.Sub(dawn))
			}
		}
		if !past.from.After(w.at.Add(-w.overlap)) {
			w.history = w.history[n:]
			return
		}
	}
}

// trusting is what the configuration trusts from some instant on.
type trusting struct {
	from    time.Time
	trusted []*x509.Certificate
}
