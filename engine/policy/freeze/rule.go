package freeze

import (
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// Kinds of policies, as ledger entries and messages name them.
const (
	Kind                       = "ChangeFreeze"
	ClusterKind                = "ClusterChangeFreeze"
	WindowKind                 = "MaintenanceWindow"
	ClusterWindowKind          = "ClusterMaintenanceWindow"
	ExceptionKind              = "FreezeException"
	ClusterExceptionKind       = "ClusterFreezeException"
	forever              int64 = math.MaxInt64
)

// filed is what rules and exceptions have in common, and what the index asks of them.
type filed struct {
	id    workload.Policy
	reach reach
	// end is the first second from which the policy has nothing to say any more; forever: it has no such second.
	end int64
}

// ID names the policy object.
func (f *filed) ID() workload.Policy { return f.id }

// Selects says whether the policy is about an object of a kind. nsLabels are the labels of the object's namespace.
func (f *filed) Selects(kind schema.GroupKind, obj *workload.Object, nsLabels workload.Pairs) bool {
	return f.reach.selector.Matches(kind, obj, nsLabels)
}

// SelectsIn says whether the policy reaches a namespace; nsLabels are its labels.
func (f *filed) SelectsIn(namespace string, nsLabels workload.Pairs) bool {
	return f.reach.selector.MatchesNamespace(namespace, nsLabels)
}

func (f *filed) filing() *filed { return f }

// Rule is a compiled change freeze or maintenance window. It is immutable and shared.
type Rule struct {
	filed
	deny        workload.Change
	enforcement v1alpha1.Enforcement
	// refusesLeaving says that an edit of labels by which an object leaves the rule is refused.
	refusesLeaving bool
	message        v1alpha1.FreezeMessage
	// why is the message in words; empty if there is none.
	why  string
	zone *time.Location
	// denies is on while changes are denied.
	denies timeline.Timeline
	// guardAhead is how long before it begins to deny the rule is guarded.
	guardAhead time.Duration
	// excused says what would be refused at apply now, and is not held against a stored rule; empty: nothing.
	excused string
	// windows is how many windows it has.
	windows int
	engine  *policy.Policy
}

// Enforcement says what happens to a change that is denied.
func (r *Rule) Enforcement() v1alpha1.Enforcement { return r.enforcement }

// Denies lists the actions that the rule denies while it is active.
func (r *Rule) Denies() workload.Change { return r.deny }

// Active says whether the rule denies at an instant, since when and until when; zero instants: since or for ever.
func (r *Rule) Active(at time.Time) (active bool, since, until time.Time) {
	st := r.denies.At(at)
	return st.Active, st.Since, st.Until
}

// Guarded says whether deleting or weakening the rule at an instant needs a right: while it is active, and for as long as
// spec.guardAhead says before it begins or, a maintenance window, closes. begins is when it does; zero where it is active.
func (r *Rule) Guarded(at time.Time) (guarded bool, begins time.Time) {
	st := r.denies.At(at)
	if st.Active {
		return true, time.Time{}
	}
	if st.Until.IsZero() || r.guardAhead == 0 || at.Before(st.Until.Add(-r.guardAhead)) {
		return false, time.Time{}
	}
	return true, st.Until
}

// Over says whether the rule never denies again from an instant on.
func (r *Rule) Over(at time.Time) bool { return at.Unix() >= r.end }

// Names says whether the rule names a namespace, or lives in it.
func (r *Rule) Names(namespace string) bool {
	listed, _ := r.reach.selector.Namespaces()
	return slices.Contains(listed, namespace)
}

// OnlyIn says whether the rule reaches none but some namespaces.
func (r *Rule) OnlyIn(namespaces []string) bool {
	listed, byLabels := r.reach.selector.Namespaces()
	return len(listed) > 0 && !byLabels && !slices.ContainsFunc(listed, func(ns string) bool { return !slices.Contains(namespaces, ns) })
}

// ByNamespaceLabels says whether the rule is enforced and reaches namespaces by their labels.
func (r *Rule) ByNamespaceLabels() bool {
	_, byLabels := r.reach.selector.Namespaces()
	return byLabels && r.enforcement == v1alpha1.EnforcementDeny
}

// Policy is the part of the rule that the engine runs: it puts the kinds listed under spec.suspend to sleep while the rule
// is active. A rule that lists none selects nothing.
func (r *Rule) Policy() *policy.Policy { return r.engine }

// messageText is a rule's reason, contact and documentation in words; empty if it gives none.
func messageText(m v1alpha1.FreezeMessage) string {
	text := m.Reason
	var more []string
	if m.Contact != "" {
		more = append(more, "contact "+m.Contact)
	}
	if m.DocsURL != "" {
		more = append(more, "see "+m.DocsURL)
	}
	if len(more) == 0 {
		return workload.OneLine(text, maxWhy)
	}
	return workload.OneLine(strings.TrimSpace(text+" ("+strings.Join(more, "; ")+")"), maxWhy)
}

// Exception is a compiled freeze exception. It is immutable and shared.
type Exception struct {
	filed
	allow workload.Change
	// from is its first second.
	from int64
	// entries name the policies that it lifts; none: all that it can.
	entries []entry
	labels  labels.Selector // nil: none are required
	users   sets.Set[string]
	groups  sets.Set[string]
	reason  string
	ticket  string
}

// Active says whether the exception holds at an instant.
func (e *Exception) Active(at time.Time) bool {
	now := at.Unix()
	return e.from <= now && now < e.end
}

// ByNamespaceLabels says whether the exception can still hold at an instant or later, and reaches namespaces by their labels.
func (e *Exception) ByNamespaceLabels(at time.Time) bool {
	_, byLabels := e.reach.selector.Namespaces()
	return byLabels && at.Unix() < e.end
}

// Why is the reason that the exception gives, with its ticket.
func (e *Exception) Why() string {
	if e.ticket == "" {
		return e.reason
	}
	return e.reason + " (" + e.ticket + ")"
}

// State is Scheduled, Active or Expired, and when that changes; zero: never.
func (e *Exception) State(at time.Time) (name string, next time.Time) {
	switch now := at.Unix(); {
	case now < e.from:
		return "Scheduled", time.Unix(e.from, 0).UTC()
	case now < e.end:
		return "Active", time.Unix(e.end, 0).UTC()
	default:
		return "Expired", time.Time{}
	}
}

// covers says whether the exception speaks of a rule at all. One that lives in a namespace never weakens a cluster policy.
func (e *Exception) covers(r *Rule) bool {
	if e.id.Namespace != "" && e.id.Namespace != r.id.Namespace {
		return false
	}
	return len(e.entries) == 0 || slices.ContainsFunc(e.entries, func(entry entry) bool { return slices.Contains(entry.policies, r.id) })
}

// admits says whether whoever asks may use the exception: one of the users and in one of the groups, where they are given.
func (e *Exception) admits(user string, groups []string) bool {
	return (len(e.users) == 0 || e.users.Has(user)) && (len(e.groups) == 0 || e.groups.HasAny(groups...))
}

// Message is what the rule tells people: why, whom to ask, and where to read on.
func (r *Rule) Message() v1alpha1.FreezeMessage { return r.message }

// Period is when the exception holds: from the first instant until just before the second.
func (e *Exception) Period() (from, to time.Time) {
	return time.Unix(e.from, 0).UTC(), time.Unix(e.end, 0).UTC()
}

// Allows lists the actions that the exception lets through.
func (e *Exception) Allows() workload.Change { return e.allow }

// Reason is why the exception was made.
func (e *Exception) Reason() string { return e.reason }
