// Package admit judges admission reviews. It promises that Flyball's own kinds are refused at apply with the field named when a
// validator says so; that whoever creates or edits an Adapter or a policy holds themselves the rights that it makes Flyball use;
// that finalizers can always be removed; and that a change of an adapted kind is refused while a freeze denies it.
// Package server answers the API server's webhooks by these handlers.
package admit
