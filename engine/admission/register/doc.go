// Package register configures API servers: the webhook configurations of Flyball's own kinds, of freezes and of new
// pods, and the ValidatingAdmissionPolicies. A Registrar creates, watches and corrects these objects at once after any edit
// or deletion.
//
// Decisions (docs/decisions): 0020, 0031.
package register
