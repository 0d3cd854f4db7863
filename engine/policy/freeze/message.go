package freeze

import (
	"fmt"
	"strings"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

const (
	// maxRefusal is the maximum size of a refusal in bytes. maxNamed is the maximum number of policies named in it.
	maxRefusal, maxNamed = 4 << 10, 10
	// maxWhy is the maximum size in bytes of a policy's reason, contact and documentation together.
	maxWhy = 1 << 10
)

// refusal returns the message of a refusal. It has the action, the enforced policies with their reasons, and the next
// allowed instant in the time zone of the policy that denies longest. The first ten policies are named, and the others are
// only counted. Reasons are cut so that the message is no longer than maxRefusal.
func refusal(req *UserChange, v *Verdict, last *Rule) string {
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

// denialText returns the policy, the denied actions, and the doubt and the reason. The last two take no more bytes than most.
func denialText(d *Denial, most int) string {
	text := d.Policy.String() + " denies " + deniedText(d)
	why := d.why()
	if why == "" || most <= len(": ") {
		return text
	}
	return text + ": " + workload.OneLine(why, most-len(": "))
}

// doubtText returns the doubt of a rule as text. It names the lost events.
func doubtText(events string) string {
	return "it cannot be said whether changes are frozen now, because of " + events
}

func deniedText(d *Denial) string {
	leaving := "an edit of labels or annotations by which the object leaves it (spec.labelChanges: Deny)"
	if d.Wakes {
		leaving = "an edit of labels or annotations by which the object leaves its suspend and wakes (spec.labelChanges: Deny)"
	}
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

// warning returns the message of a policy that only warns about a request.
func warning(req *UserChange, r *Rule, d *Denial) string {
	text := fmt.Sprintf("%s asks not to %s %s now", r.id, actionsText(d.Actions), objectText(req))
	if why := d.why(); why != "" {
		text += ": " + why
	}
	if !d.Until.IsZero() {
		text += ". It ends " + instantText(d.Until, r.zone)
	}
	return text
}

func instantText(t time.Time, zone *time.Location) string {
	return t.In(zone).Format(time.RFC3339) + " (" + zone.String() + ")"
}

func objectText(req *UserChange) string {
	// Kubernetes allows no longer namespaces and names.
	return workload.Ref{GroupKind: req.Kind, Namespace: workload.OneLine(req.Namespace, 63), Name: workload.OneLine(req.Name, 253)}.String()
}

// actionsText returns actions as "Create, RollOut and Scale".
func actionsText(c workload.Change) string {
	names := c.Names()
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
