package admit

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

// Keys of the Secret. The first two are those of kubernetes.io/tls.
const (
	servingCertKey = "tls.crt"
	servingKeyKey  = "tls.key"
	bundleKey      = "ca.crt" // every trusted authority, the newest first
	signerKey      = "ca.key" // the key of the newest authority; older ones sign nothing more
)

// material is what the Secret holds. It is not changed once made.
type material struct {
	trusted []*x509.Certificate
	signer  crypto.Signer    // of trusted[0]
	serving *tls.Certificate // with its Leaf
}

// rotation is how certificates are made and replaced.
type rotation struct {
	// hosts are the DNS names and IP addresses by which API servers reach the server.
	hosts []string
	// authority and serving are lifetimes. A certificate is replaced when a third of its life is left.
	authority, serving time.Duration
	// overlap is how long an authority is trusted before it signs what is served, and after the last use of what it signed.
	overlap time.Duration
}

// step is what is to be done now.
type step struct {
	material material
	changed  bool
	// wake is when there is something to do again, if nothing else happens.
	wake time.Time
	// did says what changed, for the log.
	did []string
}

// next is the whole protocol of rotation, as a function of what the Secret holds, the time, and since when all webhook
// configurations are known to trust the newest authority (zero: not yet). A new authority is first only trusted; it
// signs the serving certificate once every API server had the overlap to learn of it; the old one leaves the bundle once
// every replica had the overlap to load the new serving certificate.
func (r rotation) next(m material, now, announced time.Time) (step, error) {
	s := step{material: material{trusted: slices.Clone(m.trusted), signer: m.signer, serving: m.serving}}
	if m.signer == nil || len(m.trusted) == 0 || !now.Before(renewal(m.trusted[0])) {
		authority, key, err := newAuthority(now, r.authority)
		if err != nil {
			return step{}, err
		}
		s.material.trusted, s.material.signer = slices.Insert(s.material.trusted, 0, authority), key
		s.changed, s.did, announced = true, append(s.did, "made a new certificate authority"), time.Time{}
	}
	newest := s.material.trusted[0]
	if reason := r.resign(s.material, now, announced); reason != "" {
		hosts := r.hosts
		if reason == uncovered {
			// Replicas of two releases may disagree on the hosts for a while: together they settle on all of them.
			hosts = union(hosts, s.material.serving.Leaf)
		}
		serving, err := newServing(now, r.serving, hosts, newest, s.material.signer)
		if err != nil {
			return step{}, err
		}
		s.material.serving, s.changed, s.did = serving, true, append(s.did, "signed a new serving certificate: "+reason)
	}
	leaf := s.material.serving.Leaf
	before := len(s.material.trusted)
	s.material.trusted = slices.DeleteFunc(s.material.trusted, func(ca *x509.Certificate) bool {
		unused := ca != newest && leaf.CheckSignatureFrom(ca) != nil && !now.Before(made(leaf).Add(r.overlap))
		return unused || !now.Before(ca.NotAfter)
	})
	if len(s.material.trusted) < before {
		s.changed, s.did = true, append(s.did, "stopped trusting an old certificate authority")
	}
	s.wake = r.wake(s.material, now, announced)
	return s, nil
}

// uncovered is why a certificate is replaced that lacks a host.
const uncovered = "it did not cover every host"

// resign says why the serving certificate is to be replaced now; empty if it is not.
func (r rotation) resign(m material, now, announced time.Time) string {
	newest := m.trusted[0]
	switch {
	case m.serving == nil:
		return "there was none"
	case !now.Before(m.serving.Leaf.NotAfter):
		return "it had expired"
	case !slices.ContainsFunc(m.trusted, func(ca *x509.Certificate) bool { return m.serving.Leaf.CheckSignatureFrom(ca) == nil }):
		return "no trusted authority had signed it"
	case slices.ContainsFunc(r.hosts, func(host string) bool { return m.serving.Leaf.VerifyHostname(host) != nil }):
		return uncovered
	case m.serving.Leaf.CheckSignatureFrom(newest) == nil:
		if !now.Before(renewal(m.serving.Leaf)) {
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

// learnt is when every API server is taken to know of an authority.
func (r rotation) learnt(authority *x509.Certificate, announced time.Time) time.Time {
	return latest(made(authority), announced).Add(r.overlap)
}

// wake is the earliest instant at which next has something to do.
func (r rotation) wake(m material, now, announced time.Time) time.Time {
	newest, leaf := m.trusted[0], m.serving.Leaf
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
	for _, ca := range m.trusted[1:] {
		consider(ca.NotAfter)
		consider(made(leaf).Add(r.overlap))
	}
	return wake
}

// readMaterial reads what a Secret holds. A part that is missing or unusable is left out, to be made anew, with the
// reason in the error; the rest is used.
func readMaterial(data map[string][]byte) (material, error) {
	if len(data[bundleKey])+len(data[signerKey])+len(data[servingCertKey])+len(data[servingKeyKey]) == 0 {
		return material{}, nil
	}
	var m material
	var errs []error
	trusted, err := certutil.ParseCertsPEM(data[bundleKey])
	if err != nil {
		errs = append(errs, fmt.Errorf("read %s: %w", bundleKey, err))
	}
	m.trusted = trusted
	if m.signer, err = readSigner(data[signerKey], m.trusted); err != nil {
		errs = append(errs, fmt.Errorf("read %s: %w", signerKey, err))
	}
	serving, err := tls.X509KeyPair(data[servingCertKey], data[servingKeyKey])
	if err != nil {
		errs = append(errs, fmt.Errorf("read %s and %s: %w", servingCertKey, servingKeyKey, err))
		return m, errors.Join(errs...)
	}
	m.serving = &serving
	return m, errors.Join(errs...)
}

// readSigner reads the key that belongs to the newest authority.
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

// data is the inverse of readMaterial.
func (m material) data() (map[string][]byte, error) {
	bundle, err := m.bundle()
	if err != nil {
		return nil, err
	}
	signer, err := keyutil.MarshalPrivateKeyToPEM(m.signer)
	if err != nil {
		return nil, fmt.Errorf("encode the authority's key: %w", err)
	}
	key, err := keyutil.MarshalPrivateKeyToPEM(m.serving.PrivateKey)
	if err != nil {
		return nil, fmt.Errorf("encode the serving key: %w", err)
	}
	cert, err := certutil.EncodeCertificates(m.serving.Leaf)
	if err != nil {
		return nil, fmt.Errorf("encode the serving certificate: %w", err)
	}
	return map[string][]byte{bundleKey: bundle, signerKey: signer, servingCertKey: cert, servingKeyKey: key}, nil
}

// bundle is the trusted authorities as webhook configurations want them.
func (m material) bundle() ([]byte, error) {
	bundle, err := certutil.EncodeCertificates(m.trusted...)
	if err != nil {
		return nil, fmt.Errorf("encode the certificate authorities: %w", err)
	}
	return bundle, nil
}

// trusts says whether a CA bundle holds an authority.
func trusts(bundle []byte, authority *x509.Certificate) bool {
	known, err := certutil.ParseCertsPEM(bundle)
	return err == nil && slices.ContainsFunc(known, func(ca *x509.Certificate) bool { return bytes.Equal(ca.Raw, authority.Raw) })
}
