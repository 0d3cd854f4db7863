package admission_test

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
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	admissionregistrationclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"flyball.dev/flyball/engine/admission/register"
	reviews "flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/admission/serve"
)

func configurations() admissionregistrationclient.ValidatingWebhookConfigurationInterface {
	return kubernetes.NewForConfigOrDie(api.Config()).AdmissionregistrationV1().ValidatingWebhookConfigurations()
}

func TestOptionsAreChecked(t *testing.T) {
	good := options(t, adapters(t))
	tests := []struct {
		reason string
		spoil  func(*serve.Options)
		want   string
	}{
		{"no endpoint", func(o *serve.Options) { o.Endpoint = register.Endpoint{} }, "Endpoint.URL"},
		{"two endpoints", func(o *serve.Options) { o.Endpoint.Service = &admissionregistrationv1.ServiceReference{Name: "a"} }, "Endpoint.URL"},
		{"not https", func(o *serve.Options) { o.Endpoint.URL = "http://127.0.0.1:1" }, "https://host:port"},
		{"a URL with a path", func(o *serve.Options) { o.Endpoint.URL = "https://127.0.0.1:1/x" }, "https://host:port"},
		{"no place for certificates", func(o *serve.Options) { o.Secret.Namespace = "" }, "Secret"},
		{"a kind twice", func(o *serve.Options) { o.Kinds = append(o.Kinds, o.Kinds[0]) }, "twice"},
		{"a kind without validator", func(o *serve.Options) { o.Kinds = []reviews.OwnKind{{Kind: "A", Resource: "as"}} }, "validator"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			o := good
			o.Kinds = append([]reviews.OwnKind(nil), good.Kinds...)
			tt.spoil(&o)
			if _, err := serve.New(o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("New: %v, want an error that names %s", err, tt.want)
			}
		})
	}
}

// The certificate is stored in the Secret, also in the empty Secret of the chart, whose type cannot change.
func TestCertificateIsStored(t *testing.T) {
	for name, existing := range map[string]*corev1.Secret{"no Secret": nil, "the chart's": {Type: corev1.SecretTypeOpaque}} {
		t.Run(name, func(t *testing.T) {
			opts := options(t, adapters(t))
			secrets := kubernetes.NewForConfigOrDie(api.Config()).CoreV1().Secrets(opts.Secret.Namespace)
			if existing != nil {
				existing.Name = opts.Secret.Name
				if _, err := secrets.Create(t.Context(), existing, metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			server, _ := start(t, opts)
			active(t)
			if err := holds(t, opts.OwnConfiguration, server.Client("").CABundle); err != nil {
				t.Error(err)
			}
			secret, err := secrets.Get(t.Context(), opts.Secret.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, key := range []string{"tls.crt", "tls.key", "ca.crt", "next.crt", "next.key"} {
				if len(secret.Data[key]) == 0 {
					t.Errorf("the Secret has no %s", key)
				}
			}
		})
	}
}

func holds(t *testing.T, name string, bundle []byte) error {
	live, err := configurations().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if len(bundle) == 0 || !bytes.Equal(live.Webhooks[0].ClientConfig.CABundle, bundle) {
		return fmt.Errorf("the configuration %s has another bundle", name)
	}
	return nil
}

// The server's own configuration has the described content, and is corrected after any edit and recreated after a
// deletion.
func TestOwnConfigurationIsKept(t *testing.T) {
	opts := options(t, adapters(t))
	opts.Keeper.Author = register.Author{Release: "this one"}
	server, _ := start(t, opts)
	want := register.Configuration(opts.OwnConfiguration, opts.Endpoint, opts.Kinds, nil)
	want.Webhooks[0].ClientConfig = server.Client(register.ValidatePath)
	want.Annotations = map[string]string{"flyball.dev/described-by": "this one"}
	var before string
	kept := func() error {
		live, err := configurations().Get(t.Context(), opts.OwnConfiguration, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if live.ResourceVersion == before {
			return fmt.Errorf("not changed since")
		}
		if diff := cmp.Diff(want.Webhooks, live.Webhooks) + cmp.Diff(want.Annotations, live.Annotations); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	}
	if err := kept(); err != nil {
		t.Errorf("the stored configuration: %v", err)
	}
	for reason, edit := range map[string]func(*admissionregistrationv1.ValidatingWebhookConfiguration){
		"it fails open": func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].FailurePolicy = new(admissionregistrationv1.Ignore)
		},
		"fewer rules": func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].Rules[0].Operations = []admissionregistrationv1.OperationType{"CREATE"}
		},
		"no webhooks": func(c *admissionregistrationv1.ValidatingWebhookConfiguration) { c.Webhooks = nil },
		"another authority": func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].ClientConfig.CABundle = issuer(t).Bundle()
		},
		"a path": func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].ClientConfig.URL = new(opts.Endpoint.URL + "/elsewhere")
		},
		"another server": func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].ClientConfig.URL = new("https://127.0.0.1:1/")
		},
		"some namespaces only": func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		},
		"some objects only": func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].ObjectSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
		},
		"a condition": func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "never", Expression: "false"}}
		},
		"whose description it is": func(c *admissionregistrationv1.ValidatingWebhookConfiguration) { c.Annotations = nil },
		"cert-manager is to inject": func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Annotations["cert-manager.io/inject-ca-from"] = "default/mine"
		},
	} {
		live, err := configurations().Get(t.Context(), opts.OwnConfiguration, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		edit(live)
		edited, err := configurations().Update(t.Context(), live, metav1.UpdateOptions{})
		if err != nil {
			t.Fatalf("%s: %v", reason, err)
		}
		before = edited.ResourceVersion
		eventually(t, reason+": it is undone", kept)
	}
	if err := configurations().Delete(t.Context(), opts.OwnConfiguration, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "what was deleted is made again", kept)
}

// Two releases with different configurations do not fight: only the leader writes, and the other release takes over
// when it starts to lead. Either of them recreates a deleted configuration.
func TestTwoReleasesDoNotFight(t *testing.T) {
	older, newer := options(t, adapters(t)), options(t, adapters(t))
	newer.Secret, newer.Kinds[0].Deletions = older.Secret, true
	older.Endpoint = newer.Endpoint
	leads := make(chan struct{})
	older.Keeper.Author, newer.Keeper.Author = register.Author{Release: "older"}, register.Author{Release: "newer", Leads: leads}
	_, stopOlder := start(t, older)
	_, stopNewer := start(t, newer)
	described := func(by string, operations int) func() error {
		return func() error {
			live, err := configurations().Get(t.Context(), older.OwnConfiguration, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got, n := live.Annotations["flyball.dev/described-by"], len(live.Webhooks[0].Rules[0].Operations); got != by || n != operations ||
				*live.Webhooks[0].FailurePolicy != "Fail" {
				return fmt.Errorf("described by %q, with %d operations", got, n)
			}
			return nil
		}
	}
	generation := func() int64 {
		live, err := configurations().Get(t.Context(), older.OwnConfiguration, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return live.Generation
	}
	patch := func(text string) {
		t.Helper()
		if _, err := configurations().Patch(t.Context(), older.OwnConfiguration, types.JSONPatchType, []byte(text),
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the leader describes it", described("older", 2))
	before := generation()
	for n := range int64(5) { // each edit wakes both
		patch(`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]`)
		eventually(t, "an edit is undone", described("older", 2))
		if got := generation(); got != before+2*(n+1) {
			t.Errorf("%d writes for %d edits that were undone", got-before, n+1)
		}
	}
	if err := configurations().Delete(t.Context(), older.OwnConfiguration, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the leader describes what was deleted", described("older", 2))
	stopOlder() // as a leader that loses its lease does
	close(leads)
	eventually(t, "the new leader describes it", described("newer", 3))
	older.Keeper.Author.Leads = make(chan struct{})
	start(t, older)
	before = generation()
	for n := range int64(5) {
		patch(`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]`)
		eventually(t, "an edit is undone", described("newer", 3))
		if got := generation(); got != before+2*(n+1) {
			t.Errorf("%d writes for %d edits that were undone", got-before, n+1)
		}
	}
	stopNewer()
	if err := configurations().Delete(t.Context(), older.OwnConfiguration, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "who does not lead makes what was deleted", described("older", 2))
}

func TestConfigurationOfService(t *testing.T) {
	kinds := []reviews.OwnKind{
		{Kind: "Schedule", Resource: "schedules"},
		{Kind: "Adapter", Resource: "adapters"},
		{Kind: "ChangeFreeze", Resource: "changefreezes", Deletions: true},
		{Kind: "FreezeException", Resource: "freezeexceptions", Status: true},
	}
	endpoint := register.Endpoint{Service: &admissionregistrationv1.ServiceReference{Namespace: "flyball-system", Name: "flyball-webhook"}}
	got := register.Configuration("flyball", endpoint, kinds, []byte("CA")).Webhooks[0]
	wantClient := admissionregistrationv1.WebhookClientConfig{CABundle: []byte("CA"), Service: &admissionregistrationv1.ServiceReference{
		Namespace: "flyball-system", Name: "flyball-webhook", Path: new(register.ValidatePath), Port: new(int32(443)),
	}}
	if diff := cmp.Diff(wantClient, got.ClientConfig); diff != "" {
		t.Errorf("client (-want +got):\n%s", diff)
	}
	rule := func(resources []string, operations ...admissionregistrationv1.OperationType) admissionregistrationv1.RuleWithOperations {
		return admissionregistrationv1.RuleWithOperations{Operations: operations, Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"flyball.dev"}, APIVersions: []string{"v1alpha1"}, Resources: resources,
			Scope: new(admissionregistrationv1.AllScopes),
		}}
	}
	wantRules := []admissionregistrationv1.RuleWithOperations{
		rule([]string{"adapters", "freezeexceptions", "schedules"}, "CREATE", "UPDATE"),
		rule([]string{"changefreezes"}, "CREATE", "UPDATE", "DELETE"),
		rule([]string{"freezeexceptions/status"}, "UPDATE"),
	}
	if diff := cmp.Diff(wantRules, got.Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

// Further handlers can use the same server and its certificate.
func TestHandlersShareServer(t *testing.T) {
	opts := options(t, adapters(t))
	server, err := serve.New(opts)
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
	serving(t, server, opts)
	eventually(t, "ready", func() error { return server.Ready(&http.Request{}) })
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(server.Client("").CABundle)
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

// shake makes a TLS handshake that trusts only the roots.
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
