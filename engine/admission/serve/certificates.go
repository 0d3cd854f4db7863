package serve

import (
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

// pair is a certificate with its own authority, and the certificate's private key. The authority's key is not kept, so
// an authority signs exactly one certificate.
type pair struct {
	// cert is the certificate and then its authority, in PEM. key is the private key, in PEM.
	cert, key []byte
	// serving has the same certificate and key in the form for a TLS server. Its Leaf is set.
	serving *tls.Certificate
	// authority is the authority that signed the certificate.
	authority *x509.Certificate
}

// newPair returns a pair from PEM.
func newPair(cert, key []byte) (*pair, error) {
	serving, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	if len(serving.Certificate) != 2 {
		return nil, fmt.Errorf("it has %d certificates instead of two: a certificate and its authority", len(serving.Certificate))
	}
	authority, err := x509.ParseCertificate(serving.Certificate[1])
	if err == nil {
		err = serving.Leaf.CheckSignatureFrom(authority)
	}
	if err == nil && authority.NotAfter.Before(serving.Leaf.NotAfter) {
		err = errors.New("its authority expires before it")
	}
	return &pair{cert: cert, key: key, serving: &serving, authority: authority}, err
}

// issue returns a new certificate for hosts that is valid for life from now on.
func issue(hosts []string, life time.Duration) (*pair, error) {
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
	return newPair(cert, key)
}

// due returns the instant from which a certificate is served: a third of its life after it was made. Until then it is
// only trusted.
func (p *pair) due() time.Time {
	made := p.serving.Leaf.NotBefore.Add(backdate)
	return made.Add(p.serving.Leaf.NotAfter.Sub(made) / 3)
}

// hosts returns the hosts of a certificate.
func (p *pair) hosts() []string {
	all := slices.Clone(p.serving.Leaf.DNSNames)
	for _, ip := range p.serving.Leaf.IPAddresses {
		all = append(all, ip.String())
	}
	return all
}

// material is the content of the Secret: the served certificate, and its successor, which is trusted already. Either may
// be nil.
type material struct {
	current, next *pair
	// trusted are the trusted authorities, newest first.
	trusted []*x509.Certificate
}

// rotation configures how certificates are made.
type rotation struct {
	// hosts are the DNS names and IP addresses at which API servers reach the server.
	hosts []string
	// life is the lifetime of a certificate. It is trusted in the first third, served in the second, and still trusted
	// in the last.
	life time.Duration
	// issue returns a new certificate. Production code uses the function issue.
	issue func(hosts []string, life time.Duration) (*pair, error)
}

// renew returns the material for an instant, and a text for each change. API servers and replicas learn of a new
// certificate long before it is served, and its authority stays trusted until it expires.
func (r rotation) renew(m material, now time.Time) (material, []string, error) {
	var did []string
	if r.unusable(m.next, now) == "" && (r.unusable(m.current, now) != "" || !now.Before(m.next.due())) {
		m.current, m.next = m.next, nil
		did = append(did, "served the next certificate, which is trusted everywhere")
	}
	m.trusted = slices.DeleteFunc(slices.Clone(m.trusted), func(ca *x509.Certificate) bool { return !now.Before(ca.NotAfter) })
	for _, p := range []**pair{&m.current, &m.next} {
		if reason := r.unusable(*p, now); reason != "" {
			hosts := slices.Clone(r.hosts)
			if reason == uncovered {
				// Replicas of two releases may disagree about the hosts for a while, so the new certificate covers the
				// hosts of both.
				hosts = append(hosts, (*p).hosts()...)
				slices.Sort(hosts)
				hosts = slices.Compact(hosts)
			}
			made, err := r.issue(hosts, r.life)
			if err != nil {
				return material{}, nil, err
			}
			*p, did = made, append(did, "issued a certificate: "+reason)
		}
		if !slices.ContainsFunc(m.trusted, (*p).authority.Equal) {
			m.trusted = slices.Insert(m.trusted, 0, (*p).authority)
		}
	}
	return m, did, nil
}

// uncovered is the reason for replacing a certificate that lacks a host.
const uncovered = "the old one did not cover every host"

// unusable returns the reason why a certificate must be replaced, or "".
func (r rotation) unusable(p *pair, now time.Time) string {
	switch {
	case p == nil:
		return "there was none"
	case !now.Before(p.serving.Leaf.NotAfter):
		return "the old one had expired"
	case now.Before(p.serving.Leaf.NotBefore):
		return "the old one was not valid yet" // a replica whose clock is far ahead has made it
	case slices.ContainsFunc(r.hosts, func(host string) bool { return p.serving.Leaf.VerifyHostname(host) != nil }):
		return uncovered
	default:
		return ""
	}
}

// readMaterial parses the content of a Secret. A missing or unusable part is left out, so it is created anew, and
// the error has the reason. The remaining parts are used.
func readMaterial(data map[string][]byte) (m material, err error) {
	read := func(certKey, keyKey string) *pair {
		if len(data[certKey])+len(data[keyKey]) == 0 {
			return nil
		}
		p, wrong := newPair(data[certKey], data[keyKey])
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("read %s and %s: %w", certKey, keyKey, wrong))
			return nil
		}
		return p
	}
	m.current, m.next = read(corev1.TLSCertKey, corev1.TLSPrivateKeyKey), read(nextCertKey, nextKeyKey)
	if bundle := data[bundleKey]; len(bundle) > 0 {
		var wrong error
		if m.trusted, wrong = certutil.ParseCertsPEM(bundle); wrong != nil {
			err = errors.Join(err, fmt.Errorf("read %s: %w", bundleKey, wrong))
		}
	}
	return m, err
}

// data returns the content of the Secret. It is the inverse of readMaterial.
func (m material) data() (map[string][]byte, error) {
	bundle, err := certutil.EncodeCertificates(m.trusted...)
	if err != nil {
		return nil, fmt.Errorf("encode the certificate authorities: %w", err)
	}
	return map[string][]byte{bundleKey: bundle, corev1.TLSCertKey: m.current.cert, corev1.TLSPrivateKeyKey: m.current.key,
		nextCertKey: m.next.cert, nextKeyKey: m.next.key}, nil
}
