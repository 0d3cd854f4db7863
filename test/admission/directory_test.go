package admission_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher/metrics"

	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/engine/admission/serve"
	"flyball.dev/flyball/test/await"
	"flyball.dev/flyball/test/harness"
)

// issuer returns a new authority.
func issuer(t *testing.T) *harness.Issuer {
	t.Helper()
	i, err := harness.NewIssuer()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// files returns a new certificate for this machine and for the Service of the tests.
func files(t *testing.T, i *harness.Issuer) map[string][]byte {
	t.Helper()
	files, err := i.Files("webhook.flyball-system.svc", "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func project(t *testing.T, dir string, i *harness.Issuer) {
	t.Helper()
	if err := harness.Project(dir, files(t, i)); err != nil {
		t.Fatal(err)
	}
}

// Certificates from a directory are served, and new ones as soon as they are written.
func TestCertificatesFromDirectory(t *testing.T) {
	first, second := issuer(t), issuer(t)
	opts := options(t, adapters(t))
	opts.CertDir = t.TempDir()
	if _, err := serve.New(opts); err == nil || !strings.Contains(err.Error(), opts.CertDir) {
		t.Errorf("an empty directory: %v, want an error that names it", err)
	}
	// Files that are written one by one, not by a kubelet, work too.
	put := func(i *harness.Issuer) {
		for name, text := range files(t, i) {
			if err := os.WriteFile(filepath.Join(opts.CertDir, name), text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(first)
	server, _ := start(t, opts)
	active(t)
	if err := holds(t, opts.OwnConfiguration, first.Bundle()); err != nil {
		t.Error(err)
	}
	put(second)
	eventually(t, "only the new authority is trusted, and its certificate served", func() error {
		if err := holds(t, opts.OwnConfiguration, second.Bundle()); err != nil {
			return err
		}
		if !bytes.Equal(server.Client("").CABundle, second.Bundle()) {
			return errors.New("the server gives another bundle")
		}
		roots := x509.NewCertPool()
		roots.AddCert(second.Authority)
		return shake(fmt.Sprintf("127.0.0.1:%d", opts.Port), roots)
	})
	active(t)
	unread := func() float64 {
		var m dto.Metric
		if err := metrics.ReadCertificateErrors.Write(&m); err != nil {
			t.Fatal(err)
		}
		return m.GetCounter().GetValue()
	}
	before := unread()
	if err := os.WriteFile(filepath.Join(opts.CertDir, "tls.key"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	await.True(t, "the unreadable file was tried", func() bool { return unread() > before })
	active(t) // unreadable files leave the previous certificate in place
}

// Two replicas get the files of a renewed certificate one after the other, as from two kubelets, during at most 200 changes a
// second. Every change gets its verdict, and the configuration is not written again.
func TestJudgeThroughRenewedFiles(t *testing.T) {
	authority := issuer(t)
	service, err := harness.NewService()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = service.Close() })
	port := int32(service.Port())
	// API servers resolve the name of such a Service themselves and use HTTP/1.1, as in a cluster.
	object := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "webhook"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"}}
	if _, err := kubernetes.NewForConfigOrDie(api.Config()).CoreV1().Services("flyball-system").Create(t.Context(), object,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	dirs, addresses := []string{t.TempDir(), t.TempDir()}, []string{}
	for _, dir := range dirs {
		project(t, dir, authority)
		addresses = append(addresses, replica(t, service, serve.Options{
			CertDir: dir, Endpoint: register.Endpoint{Service: &admissionregistrationv1.ServiceReference{Namespace: "flyball-system",
				Name: "webhook", Port: &port}},
		}))
	}
	try := frozenDeployment(t)
	eventually(t, "the API server asks", func() error { return try(t.Context()) })
	if err := holds(t, register.FreezeConfigurationName, authority.Bundle()); err != nil {
		t.Error(err)
	}

	settled := generation(t)
	load := harness.StartLoad(200, try)
	for i, dir := range dirs {
		before := serial(t, addresses[i], authority)
		project(t, dir, authority)
		eventually(t, "the renewed certificate is served", func() error {
			if serial(t, addresses[i], authority) == before {
				return errors.New("it is the old one")
			}
			return nil
		})
	}
	reach := load.Asked() + 100
	eventually(t, "much is asked", func() error {
		if asked := load.Asked(); asked < reach {
			return fmt.Errorf("%d requests", asked)
		}
		return nil
	})
	failures, summary := load.Stop()
	t.Log(summary)
	for _, f := range failures {
		t.Error(f.Err)
	}
	if again := generation(t); again != settled {
		t.Errorf("the configuration was written %d times, and then %d times more", settled, again-settled)
	}
}

// serial returns the serial number of the certificate served at an address.
func serial(t *testing.T, address string, i *harness.Issuer) string {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AddCert(i.Authority)
	conn, err := (&tls.Dialer{Config: &tls.Config{RootCAs: roots}}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String()
}

// replica runs a judging server of the Service, keeps the configuration of freezes as a manager does, and returns the
// server's address.
func replica(t *testing.T, service *harness.Service, given serve.Options) (address string) {
	t.Helper()
	opts := options(t)
	opts.OwnConfiguration = ""
	opts.CertDir, opts.Endpoint = given.CertDir, given.Endpoint
	server, err := serve.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	server.HandleHTTP(register.JudgePath, judge(t, freezes(t, defaultFreeze), nil))
	serving(t, server, opts)
	eventually(t, "ready", func() error { return server.Ready(&http.Request{}) })
	probe := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if err := server.Ready(req); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(probe.Close)
	service.Add(fmt.Sprintf("127.0.0.1:%d", opts.Port), probe.URL)
	keepFreezes(t, server)
	return fmt.Sprintf("127.0.0.1:%d", opts.Port)
}

// generation counts the writes of the configuration of freezes.
func generation(t *testing.T) int64 {
	t.Helper()
	live, err := configurations().Get(t.Context(), register.FreezeConfigurationName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return live.Generation
}
