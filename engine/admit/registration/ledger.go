package registration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"flyball.dev/flyball/crds/v1alpha1"
)

// LedgerPolicyName is the ValidatingAdmissionPolicy that guards the ledger, and its binding.
const LedgerPolicyName = "flyball-ledger"

// ledgerOf is the ledger of an object in CEL, if it has one.
func ledgerOf(object string) string {
	return object + ".?metadata.?annotations[?'" + v1alpha1.AnnotationLedger + "']"
}

// LedgerPolicy makes the policy by which the ledger cannot be changed through a subresource: /status of the built-in kinds takes
// annotations, and so do a few others, and a Binding gives its own to the Pod. Who may only report what an object does, or schedule it,
// must not say what Flyball gives back to it. The API server decides by itself, so the guard holds while no replica
// runs. Every field that the API server would fill in is given.
func LedgerPolicy() AdmissionPolicy {
	return newPolicy(LedgerPolicyName, []admissionregistrationv1.RuleWithOperations{
		ruleOf([]admissionregistrationv1.OperationType{admissionregistrationv1.Update}, "*", []string{"*"}, "*/status", "*/approval", "namespaces/finalize"),
		ruleOf([]admissionregistrationv1.OperationType{admissionregistrationv1.Create}, "", []string{"*"}, "bindings", "pods/binding"),
	}, nil, admissionregistrationv1.Validation{
		Expression: ledgerOf("object") + " == (oldObject == null ? optional.none() : " + ledgerOf("oldObject") + ")",
		Message:    "the annotation " + v1alpha1.AnnotationLedger + " is changed with the object itself, not through a subresource",
	})
}
