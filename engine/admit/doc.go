// Package admit judges admission reviews. It refuses invalid objects of Flyball's own kinds with the name of the field;
// checks that the author of an Adapter or a policy holds the rights that the object makes Flyball use; always allows
// the removal of finalizers; and refuses a change of an adapted kind while a freeze denies it. Package server serves
// these handlers as webhooks.
//
// Decisions (docs/decisions): 0012, 0028.
package admit
