package admit

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	certutil "k8s.io/client-go/util/cert"
)

// clientCertificate makes a client certificate of a new authority, and gives the authority's file.
func clientCertificate(t *testing.T, name string) (cert tls.Certificate, file string) {
	t.Helper()
	now := time.Now()
	authority, signer, err := newAuthority(now, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template, err := newTemplate(name, now, now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	leaf, err := sign(template, authority, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	bundle, err := certutil.EncodeCertificates(authority)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, bundle, 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key}, file
}

// Only who presents a certificate of the authority, under a name that counts, is let in.
func TestClientCertificates(t *testing.T) {
	apiServer, file := clientCertificate(t, "apiserver")
	stranger, _ := clientCertificate(t, "apiserver")
	for _, test := range []struct {
		reason string
		names  []string
		given  []tls.Certificate
		want   bool
	}{
		{"the authority's", nil, []tls.Certificate{apiServer}, true},
		{"the authority's, and its name", []string{"other", "apiserver"}, []tls.Certificate{apiServer}, true},
		{"the authority's, and another name", []string{"other"}, []tls.Certificate{apiServer}, false},
		{"another authority's", nil, []tls.Certificate{stranger}, false},
		{"none", nil, nil, false},
	} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		server.TLS = &tls.Config{}
		if err := clientAuth(server.TLS, file, test.names); err != nil {
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
	}
	for _, file := range []string{"/nowhere", os.DevNull} {
		if err := clientAuth(&tls.Config{}, file, nil); err == nil {
			t.Errorf("the file %s is taken for authorities", file)
		}
	}
	open := &tls.Config{}
	if err := clientAuth(open, "", nil); err != nil || open.ClientAuth != tls.NoClientCert {
		t.Errorf("without a file: %v, %v", err, open.ClientAuth)
	}
}
