package freeze

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// Facts are what selection looks at in one version of an object.
type Facts struct {
	Labels workload.Pairs
	// Annotations need hold no more than those of Set.AnnotationKeys.
	Annotations workload.Pairs
}

// same says whether two versions are the same to selection; most edits leave labels alone.
func (f *Facts) same(other *Facts) bool {
	return f == other || other != nil && slices.Equal(f.Labels, other.Labels) && slices.Equal(f.Annotations, other.Annotations)
}

// Request is one change that somebody asks for.
type Request struct {
	// Actions are what the change is, as the adapter classifies it. None: only what it does to labels and annotations counts.
	Actions workload.Change
	// Kind, Namespace and Name are those of the object; Namespace is empty for one outside namespaces.
	Kind            schema.GroupKind
	Namespace, Name string
	// NamespaceLabels are the label sets that the namespace has: one, or two while it is being relabelled. A policy matches
	// under either, an exception only under both.
	NamespaceLabels []workload.Pairs
	// Old and New are the object before and after; nil where there is none. A policy matches if it selects either, an
	// exception only if it selects both.
	Old, New *Facts
	// User and Groups ask.
	User   string
	Groups []string
	// Now is the instant of the request.
	Now time.Time
	// DryRun changes nothing of the verdict: it tells the caller to count nothing.
	DryRun bool
	// Terminating says that the namespace is being deleted: what is in it goes anyway.
	Terminating bool
	// Deleting says that the object has a deletion timestamp: asking for its deletion again changes nothing.
	Deleting bool
}

// Denial is what one rule has against a request.
type Denial struct {
	Policy      workload.Policy
	Enforcement v1alpha1.Enforcement
	// Actions of the request that the rule denies, less those that exceptions lift.
	Actions workload.Change
	// Leaves says that the object would leave the rule by an edit of its labels or annotations, which the rule refuses.
	Leaves bool
	// Until is when the rule stops denying by itself; zero: never.
	Until time.Time
	// Reason is the rule's reason, contact and documentation in words; it may be empty.
	Reason string
}

// Names lists what is denied: actions, and Relabel for an edit of labels by which the object would leave the rule.
func (d *Denial) Names() []string {
	names := d.Actions.Names()
	if d.Leaves {
		names = append(names, "Relabel")
	}
	return names
}

// Lift is what one exception takes off one rule.
type Lift struct {
	Policy, Exception workload.Policy
	Actions           workload.Change
}

// Verdict is the answer to a Request.
type Verdict struct {
	// Allowed is false if a rule whose enforcement is Deny denies.
	Allowed bool
	// Enforcement is the strictest that has something against the request; empty: nothing has.
	Enforcement v1alpha1.Enforcement
	// Denials are what the rules have against the request, in order of their names: of all enforcements.
	Denials []Denial
	// Lifts are what exceptions took off, in order of the rules' names and then of the exceptions'.
	Lifts []Lift
	// Warnings are to be shown to the user: one for each denial whose enforcement is Warn.
	Warnings []string
	// NextAllowed is, where the request is refused, the first instant at which no rule would refuse it any more, exceptions
	// that begin meanwhile included. Zero: there is none in sight.
	NextAllowed time.Time
	// NotBefore is, where none is in sight, the instant as far as which the search has gone: it is refused until then at
	// least. Zero: for ever.
	NotBefore time.Time
	// Message says why the request is refused; empty if it is not.
	Message string
}

// Of lists the denials of one enforcement.
func (v *Verdict) Of(e v1alpha1.Enforcement) []Denial {
	var out []Denial
	for _, d := range v.Denials {
		if d.Enforcement == e {
			out = append(out, d)
		}
	}
	return out
}

// Decide judges a request. It does no I/O, and its cost depends on the policies that may select the object, not on how many
// there are.
func (s *Set) Decide(req Request) Verdict {
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
		left, leaves := q.denied(r, req.Now, &v.Lifts), q.leaves(r)
		if left == 0 && !leaves {
			continue
		}
		if v.Denials == nil {
			v.Denials = make([]Denial, 0, len(q.rules))
		}
		v.Denials = append(v.Denials, Denial{Policy: r.id, Enforcement: r.enforcement, Actions: left, Leaves: leaves, Until: st.Until, Reason: r.why})
		if strictness(r.enforcement) > strictness(v.Enforcement) {
			v.Enforcement = r.enforcement
		}
		if r.enforcement == v1alpha1.EnforcementWarn {
			v.Warnings = append(v.Warnings, warning(&req, r, left, st.Until))
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

// inquiry is one request with the rules that select its object, and the exceptions that could help whoever asks.
type inquiry struct {
	set     *Set
	req     *Request
	subject subject
	// rules select the object and deny some of the actions, or that the object leaves them, now or later.
	rules []*Rule
	// leaving are those of the rules that the object would leave by its labels, and that refuse this.
	leaving []*Rule
	// exceptions select the object and admit whoever asks, now or later. They are looked up when first needed.
	exceptions []*Exception
	searched   bool
}

func (s *Set) inquire(req *Request) *inquiry {
	q := &inquiry{set: s, req: req, subject: req.subject()}
	found := s.denies.find(&q.subject, req.Now.Unix())
	q.rules = found[:0]
	for _, r := range found {
		leaves := r.refusesLeaving && r.reach.isLeftBy(&q.subject)
		if leaves {
			q.leaving = append(q.leaving, r)
		}
		if leaves || r.deny&req.Actions != 0 && r.reach.anySelected(&q.subject) {
			q.rules = append(q.rules, r)
		}
	}
	return q
}

// Concerning lists the rules that select the object of a request and deny some of its actions, now or later.
func (s *Set) Concerning(req Request) []*Rule { return s.inquire(&req).rules }

// leaves says whether the object would leave a rule that refuses this. No exception lifts it, because the object would stay out
// when the exception has ended.
func (q *inquiry) leaves(r *Rule) bool { return slices.Contains(q.leaving, r) }

// relabels says whether the object before and after the change may be selected by different policies.
func (req *Request) relabels() bool {
	return req.Old != nil && req.New != nil && !req.New.same(req.Old)
}

func (req *Request) subject() subject {
	s := subject{kind: req.Kind, spaces: req.NamespaceLabels, sides: make([]workload.Object, 0, 2)}
	for i, f := range [...]*Facts{req.Old, req.New} {
		if f != nil && (i == 0 || !f.same(req.Old)) {
			s.sides = append(s.sides, workload.Object{Namespace: req.Namespace, Name: req.Name, Labels: f.Labels, Annotations: f.Annotations})
		}
	}
	if len(s.sides) == 0 {
		s.sides = append(s.sides, workload.Object{Namespace: req.Namespace, Name: req.Name})
	}
	if len(s.spaces) == 0 {
		s.spaces = []workload.Pairs{nil}
	}
	return s
}

// denied gives the actions that a rule denies at an instant at which it is active, less what exceptions lift. What they lift
// is added to lifts, if that is not nil.
func (q *inquiry) denied(r *Rule, at time.Time, lifts *[]Lift) workload.Change {
	left := r.deny & q.req.Actions
	for _, e := range q.usable() {
		lifted := e.allow & left
		if lifted == 0 || !e.Active(at) || !e.covers(r) {
			continue
		}
		left &^= lifted
		if lifts != nil {
			*lifts = append(*lifts, Lift{Policy: r.id, Exception: e.id, Actions: lifted})
		}
		if left == 0 {
			break
		}
	}
	return left
}

// usable lists the exceptions whose target and constraints hold for the request, whatever their time.
func (q *inquiry) usable() []*Exception {
	if q.searched {
		return q.exceptions
	}
	q.searched = true
	for _, e := range q.set.lifts.find(&q.subject, q.req.Now.Unix()) {
		if e.allow&q.req.Actions != 0 && e.admits(q.req.User, q.req.Groups) && e.labelled(&q.subject) && e.reach.allSelected(&q.subject) {
			q.exceptions = append(q.exceptions, e)
		}
	}
	return q.exceptions
}

// labelled says whether the object carries the required labels before and after.
func (e *Exception) labelled(s *subject) bool {
	for i := range s.sides {
		if e.labels != nil && !e.labels.Matches(s.sides[i].Labels) {
			return false
		}
	}
	return true
}

// maxWork bounds the search for the next allowed instant, in windows looked at: 39 years of two weekly windows that never meet,
// five of daily ones. Some tens of milliseconds at the most, so that nobody can keep the webhook busy by an odd policy.
const maxWork = 16384

// nextAllowed gives the first instant from now on at which no enforced rule denies what is asked, and the rule that denies
// until then. Where there is none in sight the instant is zero, and the search ended at the second one; zero too: there is
// none at all. Each step goes as far as some rule certainly denies, so that no allowed instant is passed over.
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

// longestDenial gives, of the enforced rules that deny at an instant, the one that certainly denies longest, and until when;
// zero: for ever. No rule: nothing denies at the instant.
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

// mayEnd is the first instant after at when a rule that denies now may not any more: its own end, or the beginning of an
// exception that lifts some of it.
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
