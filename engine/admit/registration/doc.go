// Package registration is what API servers are told: the ValidatingWebhookConfigurations of Flyball's own kinds and of freezes, and
// the ValidatingAdmissionPolicy that guards the ledger. It says what they look like, and makes, watches and corrects them; what is
// deleted or edited by others comes back at once. Writers of several replicas meet by resourceVersion.
package registration
