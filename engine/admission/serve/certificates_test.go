package serve

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"maps"
	"math/big"
	"net"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

const day = 24 * time.Hour

// testRotation returns a rotation whose certificates are issued at the time that mustRenew sets.
func testRotation() *rotationAt {
	r := &rotationAt{rotation: rotation{hosts: []string{"flyball.flyball-system.svc", "127.0.0.1"}, life: 90 * day}}
	r.issue = func(hosts []string, life time.Duration) (*pair, error) { return issueAt(r.now, hosts, life) }
	return r
}

// rotationAt is a rotation with a clock.
type rotationAt struct {
	rotation
	now time.Time
}

// issueAt returns an authority and a certificate signed by it, valid from an hour before now. It has the result of
// issue, but is faster.
func issueAt(now time.Time, hosts []string, life time.Duration) (*pair, error) {
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
	return newPair(slices.Concat(block("CERTIFICATE", der), block("CERTIFICATE", authorityDER)), block("EC PRIVATE KEY", keyDER))
}

// mustRenew runs one step of the rotation, and reports whether anything has changed.
func mustRenew(t rapid.TB, r *rotationAt, m material, now time.Time) (next material, changed bool) {
	t.Helper()
	r.now = now
	next, did, err := r.renew(m, now)
	if err != nil {
		t.Fatal(err)
	}
	return next, len(did) > 0 || len(next.trusted) != len(m.trusted)
}

// accepted reports whether a client that trusts the bundle accepts the served certificate for every host.
func accepted(t rapid.TB, trusted []*x509.Certificate, m material, hosts []string, now time.Time) bool {
	t.Helper()
	roots := x509.NewCertPool()
	for _, ca := range trusted {
		roots.AddCert(ca)
	}
	for _, host := range hosts {
		if _, err := m.current.serving.Leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, CurrentTime: now}); err != nil {
			return false
		}
	}
	return true
}

// For every reason to replace a certificate, the successor is served if it is usable, or else a new certificate is. A
// successor is always there, and is trusted.
func TestCertificatesAreReplaced(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r, moved := testRotation(), testRotation()
	moved.hosts = append(moved.hosts, "other.example.com")
	first, _ := mustRenew(t, r, material{}, now)
	second, _ := mustRenew(t, r, first, now.Add(30*day))
	untrusted, alone := first, first
	untrusted.trusted, alone.next = nil, nil
	for _, tt := range []struct {
		reason   string
		rotation *rotationAt
		material material
		after    time.Duration
		served   *pair // nil: a new certificate
		next     *pair
	}{
		{"there was none", r, material{}, 0, nil, nil},
		{"nothing happened", r, first, 30*day - time.Second, first.current, first.next},
		{"a third of their life is over", r, first, 30 * day, first.next, nil},
		{"another third is not over", r, second, 60*day - time.Second, second.current, second.next},
		{"another third is over", r, second, 60 * day, second.next, nil},
		{"the served one expired while nothing ran", r, second, 91 * day, second.next, nil},
		{"all expired while nothing ran", r, second, 121 * day, nil, nil},
		{"a host was added", moved, first, time.Hour, nil, nil},
		{"their authorities were lost: they are trusted again", r, untrusted, time.Hour, first.current, first.next},
		{"the successor was lost", r, alone, 45 * day, first.current, nil},
	} {
		t.Run(tt.reason, func(t *testing.T) {
			at := now.Add(tt.after)
			m, _ := mustRenew(t, tt.rotation, tt.material, at)
			for _, p := range []struct {
				name            string
				got, want       *pair
				before, another *pair
			}{{"served", m.current, tt.served, tt.material.current, tt.material.next},
				{"next", m.next, tt.next, tt.material.next, tt.material.current}} {
				if p.want != nil && p.got != p.want || p.want == nil && (p.got == p.before || p.got == p.another) {
					t.Errorf("%s: another certificate than wanted", p.name)
				}
			}
			successor := m
			successor.current = m.next
			if !accepted(t, m.trusted, m, tt.rotation.hosts, at) || !accepted(t, m.trusted, successor, tt.rotation.hosts, at) {
				t.Error("a certificate is not trusted")
			}
			if _, changed := mustRenew(t, tt.rotation, m, at); changed {
				t.Error("it changes again")
			}
		})
	}
}

// Two replicas with different hosts do not replace each other's certificates forever, also not after a rotation.
func TestReplicasAgreeOnHosts(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	one, other := testRotation(), testRotation()
	other.hosts = []string{"renamed.flyball-system.svc", "192.0.2.7"}
	m, _ := mustRenew(t, one, material{}, now)
	for range 2 {
		var changed bool
		if m, changed = mustRenew(t, other, m, now); !changed {
			t.Fatal("the second replica takes a certificate that does not cover its hosts")
		}
		for _, r := range []*rotationAt{one, other} {
			if m, changed = mustRenew(t, r, m, now); changed {
				t.Error("the replicas do not agree")
			}
		}
		now = now.Add(31 * day)
		if m, changed = mustRenew(t, one, m, now); !changed {
			t.Fatal("nothing is rotated")
		}
	}
}

// An authority is trusted until its certificate has expired, and not longer.
func TestExpiredAuthoritiesAreDropped(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	r := testRotation()
	m, _ := mustRenew(t, r, material{}, now)
	old := m.current.authority
	for range 12 {
		now = now.Add(10 * day)
		m, _ = mustRenew(t, r, m, now)
		if got := slices.ContainsFunc(m.trusted, old.Equal); got != now.Before(old.NotAfter) {
			t.Errorf("%s: the first authority is trusted: %t", now, got)
		}
		if len(m.trusted) > 4 {
			t.Errorf("%s: %d authorities", now, len(m.trusted))
		}
	}
}

// moment is the state from the instant from on: the served material and the authorities trusted by the
// configurations.
type moment struct {
	from    time.Time
	served  material
	trusted []*x509.Certificate
}

// No replica and no API server with a delay below a sixth of a certificate's life ever meets a certificate that it must
// refuse, whether steps run early or late, and while configurations cannot be written for as long.
func TestDelaysAreNeverRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := testRotation()
		r.life = time.Duration(rapid.Int64Range(2, 400).Draw(t, "days")) * day
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		m, _ := mustRenew(t, r, material{}, now)
		history, behind := []moment{{now, m, m.trusted}}, time.Time{} // since when the configurations are behind the Secret
		for range 12 {
			now = now.Add(r.life / 300 * time.Duration(rapid.Int64Range(1, 50).Draw(t, "300ths of a life until the next step")))
			last := !behind.IsZero() && now.Sub(behind) >= r.life/6
			if last {
				now = behind.Add(r.life/6 - time.Second)
			}
			m, _ = mustRenew(t, r, m, now)
			current := moment{now, m, history[len(history)-1].trusted}
			if last || rapid.Bool().Draw(t, "configurations written") {
				current.trusted, behind = m.trusted, time.Time{}
			} else if behind.IsZero() {
				behind = now
			}
			history = append(history, current)
			noneRefused(t, r, history)
		}
	})
}

// noneRefused compares the last moment with every moment within a sixth of a life before it.
func noneRefused(t *rapid.T, r *rotationAt, history []moment) {
	current := history[len(history)-1]
	now := current.from
	for i := len(history) - 1; i >= 0; i-- {
		past := history[i]
		if serving := current.served.current; !slices.ContainsFunc(past.trusted, serving.authority.Equal) ||
			!now.Before(serving.serving.Leaf.NotAfter) {
			t.Fatalf("at %v: an API server with the authorities from %v on refuses the serving certificate", now, past.from)
		}
		if old := past.served.current; now.Before(old.serving.Leaf.NotAfter) && !slices.ContainsFunc(current.trusted, old.authority.Equal) {
			t.Fatalf("at %v: the certificate served by a replica since %v is refused", now, past.from)
		}
		if now.Sub(past.from) >= r.life/6 {
			return // older states were replaced at least a sixth of a life ago
		}
	}
}

func TestMaterialSurvivesTheSecret(t *testing.T) {
	now := time.Now()
	r := testRotation()
	m, _ := mustRenew(t, r, material{}, now)
	data, err := m.data()
	if err != nil {
		t.Fatal(err)
	}
	back, err := readMaterial(data)
	if err != nil {
		t.Fatal(err)
	}
	if _, changed := mustRenew(t, r, back, now); changed {
		t.Error("the material read back is changed")
	}
	for _, key := range []string{bundleKey, corev1.TLSCertKey, corev1.TLSPrivateKeyKey, nextCertKey, nextKeyKey} {
		t.Run("without a usable "+key, func(t *testing.T) {
			spoilt := maps.Clone(data)
			spoilt[key] = []byte("spoilt")
			m, err := readMaterial(spoilt)
			if err == nil || !bytes.Contains([]byte(err.Error()), []byte(key)) {
				t.Errorf("error %v does not name %s", err, key)
			}
			m, changed := mustRenew(t, r, m, now)
			if !changed || !accepted(t, m.trusted, m, r.hosts, now) {
				t.Error("not repaired")
			}
		})
	}
	if empty, err := readMaterial(nil); err != nil || empty.current != nil {
		t.Errorf("an empty Secret: %+v, %v; want nothing and no error", empty, err)
	}
}

// A certificate from issue covers every host and is valid for the given time.
func TestIssuedCertificateServesItsNames(t *testing.T) {
	hosts := []string{"flyball.flyball-system.svc", "other.example.com", "127.0.0.1"}
	before := time.Now()
	p, err := issue(hosts, 90*day)
	if err != nil {
		t.Fatal(err)
	}
	m := material{current: p, trusted: []*x509.Certificate{p.authority}}
	if !accepted(t, m.trusted, m, hosts, time.Now()) {
		t.Error("a client that trusts the authority refuses the certificate")
	}
	if wait := p.due().Sub(before); wait < 30*day-time.Second || wait > 30*day+time.Minute {
		t.Errorf("it is served after %v", wait)
	}
	if end := p.serving.Leaf.NotAfter.Sub(before); end < 90*day-time.Second || end > 90*day+time.Minute {
		t.Errorf("it lives for %v", end)
	}
}

// A certificate made by a replica with a clock far ahead is replaced by a replica on time, and the first one keeps the
// replacement. Otherwise every API server would refuse it for hours.
func TestCertificateOfTheFuture(t *testing.T) {
	r, now := testRotation(), time.Date(2037, 5, 13, 19, 0, 0, 0, time.UTC)
	ahead, _ := mustRenew(t, r, material{}, now.Add(3*time.Hour))
	onTime, _ := mustRenew(t, r, ahead, now)
	if !accepted(t, onTime.trusted, onTime, r.hosts, now) {
		t.Error("it is not accepted")
	}
	if _, changed := mustRenew(t, r, onTime, now.Add(3*time.Hour)); changed {
		t.Error("the replica ahead has changed it")
	}
}
