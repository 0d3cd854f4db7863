package register_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"flyball.dev/flyball/engine/admission/register"
)

func sentRules(operation admissionregistrationv1.OperationType, bundle string) []admissionregistrationv1.ValidatingWebhook {
	return []admissionregistrationv1.ValidatingWebhook{{
		Name: "freeze.flyball.dev", ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: []byte(bundle)},
		Rules: []admissionregistrationv1.RuleWithOperations{{Operations: []admissionregistrationv1.OperationType{operation}}},
	}}
}

// The field manager of a probe depends on the rules only, and not on the server's address or on the probe's own
// webhook.
func TestFieldManagerNamesTheRules(t *testing.T) {
	one := register.ProbeManager(sentRules(admissionregistrationv1.Update, "a"))
	with := append(sentRules(admissionregistrationv1.Update, "b"),
		register.ProbeWebhook(admissionregistrationv1.WebhookClientConfig{}, nil))
	if got := register.ProbeManager(with); got != one {
		t.Errorf("rotation or the probe's own webhook changes the name: %s, %s", one, got)
	}
	if got := register.ProbeManager(sentRules(admissionregistrationv1.Delete, "a")); got == one {
		t.Errorf("other rules have the same name: %s", got)
	}
	if len(one) > 128 {
		t.Errorf("%s is longer than a field manager may be", one)
	}
	w := register.ProbeWebhook(admissionregistrationv1.WebhookClientConfig{}, sentRules(admissionregistrationv1.Update, "a"))
	if !strings.Contains(w.MatchConditions[0].Expression, "'"+one+"'") {
		t.Errorf("the webhook does not look for %s: %s", one, w.MatchConditions[0].Expression)
	}
}

func TestProbesAreDenied(t *testing.T) {
	server := httptest.NewServer(register.ProbeHandler{Ready: func(r *http.Request) error {
		if r.Header.Get("X-Early") != "" {
			return errors.New("not yet")
		}
		return nil
	}})
	defer server.Close()
	ask := func(body, early string) (code int, review admissionv1.AdmissionReview) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Early", early)
		answer, err := server.Client().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		if answer.StatusCode == http.StatusOK {
			if err := json.NewDecoder(answer.Body).Decode(&review); err != nil {
				t.Fatal(err)
			}
		}
		return answer.StatusCode, review
	}
	_, review := ask(`{"request":{"uid":"u-1"}}`, "")
	if r := review.Response; r == nil || r.Allowed || r.UID != "u-1" || !register.ProbeSeen(&apierrors.StatusError{ErrStatus: *r.Result}) {
		t.Errorf("the answer is not recognised: %+v", review.Response)
	}
	if code, _ := ask(`{`, ""); code != http.StatusBadRequest {
		t.Errorf("no review: %d", code)
	}
	if code, _ := ask(`{"request":{"uid":"u-1"}}`, "yes"); code != http.StatusServiceUnavailable {
		t.Errorf("before the policies are read: %d", code)
	}
	if register.ProbeSeen(errors.New("no")) || register.ProbeSeen(nil) || register.ProbeSeen(apierrors.NewUnauthorized("y")) {
		t.Error("something else is taken for the answer to a probe")
	}
}
