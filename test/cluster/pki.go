package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// authority is a small certificate authority with its files in one directory.
type authority struct {
	dir  string
	name string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// pair is a certificate and its key, in memory and as files.
type pair struct {
	certFile, keyFile string
	cert, key         []byte // PEM
}

// newAuthority creates an authority and writes NAME.crt and NAME.key.
func newAuthority(dir, name string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of authority %s: %w", name, err)
	}
	template := certificate(pkix.Name{CommonName: "flyball test " + name})
	template.IsCA = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	a := &authority{dir: dir, name: name, cert: template, key: key}
	issued, err := a.issue(name, template, key)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(issued.cert)
	a.cert, err = x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read back authority %s: %w", name, err)
	}
	return a, nil
}

func (a *authority) certFile() string { return filepath.Join(a.dir, a.name+".crt") }
func (a *authority) keyFile() string  { return filepath.Join(a.dir, a.name+".key") }

// client issues a client certificate. Its CN is the user, and its O are the user's groups.
func (a *authority) client(file, user string, groups ...string) (*pair, error) {
	template := certificate(pkix.Name{CommonName: user, Organization: groups})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.leaf(file, template)
}

// server issues a certificate for serving on loopback.
func (a *authority) server(file string, names ...string) (*pair, error) {
	template := certificate(pkix.Name{CommonName: file})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = append([]string{"localhost"}, names...)
	template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.ParseIP(serviceIP)}
	return a.leaf(file, template)
}

func (a *authority) leaf(file string, template *x509.Certificate) (*pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the key of %s: %w", file, err)
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	return a.issue(file, template, key)
}

// issue signs the template and writes FILE.crt and FILE.key.
func (a *authority) issue(file string, template *x509.Certificate, key *ecdsa.PrivateKey) (*pair, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, fmt.Errorf("make the serial number of %s: %w", file, err)
	}
	template.SerialNumber = serial
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		return nil, fmt.Errorf("sign certificate %s: %w", file, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode the key of %s: %w", file, err)
	}
	p := &pair{
		certFile: filepath.Join(a.dir, file+".crt"),
		keyFile:  filepath.Join(a.dir, file+".key"),
		cert:     pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		key:      keyPEM,
	}
	if err := writeSecret(p.certFile, p.cert); err != nil {
		return nil, err
	}
	return p, writeSecret(p.keyFile, p.key)
}

func certificate(subject pkix.Name) *x509.Certificate {
	// The certificate is valid from a day ago until a year from now, because the clock of a test machine may be changed.
	return &x509.Certificate{
		Subject:               subject,
		NotBefore:             time.Now().AddDate(0, 0, -1),
		NotAfter:              time.Now().AddDate(1, 0, 0),
		BasicConstraintsValid: true,
	}
}

// serviceAccountKey writes the key for signing and verifying service account tokens.
func serviceAccountKey(file string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make the service account key: %w", err)
	}
	raw, err := encodeKey(key)
	if err != nil {
		return fmt.Errorf("encode the service account key: %w", err)
	}
	return writeSecret(file, raw)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func writeSecret(file string, content []byte) error {
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(file), err)
	}
	return nil
}
