package register

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

// LedgerPolicyName and GuardPolicyName are the names of the ValidatingAdmissionPolicies for the ledger and for the webhook
// configurations of freezes, and of their bindings.
const (
	LedgerPolicyName = "flyball-ledger"
	GuardPolicyName  = "flyball-webhooks"
)

// AdmissionPolicy is a ValidatingAdmissionPolicy with its binding. The API server evaluates it, so no running replica
// is needed.
type AdmissionPolicy struct {
	Policy  *admissionregistrationv1.ValidatingAdmissionPolicy
	Binding *admissionregistrationv1.ValidatingAdmissionPolicyBinding
}

// AdmissionPolicies returns Flyball's admission policies. The chart installs them, and a manager outside the cluster
// creates them.
func AdmissionPolicies() []AdmissionPolicy { return []AdmissionPolicy{ledgerPolicy(), guardPolicy()} }

// AdmissionObjects returns the policies and their bindings.
func AdmissionObjects() (all []client.Object) {
	for _, p := range AdmissionPolicies() {
		all = append(all, p.Policy, p.Binding)
	}
	return all
}

// newPolicy returns a policy that refuses requests unless the validation holds. All fields with API defaults are set.
func newPolicy(name string, rules []admissionregistrationv1.RuleWithOperations, conditions []admissionregistrationv1.MatchCondition,
	expression, message string) AdmissionPolicy {
	matches := &admissionregistrationv1.MatchResources{
		MatchPolicy: new(admissionregistrationv1.Equivalent), NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
	}
	for _, r := range rules {
		matches.ResourceRules = append(matches.ResourceRules, admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: r})
	}
	return AdmissionPolicy{
		Policy: &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metaOf(name),
			Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
				FailurePolicy: new(admissionregistrationv1.Fail), MatchConstraints: matches, MatchConditions: conditions,
				Validations: []admissionregistrationv1.Validation{{Expression: expression, Message: message,
					Reason: new(metav1.StatusReasonForbidden)}},
			}},
		Binding: &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metaOf(name),
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			}},
	}
}

// ledgerPolicy returns the policy against changes of the ledger through subresources. The status of built-in kinds and
// a few other subresources accept annotations, and a Binding sets its own annotations on the Pod. A user with rights
// only to report status or to bind pods must not control what Flyball restores.
func ledgerPolicy() AdmissionPolicy {
	of := func(object string) string {
		return object + ".?metadata.?annotations[?'" + v1alpha1.AnnotationLedger + "']"
	}
	return newPolicy(LedgerPolicyName, []admissionregistrationv1.RuleWithOperations{
		ruleOf(updates, "*", []string{"*"}, "*/status", "*/approval", "namespaces/finalize"),
		ruleOf([]admissionregistrationv1.OperationType{admissionregistrationv1.Create}, "", []string{"*"}, "bindings", "pods/binding"),
	}, nil,
		of("object")+" == (oldObject == null ? optional.none() : "+of("oldObject")+")",
		"the annotation "+v1alpha1.AnnotationLedger+" is changed with the object itself, not through a subresource")
}

// guardPolicy returns the policy for the webhook configurations of freezes. Editing or deleting them needs the verb
// override on them, granted to Flyball's account. The garbage collector may delete orphans. Webhooks never see webhook
// configurations, but a policy does. The deletion of a collection has no name in the request, so the policy uses the
// name of the old object.
func guardPolicy() AdmissionPolicy {
	const resource = "validatingwebhookconfigurations"
	return newPolicy(GuardPolicyName, []admissionregistrationv1.RuleWithOperations{
		ruleOf([]admissionregistrationv1.OperationType{admissionregistrationv1.Update, admissionregistrationv1.Delete},
			admissionregistrationv1.GroupName, []string{"*"}, resource),
	}, []admissionregistrationv1.MatchCondition{
		condition("of-freezes", "oldObject != null && oldObject.metadata.name in ['"+OwnConfigurationName+"', '"+FreezeConfigurationName+"']"),
		condition("not-the-garbage-collector", "!(request.userInfo.username in ['system:kube-controller-manager', "+
			"'system:serviceaccount:kube-system:generic-garbage-collector'])"),
	},
		"authorizer.group('"+admissionregistrationv1.GroupName+"').resource('"+resource+
			"').name(oldObject.metadata.name).check('override').allowed()",
		"freezes are kept by this webhook configuration: to edit or delete it takes the verb override on "+resource+"."+
			admissionregistrationv1.GroupName+" of its name, as the ClusterRole flyball-freeze-override has it")
}
