package freeze

import (
	"fmt"
	"strings"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

const (
	// maxRefusal is the size of the longest refusal in bytes, and maxNamed how many policies are named in one.
	maxRefusal, maxNamed = 4 << 10, 10
	// maxWhy is the size in bytes of the longest reason, contact and documentation together that a policy gives.
	maxWhy = 1 << 10
)

// refusal says what is refused, by which enforced policies and why, and when it is allowed next: in the time zone of the
// policy that refuses longest. The first ten policies are named and the rest counted; reasons are cut where the text would be
// longer than maxRefusal.
func refusal(req *Request, v *Verdict, last *Rule) string {
	refusing, named, fixed := 0, 0, 0
	for i := range v.Denials {
		if d := &v.Denials[i]; d.Enforcement == v1alpha1.EnforcementDeny {
			if refusing++; refusing <= maxNamed {
				named, fixed = refusing, fixed+len(denialText(d, 0))
			}
		}
	}
	head, tail := "change of "+objectText(req)+" refused: ", ". "+nextText(v, last)
	if refusing > named {
		tail = fmt.Sprintf("; and %d more", refusing-named) + tail
	}
	left := maxRefusal - len(head) - len(tail) - fixed - len("; ")*named
	var text strings.Builder
	text.Grow(maxRefusal)
	text.WriteString(head)
	for i, told := 0, 0; told < named; i++ {
		d := &v.Denials[i]
		if d.Enforcement != v1alpha1.EnforcementDeny {
			continue
		}
		if told > 0 {
			text.WriteString("; ")
		}
		text.WriteString(denialText(d, left/named))
		told++
	}
	text.WriteString(tail)
	return workload.OneLine(text.String(), maxRefusal)
}

// denialText says who denies what, and why in at most so many bytes.
func denialText(d *Denial, why int) string {
	text := d.Policy.String() + " denies " + deniedText(d)
	if d.Reason == "" || why <= len(": ") {
		return text
	}
	return text + ": " + workload.OneLine(d.Reason, why-len(": "))
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
	// Kubernetes allows no longer names than these.
	return workload.Ref{GroupKind: req.Kind, Namespace: workload.OneLine(req.Namespace, 63), Name: workload.OneLine(req.Name, 253)}.String()
}

// actionsText joins actions as "Create, RollOut and Scale".
func actionsText(c workload.Change) string {
	names := c.Names()
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
