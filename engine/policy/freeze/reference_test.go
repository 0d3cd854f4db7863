package freeze_test

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// holds reports whether a policy's time and target fit a request. If all is true, every version of the object must fit;
// otherwise one version is enough.
type holds func(req freeze.UserChange, all bool) bool

// anatomy returns the parts of a policy without the code under test.
func anatomy(obj any) (rules v1alpha1.FreezeRules, hold holds, exception v1alpha1.ExceptionRules, isRule bool) {
	during := func(from, to metav1.Time) func(time.Time) bool {
		return func(now time.Time) bool { return !now.Before(from.Time) && now.Before(to.Time) }
	}
	inside := func(ns string, target v1alpha1.TargetSelector, at func(time.Time) bool) holds {
		return heldBy(target, at, func(name string, _ workload.Pairs) bool { return name == ns })
	}
	outside := func(target v1alpha1.ClusterTargetSelector, at func(time.Time) bool) holds {
		return heldBy(target.TargetSelector, at, func(name string, ls workload.Pairs) bool {
			return slices.Contains(target.Namespaces, name) || target.NamespaceSelector != nil && matches(target.NamespaceSelector, ls)
		})
	}
	switch o := obj.(type) {
	case *v1alpha1.ChangeFreeze:
		return o.Spec.FreezeRules, inside(o.Namespace, o.Spec.Target, during(o.Spec.StartTime, o.Spec.EndTime)), exception, true
	case *v1alpha1.ClusterChangeFreeze:
		return o.Spec.FreezeRules, outside(o.Spec.Target, during(o.Spec.StartTime, o.Spec.EndTime)), exception, true
	case *v1alpha1.MaintenanceWindow:
		return o.Spec.FreezeRules, inside(o.Namespace, o.Spec.Target, closed(o.Spec.Windows[0])), exception, true
	case *v1alpha1.ClusterMaintenanceWindow:
		return o.Spec.FreezeRules, outside(o.Spec.Target, closed(o.Spec.Windows[0])), exception, true
	case *v1alpha1.FreezeException:
		return rules, constrained(o.Spec.Constraints, inside(o.Namespace, o.Spec.Target, during(o.Spec.ActiveFrom, o.Spec.ActiveTo))),
			o.Spec.ExceptionRules, false
	case *v1alpha1.ClusterFreezeException:
		return rules, constrained(o.Spec.Constraints, outside(o.Spec.Target, during(o.Spec.ActiveFrom, o.Spec.ActiveTo))), o.Spec.ExceptionRules,
			false
	}
	panic("no such policy")
}

// leaves reports whether a policy holds for the object before the change and not for the object after it.
func leaves(hold holds, req freeze.UserChange) bool {
	before, after := req, req
	before.New, after.Old = nil, nil
	return req.Old != nil && req.New != nil && hold(before, false) && !hold(after, false)
}

// refusesLeaving reports whether a rule refuses that an object leaves it by its labels.
func refusesLeaving(obj any, rules v1alpha1.FreezeRules) bool {
	byLabels, inCluster := false, false
	switch o := obj.(type) {
	case *v1alpha1.ClusterChangeFreeze:
		byLabels, inCluster = selectsByLabels(o.Spec.Target.TargetSelector), true
	case *v1alpha1.ClusterMaintenanceWindow:
		byLabels, inCluster = selectsByLabels(o.Spec.Target.TargetSelector), true
	}
	return rules.Enforcement == v1alpha1.EnforcementDeny &&
		(rules.LabelChanges == v1alpha1.LabelChangesDeny || rules.LabelChanges == "" && inCluster && byLabels)
}

func selectsByLabels(target v1alpha1.TargetSelector) bool {
	return !emptySelector(target.Selector) || !emptySelector(target.Exclude) || len(target.Annotations) > 0
}

func emptySelector(s *metav1.LabelSelector) bool {
	return s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0
}

func constrained(c *v1alpha1.ExceptionConstraints, inner holds) holds {
	return func(req freeze.UserChange, all bool) bool {
		for _, side := range []*freeze.Facts{req.Old, req.New} {
			for k, v := range requiredBy(c) {
				if side != nil && side.Labels.Get(k) != v {
					return false
				}
			}
		}
		return inner(req, all)
	}
}

func requiredBy(c *v1alpha1.ExceptionConstraints) map[string]string {
	if c == nil {
		return nil
	}
	return c.RequireLabels
}

// closed returns a function that reports whether a daily window in UTC is closed at an instant.
func closed(w v1alpha1.Window) func(time.Time) bool {
	return func(now time.Time) bool {
		t := now.UTC().Format("15:04")
		if w.From < w.To {
			return t < w.From || t >= w.To
		}
		return t >= w.To && t < w.From
	}
}

func heldBy(target v1alpha1.TargetSelector, at func(time.Time) bool, namespace func(string, workload.Pairs) bool) holds {
	return func(req freeze.UserChange, all bool) bool {
		if !at(req.Now) {
			return false
		}
		any, every := false, true
		for _, side := range []*freeze.Facts{req.Old, req.New} {
			if side == nil {
				continue
			}
			for _, ls := range req.NamespaceLabels {
				one := namespace(req.Namespace, ls) && picks(target, req, side.Labels)
				any, every = any || one, every && one
			}
		}
		return every || any && !all
	}
}

func picks(target v1alpha1.TargetSelector, req freeze.UserChange, ls workload.Pairs) bool {
	kind := v1alpha1.KindRef{Group: req.Kind.Group, Kind: req.Kind.Kind}
	return (len(target.Kinds) == 0 || slices.Contains(target.Kinds, kind)) &&
		(len(target.Names) == 0 || slices.Contains(target.Names, req.Name)) &&
		(target.Selector == nil || matches(target.Selector, ls)) &&
		(emptySelector(target.Exclude) || !matches(target.Exclude, ls))
}

func matches(s *metav1.LabelSelector, ls workload.Pairs) bool {
	selector, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		panic(err)
	}
	m := labels.Set{}
	for _, p := range ls {
		m[p.Key] = p.Value
	}
	return selector.Matches(m)
}
