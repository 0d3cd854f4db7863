package doctor

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

var noon = time.Date(2037, 5, 13, 12, 0, 0, 0, time.UTC)

const (
	deploymentsPath = "GET /apis/apps/v1/namespaces/flyball-system/deployments"
	hooksPath       = "GET /apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
	probePath       = "POST /apis/flyball.dev/v1alpha1/namespaces/shop/schedules"
)

// answering returns the address of an API server with recorded answers, by method and path. An answer that is no list or
// object is a refusal with this text.
func answering(t *testing.T, answers map[string]string) *rest.Config {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, known := answers[r.Method+" "+r.URL.Path]
		switch {
		case !known:
			w.WriteHeader(http.StatusNotFound)
		case !strings.HasPrefix(answer, "{"):
			reason := "Invalid"
			if strings.HasPrefix(answer, "forbidden") {
				reason = "Forbidden"
			}
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"message":%q,"code":422}`, reason, answer)
		default:
			_, _ = w.Write([]byte(answer))
		}
	}))
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

// managers returns a list of Deployments with one manager.
func managers(ready int) string {
	return fmt.Sprintf(`{"kind":"DeploymentList","apiVersion":"apps/v1","items":[{"metadata":{"name":"flyball"},"spec":{"template":{"spec":
		{"containers":[{"image":"flyball:v1"}]}}},"status":{"readyReplicas":%d}}]}`, ready)
}

// hooks returns a list of webhook configurations with one webhook that trusts an authority until an instant.
func hooks(t *testing.T, until time.Time) string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	authority := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: until.AddDate(-1, 0, 0), NotAfter: until}
	raw, err := x509.CreateCertificate(nil, authority, authority, public, private)
	if err != nil {
		t.Fatal(err)
	}
	var bundle bytes.Buffer
	if err := pem.Encode(&bundle, &pem.Block{Type: "CERTIFICATE", Bytes: raw}); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"kind":"ValidatingWebhookConfigurationList","apiVersion":"admissionregistration.k8s.io/v1","items":[
		{"metadata":{"name":"flyball"},"webhooks":[{"name":"validate.flyball.dev","clientConfig":{"caBundle":%q}}]}]}`,
		base64.StdEncoding.EncodeToString(bundle.Bytes()))
}

// TestDoctorReportsManagerCertificatesAndWebhook checks the findings about the manager, the certificates and the
// webhook of a cluster.
func TestDoctorReportsManagerCertificatesAndWebhook(t *testing.T) {
	const noHooks = `{"kind":"ValidatingWebhookConfigurationList","apiVersion":"admissionregistration.k8s.io/v1","items":[
		{"metadata":{"name":"flyball"},"webhooks":[{"name":"validate.flyball.dev","clientConfig":{}}]}]}`
	lasting := hooks(t, noon.AddDate(1, 0, 0))
	for name, c := range map[string]struct {
		deployments, hooks, probe string
		want                      []string
	}{
		"healthy": {managers(2), lasting, "spec.timeZone: Invalid value",
			[]string{"manager ok it runs", "webhook certificates ok 1 webhook, trusted for longer than a day",
				"webhook ok it answers, and refuses what is wrong"}},
		"no ready replica, an authority that ends, no webhook": {managers(0), hooks(t, noon.Add(time.Hour)), `{"kind":"Schedule"}`,
			[]string{"manager problem Deployment flyball has no ready replica",
				"webhook certificates problem the authority of validate.flyball.dev ends",
				"webhook problem a schedule in a time zone that does not exist was let through"}},
		"no authority, no answer": {managers(1), noHooks, "failed calling webhook: no endpoints",
			[]string{"webhook certificates problem validate.flyball.dev has no caBundle", "webhook problem it cannot be reached"}},
		"no manager, no rights": {`{"kind":"DeploymentList","apiVersion":"apps/v1"}`, "forbidden: no", "forbidden: no",
			[]string{"manager not checked there is no Deployment", "webhook certificates not checked forbidden: no",
				"webhook not checked to see whether it answers takes the right to create schedules in namespace shop"}},
		"another refusal": {"forbidden: no", lasting, "too busy", []string{"manager not checked forbidden: no", "webhook not checked too busy"}},
	} {
		t.Run(name, func(t *testing.T) {
			config := answering(t, map[string]string{deploymentsPath: c.deployments, hooksPath: c.hooks, probePath: c.probe})
			found := &Checkup{}
			found.Live(t.Context(), kubernetes.NewForConfigOrDie(config), dynamic.NewForConfigOrDie(config), "flyball-system", "shop", noon)
			var got strings.Builder
			for _, check := range found.Checks {
				fmt.Fprintf(&got, "%s %s %s\n", check.Name, check.Outcome, strings.Join(check.Details, "; "))
			}
			for _, want := range c.want {
				if !strings.Contains(got.String(), want) {
					t.Errorf("%q is not in\n%s", want, got.String())
				}
			}
		})
	}
}
