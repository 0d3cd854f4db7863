package freeze

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// Facts are the metadata of one version of an object used by selections.
type Facts struct {
	Labels workload.Pairs
	// Annotations needs only the keys of Set.AnnotationKeys.
	Annotations workload.Pairs
}

// same reports whether two versions are equal for selections, as they are after most edits.
func (f *Facts) same(other *Facts) bool {
	return f == other || other != nil && slices.Equal(f.Labels, other.Labels) && slices.Equal(f.Annotations, other.Annotations)
}

// UserChange is one change requested by a user.
type UserChange struct {
	// Actions are the actions of the change, as classified by the adapter. Without actions, only the changes of labels and
	// annotations are judged.
	Actions workload.Change
	// Kind, Namespace and Name identify the object; Namespace is empty for a cluster-scoped object.
	Kind            schema.GroupKind
	Namespace, Name string
	// NamespaceLabels are the label sets of the namespace: one, or two while it is relabelled. A policy matches under either
	// set. An exception must match under both.
	NamespaceLabels []workload.Pairs
	// Old is the object before the change and New is the object after it; nil: no such object. A policy matches if it
	// selects either version. An exception must select both.
	Old, New *Facts
	// Finishing are the actions by which a controller carries on a roll-out under way.
	Finishing workload.Change
	// User and Groups identify the requester.
	User   string
	Groups []string
	// Now is the instant of the request.
	Now time.Time
	// DryRun does not change the verdict. It tells the caller to count nothing.
	DryRun bool
	// Terminating is true if the namespace is being deleted. Such a request is allowed, because the objects will be deleted
	// anyway.
	Terminating bool
	// Deleting is true if the object has a deletion timestamp. Another deletion request then changes nothing.
	Deleting bool
}

// Denial is the denial of a request by one rule.
type Denial struct {
	Policy      workload.Policy
	Enforcement v1alpha1.Enforcement
	// Actions are the denied actions of the request, without the actions lifted by exceptions.
	Actions workload.Change
	// Leaves is true if the object would leave the rule by an edit of its labels or annotations, and the rule refuses this.
	// Wakes is true as well if the object would leave only spec.suspend.
	Leaves, Wakes bool
	// Until is the time at which the rule stops denying; zero: it never stops.
	Until time.Time
	// Doubt names the lost events of calendars if the denial depends on them; empty: the rule surely denies.
	Doubt string
	// Reason is the rule's reason, contact and documentation as text; may be empty.
	Reason string
}

// why returns the doubt and the reason as text; empty: there is neither.
func (d *Denial) why() string {
	switch {
	case d.Doubt == "":
		return d.Reason
	case d.Reason == "":
		return doubtText(d.Doubt)
	}
	return doubtText(d.Doubt) + ": " + d.Reason
}

// Names returns the denied actions, and Relabel for an edit of labels that takes the object out of the rule.
func (d *Denial) Names() []string {
	names := d.Actions.Names()
	if d.Leaves {
		names = append(names, "Relabel")
	}
	return names
}

// Lift is the part of a rule's denial lifted by an exception.
type Lift struct {
	Policy, Exception workload.Policy
	Actions           workload.Change
}

// Finish is the part of one rule's denial that spec.letFinish of the rule lets through until a time.
type Finish struct {
	Policy  workload.Policy
	Actions workload.Change
	Until   time.Time
}

// Verdict is the answer to a UserChange.
type Verdict struct {
	// Allowed is false if a rule with the enforcement Deny denies the request.
	Allowed bool
	// Enforcement is the strictest enforcement among the denials; empty: no denial.
	Enforcement v1alpha1.Enforcement
	// Denials are the denials by all rules, with any enforcement, sorted by the rules' names.
	Denials []Denial
	// Lifts are the parts lifted by exceptions, sorted by the rules' names and then by the exceptions' names.
	Lifts []Lift
	// Finishes are the parts let through for roll-outs that had begun before, sorted by the rules' names.
	Finishes []Finish
	// Warnings are the messages to the user: one for each denial with the enforcement Warn.
	Warnings []string
	// NextAllowed is the first instant at which no rule would refuse the request any more. The search considers future
	// exceptions too. Zero: no such instant was found, or the request is allowed.
	NextAllowed time.Time
	// NotBefore is the end of an unsuccessful search for NextAllowed: the request is refused at least until then. Zero: no
	// end of the refusal is known, or NextAllowed is set, or the request is allowed.
	NotBefore time.Time
	// Message is the reason for the refusal; empty if the request is allowed.
	Message string
}

// Of returns the denials of one enforcement.
func (v *Verdict) Of(e v1alpha1.Enforcement) []Denial {
	var out []Denial
	for _, d := range v.Denials {
		if d.Enforcement == e {
			out = append(out, d)
		}
	}
	return out
}

// Undecided reports whether the request is refused only because of lost events of calendars.
func (v *Verdict) Undecided() bool {
	refusals := v.Of(v1alpha1.EnforcementDeny)
	return !v.Allowed && len(refusals) > 0 && !slices.ContainsFunc(refusals, func(d Denial) bool { return d.Doubt == "" })
}

// Decide judges a request. It does no I/O. Its cost depends on the number of policies that may select the object, not
// on the number of all policies.
func (s *Set) Decide(req UserChange) Verdict {
	v := Verdict{Allowed: true}
	if req.Deleting {
		req.Actions &^= workload.ChangeDelete
	}
	if req.Actions == 0 && !req.relabels() || req.Terminating || len(s.rules) == 0 || ControlPlane(req.User) {
		return v
	}
	q := s.inquire(&req)
	for _, r := range q.rules {
		st := r.denies.At(req.Now)
		if !st.Active {
			continue
		}
		left, leaves := q.denied(r, req.Now, &v), q.leaves(r)
		if left == 0 && !leaves {
			continue
		}
		if v.Denials == nil {
			v.Denials = make([]Denial, 0, len(q.rules))
		}
		denial := Denial{Policy: r.id, Enforcement: r.enforcement, Actions: left, Leaves: leaves,
			Wakes: leaves && r.isOnlyWokenBy(&q.subject), Until: st.Until, Reason: r.why}
		if r.doubts(req.Now) {
			denial.Doubt = r.doubt
		}
		v.Denials = append(v.Denials, denial)
		if strictness(r.enforcement) > strictness(v.Enforcement) {
			v.Enforcement = r.enforcement
		}
		if r.enforcement == v1alpha1.EnforcementWarn {
			v.Warnings = append(v.Warnings, warning(&req, r, &denial))
		}
	}
	if v.Enforcement == v1alpha1.EnforcementDeny {
		v.Allowed = false
		var last *Rule
		v.NextAllowed, v.NotBefore, last = q.nextAllowed()
		v.Message = refusal(&req, &v, last)
	}
	return v
}

// inquiry is one request with the rules that select its object, and the exceptions usable by the requester.
type inquiry struct {
	set     *Set
	req     *UserChange
	subject subject
	// rules are the rules that select the object and deny some of the actions, or refuse that the object leaves them, now or
	// later.
	rules []*Rule
	// leaving are the rules that the object would leave by the change and that refuse this.
	leaving []*Rule
	// exceptions are the exceptions that select the object and admit the requester, now or later. searched is true once they
	// have been looked up, on first use.
	exceptions []*Exception
	searched   bool
}

func (s *Set) inquire(req *UserChange) *inquiry {
	q := &inquiry{set: s, req: req, subject: req.subject()}
	found := s.denies.Find(&q.subject.Query, req.Now.Unix())
	q.rules = found[:0]
	for _, r := range found {
		if !r.judged.judges(req.User, req.Groups) {
			continue
		}
		leaves := r.refusesLeaving && r.isLeftBy(&q.subject)
		if leaves {
			q.leaving = append(q.leaving, r)
		}
		if leaves || r.deny&req.Actions != 0 && r.reach.anySelected(&q.subject) {
			q.rules = append(q.rules, r)
		}
	}
	return q
}

// Concerning returns the rules that judge the user of a request and, now or later, deny some of the request's actions or
// refuse that the change takes the object out of the rule.
func (s *Set) Concerning(req UserChange) []*Rule { return s.inquire(&req).rules }

// Sparing returns the rules that select the object of a request and deny some of its actions, now or later, but do not judge the
// changes of its user.
func (s *Set) Sparing(req UserChange) []*Rule {
	of := req.subject()
	return slices.DeleteFunc(s.denies.Find(&of.Query, req.Now.Unix()), func(r *Rule) bool {
		return r.deny&req.Actions == 0 || r.judged.judges(req.User, req.Groups) || !r.reach.anySelected(&of)
	})
}

// LetsFinish reports whether a rule that denies a request now lets controllers finish roll-outs.
func (s *Set) LetsFinish(req UserChange) bool {
	return slices.ContainsFunc(s.Concerning(req), func(r *Rule) bool { return !r.LetFinish(req.Now).IsZero() })
}

// leaves reports whether the object would leave a rule that refuses this. No exception lifts such a refusal, because the
// object would stay out of the rule after the end of the exception.
func (q *inquiry) leaves(r *Rule) bool { return slices.Contains(q.leaving, r) }

// relabels reports whether different policies may select the object before and after the change.
func (req *UserChange) relabels() bool {
	return req.Old != nil && req.New != nil && !req.New.same(req.Old)
}

func (req *UserChange) subject() subject {
	s := subject{selector.Query{Kind: req.Kind, Spaces: req.NamespaceLabels, Sides: make([]*workload.Object, 0, 2)}}
	for i, f := range [...]*Facts{req.Old, req.New} {
		if f != nil && (i == 0 || !f.same(req.Old)) {
			s.Sides = append(s.Sides, &workload.Object{Namespace: req.Namespace, Name: req.Name, Labels: f.Labels, Annotations: f.Annotations})
		}
	}
	if len(s.Sides) == 0 {
		s.Sides = append(s.Sides, &workload.Object{Namespace: req.Namespace, Name: req.Name})
	}
	if len(s.Spaces) == 0 {
		s.Spaces = []workload.Pairs{nil}
	}
	return s
}

// denied returns the actions that an active rule denies at an instant, without the actions lifted by exceptions. At the
// instant of the request, actions that finish a roll-out are not denied while the rule lets roll-outs finish. The actions
// let through are added to the verdict unless v is nil.
func (q *inquiry) denied(r *Rule, at time.Time, v *Verdict) workload.Change {
	left := r.deny & q.req.Actions
	if done := left & q.req.Finishing; done != 0 && at.Equal(q.req.Now) {
		if until := r.LetFinish(at); !until.IsZero() {
			left &^= done
			if v != nil {
				v.Finishes = append(v.Finishes, Finish{Policy: r.id, Actions: done, Until: until})
			}
		}
	}
	for _, e := range q.usable() {
		lifted := e.allow & left
		if lifted == 0 || !e.Active(at) || !e.covers(r) {
			continue
		}
		left &^= lifted
		if v != nil {
			v.Lifts = append(v.Lifts, Lift{Policy: r.id, Exception: e.id, Actions: lifted})
		}
		if left == 0 {
			break
		}
	}
	return left
}

// usable returns the exceptions that hold for the request at some time: their target and constraints fit.
func (q *inquiry) usable() []*Exception {
	if q.searched {
		return q.exceptions
	}
	q.searched = true
	for _, e := range q.set.lifts.Find(&q.subject.Query, q.req.Now.Unix()) {
		if e.allow&q.req.Actions != 0 && e.admits(q.req.User, q.req.Groups) && e.labelled(&q.subject) && e.reach.allSelected(&q.subject) {
			q.exceptions = append(q.exceptions, e)
		}
	}
	return q.exceptions
}

// labelled reports whether the object has the required labels before and after the change.
func (e *Exception) labelled(s *subject) bool {
	for i := range s.Sides {
		if e.labels != nil && !e.labels.Matches(s.Sides[i].Labels) {
			return false
		}
	}
	return true
}

// maxWork is the maximum number of windows that the search for the next allowed instant examines. This is enough for 39
// years of two weekly windows that never meet, or for five years of daily windows. The search takes some tens of
// milliseconds at most, so a strange policy cannot keep the webhook busy.
const maxWork = 16384

// nextAllowed returns the first instant from now on at which no enforced rule denies the request, and the rule that
// denies until then. If the denial never ends, next and searched are zero. If the search reaches its limit, next is
// zero, and the request is denied at least until searched. Each step jumps to the earliest possible end of a denial, so
// that no allowed instant is missed.
func (q *inquiry) nextAllowed() (next, searched time.Time, last *Rule) {
	step := 0
	for _, r := range q.rules {
		step += r.windows + 1
	}
	at := q.req.Now
	for range 1 + maxWork/step {
		next, by := q.longestDenial(at)
		if by == nil {
			return at, time.Time{}, last
		}
		if next.IsZero() {
			return time.Time{}, time.Time{}, by
		}
		at, last = next, by
	}
	return time.Time{}, at, last
}

// longestDenial returns the enforced rule whose denial at an instant certainly lasts longest, and the end of this denial;
// zero: it never ends. The rule is nil if no enforced rule denies.
func (q *inquiry) longestDenial(at time.Time) (until time.Time, by *Rule) {
	for _, r := range q.rules {
		if r.enforcement != v1alpha1.EnforcementDeny {
			continue
		}
		st := r.denies.At(at)
		if !st.Active || q.denied(r, at, nil) == 0 && !q.leaves(r) {
			continue
		}
		end := q.mayEnd(r, at, st.Until)
		if by == nil || end.IsZero() || !until.IsZero() && end.After(until) {
			until, by = end, r
		}
		if end.IsZero() {
			break
		}
	}
	return until, by
}

// mayEnd returns the first instant after at when a rule's denial may end. This is the end of the denial itself, or the
// start of an exception that lifts a part of it.
func (q *inquiry) mayEnd(r *Rule, at, end time.Time) time.Time {
	now := at.Unix()
	for _, e := range q.usable() {
		if e.from <= now || e.allow&r.deny&q.req.Actions == 0 || !e.covers(r) {
			continue
		}
		if from := time.Unix(e.from, 0).UTC(); end.IsZero() || from.Before(end) {
			end = from
		}
	}
	return end
}
