package credential

import (
	"bytes"
	"crypto/x509"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const day = 24 * time.Hour

func testRotation() Rotation {
	return Rotation{Hosts: []string{"flyball.flyball-system.svc", "127.0.0.1"}, Authority: 365 * day, Serving: 90 * day, Overlap: 10 * time.Minute}
}

// mustNext runs one step of the protocol.
func mustNext(t rapid.TB, r Rotation, m Material, now, announced time.Time) Step {
	t.Helper()
	s, err := r.Next(m, now, announced)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// accepted reports whether a client that trusts the bundle accepts the serving certificate for every host.
func accepted(t rapid.TB, trusted []*x509.Certificate, m Material, hosts []string, now time.Time) bool {
	t.Helper()
	roots := x509.NewCertPool()
	for _, ca := range trusted {
		roots.AddCert(ca)
	}
	for _, host := range hosts {
		if _, err := m.Serving.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: now}); err != nil {
			return false
		}
	}
	return true
}

func TestFirstCertificates(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := testRotation()
	s := mustNext(t, r, Material{}, now, time.Time{})
	if !s.Changed || len(s.Material.Trusted) != 1 || !accepted(t, s.Material.Trusted, s.Material, r.Hosts, now) {
		t.Fatalf("first step: changed %v, %d authorities", s.Changed, len(s.Material.Trusted))
	}
	again := mustNext(t, r, s.Material, now.Add(time.Minute), now)
	if again.Changed {
		t.Errorf("a minute later: %v, want no change", again.Did)
	}
	if want := now.Add(60 * day); !again.Wake.Equal(want) {
		t.Errorf("wake at %v, want %v, when a third of the serving certificate's life is left", again.Wake, want)
	}
}

func TestServingCertificateIsReplaced(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := testRotation()
	first := mustNext(t, r, Material{}, now, time.Time{}).Material
	moved := r
	moved.Hosts = append(moved.Hosts, "other.example.com")
	broken := first
	broken.Signer = nil
	tests := []struct {
		reason   string
		rotation Rotation
		material Material
		after    time.Duration
		want     bool
	}{
		{"nothing happened", r, first, time.Hour, false},
		{"a third of its life is left", r, first, 60 * day, true},
		{"a host was added", moved, first, time.Hour, true},
		{"it expired while nothing ran", r, first, 91 * day, true},
		{"the authority's key was lost: the serving certificate stays until the new authority is announced", r, broken, time.Hour, false},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			at := now.Add(tt.after)
			s := mustNext(t, tt.rotation, tt.material, at, now)
			if got := s.Material.Serving != first.Serving; got != tt.want {
				t.Errorf("replaced: %v (%v), want %v", got, s.Did, tt.want)
			}
			if !accepted(t, s.Material.Trusted, s.Material, tt.rotation.Hosts, at) {
				t.Error("what is served is not trusted")
			}
		})
	}
}

// Two replicas with different hosts do not replace each other's certificate forever.
func TestReplicasAgreeOnHosts(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	one, other := testRotation(), testRotation()
	other.Hosts = []string{"renamed.flyball-system.svc", "192.0.2.7"}
	m := mustNext(t, one, Material{}, now, time.Time{}).Material
	second := mustNext(t, other, m, now, now)
	if !second.Changed {
		t.Fatal("the second replica takes a certificate that does not cover its hosts")
	}
	if third := mustNext(t, one, second.Material, now, now); third.Changed {
		t.Errorf("the first replica: %v, want no change", third.Did)
	}
}

func TestAuthorityIsReplacedWithOverlap(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := testRotation()
	r.Serving = 400 * day // so that only the authority decides
	m := mustNext(t, r, Material{}, now, time.Time{}).Material
	old := m.Trusted[0]

	due := renewal(old)
	s := mustNext(t, r, m, due, now)
	if len(s.Material.Trusted) != 2 || s.Material.Trusted[1] != old || s.Material.Serving.Leaf.CheckSignatureFrom(old) != nil {
		t.Fatalf("when the authority is due: %v, want a second one trusted and the old one still in use", s.Did)
	}
	if s2 := mustNext(t, r, s.Material, due.Add(time.Hour), time.Time{}); s2.Changed {
		t.Errorf("not announced for an hour: %v, want no change", s2.Did)
	}
	announced := due.Add(time.Hour)
	if s2 := mustNext(t, r, s.Material, announced.Add(r.Overlap-time.Second), announced); s2.Changed || !s2.Wake.Equal(announced.Add(r.Overlap)) {
		t.Errorf("within the overlap: %v, wake %v; want no change and to wake at its end", s2.Did, s2.Wake)
	}
	s = mustNext(t, r, s.Material, announced.Add(r.Overlap), announced)
	if len(s.Material.Trusted) != 2 || s.Material.Serving.Leaf.CheckSignatureFrom(old) == nil {
		t.Fatalf("after the overlap: %v, want a serving certificate of the new authority and both trusted", s.Did)
	}
	s = mustNext(t, r, s.Material, announced.Add(2*r.Overlap), announced)
	if len(s.Material.Trusted) != 1 || s.Material.Trusted[0] == old {
		t.Fatalf("after the second overlap: %v, want only the new authority", s.Did)
	}
	if last := mustNext(t, r, s.Material, announced.Add(3*r.Overlap), announced); last.Changed {
		t.Errorf("once done: %v, want no change", last.Did)
	}
}

// moment is the state from an instant on: the served material and the authorities trusted by the configurations.
type moment struct {
	from    time.Time
	served  Material
	trusted []*x509.Certificate
}

// No replica and no API server with a delay below the overlap ever meets a certificate that it must refuse, whether
// steps run early or late, and while configurations cannot be written.
func TestDelayBelowOverlapIsNeverRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := testRotation()
		r.Serving = time.Duration(rapid.Int64Range(2, 400).Draw(t, "serving days")) * day
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		s := mustNext(t, r, Material{}, now, time.Time{})
		announced := now
		history := []moment{{now, s.Material, s.Material.Trusted}}
		for range 16 {
			soon := now.Add(time.Duration(rapid.Int64Range(0, 1200).Draw(t, "notified after s")) * time.Second)
			late := time.Duration(rapid.Int64Range(0, 3600).Draw(t, "late s")) * time.Second
			if now = latest(s.Wake, now).Add(late); rapid.Bool().Draw(t, "notified") && soon.Before(now) {
				now = soon
			}
			s = mustNext(t, r, s.Material, now, announced)
			last := history[len(history)-1]
			current := moment{now, s.Material, last.trusted}
			if rapid.Bool().Draw(t, "configurations written") {
				current.trusted = s.Material.Trusted
			}
			if current.trusted[0] != s.Material.Trusted[0] {
				announced = time.Time{}
			} else if last.trusted[0] != s.Material.Trusted[0] {
				announced = now
			}
			if s.Wake = r.Wake(s.Material, now, announced); len(current.trusted) != len(s.Material.Trusted) || announced.IsZero() {
				s.Wake = now.Add(30 * time.Second) // the write is retried
			}
			history = append(history, current)
			noneRefused(t, r, history)
		}
	})
}

// noneRefused compares the last moment with every moment within one overlap before it.
func noneRefused(t *rapid.T, r Rotation, history []moment) {
	current := history[len(history)-1]
	now := current.from
	for i := len(history) - 1; i >= 0; i-- {
		past := history[i]
		if !accepted(t, past.trusted, current.served, r.Hosts, now) {
			t.Fatalf("at %v: an API server with the authorities from %v on refuses the serving certificate", now, past.from)
		}
		if !accepted(t, current.trusted, past.served, r.Hosts, now) && now.Before(past.served.Serving.Leaf.NotAfter) {
			t.Fatalf("at %v: the certificate served by a replica since %v is refused", now, past.from)
		}
		if !past.from.After(now.Add(-r.Overlap)) {
			return // older states were replaced at least an overlap ago
		}
	}
}

func TestMaterialSurvivesTheSecret(t *testing.T) {
	now := time.Now()
	r := testRotation()
	m := mustNext(t, r, Material{}, now, time.Time{}).Material
	data, err := m.Data()
	if err != nil {
		t.Fatal(err)
	}
	back, err := ReadMaterial(data)
	if err != nil {
		t.Fatal(err)
	}
	if again := mustNext(t, r, back, now, now); again.Changed {
		t.Errorf("the material read back: %v, want no change", again.Did)
	}
	for _, key := range []string{bundleKey, signerKey, servingCertKey, servingKeyKey} {
		t.Run("without a usable "+key, func(t *testing.T) {
			spoilt := map[string][]byte{}
			for k, v := range data {
				spoilt[k] = v
			}
			spoilt[key] = []byte("spoilt")
			m, err := ReadMaterial(spoilt)
			if err == nil || !bytes.Contains([]byte(err.Error()), []byte(key)) {
				t.Errorf("error %v does not name %s", err, key)
			}
			s := mustNext(t, r, m, now, time.Time{})
			if !s.Changed || !accepted(t, s.Material.Trusted, s.Material, r.Hosts, now) {
				t.Errorf("not repaired: %v", s.Did)
			}
		})
	}
	if empty, err := ReadMaterial(nil); err != nil || empty.Serving != nil {
		t.Errorf("an empty Secret: %+v, %v; want nothing and no error", empty, err)
	}
}
