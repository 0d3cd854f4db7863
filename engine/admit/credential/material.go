package credential

import (
	"bytes"
	"crypto"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// These are keys of the Secret. The first two are the keys of type kubernetes.io/tls.
const (
	servingCertKey = "tls.crt"
	servingKeyKey  = "tls.key"
	bundleKey      = "ca.crt" // all trusted authorities, newest first
	signerKey      = "ca.key" // the key of the newest authority; older authorities sign nothing more
)

// Material is the content of the Secret. It is immutable.
type Material struct {
	Trusted []*x509.Certificate
	Signer  crypto.Signer    // of Trusted[0]
	Serving *tls.Certificate // with its Leaf
}

// Rotation configures how certificates are created and replaced.
type Rotation struct {
	// Hosts are the DNS names and IP addresses at which API servers reach the server.
	Hosts []string
	// Authority and Serving are the lifetimes of the certificates. A certificate is replaced when a third of its life
	// is left.
	Authority, Serving time.Duration
	// Overlap is how long an authority is trusted before it signs a served certificate, and after the last use of a
	// certificate it signed.
	Overlap time.Duration
}

// Step is the result of one step of the rotation.
type Step struct {
	Material Material
	Changed  bool
	// Wake is the time of the next step, unless something else changes.
	Wake time.Time
	// Did describes the changes for the log.
	Did []string
}

// Next is the rotation protocol. It is a function of the Secret's content, the time, and the time since which all
// webhook configurations trust the newest authority (zero if they do not yet). A new authority is first only trusted.
// It signs the serving certificate after every API server had the overlap to learn about it. The old authority leaves
// the bundle after every replica had the overlap to load the new serving certificate.
func (r Rotation) Next(m Material, now, announced time.Time) (Step, error) {
	s := Step{Material: Material{Trusted: slices.Clone(m.Trusted), Signer: m.Signer, Serving: m.Serving}}
	if m.Signer == nil || len(m.Trusted) == 0 || !now.Before(renewal(m.Trusted[0])) {
		authority, key, err := newAuthority(now, r.Authority)
		if err != nil {
			return Step{}, err
		}
		s.Material.Trusted, s.Material.Signer = slices.Insert(s.Material.Trusted, 0, authority), key
		s.Changed, s.Did, announced = true, append(s.Did, "made a new certificate authority"), time.Time{}
	}
	newest := s.Material.Trusted[0]
	if reason := r.resign(s.Material, now, announced); reason != "" {
		hosts := r.Hosts
		if reason == uncovered {
			// Replicas of two releases may disagree about the hosts for a while, so the new certificate covers the
			// hosts of both.
			hosts = union(hosts, s.Material.Serving.Leaf)
		}
		serving, err := newServing(now, r.Serving, hosts, newest, s.Material.Signer)
		if err != nil {
			return Step{}, err
		}
		s.Material.Serving, s.Changed, s.Did = serving, true, append(s.Did, "signed a new serving certificate: "+reason)
	}
	leaf := s.Material.Serving.Leaf
	before := len(s.Material.Trusted)
	s.Material.Trusted = slices.DeleteFunc(s.Material.Trusted, func(ca *x509.Certificate) bool {
		unused := ca != newest && leaf.CheckSignatureFrom(ca) != nil && !now.Before(made(leaf).Add(r.Overlap))
		return unused || !now.Before(ca.NotAfter)
	})
	if len(s.Material.Trusted) < before {
		s.Changed, s.Did = true, append(s.Did, "stopped trusting an old certificate authority")
	}
	s.Wake = r.Wake(s.Material, now, announced)
	return s, nil
}

// uncovered is the reason for replacing a certificate that lacks a host.
const uncovered = "it did not cover every host"

// resign returns the reason why the serving certificate must be replaced now, or "".
func (r Rotation) resign(m Material, now, announced time.Time) string {
	newest := m.Trusted[0]
	switch {
	case m.Serving == nil:
		return "there was none"
	case !now.Before(m.Serving.Leaf.NotAfter):
		return "it had expired"
	case !slices.ContainsFunc(m.Trusted, func(ca *x509.Certificate) bool { return m.Serving.Leaf.CheckSignatureFrom(ca) == nil }):
		return "no trusted authority had signed it"
	case slices.ContainsFunc(r.Hosts, func(host string) bool { return m.Serving.Leaf.VerifyHostname(host) != nil }):
		return uncovered
	case m.Serving.Leaf.CheckSignatureFrom(newest) == nil:
		if !now.Before(renewal(m.Serving.Leaf)) {
			return "a third of its life was left"
		}
		return ""
	case !announced.IsZero() && !now.Before(r.learnt(newest, announced)):
		return "the new authority is trusted everywhere"
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

// learnt returns the time from which every API server is assumed to know an authority.
func (r Rotation) learnt(authority *x509.Certificate, announced time.Time) time.Time {
	return latest(made(authority), announced).Add(r.Overlap)
}

// Wake returns the earliest time at which Next has a step to do.
func (r Rotation) Wake(m Material, now, announced time.Time) time.Time {
	newest, leaf := m.Trusted[0], m.Serving.Leaf
	wake := renewal(newest)
	consider := func(t time.Time) {
		if t.After(now) && t.Before(wake) {
			wake = t
		}
	}
	consider(renewal(leaf))
	consider(leaf.NotAfter)
	if !announced.IsZero() && leaf.CheckSignatureFrom(newest) != nil {
		consider(r.learnt(newest, announced))
	}
	for _, ca := range m.Trusted[1:] {
		consider(ca.NotAfter)
		consider(made(leaf).Add(r.Overlap))
	}
	return wake
}

// ReadMaterial parses the content of a Secret. A missing or unusable part is left out, so that it is created anew, and
// the error has the reason. The remaining parts are used.
func ReadMaterial(data map[string][]byte) (Material, error) {
	if len(data[bundleKey])+len(data[signerKey])+len(data[servingCertKey])+len(data[servingKeyKey]) == 0 {
		return Material{}, nil
	}
	var m Material
	var errs []error
	trusted, err := certutil.ParseCertsPEM(data[bundleKey])
	if err != nil {
		errs = append(errs, fmt.Errorf("read %s: %w", bundleKey, err))
	}
	m.Trusted = trusted
	if m.Signer, err = readSigner(data[signerKey], m.Trusted); err != nil {
		errs = append(errs, fmt.Errorf("read %s: %w", signerKey, err))
	}
	serving, err := tls.X509KeyPair(data[servingCertKey], data[servingKeyKey])
	if err != nil {
		errs = append(errs, fmt.Errorf("read %s and %s: %w", servingCertKey, servingKeyKey, err))
		return m, errors.Join(errs...)
	}
	m.Serving = &serving
	return m, errors.Join(errs...)
}

// readSigner returns the private key of the newest authority.
func readSigner(text []byte, trusted []*x509.Certificate) (crypto.Signer, error) {
	if len(trusted) == 0 {
		return nil, errors.New("there is no authority that it could belong to")
	}
	key, err := keyutil.ParsePrivateKeyPEM(text)
	if err != nil {
		return nil, err
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("a %T cannot sign", key)
	}
	public, ok := signer.Public().(interface{ Equal(crypto.PublicKey) bool })
	if !ok || !public.Equal(trusted[0].PublicKey) {
		return nil, errors.New("it does not belong to the newest authority")
	}
	return signer, nil
}

// Data returns the content of the Secret. It is the inverse of ReadMaterial.
func (m Material) Data() (map[string][]byte, error) {
	bundle, err := m.Bundle()
	if err != nil {
		return nil, err
	}
	signer, err := keyutil.MarshalPrivateKeyToPEM(m.Signer)
	if err != nil {
		return nil, fmt.Errorf("encode the authority's key: %w", err)
	}
	key, err := keyutil.MarshalPrivateKeyToPEM(m.Serving.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("encode the serving key: %w", err)
	}
	cert, err := certutil.EncodeCertificates(m.Serving.Leaf)
	if err != nil {
		return nil, fmt.Errorf("encode the serving certificate: %w", err)
	}
	return map[string][]byte{bundleKey: bundle, signerKey: signer, servingCertKey: cert, servingKeyKey: key}, nil
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
