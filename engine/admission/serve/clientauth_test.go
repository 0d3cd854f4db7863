package serve

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// clientCertificate returns a client certificate of a new authority, and the authority's file.
func clientCertificate(t *testing.T, name string) (cert tls.Certificate, file string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Minute), NotAfter: now.Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	file = filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, bundle, 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// Only a client with a certificate of the authority and an accepted name is admitted.
func TestClientCertificates(t *testing.T) {
	apiServer, file := clientCertificate(t, "apiserver")
	stranger, _ := clientCertificate(t, "apiserver")
	for _, test := range []struct {
		reason string
		names  []string
		given  []tls.Certificate
		want   bool
		// optional admits clients without a certificate. proven means that the handler sees a certificate of the
		// authority.
		optional, proven bool
	}{
		{"the authority's", nil, []tls.Certificate{apiServer}, true, false, true},
		{"the authority's, and its name", []string{"other", "apiserver"}, []tls.Certificate{apiServer}, true, false, true},
		{"the authority's, and another name", []string{"other"}, []tls.Certificate{apiServer}, false, false, false},
		{"another authority's", nil, []tls.Certificate{stranger}, false, false, false},
		{"none", nil, nil, false, false, false},
		{"optional: none", []string{"apiserver"}, nil, true, true, false},
		{"optional: the authority's", nil, []tls.Certificate{apiServer}, true, true, true},
		{"optional: the authority's, and another name", []string{"other"}, []tls.Certificate{apiServer}, false, true, false},
	} {
		proven := false
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter,
			req *http.Request) {
			proven = len(req.TLS.VerifiedChains) > 0
		}))
		server.TLS = &tls.Config{}
		if err := clientAuth(server.TLS, file, test.names, test.optional); err != nil {
			t.Fatal(err)
		}
		server.Config.ErrorLog = nil
		server.StartTLS()
		client := server.Client()
		client.Transport.(*http.Transport).TLSClientConfig.Certificates = test.given
		resp, err := client.Post(server.URL, "text/plain", bytes.NewReader(nil))
		if err == nil {
			_ = resp.Body.Close()
		}
		if err == nil != test.want {
			t.Errorf("%s: %v", test.reason, err)
		}
		server.Close()
		if proven != test.proven {
			t.Errorf("%s: the handler sees a certificate: %t", test.reason, proven)
		}
	}
	for _, file := range []string{"/nowhere", os.DevNull} {
		if err := clientAuth(&tls.Config{}, file, nil, false); err == nil {
			t.Errorf("the file %s is taken for authorities", file)
		}
	}
	open := &tls.Config{}
	if err := clientAuth(open, "", nil, true); err != nil || open.ClientAuth != tls.NoClientCert {
		t.Errorf("without a file: %v, %v", err, open.ClientAuth)
	}
}
