package registration

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissionregistrationclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PodsConfigurationName is the name of the MutatingWebhookConfiguration of new pods.
const PodsConfigurationName = "flyball-pods"

// PodsWebhookName is the name of the webhook in the configuration.
const PodsWebhookName = "pods.flyball.dev"

// podsTimeout is the API server's timeout in seconds, the minimum possible. After it the pod is created unchanged.
const podsTimeout = 1

// PodsConfiguration returns the configuration that sends new pods in some namespaces, or in all but the exempt
// namespaces if there are too many. It has no match condition: nearly all pods have an owner, and every pod would pay
// for the evaluation. A pod is created even if the server fails or is slow. All fields with API defaults are set.
func PodsConfiguration(client admissionregistrationv1.WebhookClientConfig, namespaces, exempt []string,
	owner *metav1.OwnerReference) *admissionregistrationv1.MutatingWebhookConfiguration {
	if len(namespaces) > maxNamed {
		namespaces = nil
	}
	config := &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: PodsConfigurationName, Labels: map[string]string{"app.kubernetes.io/name": "flyball"}},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name:         PodsWebhookName,
			ClientConfig: client,
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"},
					Scope: new(admissionregistrationv1.NamespacedScope)},
			}},
			FailurePolicy:           new(admissionregistrationv1.Ignore),
			MatchPolicy:             new(admissionregistrationv1.Equivalent),
			SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
			TimeoutSeconds:          new(int32(podsTimeout)),
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector:       selecting(namespaces, exempt),
			ObjectSelector:          &metav1.LabelSelector{},
			ReinvocationPolicy:      new(admissionregistrationv1.IfNeededReinvocationPolicy),
		}},
	}
	if owner != nil {
		config.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return config
}

// PodsHook keeps the MutatingWebhookConfiguration for the creation of pods up to date.
type PodsHook struct {
	Client admissionregistrationclient.MutatingWebhookConfigurationInterface
}

// Keep creates, corrects or, if want is nil, deletes the configuration. It reports whether it wrote.
func (h PodsHook) Keep(ctx context.Context, want *admissionregistrationv1.MutatingWebhookConfiguration) (wrote bool, err error) {
	live, err := h.Client.Get(ctx, PodsConfigurationName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && want == nil:
		return false, nil
	case apierrors.IsNotFound(err):
		_, err = h.Client.Create(ctx, want, metav1.CreateOptions{FieldManager: FieldManager})
	case err != nil:
	case want == nil:
		err = client.IgnoreNotFound(h.Client.Delete(ctx, live.Name,
			metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &live.ResourceVersion}}))
	case equality.Semantic.DeepEqual(live.Webhooks, want.Webhooks) && equality.Semantic.DeepEqual(live.OwnerReferences, want.OwnerReferences):
		return false, nil
	default:
		next := live.DeepCopy()
		next.Webhooks, next.OwnerReferences = want.Webhooks, want.OwnerReferences
		_, err = h.Client.Update(ctx, next, metav1.UpdateOptions{FieldManager: FieldManager})
	}
	if err != nil {
		return false, fmt.Errorf("keep the MutatingWebhookConfiguration %s: %w", PodsConfigurationName, err)
	}
	return true, nil
}
