// Package message decides which messages a Notification sends: about which events of which policies, when, how many events make one
// message, and its text. It sends nothing and calls no clock.
package message

import (
	"strings"
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

// Event returns the occasion of a message for a Kubernetes Event of Flyball: the kind of its policy, its reason and its action; false: no
// message is sent about it.
func Event(kind, reason, action string) (v1alpha1.NotificationEvent, bool) {
	switch action {
	case "Transition":
		return transition(kind, reason)
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

// byReason are the events of reasons that no other action has.
var byReason = map[string]v1alpha1.NotificationEvent{
	"Contested": v1alpha1.EventContested, "Denied": v1alpha1.EventDenied, "ExceptionMade": v1alpha1.EventExceptionMade,
	"Used": v1alpha1.EventExceptionUsed,
}

// transition returns the event of a transition of a policy to a state.
func transition(kind, state string) (v1alpha1.NotificationEvent, bool) {
	switch {
	case Judges(kind) && state == "Frozen":
		return v1alpha1.EventFreezeBegun, true
	case Judges(kind) && (state == "Open" || state == "Ended"):
		return v1alpha1.EventFreezeOver, true
	case strings.HasSuffix(kind, "Schedule") && state == "Asleep":
		return v1alpha1.EventAsleep, true
	case strings.HasSuffix(kind, "Schedule") && state == "Awake":
		return v1alpha1.EventAwake, true
	}
	return "", false
}

// Judges reports whether policies of a kind deny changes.
func Judges(kind string) bool {
	return strings.HasSuffix(kind, "ChangeFreeze") || strings.HasSuffix(kind, "MaintenanceWindow")
}

// IsTransition reports whether an event happens once at an instant of a policy, so that its message waits for no other.
func IsTransition(e v1alpha1.NotificationEvent) bool {
	switch e {
	case v1alpha1.EventTransitionAhead, v1alpha1.EventFreezeAhead, v1alpha1.EventAsleep, v1alpha1.EventAwake, v1alpha1.EventFreezeBegun,
		v1alpha1.EventFreezeOver:
		return true
	}
	return false
}
