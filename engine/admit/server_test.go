package admit_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	admissionregistrationclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"flyball.dev/flyball/engine/admit"
)

func configurations() admissionregistrationclient.ValidatingWebhookConfigurationInterface {
	return kubernetes.NewForConfigOrDie(api.Config()).AdmissionregistrationV1().ValidatingWebhookConfigurations()
}

func TestOptionsAreChecked(t *testing.T) {
	good := options(t, adapters(t))
	tests := []struct {
		reason string
		spoil  func(*admit.Options)
		want   string
	}{
		{"no endpoint", func(o *admit.Options) { o.Endpoint = admit.Endpoint{} }, "Endpoint.URL"},
		{"two endpoints", func(o *admit.Options) { o.Endpoint.Service = &admissionregistrationv1.ServiceReference{Name: "a"} }, "Endpoint.URL"},
		{"not https", func(o *admit.Options) { o.Endpoint.URL = "http://127.0.0.1:1" }, "https://host:port"},
		{"a URL with a path", func(o *admit.Options) { o.Endpoint.URL = "https://127.0.0.1:1/x" }, "https://host:port"},
		{"no place for certificates", func(o *admit.Options) { o.Secret.Namespace = "" }, "Secret"},
		{"an overlap that outlasts a certificate", func(o *admit.Options) { o.ServingLifetime = time.Minute }, "Overlap"},
		{"a kind twice", func(o *admit.Options) { o.Kinds = append(o.Kinds, o.Kinds[0]) }, "twice"},
		{"a kind without validator", func(o *admit.Options) { o.Kinds = []admit.Kind{{Kind: "A", Resource: "as"}} }, "validator"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			o := good
			o.Kinds = append([]admit.Kind(nil), good.Kinds...)
			tt.spoil(&o)
			if _, err := admit.New(api.Config(), o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New: %v, want an error that names %s", err, tt.want)
			}
		})
	}
}

// A configuration made by others, as the Helm chart does, gets the authority; the certificate is kept in the Secret.
func TestAuthorityIsInjected(t *testing.T) {
	opts := options(t, adapters(t))
	opts.Configurations, opts.OwnConfiguration = []string{opts.OwnConfiguration}, ""
	chart := admit.Configuration(opts.Configurations[0], opts.Endpoint, opts.Kinds, nil)
	if _, err := configurations().Create(t.Context(), chart, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	server, _ := start(t, opts)
	active(t)
	live, err := configurations().Get(t.Context(), chart.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(live.Webhooks[0].ClientConfig.CABundle, server.CABundle()) || len(server.CABundle()) == 0 {
		t.Error("the configuration does not hold the server's authority")
	}
	secret, err := kubernetes.NewForConfigOrDie(api.Config()).CoreV1().Secrets(opts.Secret.Namespace).Get(t.Context(), opts.Secret.Name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"tls.crt", "tls.key", "ca.crt", "ca.key"} {
		if len(secret.Data[key]) == 0 {
			t.Errorf("the Secret has no %s", key)
		}
	}

	live.Webhooks[0].ClientConfig.CABundle = nil
	if _, err := configurations().Update(t.Context(), live, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a bundle that somebody removed comes back", func() error { return holds(t, chart.Name, server.CABundle()) })
}

func holds(t *testing.T, name string, bundle []byte) error {
	live, err := configurations().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if !bytes.Equal(live.Webhooks[0].ClientConfig.CABundle, bundle) {
		return fmt.Errorf("the configuration %s has another bundle", name)
	}
	return nil
}

// The configuration that the server keeps itself is as rendered, and is corrected and made again.
func TestOwnConfigurationIsKept(t *testing.T) {
	opts := options(t, adapters(t))
	server, _ := start(t, opts)
	want := admit.Configuration(opts.OwnConfiguration, opts.Endpoint, opts.Kinds, nil)
	want.Webhooks[0].ClientConfig = server.Client(admit.ValidatePath)
	live, err := configurations().Get(t.Context(), opts.OwnConfiguration, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Webhooks, live.Webhooks); diff != "" {
		t.Errorf("what the API server made of it (-rendered +live):\n%s", diff)
	}
	before := live.ResourceVersion
	live.Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore)
	if _, err := configurations().Update(t.Context(), live, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	kept := func() error {
		live, err := configurations().Get(t.Context(), opts.OwnConfiguration, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if diff := cmp.Diff(want.Webhooks, live.Webhooks); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		if live.ResourceVersion == before {
			return fmt.Errorf("not changed since")
		}
		return nil
	}
	eventually(t, "a change is undone", kept)
	if err := configurations().Delete(t.Context(), opts.OwnConfiguration, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "what was deleted is made again", kept)
}

func TestConfigurationOfService(t *testing.T) {
	kinds := []admit.Kind{
		{Kind: "Schedule", Resource: "schedules"},
		{Kind: "Adapter", Resource: "adapters"},
		{Kind: "ChangeFreeze", Resource: "changefreezes", Operations: []admissionregistrationv1.OperationType{"CREATE", "UPDATE", "DELETE"}},
	}
	endpoint := admit.Endpoint{Service: &admissionregistrationv1.ServiceReference{Namespace: "flyball-system", Name: "flyball-webhook"}}
	got := admit.Configuration("flyball", endpoint, kinds, []byte("CA")).Webhooks[0]
	wantClient := admissionregistrationv1.WebhookClientConfig{CABundle: []byte("CA"), Service: &admissionregistrationv1.ServiceReference{
		Namespace: "flyball-system", Name: "flyball-webhook", Path: new(admit.ValidatePath), Port: new(int32(443)),
	}}
	if diff := cmp.Diff(wantClient, got.ClientConfig); diff != "" {
		t.Errorf("client (-want +got):\n%s", diff)
	}
	rule := func(resources []string, operations ...admissionregistrationv1.OperationType) admissionregistrationv1.RuleWithOperations {
		return admissionregistrationv1.RuleWithOperations{Operations: operations, Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"flyball.dev"}, APIVersions: []string{"v1alpha1"}, Resources: resources, Scope: new(admissionregistrationv1.AllScopes),
		}}
	}
	wantRules := []admissionregistrationv1.RuleWithOperations{
		rule([]string{"adapters", "schedules"}, "CREATE", "UPDATE"),
		rule([]string{"changefreezes"}, "CREATE", "UPDATE", "DELETE"),
	}
	if diff := cmp.Diff(wantRules, got.Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// Other handlers live on the same server, under its certificate.
func TestHandle(t *testing.T) {
	opts := options(t, adapters(t))
	server, err := admit.New(api.Config(), opts)
	if err != nil {
		t.Fatal(err)
	}
	server.Handle("/freeze", admission.HandlerFunc(func(context.Context, admission.Request) admission.Response {
		return admission.Denied("frozen")
	}))
	server.HandleHTTP("/plain", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "plain") }))
	if server.NeedLeaderElection() {
		t.Error("serves on the leader only")
	}
	if err := server.Ready(&http.Request{}); err == nil {
		t.Error("ready before it is started")
	}
	serve(t, server)
	t.Cleanup(func() { removeConfigurations(t, opts) })
	eventually(t, "ready", func() error { return server.Ready(&http.Request{}) })
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(server.CABundle())
	browser := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	review := `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"UPDATE"}}`
	for path, want := range map[string]string{"/freeze": `"message":"frozen"`, "/plain": "plain"} {
		client := server.Client(path)
		answer, err := browser.Post(*client.URL, "application/json", strings.NewReader(review))
		if err != nil {
			t.Fatal(err)
		}
		var body bytes.Buffer
		if _, err := body.ReadFrom(answer.Body); err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if !strings.Contains(body.String(), want) {
			t.Errorf("%s answers %s, want %s", path, body.String(), want)
		}
	}
}

// shake does a TLS handshake that trusts only the roots.
func shake(address string, roots *x509.CertPool) error {
	dialer := &tls.Dialer{Config: &tls.Config{RootCAs: roots}}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	return conn.Close()
}
