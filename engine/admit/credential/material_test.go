package credential

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

const day = 24 * time.Hour

// testRotation returns a rotation whose certificates are issued at the time that mustNext sets.
func testRotation() *rotationAt {
	r := &rotationAt{Rotation: Rotation{Hosts: []string{"flyball.flyball-system.svc", "127.0.0.1"}, Life: 90 * day, Overlap: 10 * time.Minute}}
	r.Issue = func(hosts []string, life time.Duration) (*Pair, error) { return issueAt(r.now, hosts, life) }
	return r
}

// rotationAt is a rotation with a clock.
type rotationAt struct {
	Rotation
	now time.Time
}

// issueAt returns an authority and a certificate signed by it, valid from an hour before now. It has the result of
// Issue, but is faster.
func issueAt(now time.Time, hosts []string, life time.Duration) (*Pair, error) {
	template := func(name string, serial int64) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-backdate), NotAfter: now.Add(life),
			BasicConstraintsValid: true,
		}
	}
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	authority, leaf := template("authority", 1), template("leaf", 2)
	authority.IsCA, authority.KeyUsage = true, x509.KeyUsageCertSign
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, host)
		}
	}
	authorityDER, err := x509.CreateCertificate(rand.Reader, authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		return nil, err
	}
	if authority, err = x509.ParseCertificate(authorityDER); err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, authority, key.Public(), authorityKey)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	block := func(kind string, der []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}) }
	return NewPair(slices.Concat(block("CERTIFICATE", der), block("CERTIFICATE", authorityDER)), block("EC PRIVATE KEY", keyDER))
}

// mustNext runs one step of the protocol.
func mustNext(t rapid.TB, r *rotationAt, m Material, now, announced time.Time) Step {
	t.Helper()
	r.now = now
	s, err := r.Next(m, now, announced)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// accepted reports whether a client that trusts the bundle accepts the served certificate for every host.
func accepted(t rapid.TB, trusted []*x509.Certificate, m Material, hosts []string, now time.Time) bool {
	t.Helper()
	roots := x509.NewCertPool()
	for _, ca := range trusted {
		roots.AddCert(ca)
	}
	for _, host := range hosts {
		if _, err := m.Current.Serving.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: now}); err != nil {
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
		t.Errorf("wake at %v, want %v, when a third of the certificate's life is left", again.Wake, want)
	}
}

// For every reason to replace a certificate, either the next certificate is issued and only trusted, or a new
// certificate is served at once.
func TestCertificateIsReplaced(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := testRotation()
	first := mustNext(t, r, Material{}, now, time.Time{}).Material
	moved := testRotation()
	moved.Hosts = append(moved.Hosts, "other.example.com")
	untrusted := first
	untrusted.Trusted = nil
	tests := []struct {
		reason       string
		rotation     *rotationAt
		material     Material
		after        time.Duration
		served, next bool
	}{
		{"nothing happened", r, first, time.Hour, false, false},
		{"a third of its life is left", r, first, 60 * day, false, true},
		{"a host was added", moved, first, time.Hour, true, false},
		{"it expired while nothing ran", r, first, 91 * day, true, false},
		{"its authority was lost: it is trusted again", r, untrusted, time.Hour, false, false},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			at := now.Add(tt.after)
			s := mustNext(t, tt.rotation, tt.material, at, now)
			if served, next := s.Material.Current != first.Current, s.Material.Next != nil; served != tt.served || next != tt.next {
				t.Errorf("replaced %v, next %v (%v); want %v, %v", served, next, s.Did, tt.served, tt.next)
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

func TestNextCertificateIsServedAfterOverlap(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := testRotation()
	m := mustNext(t, r, Material{}, now, time.Time{}).Material
	old := m.Trusted[0]

	due := renewal(m.Current)
	s := mustNext(t, r, m, due, now)
	if len(s.Material.Trusted) != 2 || s.Material.Trusted[1] != old || s.Material.Current != m.Current || s.Material.Next == nil {
		t.Fatalf("when it is due: %v, want a second authority trusted and the old certificate still in use", s.Did)
	}
	if s2 := mustNext(t, r, s.Material, due.Add(time.Hour), time.Time{}); s2.Changed {
		t.Errorf("not announced for an hour: %v, want no change", s2.Did)
	}
	announced := due.Add(time.Hour)
	if s2 := mustNext(t, r, s.Material, announced.Add(r.Overlap-time.Second), announced); s2.Changed ||
		!s2.Wake.Equal(announced.Add(r.Overlap)) {
		t.Errorf("within the overlap: %v, wake %v; want no change and to wake at its end", s2.Did, s2.Wake)
	}
	next := s.Material.Next
	s = mustNext(t, r, s.Material, announced.Add(r.Overlap), announced)
	if len(s.Material.Trusted) != 2 || s.Material.Current != next || s.Material.Next != nil {
		t.Fatalf("after the overlap: %v, want the next certificate served and both trusted", s.Did)
	}
	s = mustNext(t, r, s.Material, old.NotAfter, announced)
	if len(s.Material.Trusted) != 1 || s.Material.Trusted[0] == old {
		t.Fatalf("when the old authority has expired: %v, want only the new one", s.Did)
	}
	if last := mustNext(t, r, s.Material, old.NotAfter.Add(time.Hour), announced); last.Changed {
		t.Errorf("once done: %v, want no change", last.Did)
	}
}

// moment is the state from the instant from on: the served material and the authorities trusted by the
// configurations.
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
		r.Life = time.Duration(rapid.Int64Range(2, 400).Draw(t, "days")) * day
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
func noneRefused(t *rapid.T, r *rotationAt, history []moment) {
	current := history[len(history)-1]
	now := current.from
	for i := len(history) - 1; i >= 0; i-- {
		past := history[i]
		if !accepted(t, past.trusted, current.served, r.Hosts, now) {
			t.Fatalf("at %v: an API server with the authorities from %v on refuses the serving certificate", now, past.from)
		}
		if !accepted(t, current.trusted, past.served, r.Hosts, now) && now.Before(past.served.Current.Serving.Leaf.NotAfter) {
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
	for _, key := range []string{bundleKey, corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
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
	if empty, err := ReadMaterial(nil); err != nil || empty.Current != nil {
		t.Errorf("an empty Secret: %+v, %v; want nothing and no error", empty, err)
	}
}

// A certificate from Issue covers every host and is valid for the given time.
func TestIssue(t *testing.T) {
	hosts := []string{"flyball.flyball-system.svc", "other.example.com", "127.0.0.1"}
	before := time.Now()
	pair, err := Issue(hosts, 90*day)
	if err != nil {
		t.Fatal(err)
	}
	m := Material{Current: pair, Trusted: []*x509.Certificate{pair.Authority}}
	if !accepted(t, m.Trusted, m, hosts, time.Now()) {
		t.Error("a client that trusts the authority refuses the certificate")
	}
	if age := made(pair).Sub(before); age < -time.Second || age > time.Minute {
		t.Errorf("it was made %v after it was", age)
	}
	if end := pair.Serving.Leaf.NotAfter.Sub(before); end < 90*day-time.Second || end > 90*day+time.Minute {
		t.Errorf("it lives for %v", end)
	}
}

// A certificate made by a replica with a clock far ahead is replaced by a replica on time, and the first one keeps the
// replacement. Otherwise every API server would refuse it for hours.
func TestCertificateOfTheFuture(t *testing.T) {
	r, now := testRotation(), time.Date(2037, 5, 13, 19, 0, 0, 0, time.UTC)
	ahead := mustNext(t, r, Material{}, now.Add(3*time.Hour), time.Time{})
	onTime := mustNext(t, r, ahead.Material, now, time.Time{})
	if !accepted(t, onTime.Material.Trusted, onTime.Material, r.Hosts, now) {
		t.Errorf("it is not accepted; did %v", onTime.Did)
	}
	if again := mustNext(t, r, onTime.Material, now.Add(3*time.Hour), time.Time{}); again.Changed {
		t.Errorf("the replica ahead has changed it: %v", again.Did)
	}
}
