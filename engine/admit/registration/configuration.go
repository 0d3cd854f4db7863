package registration

import (
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
)

// webhookName is how refusals name the webhook of Flyball's own kinds.
const webhookName = "validate.v1alpha1.flyball.dev"

// passFinalizers keeps the webhook out of what only removes a finalizer from a deleted object, so that this works even
// where no replica runs any more.
const passFinalizers = "request.operation != 'UPDATE' || !has(object.metadata.deletionTimestamp) || object.spec != oldObject.spec || " + ofStatus

// ofStatus says that a status is written; passStatus keeps the webhook out of one that says the same of who made the object.
const (
	ofStatus   = "request.?subResource.orValue('') != ''"
	passStatus = "!(" + ofStatus + ") || object.?status.?createdBy != oldObject.?status.?createdBy || object.?status.?createdAt != oldObject.?status.?createdAt"
)

// passAdapterMetadata keeps the webhook out of edits of an Adapter that leave its spec as it is, so that Flyball can put its
// finalizer on one, without which it writes nothing, even where no replica answers. Nothing else of an Adapter means anything:
// its deletion, and every edit of what it says, are judged.
const passAdapterMetadata = "request.operation != 'UPDATE' || request.resource.resource != 'adapters' || object.spec != oldObject.spec"

// Kind is one of Flyball's own kinds, as the API server is told of it.
type Kind struct {
	// Resource is adapters.
	Resource string
	// Operations are sent; empty: CREATE and UPDATE.
	Operations []admissionregistrationv1.OperationType
	// Creator says that the status has who made the object, and that changes of that are sent.
	Creator bool
}

func (k Kind) operations() []admissionregistrationv1.OperationType {
	if len(k.Operations) > 0 {
		return k.Operations
	}
	return []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update}
}

// Configuration makes the ValidatingWebhookConfiguration of Flyball's own kinds. They are refused while no replica
// answers. Of a status only who made the object is sent, where the kind has that; other subresources are not. Every field that the API server would fill in is given.
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

// rules groups the kinds by the operations that are sent, in a fixed order.
func rules(kinds []Kind) []admissionregistrationv1.RuleWithOperations {
	byOperations := map[string]int{}
	var list []admissionregistrationv1.RuleWithOperations
	sorted := slices.SortedFunc(slices.Values(kinds), func(a, b Kind) int { return strings.Compare(a.Resource, b.Resource) })
	for _, k := range slices.Clone(sorted) {
		if k.Creator {
			sorted = append(sorted, Kind{Resource: k.Resource + "/status", Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update}})
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

// ruleOf is a rule for operations on resources of a group, in some versions, within namespaces and outside.
func ruleOf(operations []admissionregistrationv1.OperationType, group string, versions []string, resources ...string) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: operations,
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: versions, Resources: resources, Scope: new(admissionregistrationv1.AllScopes)},
	}
}
