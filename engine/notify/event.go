// Package notify decides which messages a Notification sends: about which events of which policies, when, how many events make one
// message, and its text. It sends nothing and calls no clock.
package notify

import (
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// Announcement is an event about a policy. The Kubernetes Events of Flyball and the messages have the same announcements as source.
type Announcement struct {
	Event  v1alpha1.NotificationEvent
	Policy workload.Policy
	// Text is the event in one line.
	Text string
	// At is the instant of the event; of an event ahead, the instant of the transition.
	At time.Time
	// Command is a command for a person who disagrees with a transition ahead; empty: none.
	Command string
}

// Event returns the occasion of a message for a Kubernetes Event of Flyball, by its reason and action; false: no message is sent about it.
func Event(reason, action string) (v1alpha1.NotificationEvent, bool) {
	switch action {
	case "Transition":
		event, ok := byState[reason]
		return event, ok
	case "Reconcile": // the policy is no longer ready
		if reason == "AdapterNotReady" {
			return v1alpha1.EventAdapterNotReady, true
		}
		return v1alpha1.EventFailed, true
	case "EnterPartlyWorking", "EnterWorking":
		return v1alpha1.EventRecommendationReady, true
	}
	event, ok := byReason[reason]
	return event, ok
}

// byReason maps the reason of an Event to a notification event, where the reason alone decides.
var byReason = map[string]v1alpha1.NotificationEvent{
	"Contested": v1alpha1.EventContested, "Denied": v1alpha1.EventDenied, "ExceptionMade": v1alpha1.EventExceptionMade,
	"Used": v1alpha1.EventExceptionUsed,
}

// byState are the events of transitions to a state. Each state is of one sort of policies.
var byState = map[string]v1alpha1.NotificationEvent{
	stateAsleep: v1alpha1.EventAsleep, "Awake": v1alpha1.EventAwake,
	"Frozen": v1alpha1.EventFreezeBegun, "Open": v1alpha1.EventFreezeOver, "Ended": v1alpha1.EventFreezeOver,
}

// stateAsleep is the state of a schedule with sleeping targets.
const stateAsleep = "Asleep"

// IsTransition reports whether an event happens once at an instant of a policy, so that its message waits for no other.
func IsTransition(e v1alpha1.NotificationEvent) bool {
	switch e {
	case v1alpha1.EventTransitionAhead, v1alpha1.EventFreezeAhead, v1alpha1.EventAsleep, v1alpha1.EventAwake, v1alpha1.EventFreezeBegun,
		v1alpha1.EventFreezeOver:
		return true
	}
	return false
}
