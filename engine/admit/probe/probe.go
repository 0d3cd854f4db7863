// Package probe proves that an API server enforces a webhook configuration. It adds a webhook to the configuration
// that denies certain dry runs, the probes. A probe carries a hash of the configuration's rules, and the webhook
// matches only probes with the hash of its own configuration. So a denied probe proves that the API server has these
// rules and reaches the server.
//
// Decisions (docs/decisions): 0031.
package probe

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admit/limits"
)

// WebhookName is the name of the probe's webhook in the configuration.
const WebhookName = "probe.freeze.flyball.dev"

// Path is the path of the server for probes.
const Path = "/probe"

// reasonSeen is the reason of the denial that identifies a probe.
const reasonSeen metav1.StatusReason = "FlyballProbeSeen"

// maxBody limits a review of a probe, in bytes: two versions of one Adapter.
const maxBody = 4 << 20

// timeout is the API server's timeout for the answer, in seconds.
const timeout = 5

// Webhook returns the probe's webhook for a configuration with the webhooks in beside. It matches only dry runs of
// status updates of Adapters whose field manager is FieldManager(beside). client is the client configuration for
// Path. All fields with API defaults are set.
func Webhook(client admissionregistrationv1.WebhookClientConfig,
	beside []admissionregistrationv1.ValidatingWebhook) admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name:         WebhookName,
		ClientConfig: client,
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
			Rule: admissionregistrationv1.Rule{APIGroups: []string{v1alpha1.GroupVersion.Group},
				APIVersions: []string{v1alpha1.GroupVersion.Version},
				Resources:   []string{"adapters/status"}, Scope: new(admissionregistrationv1.AllScopes)},
		}},
		FailurePolicy:           new(admissionregistrationv1.Fail), // so that the API server reports why it cannot reach the server
		MatchPolicy:             new(admissionregistrationv1.Equivalent),
		SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
		TimeoutSeconds:          new(int32(timeout)),
		AdmissionReviewVersions: []string{"v1"},
		NamespaceSelector:       &metav1.LabelSelector{},
		ObjectSelector:          &metav1.LabelSelector{},
		MatchConditions: []admissionregistrationv1.MatchCondition{{
			Name: "probes-these-rules",
			Expression: fmt.Sprintf("request.dryRun && has(request.options) && has(request.options.fieldManager) && "+
				"request.options.fieldManager == '%s'",
				FieldManager(beside)),
		}},
	}
}

// FieldManager returns the field manager of probes of some webhooks. It has a hash of their rules and conditions. The
// hash leaves out the client configuration, because the CA bundle changes with every rotation.
func FieldManager(webhooks []admissionregistrationv1.ValidatingWebhook) string {
	hash := sha256.New()
	for i := range webhooks {
		if webhooks[i].Name == WebhookName {
			continue
		}
		w := webhooks[i].DeepCopy()
		w.ClientConfig = admissionregistrationv1.WebhookClientConfig{}
		text, err := json.Marshal(w)
		if err != nil {
			panic(fmt.Sprintf("encode a webhook: %v", err)) // a webhook has only texts and numbers
		}
		_, _ = hash.Write(text) // a hash never fails
	}
	return "flyball-probe-" + hex.EncodeToString(hash.Sum(nil)[:8])
}

// Seen reports whether the answer to a probe is the expected denial.
func Seen(err error) bool { return apierrors.ReasonForError(err) == reasonSeen }

// Handler denies every probe. Ready returns the reason why changes cannot be judged yet.
type Handler struct{ Ready func(*http.Request) error }

// ServeHTTP implements http.Handler.
func (h Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if err := h.Ready(req); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	var review struct {
		Request struct {
			UID string `json:"uid"`
		} `json:"request"`
	}
	if err := json.NewDecoder(io.LimitReader(req.Body, maxBody)).Decode(&review); err != nil {
		http.Error(w, "read the review of a probe: "+err.Error(), http.StatusBadRequest)
		return
	}
	answer := limits.Answer{Code: http.StatusForbidden, Reason: reasonSeen, Message: "Flyball has seen its probe"}
	_ = answer.Write(w, review.Request.UID) // a client that did not wait retries
}
