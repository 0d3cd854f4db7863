package registration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"flyball.dev/flyball/crds/v1alpha1"
)

// LedgerPolicyName is the name of the ValidatingAdmissionPolicy for the ledger, and of its binding.
const LedgerPolicyName = "flyball-ledger"

// ledgerOf returns the CEL expression for the optional ledger of an object.
func ledgerOf(object string) string {
	return object + ".?metadata.?annotations[?'" + v1alpha1.AnnotationLedger + "']"
}

// LedgerPolicy returns the policy against changes of the ledger through subresources. The status of built-in kinds and
// a few other subresources accept annotations, and a Binding sets its own annotations on the Pod. A user with rights
// only to report status or to bind pods must not control what Flyball restores. The API server evaluates the policy, so
// no running replica is needed. All fields with API defaults are set.
func LedgerPolicy() AdmissionPolicy {
	return newPolicy(LedgerPolicyName, []admissionregistrationv1.RuleWithOperations{
		ruleOf([]admissionregistrationv1.OperationType{admissionregistrationv1.Update}, "*", []string{"*"}, "*/status", "*/approval",
			"namespaces/finalize"),
		ruleOf([]admissionregistrationv1.OperationType{admissionregistrationv1.Create}, "", []string{"*"}, "bindings", "pods/binding"),
	}, nil, admissionregistrationv1.Validation{
		Expression: ledgerOf("object") + " == (oldObject == null ? optional.none() : " + ledgerOf("oldObject") + ")",
		Message:    "the annotation " + v1alpha1.AnnotationLedger + " is changed with the object itself, not through a subresource",
	})
}
