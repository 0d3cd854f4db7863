package registration

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
)

// webhookName is the name of the webhook of Flyball's own kinds, as shown in refusals.
const webhookName = "validate.v1alpha1.flyball.dev"

// passFinalizers excludes updates of an object under deletion that only remove a finalizer. They work even if no
// replica runs.
const passFinalizers = "request.operation != 'UPDATE' || !has(object.metadata.deletionTimestamp) || object.spec != oldObject.spec || " +
	ofStatus

// ofStatus matches writes of the status. passStatus excludes status writes that do not change the creator of the
// object.
const (
	ofStatus   = "request.?subResource.orValue('') != ''"
	passStatus = "!(" + ofStatus +
		") || object.?status.?createdBy != oldObject.?status.?createdBy || object.?status.?createdAt != oldObject.?status.?createdAt"
)

// passAdapterMetadata excludes edits of an Adapter with an unchanged spec. Flyball must be able to add its finalizer,
// without which it writes nothing, even if no replica answers. The deletion of an Adapter and every edit of its spec
// are judged.
const passAdapterMetadata = "request.operation != 'UPDATE' || request.resource.resource != 'adapters' || object.spec != oldObject.spec"

// Kind is one of Flyball's own kinds in a webhook configuration.
type Kind struct {
	// Resource is the plural name of the kind, for example adapters.
	Resource string
	// Operations are the operations to send. Empty means CREATE and UPDATE.
	Operations []admissionregistrationv1.OperationType
	// Creator is true if the status of the kind has the creator of the object. The API server then sends writes of the
	// status too.
	Creator bool
}

func (k Kind) operations() []admissionregistrationv1.OperationType {
	if len(k.Operations) > 0 {
		return k.Operations
	}
	return []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update}
}

// Configuration returns the ValidatingWebhookConfiguration of Flyball's own kinds. Requests are refused while no
// replica answers. Of the subresources only the status is sent, and only if the creator changes. All fields with API
// defaults are set.
func Configuration(name string, endpoint Endpoint, kinds []Kind, bundle []byte) *admissionregistrationv1.ValidatingWebhookConfiguration {
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app.kubernetes.io/name": "flyball"}},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name:                    webhookName,
			ClientConfig:            endpoint.Client(ValidatePath, bundle),
			Rules:                   rules(kinds),
			FailurePolicy:           new(admissionregistrationv1.Fail),
			MatchPolicy:             new(admissionregistrationv1.Equivalent),
			SideEffects:             new(admissionregistrationv1.SideEffectClassNoneOnDryRun),
			TimeoutSeconds:          new(int32(5)),
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector:       &metav1.LabelSelector{},
			ObjectSelector:          &metav1.LabelSelector{},
			MatchConditions: []admissionregistrationv1.MatchCondition{
				{Name: "pass-finalizer-removal", Expression: passFinalizers},
				{Name: "pass-adapter-metadata", Expression: passAdapterMetadata},
				{Name: "pass-mere-status", Expression: passStatus},
			},
		}},
	}
}

// rules groups the kinds by operations, in a fixed order.
func rules(kinds []Kind) []admissionregistrationv1.RuleWithOperations {
	byOperations := map[string]int{}
	var list []admissionregistrationv1.RuleWithOperations
	sorted := slices.SortedFunc(slices.Values(kinds), func(a, b Kind) int { return strings.Compare(a.Resource, b.Resource) })
	for _, k := range slices.Clone(sorted) {
		if k.Creator {
			sorted = append(sorted, Kind{Resource: k.Resource + "/status",
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update}})
		}
	}
	for _, k := range sorted {
		operations := k.operations()
		key := ""
		for _, o := range operations {
			key += string(o) + " "
		}
		if i, ok := byOperations[key]; ok {
			list[i].Resources = append(list[i].Resources, k.Resource)
			continue
		}
		byOperations[key] = len(list)
		list = append(list, ruleOf(operations, v1alpha1.GroupVersion.Group, []string{v1alpha1.GroupVersion.Version}, k.Resource))
	}
	return list
}

// ruleOf returns a rule for operations on resources of a group, in some versions, namespaced and cluster-scoped.
func ruleOf(operations []admissionregistrationv1.OperationType, group string, versions []string,
	resources ...string) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: operations,
		Rule: admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: versions, Resources: resources,
			Scope: new(admissionregistrationv1.AllScopes)},
	}
}
