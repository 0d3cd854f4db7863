package freeze_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// The world of the properties is small, so that policies meet: one day, two namespaces, three labels, three names.
var (
	day        = at("2026-12-20T00:00:00Z")
	minutes    = 24 * 60
	allActions = []v1alpha1.Action{v1alpha1.ActionCreate, v1alpha1.ActionDelete, v1alpha1.ActionRollOut, v1alpha1.ActionScale}
	kindsDrawn = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}, {Group: "batch", Kind: "CronJob"}}
)

func drawSome[T any](t *rapid.T, from []T, least int, label string) []T {
	return rapid.Permutation(from).Draw(t, label)[:rapid.IntRange(least, len(from)).Draw(t, label+" count")]
}

func drawLabels(t *rapid.T, label string) map[string]string {
	m := map[string]string{}
	for _, k := range drawSome(t, []string{"a", "b", "c"}, 0, label) {
		m[k] = rapid.SampledFrom([]string{"1", "2"}).Draw(t, label+" value")
	}
	return m
}

func drawSelector(t *rapid.T, label string) *metav1.LabelSelector {
	switch rapid.IntRange(0, 3).Draw(t, label+" form") {
	case 0:
		return &metav1.LabelSelector{MatchLabels: drawLabels(t, label)}
	case 1:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: rapid.SampledFrom([]string{"a", "b"}).Draw(t, label), Values: drawSome(t, []string{"1", "2"}, 1, label+" values"),
			Operator: rapid.SampledFrom([]metav1.LabelSelectorOperator{metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn}).Draw(t, label+" op"),
		}}}
	default:
		return nil
	}
}

func drawTarget(t *rapid.T) v1alpha1.TargetSelector {
	target := v1alpha1.TargetSelector{Selector: drawSelector(t, "selector")}
	if rapid.Bool().Draw(t, "kinds") {
		target.Kinds = drawSome(t, kindsDrawn, 1, "kinds")
	}
	if rapid.IntRange(0, 3).Draw(t, "by name") == 0 {
		target.Names = drawSome(t, []string{"web", "api", "db"}, 1, "names")
	}
	if rapid.IntRange(0, 3).Draw(t, "exclude") == 0 {
		target.Exclude = drawSelector(t, "exclude")
	}
	return target
}

func drawClusterTarget(t *rapid.T) v1alpha1.ClusterTargetSelector {
	target := v1alpha1.ClusterTargetSelector{TargetSelector: drawTarget(t), NamespaceSelector: drawSelector(t, "namespace selector")}
	target.Namespaces = drawSome(t, []string{"shop", "bank"}, 0, "namespaces")
	if len(target.Namespaces) == 0 && target.NamespaceSelector == nil {
		target.NamespaceSelector = &metav1.LabelSelector{}
	}
	return target
}

func drawSpan(t *rapid.T) (from, to metav1.Time) {
	start := rapid.IntRange(-60, minutes).Draw(t, "start")
	end := start + rapid.IntRange(1, minutes/2).Draw(t, "length")
	return metav1.NewTime(day.Add(time.Duration(start) * time.Minute)), metav1.NewTime(day.Add(time.Duration(end) * time.Minute))
}

func clock(minute int) string { return fmt.Sprintf("%02d:%02d", minute/60, minute%60) }

func drawRules(t *rapid.T) v1alpha1.FreezeRules {
	return v1alpha1.FreezeRules{
		LabelChanges: rapid.SampledFrom([]v1alpha1.LabelChanges{"", v1alpha1.LabelChangesDeny, v1alpha1.LabelChangesWarn}).Draw(t,
			"label changes"),
		Deny: drawSome(t, allActions, 1, "deny"),
		Enforcement: rapid.SampledFrom([]v1alpha1.Enforcement{v1alpha1.EnforcementDeny, v1alpha1.EnforcementDeny, v1alpha1.EnforcementWarn,
			v1alpha1.EnforcementAudit}).Draw(t, "enforcement"),
	}
}

// drawPolicy draws an object of one of the six kinds.
func drawPolicy(t *rapid.T, i int) any {
	meta := metav1.ObjectMeta{Name: fmt.Sprintf("p%d", i)}
	inside := meta
	inside.Namespace = rapid.SampledFrom([]string{"shop", "bank"}).Draw(t, "namespace")
	from, to := drawSpan(t)
	period := v1alpha1.FreezePeriod{Period: v1alpha1.Period{StartTime: from, EndTime: to}}
	minute := rapid.IntRange(0, minutes-1)
	open := v1alpha1.Window{From: clock(minute.Draw(t, "from")), To: clock(minute.Draw(t, "to"))}
	if open.From == open.To {
		open.To = "24:00"
	}
	windows := []v1alpha1.Window{open}
	exception := v1alpha1.ExceptionRules{ActiveFrom: from, ActiveTo: to, Allow: drawSome(t, allActions, 1, "allow"), Reason: "x"}
	if rapid.Bool().Draw(t, "constrained") {
		exception.Constraints = &v1alpha1.ExceptionConstraints{RequireLabels: drawLabels(t, "required")}
	}
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return &v1alpha1.ChangeFreeze{ObjectMeta: inside, Spec: v1alpha1.ChangeFreezeSpec{Target: drawTarget(t), FreezePeriod: period,
			FreezeRules: drawRules(t)}}
	case 1:
		return &v1alpha1.ClusterChangeFreeze{ObjectMeta: meta,
			Spec: v1alpha1.ClusterChangeFreezeSpec{Target: drawClusterTarget(t), FreezePeriod: period, FreezeRules: drawRules(t)}}
	case 2:
		return &v1alpha1.MaintenanceWindow{ObjectMeta: inside,
			Spec: v1alpha1.MaintenanceWindowSpec{Target: drawTarget(t), Windows: windows, FreezeRules: drawRules(t)}}
	case 3:
		return &v1alpha1.ClusterMaintenanceWindow{ObjectMeta: meta,
			Spec: v1alpha1.ClusterMaintenanceWindowSpec{Target: drawClusterTarget(t), Windows: windows, FreezeRules: drawRules(t)}}
	case 4:
		exception.Policies = drawSome(t, []string{"p0", "p1", "p2", "ChangeFreeze/p3", "MaintenanceWindow/" + inside.Namespace + "/p4"}, 0,
			"policies")
		return &v1alpha1.FreezeException{ObjectMeta: inside, Spec: v1alpha1.FreezeExceptionSpec{Target: drawTarget(t), ExceptionRules: exception}}
	default:
		exception.Policies = drawSome(t, []string{"p0", "p1", "ClusterChangeFreeze/p2", "ChangeFreeze/shop/p3", "MaintenanceWindow/bank/p4"}, 0,
			"policies")
		return &v1alpha1.ClusterFreezeException{ObjectMeta: meta,
			Spec: v1alpha1.ClusterFreezeExceptionSpec{Target: drawClusterTarget(t), ExceptionRules: exception}}
	}
}

func drawPolicies(t *rapid.T) []any {
	out := make([]any, rapid.IntRange(0, 6).Draw(t, "policies"))
	for i := range out {
		out[i] = drawPolicy(t, i)
	}
	return out
}

func drawRequest(t *rapid.T) freeze.UserChange {
	kind := rapid.SampledFrom(kindsDrawn).Draw(t, "of kind")
	req := freeze.UserChange{
		Actions:   workload.Change(rapid.IntRange(0, 15).Draw(t, "actions")),
		Kind:      schema.GroupKind{Group: kind.Group, Kind: kind.Kind},
		Name:      rapid.SampledFrom([]string{"web", "api", "db"}).Draw(t, "name"),
		Namespace: rapid.SampledFrom([]string{"shop", "bank"}).Draw(t, "in"),
		User:      "alice",
		Now:       day.Add(time.Duration(rapid.IntRange(0, minutes-1).Draw(t, "now")) * time.Minute),
	}
	for range rapid.IntRange(1, 2).Draw(t, "label sets") {
		req.NamespaceLabels = append(req.NamespaceLabels, workload.NewPairs(drawLabels(t, "namespace labels")))
	}
	side := func(label string) *freeze.Facts {
		return &freeze.Facts{Labels: workload.NewPairs(drawLabels(t, label))}
	}
	switch rapid.IntRange(0, 3).Draw(t, "sides") {
	case 0:
		req.New = side("new")
	case 1:
		req.Old = side("old")
	default:
		req.Old, req.New = side("old"), side("new")
	}
	return req
}

func compileAll(t *rapid.T, objs []any) *freeze.Set {
	s := &freeze.Set{}
	for _, obj := range objs {
		rule, exception, errs := freeze.CompileObject(obj, testContext)
		if len(errs) > 0 {
			t.Fatalf("%v in %+v", errs, obj)
		}
		if rule != nil {
			s = s.With(rule)
		}
		if exception != nil {
			s = s.WithExceptions(exception)
		}
	}
	return s
}

var ignoreWords = cmpopts.IgnoreFields(freeze.Verdict{}, "Message", "Warnings")

// The index finds the same policies as a search through all of them. The answer does not depend on the order of the
// policies. A removed policy leaves no trace.
func TestIndexEqualsAFullSearchInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objs, req := drawPolicies(t), drawRequest(t)
		s := compileAll(t, objs)
		v := s.Decide(req)
		if want := reference(objs, req); want != denied(v) || v.Allowed != (refusedActions(objs, req) == 0) {
			t.Fatalf("want %v denied, got %v: %+v", want.Names(), denied(v).Names(), v)
		}
		if diff := cmp.Diff(v, compileAll(t, rapid.Permutation(objs).Draw(t, "order")).Decide(req)); diff != "" {
			t.Fatalf("in another order (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(v, compileAll(t, append(objs, objs...)).Decide(req)); diff != "" {
			t.Fatalf("given twice (-want +got):\n%s", diff)
		}
		more := drawPolicy(t, 99)
		rule, exception, errs := freeze.CompileObject(more, testContext)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		var grown *freeze.Set
		var id workload.Policy
		if rule != nil {
			grown, id = s.With(rule), rule.ID()
		} else {
			grown, id = s.WithExceptions(exception), exception.ID()
		}
		if diff := cmp.Diff(v, s.Decide(req)); diff != "" {
			t.Fatalf("the set before has changed (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(v, grown.Without(id).Decide(req)); diff != "" {
			t.Fatalf("added and removed (-want +got):\n%s", diff)
		}
		with := grown.Decide(req)
		switch {
		case exception != nil && denied(with)&^denied(v) != 0:
			t.Fatalf("an exception denies: %+v", with)
		case rule != nil && denied(v)&^denied(with) != 0:
			t.Fatalf("one more rule lets through: %+v", with)
		}
	})
}

// The next allowed instant equals the first allowed minute that a search through every minute of two days finds.
func TestNextAllowedEqualsBruteForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objs, req := drawPolicies(t), drawRequest(t)
		s := compileAll(t, objs)
		v := s.Decide(req)
		if v.Allowed {
			if !v.NextAllowed.IsZero() {
				t.Fatalf("allowed, and next allowed at %s", v.NextAllowed)
			}
			return
		}
		first := time.Time{}
		for m := range 2 * minutes {
			then := req
			then.Now = req.Now.Add(time.Duration(m) * time.Minute)
			if refusedActions(objs, then) == 0 {
				first = then.Now
				break
			}
		}
		switch {
		case first.IsZero() && (v.NextAllowed.IsZero() || v.NextAllowed.Sub(req.Now) >= 2*24*time.Hour):
		case !first.Equal(v.NextAllowed):
			t.Fatalf("want %s, got %s: %s", first, v.NextAllowed, v.Message)
		}
		if v.NextAllowed.IsZero() {
			return
		}
		then := req
		then.Now = v.NextAllowed.Add(-time.Second)
		if before := s.Decide(then); before.Allowed || !before.NextAllowed.Equal(v.NextAllowed) {
			t.Fatalf("a second before %s: %+v", v.NextAllowed, before)
		}
	})
}

// The same request gives the same verdict again, with or without dry run. A request with more actions never has fewer
// denied actions.
func TestMoreActionsAreDeniedMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, req := compileAll(t, drawPolicies(t)), drawRequest(t)
		v := s.Decide(req)
		dry, more := req, req
		dry.DryRun = true
		if diff := cmp.Diff(v, s.Decide(dry)); diff != "" {
			t.Fatalf("as a dry run (-want +got):\n%s", diff)
		}
		more.Actions |= workload.Change(rapid.IntRange(0, 15).Draw(t, "more"))
		if w := s.Decide(more); denied(v)&^denied(w) != 0 || !v.Allowed && w.Allowed {
			t.Fatalf("more actions, fewer denied: %+v, then %+v", v, w)
		}
		if diff := cmp.Diff(v, s.Decide(req), ignoreWords); diff != "" {
			t.Fatalf("asked again (-want +got):\n%s", diff)
		}
	})
}

func denied(v freeze.Verdict) workload.Change {
	var all workload.Change
	for _, d := range v.Denials {
		all |= d.Actions
		if d.Leaves {
			all |= relabelled
		}
	}
	return all
}

// relabelled is an additional action in this test. It stands for an edit of labels that takes the object out of a rule
// that refuses this.
const relabelled = everyChange + 1

const everyChange = create | remove | rollOut | scale

// reference returns the denials of all policies by examining each alone: a rule denies its actions, and an exception
// lifts its actions from that rule.
func reference(objs []any, req freeze.UserChange) workload.Change { return deniedBy(objs, req, false) }

// refusedActions is the same as reference, but for enforced rules only.
func refusedActions(objs []any, req freeze.UserChange) workload.Change {
	return deniedBy(objs, req, true)
}

func deniedBy(objs []any, req freeze.UserChange, enforced bool) workload.Change {
	var all workload.Change
	for _, obj := range objs {
		rules, spec, _, isRule := anatomy(obj)
		if !isRule || enforced && rules.Enforcement != v1alpha1.EnforcementDeny || !spec(req, false) {
			continue
		}
		left := workload.Change(0)
		for _, a := range rules.Deny {
			left |= changeOf(a)
		}
		left &= req.Actions
		for _, other := range objs {
			_, lifts, exception, isRule := anatomy(other)
			if isRule || !lifts(req, true) || !speaksOf(other, exception, obj) {
				continue
			}
			for _, a := range exception.Allow {
				left &^= changeOf(a)
			}
		}
		all |= left
		if refusesLeaving(obj, rules) && leaves(spec, req) {
			all |= relabelled
		}
	}
	return all
}

func changeOf(a v1alpha1.Action) workload.Change {
	return workload.Change(1 << slices.Index(allActions, a))
}

func speaksOf(exception any, rules v1alpha1.ExceptionRules, rule any) bool {
	e, r := exception.(metav1.Object), rule.(metav1.Object)
	if e.GetNamespace() != "" && e.GetNamespace() != r.GetNamespace() {
		return false
	}
	kind := strings.TrimPrefix(fmt.Sprintf("%T", rule), "*v1alpha1.")
	names := []string{kind + "/" + r.GetName(), kind + "/" + r.GetNamespace() + "/" + r.GetName()}
	if e.GetNamespace() == r.GetNamespace() {
		names = append(names, r.GetName())
	}
	return len(rules.Policies) == 0 || slices.ContainsFunc(rules.Policies, func(p string) bool { return slices.Contains(names, p) })
}
