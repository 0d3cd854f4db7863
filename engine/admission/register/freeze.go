package register

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// freezeWebhookName and namespaceWebhookName are the names of the webhooks of workloads and of namespaces, as shown in
// refusals.
const (
	freezeWebhookName    = "freeze.flyball.dev"
	namespaceWebhookName = "namespaces.freeze.flyball.dev"
)

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
	// DryRun lets changes pass while no replica answers.
	DryRun bool
}

// FreezeConfiguration returns the configuration for judging exactly the changes denied by some freeze, or nil if no
// freeze denies any. A change denied only in some namespaces is sent only from these namespaces, so other namespaces
// do not depend on the server. Changes by the control plane and by Flyball itself are not sent.
func FreezeConfiguration(client admissionregistrationv1.WebhookClientConfig, kinds []FreezeRule,
	scope FreezeScope) *admissionregistrationv1.ValidatingWebhookConfiguration {
	everywhere, groups := partition(kinds)
	if len(everywhere)+len(groups) == 0 {
		return nil
	}
	conditions := append(judgedUsers(scope), judgedStatus(kinds))
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metaOf(FreezeConfigurationName)}
	add := func(name string, namespaces []string, rules []admissionregistrationv1.RuleWithOperations) {
		w := newWebhook(name, client, rules, conditions...)
		w.NamespaceSelector = selecting(namespaces, scope.Exempt)
		config.Webhooks = append(config.Webhooks, w)
	}
	if len(everywhere) > 0 {
		add(freezeWebhookName, nil, everywhere)
	}
	for i, g := range groups {
		add(fmt.Sprintf("named-%d.%s", i+1, freezeWebhookName), g.namespaces, g.rules)
	}
	if scope.Namespaces != "" {
		// Changes of namespaces without other labels are not sent, and work while no replica answers.
		w := newWebhook(namespaceWebhookName, open(client), []admissionregistrationv1.RuleWithOperations{
			ruleOf(updates, "", []string{"v1"}, "namespaces", "namespaces/finalize", "namespaces/status"),
		}, append(slices.Clone(conditions), condition("labels-changed",
			"object.metadata.?labels.orValue({}) != oldObject.metadata.?labels.orValue({})"))...)
		w.FailurePolicy, w.NamespaceSelector = &scope.Namespaces, selecting(nil, scope.Exempt)
		config.Webhooks = append(config.Webhooks, w)
	}
	for i := range config.Webhooks {
		if scope.DryRun {
			config.Webhooks[i].FailurePolicy = new(admissionregistrationv1.Ignore)
		}
	}
	return config
}

// open adds the suffix for a webhook that fails open to the path, so the server answers with a denial instead of
// an error.
func open(client admissionregistrationv1.WebhookClientConfig) admissionregistrationv1.WebhookClientConfig {
	client = *client.DeepCopy()
	if client.URL != nil {
		*client.URL += review.OpenSuffix
	}
	if client.Service != nil && client.Service.Path != nil {
		*client.Service.Path += review.OpenSuffix
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
	conditions := []admissionregistrationv1.MatchCondition{condition("not-the-control-plane",
		"!(request.userInfo.username in ['"+strings.Join(freeze.ControlPlaneUsers(), "', '")+"'])")}
	if scope.Account != "" {
		conditions = append(conditions, condition("not-flyball", fmt.Sprintf(
			"request.userInfo.username != %s || !has(request.options) || !has(request.options.fieldManager) || "+
				"request.options.fieldManager != %s", celText(scope.Account), celText(scope.FieldManager))))
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
	return condition("no-mere-status", "request.?subResource.orValue('') != '"+status+
		"' || (request.resource.group + '/' + request.resource.resource) in ["+strings.Join(listed, ", ")+"] || "+
		changed("labels", "{}")+" || "+changed("annotations", "{}")+" || "+changed("ownerReferences", "[]"))
}

// celText quotes a string for CEL.
func celText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}
