package freeze

import (
	"fmt"
	"strings"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// refusal says what is refused, by which enforced policies and why, and when it is allowed next: in the time zone of the
// policy that refuses longest.
func refusal(req *Request, v *Verdict, last *Rule) string {
	denials := v.Denials
	var text strings.Builder
	text.WriteString("change of " + objectText(req) + " refused: ")
	separator := ""
	for i := range denials {
		d := &denials[i]
		if d.Enforcement != v1alpha1.EnforcementDeny {
			continue
		}
		text.WriteString(separator)
		text.WriteString(d.Policy.String())
		text.WriteString(" denies ")
		text.WriteString(deniedText(d))
		if d.Reason != "" {
			text.WriteString(": ")
			text.WriteString(d.Reason)
		}
		separator = "; "
	}
	text.WriteString(". ")
	text.WriteString(nextText(v, last))
	return text.String()
}

// deniedText is what a rule denies, in words.
func deniedText(d *Denial) string {
	const leaving = "an edit of labels or annotations by which the object leaves it (spec.labelChanges: Deny)"
	switch {
	case !d.Leaves:
		return actionsText(d.Actions)
	case d.Actions == 0:
		return leaving
	default:
		return actionsText(d.Actions) + ", and " + leaving
	}
}

func nextText(v *Verdict, last *Rule) string {
	switch {
	case !v.NextAllowed.IsZero():
		return "Next allowed: " + instantText(v.NextAllowed, last.zone)
	case !v.NotBefore.IsZero():
		return "Not allowed before " + instantText(v.NotBefore, last.zone)
	default:
		return "No later time is known at which it will be allowed"
	}
}

// warning says what a policy that only warns has against a request.
func warning(req *Request, r *Rule, left workload.Change, until time.Time) string {
	text := fmt.Sprintf("%s asks not to %s %s now", r.id, actionsText(left), objectText(req))
	if r.why != "" {
		text += ": " + r.why
	}
	if !until.IsZero() {
		text += ". It ends " + instantText(until, r.zone)
	}
	return text
}

// instantText writes an instant in a zone, with the zone's name.
func instantText(t time.Time, zone *time.Location) string {
	return t.In(zone).Format(time.RFC3339) + " (" + zone.String() + ")"
}

func objectText(req *Request) string {
	return workload.Ref{GroupKind: req.Kind, Namespace: req.Namespace, Name: req.Name}.String()
}

// actionsText joins actions as "Create, RollOut and Scale".
func actionsText(c workload.Change) string {
	names := c.Names()
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
