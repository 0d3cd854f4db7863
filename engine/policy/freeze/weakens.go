package freeze

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// Weakens returns the fields whose edit may let through changes that the old policy denied. Both arguments are pointers to
// a change freeze or a maintenance window of the API. An edit weakens a policy if the edited policy
//
//   - has another target, other subjects, windows or calendars, or another time zone of the windows,
//   - has a later start, an earlier end, a shorter guardAhead, or a longer letFinish,
//   - lacks a denied action or an entry of suspend of the old policy,
//   - has a milder enforcement, or allows label changes that were refused.
//
// Another message or a later end weakens nothing. The result does not depend on whether the policy is active. Two objects
// of other kinds are an error.
func Weakens(old, edited any) ([]string, error) {
	before, ok := draftOf(old)
	after, ok2 := draftOf(edited)
	if !ok || !ok2 {
		return nil, fmt.Errorf("%T and %T are not both change freezes or maintenance windows", old, edited)
	}
	var fields []string
	for _, f := range []struct {
		name   string
		weaker bool
	}{
		{"spec.target", !equality.Semantic.DeepEqual(before.target.spec, after.target.spec)},
		{"spec.startTime", before.startsBefore(after)},
		{"spec.endTime", after.endsBefore(before)},
		{"spec.guardAhead", aheadOf(after) < aheadOf(before)},
		{"spec.letFinish", finishOf(after) > finishOf(before)},
		{"spec.windows", !equality.Semantic.DeepEqual(before.times.Windows, after.times.Windows)},
		{"spec.calendars", !equality.Semantic.DeepEqual(before.times.Calendars, after.times.Calendars)},
		{"spec.timeZone", len(before.times.Windows) > 0 && before.rules.TimeZone != after.rules.TimeZone},
		{"spec.subjects", !equality.Semantic.DeepEqual(before.rules.Subjects, after.rules.Subjects)},
		{"spec.excludeSubjects", !equality.Semantic.DeepEqual(before.rules.ExcludeSubjects, after.rules.ExcludeSubjects)},
		{"spec.deny", lacks(before.rules.Deny, after.rules.Deny)},
		{"spec.enforcement", strictness(after.enforcement()) < strictness(before.enforcement())},
		{"spec.labelChanges", before.refusesLeaving() && !after.refusesLeaving()},
		{"spec.suspend", lacks(before.suspend, after.suspend)},
	} {
		if f.weaker {
			fields = append(fields, f.name)
		}
	}
	return fields, nil
}

// startsBefore reports whether the period of a draft starts before the period of another draft, or the other draft has no
// period.
func (d draft) startsBefore(other draft) bool {
	return !d.times.StartTime.IsZero() && (other.times.StartTime.IsZero() || d.times.StartTime.Before(&other.times.StartTime))
}

// endsBefore reports whether the period of a draft ends before the period of another draft, or only the other draft has a
// period.
func (d draft) endsBefore(other draft) bool {
	return !other.times.EndTime.IsZero() && (d.times.EndTime.IsZero() || d.times.EndTime.Before(&other.times.EndTime))
}

func lacks[T any](before, after []T) bool {
	return slices.ContainsFunc(before, func(t T) bool {
		return !slices.ContainsFunc(after, func(o T) bool { return equality.Semantic.DeepEqual(t, o) })
	})
}

// strictness returns a number that rises with the strictness of an enforcement; below zero: unknown.
func strictness(e v1alpha1.Enforcement) int {
	return slices.Index([]v1alpha1.Enforcement{v1alpha1.EnforcementAudit, v1alpha1.EnforcementWarn, v1alpha1.EnforcementDeny}, e)
}

// clusterRules returns the rules of Cluster kinds. Only these guard cluster-scoped objects: with a namespaced rule, a tenant would
// stop the editors of the cluster.
func (s *Set) clusterRules() []*Rule {
	return slices.DeleteFunc(s.Rules(), func(r *Rule) bool { return r.id.Namespace != "" })
}

// Guarding returns the rules of Cluster kinds that are guarded now (active, or starting soon) and depend on the adapter of a kind. An
// edit or deletion of the adapter would change their verdicts or undo their suspensions. governs is true if the kind can be an
// autoscaler according to the current adapter. Then the rules that deny Scale on other kinds are included.
func (s *Set) Guarding(kind schema.GroupKind, governs bool, now time.Time) []*Rule {
	return slices.DeleteFunc(s.clusterRules(), func(r *Rule) bool {
		guarded, _ := r.Guarded(now)
		judges := r.enforcement == v1alpha1.EnforcementDeny && r.deny != 0 &&
			(r.reach.selector.MatchesKind(kind) || governs && r.deny.Has(workload.ChangeScale))
		return !guarded || !judges && !r.engine.Target.MatchesKind(kind)
	})
}

// GuardingCalendar returns the rules of Cluster kinds that are guarded now and use a calendar, directly or through a calendar that
// includes it. An edit of the calendar's days would change the times when these rules deny. Rules that name a new calendar with
// the effect Frozen are left out, because the calendar only adds days to them.
func (s *Set) GuardingCalendar(name string, including sets.Set[string], isNew bool, now time.Time) []*Rule {
	return slices.DeleteFunc(s.clusterRules(), func(r *Rule) bool {
		guarded, _ := r.Guarded(now)
		return !guarded || !slices.ContainsFunc(r.calendars, func(c v1alpha1.FreezeCalendar) bool {
			onlyAdds := isNew && c.Name == name && c.Effect == v1alpha1.EffectFrozen
			return including.Has(c.Name) && !onlyAdds
		})
	})
}

// UsingCalendars returns the first rule of a Cluster kind that is not over and names one of the calendars; nil: none.
func (s *Set) UsingCalendars(names sets.Set[string], now time.Time) *Rule {
	for _, r := range s.clusterRules() {
		if !r.Over(now) && slices.ContainsFunc(r.calendars, func(c v1alpha1.FreezeCalendar) bool { return names.Has(c.Name) }) {
			return r
		}
	}
	return nil
}

// Escapes returns the enforced and active rules that an object leaves by an edit of labels or annotations.
func (s *Set) Escapes(req UserChange) []*Rule {
	of := req.subject()
	var out []*Rule
	for _, r := range s.denies.Find(&of.Query, req.Now.Unix()) {
		if r.enforcedAt(req.Now) && r.isLeftBy(&of) {
			out = append(out, r)
		}
	}
	return out
}

// EscapesNamespace returns the enforced rules guarded now (active, or starting soon) of which a selection reaches a namespace
// by its old labels, but not by its new ones.
func (s *Set) EscapesNamespace(namespace string, old, relabelled workload.Pairs, now time.Time) []*Rule {
	var out []*Rule
	for _, r := range s.Rules() {
		if r.id.Namespace == "" && r.guardsLabels(now) &&
			slices.ContainsFunc(r.held, func(h reach) bool { return h.selector.LosesNamespace(namespace, old, relabelled) }) {
			out = append(out, r)
		}
	}
	return out
}

// EntersNamespace returns the exceptions that are not over and reach a namespace by its new labels, but not by its old
// labels.
func (s *Set) EntersNamespace(namespace string, old, relabelled workload.Pairs, now time.Time) []*Exception {
	var out []*Exception
	for _, e := range s.Exceptions() {
		if e.id.Namespace == "" && now.Unix() < e.end &&
			!e.reach.selector.MatchesNamespace(namespace, old) && e.reach.selector.MatchesNamespace(namespace, relabelled) {
			out = append(out, e)
		}
	}
	return out
}

// GuardsNamespaces reports whether some rule guards the labels of namespaces now. next is the time when this may change;
// zero: never.
func (s *Set) GuardsNamespaces(now time.Time) (guarded bool, next time.Time) {
	for _, r := range s.rules {
		if !r.ByNamespaceLabels() || r.Over(now) {
			continue
		}
		guarded = guarded || r.guardsLabels(now)
		state := r.denies.At(now)
		change := state.Until
		if ahead := change.Add(-r.guardAhead); !state.Active && ahead.After(now) {
			change = ahead
		}
		if change.After(now) && (next.IsZero() || change.Before(next)) {
			next = change
		}
	}
	return guarded, next
}

func (r *Rule) guardsLabels(now time.Time) bool {
	guarded, _ := r.Guarded(now)
	return guarded && r.enforcement == v1alpha1.EnforcementDeny
}

func (r *Rule) enforcedAt(now time.Time) bool {
	return r.enforcement == v1alpha1.EnforcementDeny && r.denies.At(now).Active
}

// finishOf returns the time for controllers to finish roll-outs. It is 0 for an unreadable value: such a rule denies nothing.
func finishOf(d draft) time.Duration {
	long, _ := d.letFinish(nil)
	return long
}

// aheadOf returns how long before its start a rule is already guarded. It is 0 for an unreadable value: such a rule denies
// nothing.
func aheadOf(d draft) time.Duration {
	ahead, _ := d.guardAhead(nil)
	return ahead
}
