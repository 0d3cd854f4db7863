// Package registration configures API servers: the ValidatingWebhookConfigurations of Flyball's own kinds and of
// freezes, and the ValidatingAdmissionPolicy for the ledger. It creates, watches and corrects these objects at once
// after any edit or deletion. Writers of several replicas are coordinated by resourceVersion.
//
// Decisions (docs/decisions): 0020.
package registration
