package freeze

import (
	"fmt"
	"strings"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// refusal says what is refused, by which policies and why, and when it is allowed next: in the time zone of the policy that
// refuses longest.
func refusal(req *Request, denials []Denial, next time.Time, last *Rule) string {
	parts := make([]string, len(denials))
	for i, d := range denials {
		parts[i] = d.Policy.String() + " denies " + actionsText(d.Actions)
		if d.Reason != "" {
			parts[i] += ": " + d.Reason
		}
	}
	return fmt.Sprintf("change of %s refused: %s. %s", objectText(req), strings.Join(parts, "; "), nextText(next, last))
}

func nextText(next time.Time, last *Rule) string {
	if next.IsZero() {
		return "No later time is known at which it will be allowed"
	}
	return "Next allowed: " + instantText(next, last.zone)
}

// warning says what a policy that only warns has against a request.
func warning(req *Request, r *Rule, left workload.Change, until time.Time) string {
	text := fmt.Sprintf("%s asks not to %s %s now", r.id, actionsText(left), objectText(req))
	if why := r.why(); why != "" {
		text += ": " + why
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
