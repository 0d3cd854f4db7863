package registration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// GuardPolicyName is the ValidatingAdmissionPolicy that guards the webhook configurations by which freezes are kept, and its binding.
const GuardPolicyName = "flyball-webhooks"

// OwnConfigurationName is the ValidatingWebhookConfiguration of Flyball's own kinds, by which freezes themselves are guarded.
const OwnConfigurationName = "flyball"

// GuardPolicy makes the policy by which nobody edits or deletes the webhook configurations of freezes but who holds the verb override on
// them, as Flyball's own account does, and the garbage collector, which takes them once their owner has gone. No webhook ever sees a
// webhook configuration; a policy does. What deletes a collection names no object, so the name is that of the object as it was.
func GuardPolicy() AdmissionPolicy {
	return newPolicy(GuardPolicyName, []admissionregistrationv1.RuleWithOperations{
		ruleOf([]admissionregistrationv1.OperationType{admissionregistrationv1.Update, admissionregistrationv1.Delete}, admissionregistrationv1.GroupName, []string{"*"},
			"validatingwebhookconfigurations"),
	}, []admissionregistrationv1.MatchCondition{
		{Name: "of-freezes", Expression: "oldObject != null && oldObject.metadata.name in ['" + OwnConfigurationName + "', '" + FreezeConfigurationName + "']"},
		{Name: "not-the-garbage-collector", Expression: "!(request.userInfo.username in ['system:kube-controller-manager', 'system:serviceaccount:kube-system:generic-garbage-collector'])"},
	}, admissionregistrationv1.Validation{
		Expression: "authorizer.group('" + admissionregistrationv1.GroupName + "').resource('validatingwebhookconfigurations').name(oldObject.metadata.name).check('override').allowed()",
		Message: "freezes are kept by this webhook configuration: to edit or delete it takes the verb override on validatingwebhookconfigurations.admissionregistration.k8s.io " +
			"of its name, as the ClusterRole flyball-freeze-override has it",
	})
}
