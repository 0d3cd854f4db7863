package credential

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"math/big"
	"net"
	"time"
)

// backdate is how long before its creation a certificate becomes valid, for API servers with slow clocks.
const backdate = 5 * time.Minute

// made returns the time at which a certificate of this package was created.
func made(c *x509.Certificate) time.Time { return c.NotBefore.Add(backdate) }

// renewal returns the time at which a third of a certificate's life is left.
func renewal(c *x509.Certificate) time.Time {
	return c.NotAfter.Add(-c.NotAfter.Sub(made(c)) / 3)
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// newAuthority returns a new self-signed authority.
func newAuthority(now time.Time, life time.Duration) (*x509.Certificate, crypto.Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make the authority's key: %w", err)
	}
	template, err := newTemplate(fmt.Sprintf("flyball-webhook-ca-%d", now.Unix()), now, now.Add(life))
	if err != nil {
		return nil, nil, err
	}
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	template.IsCA, template.MaxPathLenZero = true, true
	cert, err := sign(template, template, key.Public(), key)
	return cert, key, err
}

// newServing returns a new serving certificate, valid no longer than its authority.
func newServing(now time.Time, life time.Duration, hosts []string, authority *x509.Certificate, signer crypto.Signer) (*tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the serving key: %w", err)
	}
	end := now.Add(life)
	if end.After(authority.NotAfter) {
		end = authority.NotAfter
	}
	template, err := newTemplate("flyball-webhook", now, end)
	if err != nil {
		return nil, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	leaf, err := sign(template, authority, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	return &tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}, nil
}

func newTemplate(name string, now, end time.Time) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("draw a serial number: %w", err)
	}
	// Certificates have whole seconds. Rounding up ensures that an overlap counted from the start is never too short.
	start := now.Truncate(time.Second)
	if start.Before(now) {
		start = start.Add(time.Second)
	}
	return &x509.Certificate{
		SerialNumber:          serial,
		Subject:               pkix.Name{CommonName: name, Organization: []string{"flyball.dev"}},
		NotBefore:             start.Add(-backdate),
		NotAfter:              end,
		BasicConstraintsValid: true,
	}, nil
}

func sign(template, parent *x509.Certificate, public crypto.PublicKey, signer crypto.Signer) (*x509.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of %s: %w", template.Subject.CommonName, err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("read back the certificate of %s: %w", template.Subject.CommonName, err)
	}
	return cert, nil
}
