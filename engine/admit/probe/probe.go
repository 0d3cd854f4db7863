// Package probe shows that an API server enforces a webhook configuration: one more webhook in the configuration, which sees dry
// runs only that name exactly the rules beside it, and whose denial of such a request proves that the API server has these rules
// and reaches the server behind them.
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
	"flyball.dev/flyball/engine/admit/gate"
)

// WebhookName is how the webhook is named in the configuration.
const WebhookName = "probe.freeze.flyball.dev"

// Path is where the server answers probes.
const Path = "/probe"

// reasonSeen is the reason of the denial by which a probe is recognised.
const reasonSeen metav1.StatusReason = "FlyballProbeSeen"

// maxBody bounds a review of a probe, in bytes: it carries two forms of one Adapter.
const maxBody = 4 << 20

// timeout is how long, in seconds, the API server waits for the answer.
const timeout = 5

// Webhook is what makes rules provable: it sees updates of the status of Adapters that name the revision of the rules, and no
// others. client is how API servers reach Path. Every field that the API server would fill in is given.
func Webhook(client admissionregistrationv1.WebhookClientConfig, beside []admissionregistrationv1.ValidatingWebhook) admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name:         WebhookName,
		ClientConfig: client,
		Rules: []admissionregistrationv1.RuleWithOperations{{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
			Rule: admissionregistrationv1.Rule{APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{v1alpha1.GroupVersion.Version},
				Resources: []string{"adapters/status"}, Scope: new(admissionregistrationv1.AllScopes)},
		}},
		FailurePolicy:           new(admissionregistrationv1.Fail), // so that the API server says why it cannot ask
		MatchPolicy:             new(admissionregistrationv1.Equivalent),
		SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
		TimeoutSeconds:          new(int32(timeout)),
		AdmissionReviewVersions: []string{"v1"},
		NamespaceSelector:       &metav1.LabelSelector{},
		ObjectSelector:          &metav1.LabelSelector{},
		MatchConditions: []admissionregistrationv1.MatchCondition{{
			Name: "probes-these-rules",
			Expression: fmt.Sprintf("request.dryRun && has(request.options) && has(request.options.fieldManager) && request.options.fieldManager == '%s'",
				FieldManager(beside)),
		}},
	}
}

// FieldManager is what a probe of webhooks is sent under: it names their rules and conditions, whatever it is by which API servers
// reach them, for that is rotated.
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
			panic(fmt.Sprintf("encode a webhook: %v", err)) // it has nothing but texts and numbers
		}
		_, _ = hash.Write(text) // a hash takes anything
	}
	return "flyball-probe-" + hex.EncodeToString(hash.Sum(nil)[:8])
}

// Seen says whether the answer to a probe is the denial that it is sent for.
func Seen(err error) bool { return apierrors.ReasonForError(err) == reasonSeen }

// Handler denies every probe, so that it is recognised. Ready says why changes cannot be judged yet.
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
	seen := gate.Answer{Code: http.StatusForbidden, Reason: reasonSeen, Message: "Flyball has seen its probe"}
	_ = seen.Write(w, review.Request.UID) // who does not wait for the answer asks again
}
