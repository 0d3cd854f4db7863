package harness

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	certutil "k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// Issuer is an authority that issues certificates, as a replacement of cert-manager.
type Issuer struct {
	Authority *x509.Certificate
	key       *ecdsa.PrivateKey
}

// NewIssuer returns a new authority.
func NewIssuer() (*Issuer, error) {
	authority, key, err := (*Issuer)(nil).sign(&x509.Certificate{Subject: pkix.Name{CommonName: "issuer"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	if err != nil {
		return nil, err
	}
	return &Issuer{Authority: authority, key: key}, nil
}

// sign returns a certificate for a new key. Without an issuer it is self-signed.
func (i *Issuer) sign(template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("make a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return nil, nil, fmt.Errorf("draw a serial number: %w", err)
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Minute), time.Now().Add(24*time.Hour)
	parent, signer := template, key
	if i != nil {
		parent, signer = i.Authority, i.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, nil, fmt.Errorf("sign a certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	return cert, key, err
}

// Bundle returns the authority in PEM.
func (i *Issuer) Bundle() []byte {
	bundle, err := certutil.EncodeCertificates(i.Authority)
	if err != nil {
		panic(err) // it was parsed from the same encoding
	}
	return bundle
}

// Files returns the files of a Secret with a new certificate for some hosts.
func (i *Issuer) Files(hosts ...string) (map[string][]byte, error) {
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "webhook"}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	leaf, key, err := i.sign(template)
	if err != nil {
		return nil, err
	}
	text, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	crt, err := certutil.EncodeCertificates(leaf)
	if err != nil {
		return nil, fmt.Errorf("encode a certificate: %w", err)
	}
	return map[string][]byte{"tls.crt": crt, "tls.key": text, "ca.crt": i.Bundle()}, nil
}

// Project writes files into a directory as the kubelet does for a Secret: all at once, by switching a link.
func Project(dir string, files map[string][]byte) error {
	data, err := os.MkdirTemp(dir, "..")
	if err != nil {
		return fmt.Errorf("project files: %w", err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(data, name), text, 0o600); err != nil {
			return fmt.Errorf("project files: %w", err)
		}
	}
	link, next := filepath.Join(dir, "..data"), filepath.Join(dir, "..next")
	old, before := os.Readlink(link)
	if err := errors.Join(os.Symlink(filepath.Base(data), next), os.Rename(next, link)); err != nil {
		return fmt.Errorf("project files: %w", err)
	}
	if before == nil {
		return os.RemoveAll(filepath.Join(dir, old))
	}
	for name := range files {
		if err := os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("project files: %w", err)
		}
	}
	return nil
}
