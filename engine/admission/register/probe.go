package register

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/path/rawjson"
)

// probeWebhookName is the name of the probe's webhook in the configuration.
const probeWebhookName = "probe.freeze.flyball.dev"

// reasonSeen is the reason of the denial that identifies a probe.
const reasonSeen metav1.StatusReason = "FlyballProbeSeen"

// ProbeWebhook returns the webhook for probes of a configuration with some webhooks. A probe proves that an API server
// enforces the configuration: it is a dry run of a status update of an Adapter that this webhook denies. The probe carries
// a hash of the configuration's rules, and the webhook matches only probes with the hash of its own configuration. So a
// denied probe proves that the API server has these rules and reaches the server.
func ProbeWebhook(client admissionregistrationv1.WebhookClientConfig,
	beside []admissionregistrationv1.ValidatingWebhook) admissionregistrationv1.ValidatingWebhook {
	return newWebhook(probeWebhookName, client, []admissionregistrationv1.RuleWithOperations{
		ruleOf(updates, v1alpha1.GroupVersion.Group, []string{v1alpha1.GroupVersion.Version}, "adapters/status"),
	}, condition("probes-these-rules", fmt.Sprintf("request.dryRun && has(request.options) && has(request.options.fieldManager) && "+
		"request.options.fieldManager == '%s'", ProbeManager(beside))))
}

// ProbeManager returns the field manager of probes of some webhooks. It has a hash of their rules and conditions. The
// hash leaves out the client configuration, because the CA bundle changes with every rotation.
func ProbeManager(webhooks []admissionregistrationv1.ValidatingWebhook) string {
	hash := sha256.New()
	for i := range webhooks {
		if webhooks[i].Name == probeWebhookName {
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

// ProbeSeen reports whether the answer to a probe is the expected denial.
func ProbeSeen(err error) bool { return apierrors.ReasonForError(err) == reasonSeen }

// ProbeHandler denies every probe. Ready returns the reason why changes cannot be judged yet.
type ProbeHandler struct{ Ready func(*http.Request) error }

// ServeHTTP implements http.Handler.
func (h ProbeHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if err := h.Ready(req); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	body, err := review.ReadBody(w, req)
	if err != nil || !rawjson.ValidBytes(body) {
		http.Error(w, "the review of a probe cannot be read", http.StatusBadRequest)
		return
	}
	answer := review.Answer{Code: http.StatusForbidden, Reason: reasonSeen, Message: "Flyball has seen its probe"}
	_ = answer.Write(w, rawjson.GetBytes(body, "request.uid").String()) // a client that did not wait retries
}
