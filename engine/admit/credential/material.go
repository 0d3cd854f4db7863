package credential

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	certutil "k8s.io/client-go/util/cert"
)

// These are keys of the Secret, besides tls.crt and tls.key of the served certificate.
const (
	bundleKey   = "ca.crt" // all trusted authorities, newest first
	nextCertKey = "next.crt"
	nextKeyKey  = "next.key"
)

// backdate is the time by which client-go backdates a certificate: the certificate is valid from one hour before its
// creation.
const backdate = time.Hour

// Pair is a certificate with its own authority, and the certificate's private key. The authority's key is not kept, so
// an authority signs exactly one certificate.
type Pair struct {
	// Cert is the certificate and then its authority, in PEM. Key is the private key, in PEM.
	Cert, Key []byte
	// Serving has the same certificate and key in the form for a TLS server. Its Leaf is set.
	Serving *tls.Certificate
	// Authority is the authority that signed the certificate.
	Authority *x509.Certificate
}

// NewPair returns a pair from PEM.
func NewPair(cert, key []byte) (*Pair, error) {
	serving, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	if len(serving.Certificate) != 2 {
		return nil, fmt.Errorf("it has %d certificates, and not a certificate with its authority", len(serving.Certificate))
	}
	authority, err := x509.ParseCertificate(serving.Certificate[1])
	if err == nil {
		err = serving.Leaf.CheckSignatureFrom(authority)
	}
	if err == nil && authority.NotAfter.Before(serving.Leaf.NotAfter) {
		err = errors.New("its authority expires before it")
	}
	return &Pair{Cert: cert, Key: key, Serving: &serving, Authority: authority}, err
}

// Issue returns a new certificate for hosts that is valid for life from now on.
func Issue(hosts []string, life time.Duration) (*Pair, error) {
	options := certutil.SelfSignedCertKeyOptions{Host: hosts[0], MaxAge: backdate + life}
	for _, host := range hosts[1:] {
		if ip := net.ParseIP(host); ip != nil {
			options.AlternateIPs = append(options.AlternateIPs, ip)
		} else {
			options.AlternateDNS = append(options.AlternateDNS, host)
		}
	}
	cert, key, err := certutil.GenerateSelfSignedCertKeyWithOptions(options)
	if err != nil {
		return nil, fmt.Errorf("issue the webhook's certificate: %w", err)
	}
	return NewPair(cert, key)
}

// made returns the time when a certificate was created.
func made(p *Pair) time.Time { return p.Serving.Leaf.NotBefore.Add(backdate) }

// renewal returns the time when a third of a certificate's life is left.
func renewal(p *Pair) time.Time {
	end := p.Serving.Leaf.NotAfter
	return end.Add(-end.Sub(made(p)) / 3)
}

// Material is the content of the Secret. It is immutable.
type Material struct {
	// Current is the served certificate. Next is its successor, which is trusted first and served after the overlap.
	// Both may be nil.
	Current, Next *Pair
	// Trusted are the trusted authorities, newest first.
	Trusted []*x509.Certificate
}

// Rotation configures how certificates are created and replaced.
type Rotation struct {
	// Hosts are the DNS names and IP addresses at which API servers reach the server.
	Hosts []string
	// Life is the lifetime of a certificate. Its successor is issued when a third of its life is left.
	Life time.Duration
	// Overlap is how long a certificate is trusted before it is served.
	Overlap time.Duration
	// Issue returns a new certificate. Production code uses the function Issue.
	Issue func(hosts []string, life time.Duration) (*Pair, error)
}

// Step is the result of one step of the rotation.
type Step struct {
	Material Material
	Changed  bool
	// Wake is the time of the next step. A change of the Secret or of the configurations may need a step earlier.
	Wake time.Time
	// Did describes the changes for the log.
	Did []string
}

// Next is the rotation protocol. It is a function of the Secret's content, the time, and the time since which all
// webhook configurations trust the newest authority (zero if they do not yet). A new certificate is first only trusted.
// It is served after every API server had the overlap to learn its authority. The old authority stays in the bundle
// until it expires.
func (r Rotation) Next(m Material, now, announced time.Time) (Step, error) {
	s := Step{Material: Material{Current: m.Current, Next: m.Next, Trusted: slices.Clone(m.Trusted)}}
	switch reason := r.unusable(m, now); {
	case reason != "":
		hosts := r.Hosts
		if reason == uncovered {
			// Replicas of two releases may disagree about the hosts for a while, so the new certificate covers the
			// hosts of both.
			hosts = union(hosts, m.Current.Serving.Leaf)
		}
		pair, err := r.Issue(hosts, r.Life)
		if err != nil {
			return Step{}, err
		}
		s.Material.Current, s.Material.Next = pair, nil
		s.did("issued a certificate: " + reason)
	case m.Next == nil && !now.Before(renewal(m.Current)):
		pair, err := r.Issue(r.Hosts, r.Life)
		if err != nil {
			return Step{}, err
		}
		s.Material.Next = pair
		s.did("issued the next certificate")
		announced = time.Time{}
	case m.Next != nil && !announced.IsZero() && !now.Before(r.learnt(m.Next, announced)):
		s.Material.Current, s.Material.Next = m.Next, nil
		s.did("served the next certificate, which is trusted everywhere")
	}
	s.trust(s.Material.Current)
	s.trust(s.Material.Next)
	before := len(s.Material.Trusted)
	s.Material.Trusted = slices.DeleteFunc(s.Material.Trusted, func(ca *x509.Certificate) bool { return !now.Before(ca.NotAfter) })
	if len(s.Material.Trusted) < before {
		s.did("dropped an expired authority")
	}
	s.Wake = r.Wake(s.Material, now, announced)
	return s, nil
}

func (s *Step) did(what string) { s.Changed, s.Did = true, append(s.Did, what) }

// trust adds the authority of a certificate to the trusted authorities, as the newest, if it is missing there.
func (s *Step) trust(p *Pair) {
	if p != nil && !slices.ContainsFunc(s.Material.Trusted, p.Authority.Equal) {
		s.Material.Trusted, s.Changed = slices.Insert(s.Material.Trusted, 0, p.Authority), true
	}
}

// uncovered is the reason for replacing a certificate that lacks a host.
const uncovered = "the old one did not cover every host"

// unusable returns the reason why the served certificate must be replaced at once, or "".
func (r Rotation) unusable(m Material, now time.Time) string {
	switch {
	case m.Current == nil:
		return "there was none"
	case !now.Before(m.Current.Serving.Leaf.NotAfter):
		return "the old one had expired"
	case now.Before(m.Current.Serving.Leaf.NotBefore):
		return "the old one was not valid yet" // a replica whose clock is far ahead has made it
	case slices.ContainsFunc(r.Hosts, func(host string) bool { return m.Current.Serving.Leaf.VerifyHostname(host) != nil }):
		return uncovered
	default:
		return ""
	}
}

// union adds the hosts of a certificate to a list.
func union(hosts []string, c *x509.Certificate) []string {
	all := slices.Concat(hosts, c.DNSNames)
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// learnt returns the time from which every API server is assumed to know the authority of a certificate.
func (r Rotation) learnt(p *Pair, announced time.Time) time.Time {
	return latest(made(p), announced).Add(r.Overlap)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Wake returns the earliest time when Next has a step to do.
func (r Rotation) Wake(m Material, now, announced time.Time) time.Time {
	wake := m.Current.Serving.Leaf.NotAfter
	consider := func(t time.Time) {
		if t.After(now) && t.Before(wake) {
			wake = t
		}
	}
	if m.Next == nil {
		consider(renewal(m.Current))
	} else if !announced.IsZero() {
		consider(r.learnt(m.Next, announced))
	}
	for _, ca := range m.Trusted {
		consider(ca.NotAfter)
	}
	return wake
}

// ReadMaterial parses the content of a Secret. A missing or unusable part is left out, so it is created anew, and
// the error has the reason. The remaining parts are used.
func ReadMaterial(data map[string][]byte) (Material, error) {
	var m Material
	var errs []error
	read := func(certKey, keyKey string) *Pair {
		if len(data[certKey])+len(data[keyKey]) == 0 {
			return nil
		}
		pair, err := NewPair(data[certKey], data[keyKey])
		if err != nil {
			errs = append(errs, fmt.Errorf("read %s and %s: %w", certKey, keyKey, err))
			return nil
		}
		return pair
	}
	m.Current, m.Next = read(corev1.TLSCertKey, corev1.TLSPrivateKeyKey), read(nextCertKey, nextKeyKey)
	if bundle := data[bundleKey]; len(bundle) > 0 {
		known, err := certutil.ParseCertsPEM(bundle)
		if err != nil {
			errs = append(errs, fmt.Errorf("read %s: %w", bundleKey, err))
		}
		m.Trusted = known
	}
	return m, errors.Join(errs...)
}

// Data returns the content of the Secret. It is the inverse of ReadMaterial. The writer of the Secret must remove the
// keys with an empty value.
func (m Material) Data() (map[string][]byte, error) {
	bundle, err := m.Bundle()
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{bundleKey: bundle, corev1.TLSCertKey: m.Current.Cert, corev1.TLSPrivateKeyKey: m.Current.Key, nextCertKey: nil,
		nextKeyKey: nil}
	if m.Next != nil {
		data[nextCertKey], data[nextKeyKey] = m.Next.Cert, m.Next.Key
	}
	return data, nil
}

// Bundle returns the trusted authorities in the form of a caBundle.
func (m Material) Bundle() ([]byte, error) {
	bundle, err := certutil.EncodeCertificates(m.Trusted...)
	if err != nil {
		return nil, fmt.Errorf("encode the certificate authorities: %w", err)
	}
	return bundle, nil
}

// Trusts reports whether a CA bundle has an authority.
func Trusts(bundle []byte, authority *x509.Certificate) bool {
	known, err := certutil.ParseCertsPEM(bundle)
	return err == nil && slices.ContainsFunc(known, func(ca *x509.Certificate) bool { return bytes.Equal(ca.Raw, authority.Raw) })
}
