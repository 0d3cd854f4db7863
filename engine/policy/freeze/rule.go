package freeze

import (
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// Kinds of policies in ledger entries and messages.
const (
	Kind                       = "ChangeFreeze"
	ClusterKind                = "ClusterChangeFreeze"
	WindowKind                 = "MaintenanceWindow"
	ClusterWindowKind          = "ClusterMaintenanceWindow"
	ExceptionKind              = "FreezeException"
	ClusterExceptionKind       = "ClusterFreezeException"
	forever              int64 = math.MaxInt64
)

// filed is the common part of rules and exceptions, used by the index.
type filed struct {
	id    workload.Policy
	reach reach
	// end is the first second after the policy's last effect; forever: no end.
	end int64
}

// ID returns the reference of the policy object.
func (f *filed) ID() workload.Policy { return f.id }

// Selects reports whether the policy selects an object of a kind. nsLabels are the labels of the object's namespace.
func (f *filed) Selects(kind schema.GroupKind, obj *workload.Object, nsLabels workload.Pairs) bool {
	return f.reach.selector.Matches(kind, obj, nsLabels)
}

// SelectsIn reports whether the policy reaches a namespace; nsLabels are its labels.
func (f *filed) SelectsIn(namespace string, nsLabels workload.Pairs) bool {
	return f.reach.selector.MatchesNamespace(namespace, nsLabels)
}

// FiledUnder implements selector.Filed.
func (f *filed) FiledUnder() []*selector.Selector { return []*selector.Selector{f.reach.selector} }

// FiledAs implements selector.Filed.
func (f *filed) FiledAs() workload.Policy { return f.id }

// FiledUntil implements selector.Filed.
func (f *filed) FiledUntil() int64 { return f.end }

// Rule is a compiled change freeze or maintenance window. It is immutable and shared.
type Rule struct {
	filed
	deny        workload.Change
	enforcement v1alpha1.Enforcement
	// refusesLeaving is true if an edit of labels that takes an object out of the rule is refused.
	refusesLeaving bool
	// held are the selections that matter while the rule is active: of the judged objects, unless the rule denies nothing, and
	// of the objects that sleep.
	held    []reach
	message v1alpha1.FreezeMessage
	// why is the message as text; empty: the rule has no message.
	why  string
	zone *time.Location
	// denies is on while changes are denied. surely is on while changes are denied by every reading of the lost events of
	// calendars.
	denies, surely timeline.Timeline
	// guardAhead is the time for which the rule is already guarded before each start of denying.
	guardAhead time.Duration
	// letFinish is how long after each start of denying controllers may finish roll-outs that had begun.
	letFinish time.Duration
	// excused is an error for which a new rule would be refused now. It is tolerated because the rule is already stored;
	// empty: no such error.
	excused string
	// missing are the names of calendars that do not exist. Their days do not count.
	missing []string
	// lost has an error for each calendar with lost events, and unreadable for each that is lost as a whole. doubt names the lost
	// events. All are empty if no event is lost.
	lost, unreadable field.ErrorList
	doubt            string
	calendars        []v1alpha1.FreezeCalendar
	announcing       announcing
	// recurs is true if the rule has windows or calendars.
	recurs  bool
	windows int
	// judged are the users and groups that the freeze judges.
	judged judged
	engine *policy.Policy
}

// FiledUnder implements selector.Filed. The rule is found for the objects that sleep too, because it may refuse that they leave.
func (r *Rule) FiledUnder() []*selector.Selector {
	return []*selector.Selector{r.reach.selector, r.engine.Target}
}

// RefusesLeaving reports whether the rule refuses an edit of labels or annotations by which an object leaves it.
func (r *Rule) RefusesLeaving() bool { return r.refusesLeaving }

// Judged returns the users and groups whose changes are judged, in words, such as "all but group on-call"; empty: everybody.
func (r *Rule) Judged() string { return r.judged.text() }

// JudgedKinds returns the listed kinds whose changes are judged; empty: every adapted kind. A rule that denies nothing judges only
// the kinds that sleep.
func (r *Rule) JudgedKinds() []schema.GroupKind {
	if r.deny == 0 {
		return r.engine.Target.Kinds()
	}
	return r.reach.selector.Kinds()
}

// Enforcement returns the consequence for a denied change.
func (r *Rule) Enforcement() v1alpha1.Enforcement { return r.enforcement }

// Denies returns the actions denied by the rule while active.
func (r *Rule) Denies() workload.Change { return r.deny }

// doubts reports whether the denial of an active rule depends on lost events of calendars at an instant.
func (r *Rule) doubts(at time.Time) bool { return r.doubt != "" && !r.surely.At(at).Active }

// Active reports whether the rule denies at an instant. since and until are the start and the end of this state. A zero
// since means since ever, and a zero until means for ever.
func (r *Rule) Active(at time.Time) (active bool, since, until time.Time) {
	st := r.denies.At(at)
	return st.Active, st.Since, st.Until
}

// Guarded reports whether a user needs a special right to delete or weaken the rule at an instant. This is so while the
// rule is active and, before it starts, for the time spec.guardAhead. A maintenance window starts to deny when it closes.
// begins is the next start; zero for an active rule.
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

// LetFinish returns the end of the time in which controllers may finish roll-outs that had begun before the rule became
// active; zero: the rule gives no such time, or the time is over.
func (r *Rule) LetFinish(at time.Time) time.Time {
	st := r.denies.At(at)
	if r.letFinish == 0 || !st.Active || st.Since.IsZero() {
		return time.Time{}
	}
	if end := r.finishEnd(st); at.Before(end) {
		return end
	}
	return time.Time{}
}

// finishEnd returns the end of the time for roll-outs to finish, in a denial with a known begin: at most the end of the denial.
func (r *Rule) finishEnd(st timeline.Span) time.Time {
	end := st.Since.Add(r.letFinish)
	if !st.Until.IsZero() && st.Until.Before(end) {
		return st.Until
	}
	return end
}

// Over reports whether the rule never denies at or after an instant.
func (r *Rule) Over(at time.Time) bool { return at.Unix() >= r.end }

// Names reports whether the rule lists a namespace or is an object in it.
func (r *Rule) Names(namespace string) bool {
	listed, _ := r.reach.selector.Namespaces()
	return slices.Contains(listed, namespace)
}

// OnlyIn reports whether the rule reaches only the given namespaces.
func (r *Rule) OnlyIn(namespaces []string) bool {
	listed, others := r.reach.selector.Namespaces()
	return len(listed) > 0 && !others && !slices.ContainsFunc(listed, func(ns string) bool { return !slices.Contains(namespaces, ns) })
}

// ByNamespaceLabels reports whether the rule is enforced and selects namespaces by their labels.
func (r *Rule) ByNamespaceLabels() bool {
	return r.enforcement == v1alpha1.EnforcementDeny &&
		slices.ContainsFunc(r.held, func(h reach) bool { return h.selector.ByNamespaceLabels() })
}

// Policy returns the part of the rule that the engine executes. This part puts the kinds listed under spec.suspend to
// sleep while the rule is active. Without listed kinds it selects nothing.
func (r *Rule) Policy() *policy.Policy { return r.engine }

// messageText returns a rule's reason, contact and documentation as text; empty if it has none.
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
	from  int64
	// entries name the policies lifted by the exception; empty: it lifts all policies that it can lift.
	entries []entry
	labels  labels.Selector // nil: none are required
	users   sets.Set[string]
	groups  sets.Set[string]
	reason  string
	ticket  string
}

// Active reports whether the exception holds at an instant.
func (e *Exception) Active(at time.Time) bool {
	now := at.Unix()
	return e.from <= now && now < e.end
}

// ByNamespaceLabels reports whether the exception selects namespaces by their labels and is not over at an instant.
func (e *Exception) ByNamespaceLabels(at time.Time) bool {
	return e.reach.selector.ByNamespaceLabels() && at.Unix() < e.end
}

// Why returns the reason of the exception, with its ticket.
func (e *Exception) Why() string {
	if e.ticket == "" {
		return e.reason
	}
	return e.reason + " (" + e.ticket + ")"
}

// State returns the name of the state (Scheduled, Active or Expired) and the time of the next state; zero: no further
// state follows.
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

// covers reports whether the exception can lift a rule. A namespaced exception never lifts a cluster policy.
func (e *Exception) covers(r *Rule) bool {
	if e.id.Namespace != "" && e.id.Namespace != r.id.Namespace {
		return false
	}
	return len(e.entries) == 0 || slices.ContainsFunc(e.entries, func(entry entry) bool { return slices.Contains(entry.policies, r.id) })
}

// admits reports whether a user may use the exception. If the exception lists users, the user must be one of them. If it
// lists groups, the user must be in one of them.
func (e *Exception) admits(user string, groups []string) bool {
	return (len(e.users) == 0 || e.users.Has(user)) && (len(e.groups) == 0 || e.groups.HasAny(groups...))
}

// Message returns the rule's message to users: the reason, the contact and the documentation.
func (r *Rule) Message() v1alpha1.FreezeMessage { return r.message }

// Period returns the start and the (exclusive) end of the exception.
func (e *Exception) Period() (from, to time.Time) {
	return time.Unix(e.from, 0).UTC(), time.Unix(e.end, 0).UTC()
}

// Allows returns the actions let through by the exception.
func (e *Exception) Allows() workload.Change { return e.allow }

// Reason returns the reason of the exception.
func (e *Exception) Reason() string { return e.reason }
