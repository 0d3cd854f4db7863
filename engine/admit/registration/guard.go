package registration

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// GuardPolicyName is the name of the ValidatingAdmissionPolicy for the webhook configurations of freezes, and of its
// binding.
const GuardPolicyName = "flyball-webhooks"

// OwnConfigurationName is the name of the ValidatingWebhookConfiguration of Flyball's own kinds, with the guard of
// freezes.
const OwnConfigurationName = "flyball"

// GuardPolicy returns the policy for the webhook configurations of freezes. Editing or deleting them needs the verb
// override on them, granted to Flyball's account. The garbage collector may delete orphans. Webhooks never see webhook
// configurations, but a policy does. The deletion of a collection has no name in the request, so the policy uses the
// name of the old object.
func GuardPolicy() AdmissionPolicy {
	return newPolicy(GuardPolicyName, []admissionregistrationv1.RuleWithOperations{
		ruleOf([]admissionregistrationv1.OperationType{admissionregistrationv1.Update, admissionregistrationv1.Delete},
			admissionregistrationv1.GroupName, []string{"*"},
			"validatingwebhookconfigurations"),
	}, []admissionregistrationv1.MatchCondition{
		{Name: "of-freezes", Expression: "oldObject != null && oldObject.metadata.name in ['" + OwnConfigurationName + "', '" +
			FreezeConfigurationName + "']"},
		{Name: "not-the-garbage-collector",
			Expression: "!(request.userInfo.username in ['system:kube-controller-manager', " +
				"'system:serviceaccount:kube-system:generic-garbage-collector'])"},
	}, admissionregistrationv1.Validation{
		Expression: "authorizer.group('" + admissionregistrationv1.GroupName +
			"').resource('validatingwebhookconfigurations').name(oldObject.metadata.name).check('override').allowed()",
		Message: "freezes are kept by this webhook configuration: to edit or delete it takes the verb override on " +
			"validatingwebhookconfigurations.admissionregistration.k8s.io " +
			"of its name, as the ClusterRole flyball-freeze-override has it",
	})
}
