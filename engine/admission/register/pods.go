package register

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodsWebhookName is the name of the webhook of new pods.
const PodsWebhookName = "pods.flyball.dev"

// podsTimeout is the API server's timeout in seconds, the minimum possible. After it the pod is created unchanged.
const podsTimeout = 1

// PodsConfiguration returns the configuration that sends new pods in some namespaces, or in all but the exempt
// namespaces if there are too many. It has no match condition: nearly all pods have an owner, and every pod would pay
// for the evaluation. A pod is created even if the server fails or is slow. All fields with API defaults are set.
func PodsConfiguration(client admissionregistrationv1.WebhookClientConfig, namespaces,
	exempt []string) *admissionregistrationv1.MutatingWebhookConfiguration {
	if len(namespaces) > maxNamed {
		namespaces = nil
	}
	rule := ruleOf([]admissionregistrationv1.OperationType{admissionregistrationv1.Create}, "", []string{"v1"}, "pods")
	rule.Scope = new(admissionregistrationv1.NamespacedScope)
	return &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metaOf(PodsConfigurationName),
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:                    PodsWebhookName,
			ClientConfig:            client,
			Rules:                   []admissionregistrationv1.RuleWithOperations{rule},
			FailurePolicy:           new(admissionregistrationv1.Ignore),
			MatchPolicy:             new(admissionregistrationv1.Equivalent),
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			TimeoutSeconds:          new(int32(podsTimeout)),
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector:       selecting(namespaces, exempt),
			ObjectSelector:          &metav1.LabelSelector{},
			ReinvocationPolicy:      new(admissionregistrationv1.IfNeededReinvocationPolicy),
		}}}
}
