// Package registration configures API servers: the ValidatingWebhookConfigurations of Flyball's own kinds and of
// freezes, and the ValidatingAdmissionPolicy that guards the ledger. It creates, watches and corrects them, so that a
// deleted or edited configuration is restored at once. Writers of several replicas are coordinated by resourceVersion.
package registration
