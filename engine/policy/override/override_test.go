package override_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/override"
)

var created = time.Date(2037, 5, 11, 18, 0, 0, 0, time.UTC)

func with(rules v1alpha1.OverrideRules) *v1alpha1.Override {
	o := &v1alpha1.Override{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "demo", CreationTimestamp: metav1.NewTime(created)}}
	o.Spec.OverrideRules = rules
	return o
}

func TestCompileNamesTheWrongField(t *testing.T) {
	const awake = v1alpha1.OverrideAwake
	for want, rules := range map[string]v1alpha1.OverrideRules{
		"spec.effect: Unsupported value":                                            {Effect: "Doze", For: "1h", Reason: "x"},
		"spec.effect: Required value: give Awake":                                   {For: "1h", Reason: "x"},
		"spec.reason: Required value: say why":                                      {Effect: awake, For: "1h", Reason: " "},
		"spec: Invalid value: \"\": give exactly one of":                            {Effect: awake, Reason: "x"},
		"spec.for: Invalid value: \"soon\": ":                                       {Effect: awake, For: "soon", Reason: "x"},
		"spec.for: Invalid value: \"0h\": ":                                         {Effect: awake, For: "0h", Reason: "x"},
		"spec.until: Invalid value: \"tonight\": ":                                  {Effect: awake, Until: "tonight", Reason: "x"},
		"spec.until: Invalid value: \" \": give an instant, a local time or a date": {Effect: awake, Until: " ", Reason: "x"},
		"spec.until: Invalid value: \"9999-12-31\": the end is after the year 9999": {Effect: awake, Until: "9999-12-31", Reason: "x"},
		"spec.until: Invalid value: \"0000-05-11\": the end is before the year 1":   {Effect: awake, Until: "0000-05-11", Reason: "x"},
		"spec.timeZone: Invalid value: \"Mars\": ": {
			Effect: awake, Until: "2037-05-12", TimeZone: "Mars", Reason: "x",
		},
	} {
		p, errs := override.Compile(with(rules), policy.Context{})
		if len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), want) || !p.IsBroken() {
			t.Errorf("%v, want %s", errs, want)
		}
	}
	for want, target := range map[string]v1alpha1.TargetSelector{
		"spec.target.annotations":        {Annotations: map[string]string{"team": "shop"}},
		"spec.target.annotationSelector": {AnnotationSelector: &metav1.LabelSelector{}},
	} {
		rules := v1alpha1.OverrideRules{Effect: awake, For: "1h", Reason: "x"}
		narrow := with(rules)
		narrow.Spec.Target = target
		p, errs := override.Compile(narrow, policy.Context{})
		cluster := &v1alpha1.ClusterOverride{Spec: v1alpha1.ClusterOverrideSpec{OverrideRules: rules}}
		cluster.Spec.Target = v1alpha1.ClusterTargetSelector{TargetSelector: target, Namespaces: []string{"shop"}}
		wide, all := override.CompileCluster(cluster, policy.Context{})
		if errs = append(errs, all...); len(errs) != 2 || errs[0].Field != want || errs[1].Field != want || !p.IsBroken() || !wide.IsBroken() {
			t.Errorf("%v, want %s", errs, want)
		}
	}
	wide := &v1alpha1.ClusterOverride{Spec: v1alpha1.ClusterOverrideSpec{OverrideRules: v1alpha1.OverrideRules{
		Effect: v1alpha1.OverrideAwake, For: "1h", Reason: "x"}}}
	if _, errs := override.CompileCluster(wide, policy.Context{}); len(errs) != 1 || errs[0].Field != "spec.target.namespaces" {
		t.Errorf("a ClusterOverride without namespaces: %v", errs)
	}
}

func TestOrdersEndByTheirCreationOrTheirZone(t *testing.T) {
	for _, tc := range []struct {
		rules v1alpha1.OverrideRules
		want  time.Time
	}{
		{v1alpha1.OverrideRules{For: "1h30m"}, created.Add(90 * time.Minute)},
		{v1alpha1.OverrideRules{Until: "2037-05-11T23:30:00+02:00"}, created.Add(3*time.Hour + 30*time.Minute)},
		{v1alpha1.OverrideRules{Until: "2037-05-11T23:30"}, created.Add(5*time.Hour + 30*time.Minute)},
		{v1alpha1.OverrideRules{Until: "2037-05-11T23:30", TimeZone: "Europe/Berlin"}, created.Add(3*time.Hour + 30*time.Minute)},
		{v1alpha1.OverrideRules{Until: "2037-05-11", TimeZone: "Europe/Berlin"}, created.Add(4 * time.Hour)},
	} {
		tc.rules.Effect, tc.rules.Reason = v1alpha1.OverrideHold, "load test"
		o := with(tc.rules)
		p, errs := override.Compile(o, policy.Context{})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		before, after := p.State(tc.want.Add(-time.Second)), p.State(tc.want)
		if before.Name != "Hold" || !before.Next.Equal(tc.want) ||
			after.Name != override.Ended || !after.Since.Equal(tc.want) || after.Active != "" {
			t.Errorf("%+v: %+v, then %+v; want the end %s", tc.rules, before, after, tc.want)
		}
		if row := override.Kinds()[0]; row.HasEnded(o, tc.want.Add(-time.Second)) || !row.HasEnded(o, tc.want) {
			t.Errorf("%+v does not end at %s", tc.rules, tc.want)
		}
	}
}

// To keep awake needs no right on the targets, and leaves nothing to restore. Every other order needs its author's right
// anew on each edit.
func TestOnlySleepAndHoldNeedRightsAndAFinalizer(t *testing.T) {
	row := override.Kinds()[0]
	for effect, needs := range map[v1alpha1.OverrideEffect]int{
		v1alpha1.OverrideAwake: 0, v1alpha1.OverrideAsleep: 1, v1alpha1.OverrideHold: 1,
	} {
		o := with(v1alpha1.OverrideRules{Effect: effect, For: "1h", Reason: "x"})
		rights := row.RightsOf(o)
		if len(rights) != needs || needs > 0 && rights[0].Verb != "patch" || row.NeedsFinalizer(o) != (needs > 0) {
			t.Errorf("%s: rights %+v, finalizer %t", effect, rights, row.NeedsFinalizer(o))
		}
	}
}
