package registration

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissionregistrationclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/engine/admit/limits"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// FreezeConfigurationName is the name of the ValidatingWebhookConfiguration of freezes. It must be listed in
// Options.Configurations.
const FreezeConfigurationName = "flyball-freeze"

// freezeWebhookName and namespaceWebhookName are the names of the webhooks of workloads and of namespaces, as shown in
// refusals.
const (
	freezeWebhookName    = "freeze.flyball.dev"
	namespaceWebhookName = "namespaces.freeze.flyball.dev"
)

// Timeout is the API server's timeout for a verdict, in seconds.
const Timeout = 5

// EveryWrite are the operations that change an object.
var EveryWrite = []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update,
	admissionregistrationv1.Delete}

// FreezeRule is one adapted kind in use by a freeze, with the denied actions.
type FreezeRule struct {
	Group, Resource string
	// Namespaces are the namespaces with the denial. Empty means all namespaces and cluster-scoped objects.
	Namespaces []string
	// Versions are the versions of the adapter. The API server converts requests in other versions.
	Versions []string
	// Subresources are the subresources, besides scale, whose updates the adapter classifies.
	Subresources []string
	Actions      workload.Change
	// Resize means that only in-place changes of pod resources are judged, as a scale of the pod's owners.
	Resize bool
	// Governs is true if objects of the kind scale further objects and a policy denies scaling those. Every change of
	// the kind is then judged.
	Governs bool
}

// FreezeScope has the inputs of the configuration of freezes, except its rules.
type FreezeScope struct {
	// Exempt are namespaces in which changes are never judged, so a broken webhook can be repaired.
	Exempt []string
	// Account and FieldManager identify Flyball's own writes. Both must match: a different tool under the same account is
	// judged.
	Account, FieldManager string
	// Namespaces is the failure policy for label changes of namespaces: Fail while a freeze with a namespace selector
	// is active or about to be, Ignore to judge them only while a replica answers. Empty means never judged.
	Namespaces admissionregistrationv1.FailurePolicyType
	// Owner is the owner of the configuration. Because of it, an uninstallation of Flyball also deletes the
	// configuration, which would otherwise block changes.
	Owner *metav1.OwnerReference
}

// FreezeConfiguration returns the configuration for judging exactly the changes denied by some freeze, or nil if no
// freeze denies any. A change denied only in some namespaces is sent only from these namespaces, so other namespaces
// do not depend on the server. Changes by the control plane and by Flyball itself are not sent. All fields with API
// defaults are set.
func FreezeConfiguration(client admissionregistrationv1.WebhookClientConfig, kinds []FreezeRule,
	scope FreezeScope) *admissionregistrationv1.ValidatingWebhookConfiguration {
	everywhere, parts := partition(kinds)
	if len(everywhere)+len(parts) == 0 {
		return nil
	}
	webhook := admissionregistrationv1.ValidatingWebhook{
		Name:                    freezeWebhookName,
		ClientConfig:            client,
		Rules:                   everywhere,
		FailurePolicy:           new(admissionregistrationv1.Fail),
		MatchPolicy:             new(admissionregistrationv1.Equivalent),
		SideEffects:             new(admissionregistrationv1.SideEffectClassNoneOnDryRun),
		TimeoutSeconds:          new(int32(Timeout)),
		AdmissionReviewVersions: []string{"v1"},
		NamespaceSelector:       selecting(nil, scope.Exempt),
		ObjectSelector:          &metav1.LabelSelector{},
		MatchConditions:         append(judgedUsers(scope), judgedStatus(kinds)),
	}
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: FreezeConfigurationName, Labels: map[string]string{"app.kubernetes.io/name": "flyball"}},
	}
	if len(everywhere) > 0 {
		config.Webhooks = append(config.Webhooks, webhook)
	}
	for i, p := range parts {
		named := *webhook.DeepCopy()
		named.Name, named.Rules, named.NamespaceSelector = fmt.Sprintf("named-%d.%s", i+1, freezeWebhookName), p.rules,
			selecting(p.namespaces, scope.Exempt)
		config.Webhooks = append(config.Webhooks, named)
	}
	if scope.Owner != nil {
		config.OwnerReferences = []metav1.OwnerReference{*scope.Owner}
	}
	if scope.Namespaces != "" {
		config.Webhooks = append(config.Webhooks, namespaceWebhook(webhook, scope.Namespaces))
	}
	return config
}

// namespaceWebhook returns the webhook for label changes of namespaces. Other changes of namespaces are not sent, and
// work while no replica answers.
func namespaceWebhook(like admissionregistrationv1.ValidatingWebhook,
	failurePolicy admissionregistrationv1.FailurePolicyType) admissionregistrationv1.ValidatingWebhook {
	like.Name = namespaceWebhookName
	like.ClientConfig = open(like.ClientConfig)
	like.FailurePolicy = &failurePolicy
	like.Rules = []admissionregistrationv1.RuleWithOperations{
		ruleOf([]admissionregistrationv1.OperationType{admissionregistrationv1.Update}, "", []string{"v1"}, "namespaces", "namespaces/finalize",
			"namespaces/status"),
	}
	like.MatchConditions = append(slices.Clone(like.MatchConditions), admissionregistrationv1.MatchCondition{
		Name:       "labels-changed",
		Expression: "object.metadata.?labels.orValue({}) != oldObject.metadata.?labels.orValue({})",
	})
	return like
}

// open adds the suffix for a webhook that fails open to the path, so the server answers with a denial instead of
// an error.
func open(client admissionregistrationv1.WebhookClientConfig) admissionregistrationv1.WebhookClientConfig {
	client = *client.DeepCopy()
	if client.URL != nil {
		*client.URL += limits.OpenSuffix
	}
	if client.Service != nil && client.Service.Path != nil {
		*client.Service.Path += limits.OpenSuffix
	}
	return client
}

// selecting returns a selector of the given namespaces, or of all namespaces if names is empty. The namespaces in but
// are excluded. The API server sets the label of the selector, so users cannot change it.
func selecting(names, but []string) *metav1.LabelSelector {
	selector := &metav1.LabelSelector{}
	add := func(operator metav1.LabelSelectorOperator, values []string) {
		if len(values) > 0 {
			selector.MatchExpressions = append(selector.MatchExpressions, metav1.LabelSelectorRequirement{
				Key: corev1.LabelMetadataName, Operator: operator, Values: slices.Sorted(slices.Values(values)),
			})
		}
	}
	add(metav1.LabelSelectorOpIn, names)
	add(metav1.LabelSelectorOpNotIn, but)
	return selector
}

// judgedUsers returns the match conditions that exclude Flyball and the control plane.
func judgedUsers(scope FreezeScope) []admissionregistrationv1.MatchCondition {
	conditions := []admissionregistrationv1.MatchCondition{{
		Name:       "not-the-control-plane",
		Expression: "!(request.userInfo.username in ['" + strings.Join(freeze.ControlPlaneUsers(), "', '") + "'])",
	}}
	if scope.Account != "" {
		conditions = append(conditions, admissionregistrationv1.MatchCondition{
			Name: "not-flyball",
			Expression: fmt.Sprintf("request.userInfo.username != %s || !has(request.options) || !has(request.options.fieldManager) || "+
				"request.options.fieldManager != %s",
				celText(scope.Account), celText(scope.FieldManager)),
		})
	}
	return conditions
}

// Resize is the subresource of pods for changing resource requests in place.
const Resize = "resize"

// status is the subresource for reports of controllers.
const status = "status"

// judgedStatus returns the match condition for writes of the status. If an adapter judges fields of the status, every
// write is sent. Otherwise a write is sent only if it changes labels, annotations or owner references, which built-in
// kinds allow through the status. So controllers can report the status without the server.
func judgedStatus(kinds []FreezeRule) admissionregistrationv1.MatchCondition {
	var listed []string
	for _, k := range kinds {
		if name := celText(k.Group + "/" + k.Resource); slices.Contains(k.Subresources, status) && !slices.Contains(listed, name) {
			listed = append(listed, name)
		}
	}
	slices.Sort(listed)
	changed := func(field, none string) string {
		return "object.metadata.?" + field + ".orValue(" + none + ") != oldObject.metadata.?" + field + ".orValue(" + none + ")"
	}
	return admissionregistrationv1.MatchCondition{
		Name: "no-mere-status",
		Expression: "request.?subResource.orValue('') != '" + status + "' || (request.resource.group + '/' + request.resource.resource) in [" +
			strings.Join(listed, ", ") + "] || " +
			changed("labels", "{}") + " || " + changed("annotations", "{}") + " || " + changed("ownerReferences", "[]"),
	}
}

// celText quotes a string for CEL.
func celText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// FreezeHook keeps the configuration of freezes up to date. Every replica does; conflicts are resolved by
// resourceVersion.
type FreezeHook struct {
	Client admissionregistrationclient.ValidatingWebhookConfigurationInterface
	Author Author
}

// Keep creates, corrects or, if want is nil, deletes the configuration. With keepBundle the authorities stay
// unchanged, because the Server maintains them. Keep reports whether it wrote.
func (h FreezeHook) Keep(ctx context.Context, want *admissionregistrationv1.ValidatingWebhookConfiguration, keepBundle bool) (wrote bool,
	err error) {
	live, err := h.Client.Get(ctx, FreezeConfigurationName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && want == nil:
		return false, nil
	case apierrors.IsNotFound(err):
		h.Author.sign(want)
		_, err = h.Client.Create(ctx, want, metav1.CreateOptions{FieldManager: FieldManager})
		if apierrors.IsAlreadyExists(err) {
			return false, nil // another replica was first; its write triggers the next call
		}
		return err == nil, wrap("create", err)
	case err != nil:
		return false, wrap("read", err)
	case want == nil && h.Author.yields(live):
		return false, nil
	case want == nil:
		err = h.Client.Delete(ctx, live.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &live.ResourceVersion}})
		return err == nil, wrap("delete", client.IgnoreNotFound(err))
	}
	want = want.DeepCopy()
	for i := range want.Webhooks {
		same := slices.IndexFunc(live.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool { return w.Name == want.Webhooks[i].Name })
		if keepBundle && same >= 0 && len(live.Webhooks[same].ClientConfig.CABundle) > 0 {
			want.Webhooks[i].ClientConfig.CABundle = live.Webhooks[same].ClientConfig.CABundle
		}
	}
	next := h.Author.corrected(live, want)
	if next == nil {
		return false, nil
	}
	_, err = h.Client.Update(ctx, next, metav1.UpdateOptions{FieldManager: FieldManager})
	return err == nil, wrap("update", err)
}

// Changed returns a channel that receives when the configuration has been created, changed or deleted, or when the
// author starts to lead. It watches the object until the context ends.
func (h FreezeHook) Changed(ctx context.Context, log logr.Logger) (<-chan struct{}, error) {
	changed := make(chan struct{}, 1)
	if err := WatchNamed(ctx, h.Client, FreezeConfigurationName, &admissionregistrationv1.ValidatingWebhookConfiguration{}, log,
		changed); err != nil {
		return nil, fmt.Errorf("watch the ValidatingWebhookConfiguration %s: %w", FreezeConfigurationName, err)
	}
	h.Author.notifyLead(ctx.Done(), changed)
	return changed, nil
}

func wrap(verb string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s the ValidatingWebhookConfiguration %s: %w", verb, FreezeConfigurationName, err)
}
