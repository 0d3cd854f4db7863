package registration

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissionregistrationclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/engine/admit/gate"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// FreezeConfigurationName is the ValidatingWebhookConfiguration of freezes. Name it in Options.Configurations.
const FreezeConfigurationName = "flyball-freeze"

// freezeWebhookName and namespaceWebhookName are how refusals name the webhooks of workloads and of namespaces.
const (
	freezeWebhookName    = "freeze.flyball.dev"
	namespaceWebhookName = "namespaces.freeze.flyball.dev"
)

// Timeout is how long, in seconds, the API server waits for a verdict.
const Timeout = 5

// EveryWrite is all that changes an object.
var EveryWrite = []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update, admissionregistrationv1.Delete}

// FreezeRule is one adapted kind in use by a freeze, with the actions that are denied on it.
type FreezeRule struct {
	Group, Resource string
	// Namespaces are those in which they are denied; empty: in all, and outside of them.
	Namespaces []string
	// Versions are those that the adapter speaks of; requests in others are converted by the API server.
	Versions []string
	// Subresources are those, besides scale, whose updates the adapter classifies.
	Subresources []string
	Actions      workload.Change
	// Resize has changes of the resources of pods in place judged, and nothing else of the kind: they scale what the pods belong to.
	Resize bool
	// Governs is true where objects of the kind scale others of which some policy denies that: each change of them is judged.
	Governs bool
}

// FreezeScope says what the configuration of freezes covers besides its rules.
type FreezeScope struct {
	// Exempt are namespaces that are never judged, so that a dead webhook can be repaired.
	Exempt []string
	// Account and FieldManager tell Flyball's own writes. Both have to hold, so that somebody who works under the same
	// account with another tool is judged.
	Account, FieldManager string
	// Namespaces guards the labels of namespaces: Fail while a freeze that selects by them is, or is about to be, active. Ignore
	// guards them while a replica answers; empty: not at all.
	Namespaces admissionregistrationv1.FailurePolicyType
	// Owner is what the configuration goes with, so that nothing is left that blocks when Flyball is removed.
	Owner *metav1.OwnerReference
}

// FreezeConfiguration makes the configuration that has the changes judged which some freeze denies, and no others. It is nil
// if there are none. What is denied in some namespaces only is sent from there only, so that who freezes their own depends on the
// server alone. What the control plane's own controllers and Flyball itself do is not sent at all. Every field that the API server
// would fill in is given.
func FreezeConfiguration(client admissionregistrationv1.WebhookClientConfig, kinds []FreezeRule, scope FreezeScope) *admissionregistrationv1.ValidatingWebhookConfiguration {
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
		named.Name, named.Rules, named.NamespaceSelector = fmt.Sprintf("named-%d.%s", i+1, freezeWebhookName), p.rules, selecting(p.namespaces, scope.Exempt)
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

// isFreezeWebhook says whether a webhook is one of those of workloads.
func isFreezeWebhook(name string) bool {
	return name == freezeWebhookName || strings.HasPrefix(name, "named-") && strings.HasSuffix(name, "."+freezeWebhookName)
}

// namespaceWebhook has changes of the labels of namespaces judged, as the webhook of workloads does theirs. All else of namespaces is
// not sent, and works while nobody answers.
func namespaceWebhook(like admissionregistrationv1.ValidatingWebhook, failurePolicy admissionregistrationv1.FailurePolicyType) admissionregistrationv1.ValidatingWebhook {
	like.Name = namespaceWebhookName
	like.ClientConfig = open(like.ClientConfig)
	like.FailurePolicy = &failurePolicy
	like.Rules = []admissionregistrationv1.RuleWithOperations{
		ruleOf([]admissionregistrationv1.OperationType{admissionregistrationv1.Update}, "", []string{"v1"}, "namespaces", "namespaces/finalize", "namespaces/status"),
	}
	like.MatchConditions = append(slices.Clone(like.MatchConditions), admissionregistrationv1.MatchCondition{
		Name:       "labels-changed",
		Expression: "object.metadata.?labels.orValue({}) != oldObject.metadata.?labels.orValue({})",
	})
	return like
}

// open says by the path that a webhook may fail open, so that the server answers such a review with a denial where it would answer
// another one with an error.
func open(client admissionregistrationv1.WebhookClientConfig) admissionregistrationv1.WebhookClientConfig {
	client = *client.DeepCopy()
	if client.URL != nil {
		*client.URL += gate.OpenSuffix
	}
	if client.Service != nil && client.Service.Path != nil {
		*client.Service.Path += gate.OpenSuffix
	}
	return client
}

// selecting is the selector of some namespaces, or of all, but for others. The label is the API server's own: nobody sets it.
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

// judgedUsers are the conditions by which API servers send only what others than Flyball and the control plane ask for.
func judgedUsers(scope FreezeScope) []admissionregistrationv1.MatchCondition {
	conditions := []admissionregistrationv1.MatchCondition{{
		Name:       "not-the-control-plane",
		Expression: "!(request.userInfo.username in ['" + strings.Join(freeze.ControlPlaneUsers(), "', '") + "'])",
	}}
	if scope.Account != "" {
		conditions = append(conditions, admissionregistrationv1.MatchCondition{
			Name: "not-flyball",
			Expression: fmt.Sprintf("request.userInfo.username != %s || !has(request.options) || !has(request.options.fieldManager) || request.options.fieldManager != %s",
				celText(scope.Account), celText(scope.FieldManager)),
		})
	}
	return conditions
}

// Resize is the subresource of pods by which what their containers request is changed in place.
const Resize = "resize"

// status is the subresource that controllers report by.
const status = "status"

// judgedStatus is the condition by which API servers send a status where its fields are judged, and else only if it changes labels,
// annotations or owners, which the status of built-in kinds takes: a controller that reports what it sees is not judged, and does not
// depend on the server.
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
		Expression: "request.?subResource.orValue('') != '" + status + "' || (request.resource.group + '/' + request.resource.resource) in [" + strings.Join(listed, ", ") + "] || " +
			changed("labels", "{}") + " || " + changed("annotations", "{}") + " || " + changed("ownerReferences", "[]"),
	}
}

// celText writes a text as CEL reads it.
func celText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(s) + "'"
}

// FreezeHook keeps the configuration of freezes: every replica does, and the API server's resourceVersion decides between
// them.
type FreezeHook struct {
	Client admissionregistrationclient.ValidatingWebhookConfigurationInterface
	Author Author
}

// Keep brings the configuration to what is wanted: made, corrected or, where nothing is wanted, removed. The authorities that
// it trusts once it exists, and the path on the same server, are kept by the Server, if keepBundle says so. It reports whether it wrote.
func (h FreezeHook) Keep(ctx context.Context, want *admissionregistrationv1.ValidatingWebhookConfiguration, keepBundle bool) (wrote bool, err error) {
	live, err := h.Client.Get(ctx, FreezeConfigurationName, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && want == nil:
		return false, nil
	case apierrors.IsNotFound(err):
		h.Author.sign(want)
		_, err = h.Client.Create(ctx, want, metav1.CreateOptions{FieldManager: FieldManager})
		if apierrors.IsAlreadyExists(err) {
			return false, nil // another replica was first; its write brings this one back here
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
		if keepBundle && same >= 0 {
			keepReach(&want.Webhooks[i].ClientConfig, live.Webhooks[same].ClientConfig)
		}
	}
	next := h.Author.corrected(live, want)
	if next == nil {
		return false, nil
	}
	_, err = h.Client.Update(ctx, next, metav1.UpdateOptions{FieldManager: FieldManager})
	return err == nil, wrap("update", err)
}

// Changed gives a channel that has something in it once the configuration was made, changed or deleted, by whomever, since it was
// last read, or once the author began to lead. It watches the one object until the context ends.
func (h FreezeHook) Changed(ctx context.Context, log logr.Logger) (<-chan struct{}, error) {
	changed := make(chan struct{}, 1)
	if err := WatchNamed(ctx, h.Client, FreezeConfigurationName, &admissionregistrationv1.ValidatingWebhookConfiguration{}, log, changed); err != nil {
		return nil, fmt.Errorf("watch the ValidatingWebhookConfiguration %s: %w", FreezeConfigurationName, err)
	}
	h.Author.tell(ctx.Done(), changed)
	return changed, nil
}

// keepReach edits how a webhook reaches the server: whom it trusts, and the path on the same address, stay as they are in live.
func keepReach(next *admissionregistrationv1.WebhookClientConfig, live admissionregistrationv1.WebhookClientConfig) {
	if len(live.CABundle) > 0 {
		next.CABundle = live.CABundle
	}
	switch {
	case next.Service != nil && live.Service != nil:
		next.Service.Path = live.Service.Path
	case next.URL != nil && live.URL != nil && sameHost(*next.URL, *live.URL):
		next.URL = live.URL
	}
}

func sameHost(a, b string) bool {
	one, oneErr := url.Parse(a)
	two, twoErr := url.Parse(b)
	return oneErr == nil && twoErr == nil && one.Scheme == two.Scheme && one.Host == two.Host
}

func wrap(verb string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s the ValidatingWebhookConfiguration %s: %w", verb, FreezeConfigurationName, err)
}
