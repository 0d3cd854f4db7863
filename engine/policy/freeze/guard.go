package freeze

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// terms are what a rule's specification says, whichever of the four kinds it is of.
type terms struct {
	target  any
	period  v1alpha1.FreezePeriod
	windows []v1alpha1.Window
	rules   v1alpha1.FreezeRules
}

func termsOf(obj any) (terms, error) {
	switch o := obj.(type) {
	case *v1alpha1.ChangeFreeze:
		return terms{target: o.Spec.Target, period: o.Spec.FreezePeriod, rules: o.Spec.FreezeRules}, nil
	case *v1alpha1.ClusterChangeFreeze:
		return terms{target: o.Spec.Target, period: o.Spec.FreezePeriod, rules: o.Spec.FreezeRules}, nil
	case *v1alpha1.MaintenanceWindow:
		return terms{target: o.Spec.Target, windows: o.Spec.Windows, rules: o.Spec.FreezeRules}, nil
	case *v1alpha1.ClusterMaintenanceWindow:
		return terms{target: o.Spec.Target, windows: o.Spec.Windows, rules: o.Spec.FreezeRules}, nil
	}
	return terms{}, fmt.Errorf("%T is no change freeze and no maintenance window", obj)
}

// Weakens lists the fields by which an edit of a change freeze or maintenance window (pointers to the API types) may let
// through what the old one denies: another target, an earlier end, a later start, other windows or their zone, an action or a
// kind to suspend less, a milder enforcement. Another message or a later end weakens nothing. It does not ask whether the
// rule is active.
func Weakens(old, edited any) ([]string, error) {
	before, err := termsOf(old)
	if err != nil {
		return nil, err
	}
	after, err := termsOf(edited)
	if err != nil {
		return nil, err
	}
	var fields []string
	note := func(weaker bool, name string) {
		if weaker {
			fields = append(fields, name)
		}
	}
	note(!equality.Semantic.DeepEqual(before.target, after.target), "spec.target")
	note(after.period.StartTime.After(before.period.StartTime.Time), "spec.startTime")
	note(after.period.EndTime.Before(&before.period.EndTime), "spec.endTime")
	note(!equality.Semantic.DeepEqual(before.windows, after.windows), "spec.windows")
	note(len(before.windows) > 0 && before.rules.TimeZone != after.rules.TimeZone, "spec.timeZone")
	note(lacks(before.rules.Deny, after.rules.Deny), "spec.deny")
	note(strictness(after.rules.Enforcement) < strictness(before.rules.Enforcement), "spec.enforcement")
	note(lacks(before.rules.Suspend, after.rules.Suspend), "spec.suspend")
	return fields, nil
}

func lacks[T comparable](before, after []T) bool {
	return slices.ContainsFunc(before, func(t T) bool { return !slices.Contains(after, t) })
}

func strictness(e v1alpha1.Enforcement) int {
	switch e {
	case v1alpha1.EnforcementAudit:
		return 1
	case v1alpha1.EnforcementWarn:
		return 2
	default:
		return 3
	}
}

// Guarding lists the enforced rules that are active now and can select objects of a kind: who edits or deletes the kind's
// adapter changes what they judge by.
func (s *Set) Guarding(kind schema.GroupKind, now time.Time) []*Rule {
	return slices.DeleteFunc(s.Reaching(kind, now), func(r *Rule) bool { return !r.enforcedAt(now) })
}

// Escapes lists the enforced rules that are active now and select an object as it was, but not as it becomes: an edit of
// labels or annotations that takes it out of them.
func (s *Set) Escapes(req Request) []*Rule {
	if req.Old == nil || req.New == nil || len(s.rules) == 0 {
		return nil
	}
	before, after := req, req
	before.New, after.Old = nil, nil
	is, was := after.subject(), before.subject()
	var out []*Rule
	for _, r := range s.denies.find(&was, req.Now.Unix()) {
		if r.enforcedAt(req.Now) && r.reach.anySelected(&was) && !r.reach.anySelected(&is) {
			out = append(out, r)
		}
	}
	return out
}

// EscapesNamespace lists the enforced rules that are active now and reach a namespace by the labels it had, but not by those
// it gets.
func (s *Set) EscapesNamespace(namespace string, old, relabelled workload.Pairs, now time.Time) []*Rule {
	var out []*Rule
	for _, r := range s.Rules() {
		if r.id.Namespace == "" && r.enforcedAt(now) &&
			r.reach.selector.MatchesNamespace(namespace, old) && !r.reach.selector.MatchesNamespace(namespace, relabelled) {
			out = append(out, r)
		}
	}
	return out
}

// EntersNamespace lists the exceptions that are not over and reach a namespace by the labels it gets, but not by those it had.
func (s *Set) EntersNamespace(namespace string, old, relabelled workload.Pairs, now time.Time) []*Exception {
	var out []*Exception
	for _, e := range s.Exceptions() {
		if e.id.Namespace == "" && now.Unix() < e.to &&
			!e.reach.selector.MatchesNamespace(namespace, old) && e.reach.selector.MatchesNamespace(namespace, relabelled) {
			out = append(out, e)
		}
	}
	return out
}

func (r *Rule) enforcedAt(now time.Time) bool {
	return r.enforcement == v1alpha1.EnforcementDeny && r.denies.At(now).Active
}
