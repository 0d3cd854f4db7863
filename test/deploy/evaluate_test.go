package deploy

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"flyball.dev/flyball/engine/admission/evaluate"
)

// TestChartGrantsTheEvaluateAPIOnlyIfEnabled checks that the chart has no part of the evaluate API unless it is
// enabled, and that it then grants only
// the necessary rights.
func TestChartGrantsTheEvaluateAPIOnlyIfEnabled(t *testing.T) {
	const on = "evaluate.enabled=true"
	reviews := func(args ...string) (all []string) {
		for _, rule := range rules(t, find(t, render(t, args...), "ClusterRole", "flyball-base")) {
			if slices.Contains(rule.Resources, "tokenreviews") {
				all = append(all, rule.Verbs...)
			}
		}
		return all
	}
	flags := func(args ...string) (all []string) {
		for _, arg := range deployment(t, render(t, args...)).Spec.Template.Spec.Containers[0].Args {
			if strings.HasPrefix(arg, "--evaluate") {
				all = append(all, arg)
			}
		}
		return all
	}
	if got := append(flags(), reviews()...); len(got) != 0 {
		t.Errorf("by default there is %v", got)
	}
	if got := reviews("--set", on); !slices.Equal(got, []string{"create"}) {
		t.Errorf("tokenreviews: %v", got)
	}
	if got := flags("--set", on); !slices.Equal(got, []string{"--evaluate", "--evaluate-rate=5"}) {
		t.Errorf("flags: %v", got)
	}
	if got := flags("--set", on, "--set-json", `evaluate.rate=0.5,evaluate.audiences=["a","b"]`); !slices.Equal(got,
		[]string{"--evaluate", "--evaluate-rate=0.5", "--evaluate-audiences=a,b"}) {
		t.Errorf("flags: %v", got)
	}
	role := rules(t, find(t, render(t, "--set", on), "ClusterRole", "flyball-evaluate"))
	if len(role) != 1 || !slices.Equal(role[0].Resources, []string{evaluate.Resource}) || !slices.Equal(role[0].Verbs, []string{"create"}) {
		t.Errorf("the role of pipelines: %+v", role)
	}
	for _, bad := range []string{on + ",webhook.enabled=false", on + ",evaluate.rate=0", "evaluate.on=true"} {
		if out, err := here.tool(t.Context(), "helm", "template", release, chart, "--set", bad); err == nil {
			t.Errorf("--set %s is taken:\n%.200s", bad, out)
		}
	}
}

// TestPipelinesAreLetIn checks that the network policy admits pipelines if it names the clients of the webhook.
func TestPipelinesAreLetIn(t *testing.T) {
	from := func(args ...string) (labels []string) {
		var p networkingv1.NetworkPolicy
		obj := find(t, render(t, append(args, "--set-json", `networkPolicy.pipelines=[{"podSelector":{"matchLabels":{"app":"runner"}}}]`)...),
			"NetworkPolicy", "flyball")
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, &p, true); err != nil {
			t.Fatal(err)
		}
		for _, peer := range p.Spec.Ingress[0].From {
			if peer.IPBlock != nil {
				labels = append(labels, peer.IPBlock.CIDR)
			} else {
				labels = append(labels, peer.PodSelector.MatchLabels["app"])
			}
		}
		return labels
	}
	servers := `networkPolicy.apiServers=[{"ipBlock":{"cidr":"10.0.0.0/28"}}]`
	for _, test := range []struct{ args, want []string }{
		{nil, nil},
		{[]string{"--set", "evaluate.enabled=true"}, nil},
		{[]string{"--set-json", servers}, []string{"10.0.0.0/28"}},
		{[]string{"--set-json", servers, "--set", "evaluate.enabled=true"}, []string{"10.0.0.0/28", "runner"}},
	} {
		if got := from(test.args...); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v lets in %v, want %v", test.args, got, test.want)
		}
	}
}

// caller returns a function that calls the manager as a new service account in namespace shop. The manager has only the
// chart's rights.
func (s *stage) caller(name string) func(method, path, body string) (int, string) {
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	s.must(here.client.Create(s.ctx, account))
	request := &authenticationv1.TokenRequest{}
	s.must(here.client.SubResource("token").Create(s.ctx, account, request))
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(s.configuration().Webhooks[0].ClientConfig.CABundle)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: "flyball-webhook." +
		namespace + ".svc", MinVersion: tls.VersionTLS12}}}
	return func(method, path, body string) (int, string) {
		req, err := http.NewRequestWithContext(s.ctx, method, fmt.Sprintf("https://localhost:%d%s", s.port, path), bytes.NewBufferString(body))
		s.must(err)
		req.Header.Set("Authorization", "Bearer "+request.Status.Token)
		resp, err := client.Do(req)
		s.must(err)
		defer func() { _ = resp.Body.Close() }()
		text, err := io.ReadAll(resp.Body)
		s.must(err)
		return resp.StatusCode, string(text)
	}
}

// pipelinesAsk lets a service account ask whether a freeze allows its change.
func (s *stage) pipelinesAsk() {
	call := s.caller("pipeline")
	ask := func() (int, string) {
		return call(http.MethodPost, evaluate.Path,
			`{"apiVersion":"flyball.dev/v1alpha1","kind":"FreezeReview","spec":{"action":"Scale","object":{"group":"apps","kind":"Deployment","namespace":"shop","name":"web"}}}`)
	}
	if code, text := ask(); code != http.StatusForbidden ||
		!strings.Contains(text, "may not create freezereviews.flyball.dev in namespace shop") {
		s.Errorf("without a right: %d %s", code, text)
	}
	must(s.T, "kubectl", "create", "rolebinding", "pipeline-evaluate", "-n", "shop", "--clusterrole=flyball-evaluate",
		"--serviceaccount=shop:pipeline")
	eventually(s.T, func() error {
		code, text := ask()
		var review evaluate.Review
		if err := json.Unmarshal([]byte(text), &review); err != nil || code != http.StatusOK || !review.Status.Allowed {
			return fmt.Errorf("with the chart's role: %d %s", code, text)
		}
		return nil
	})
}
