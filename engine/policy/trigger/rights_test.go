package trigger

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
)

func TestRightsOfTriggers(t *testing.T) {
	rows := Kinds()
	peak := daily("peak", 1, "08:00", "11:00", values(5, 20))
	hpa := schema.GroupKind{Group: autoscaler.Group, Kind: autoscaler.Kind}
	with := func(template string, all ...v1alpha1.TimeTrigger) *v1alpha1.Trigger {
		o := object(rules(all...))
		o.Spec.Target.Kinds = []v1alpha1.KindRef{autoscaler}
		if template != "" {
			o.Spec.Template = &runtime.RawExtension{Raw: []byte(template)}
		}
		return o
	}
	for _, tc := range []struct {
		reason string
		object policy.Object
		want   []string
	}{
		{"what it selects is changed", with("", peak), []string{"patch selected"}},
		{"a template is made, kept and removed", with(wholeTemplate, peak),
			[]string{"patch selected", "create " + hpa.String(), "patch " + hpa.String(), "delete " + hpa.String()}},
		{"a template without a trigger in force", with(wholeTemplate, suspended),
			[]string{"create " + hpa.String(), "patch " + hpa.String(), "delete " + hpa.String()}},
		{"nothing in force", with("", suspended), nil},
	} {
		var got []string
		for _, r := range rows[0].RightsOf(tc.object) {
			on := r.Kind.String()
			if r.OnSelected() {
				on = "selected"
			}
			got = append(got, fmt.Sprintf("%s %s", r.Verb, on))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %v, want %v", tc.reason, got, tc.want)
		}
	}
	cluster := &v1alpha1.ClusterTrigger{}
	cluster.Spec.TriggerRules = rules(peak)
	if got := rows[1].RightsOf(cluster); len(got) != 1 || got[0].Verb != "patch" {
		t.Errorf("a cluster trigger takes %+v", got)
	}
	// The removal of a suspended trigger needs no new right. Its resumption does.
	both, one := with("", peak, suspended), with("", peak)
	if !equality.Semantic.DeepEqual(rows[0].RightsOf(both), rows[0].RightsOf(one)) {
		t.Error("a suspended trigger asks for something")
	}
	on := with("", peak, daily("off", 0, "08:00", "12:00", values(1, 2)))
	if equality.Semantic.DeepEqual(rows[0].RightsOf(both), rows[0].RightsOf(on)) {
		t.Error("a trigger that goes on asks for nothing new")
	}
	other := with(strings.Replace(wholeTemplate, `"maxReplicas":9`, `"maxReplicas":90`, 1), peak)
	if equality.Semantic.DeepEqual(rows[0].RightsOf(with(wholeTemplate, peak))[1], rows[0].RightsOf(other)[1]) {
		t.Error("another template asks for nothing new")
	}
}
