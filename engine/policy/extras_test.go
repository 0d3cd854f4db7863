package policy_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

type judge struct{ by *selector.Selector }

func (j judge) JudgedBy() *selector.Selector { return j.by }

// Denies implements policy.Judge.
func (judge) Denies() bool { return false }

// Without a FieldOf, the field of a facet is unknown.
func TestFieldOfAFacet(t *testing.T) {
	noon := time.Date(2037, 1, 5, 12, 0, 0, 0, time.UTC)
	named := &policy.Policy{Extras: policy.Extras{FieldOf: func(now time.Time, facet string) string {
		return now.Format("15:04") + " " +
			facet
	}}}
	if got, none := named.Field(noon, "max"), (&policy.Policy{}).Field(noon, "max"); got != "12:00 max" || none != "" {
		t.Errorf("the fields are %q and %q", got, none)
	}
}

// If the policy is a Judge, the selection is the objects that it judges. Otherwise it is the targets.
func TestSelectionOfJudgesAndOthers(t *testing.T) {
	selector := func(name string) *selector.Selector {
		s, errs := selector.Namespaced(v1alpha1.TargetSelector{Names: []string{name}}, "shop", selector.Scope{}, field.NewPath("spec"))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return s
	}
	actsOn, judges := selector("web"), selector("api")
	if got := (&policy.Policy{Target: actsOn}).Selection(); got != actsOn {
		t.Errorf("one that judges nothing selects %s", got)
	}
	if got := (&policy.Policy{Target: actsOn, Extras: policy.Extras{Judge: judge{judges}}}).Selection(); got != judges {
		t.Errorf("one that judges selects %s", got)
	}
}

func TestPolicyWantsTheCapabilitiesThatItNeeds(t *testing.T) {
	p := &policy.Policy{Needs: []v1alpha1.Capability{v1alpha1.CapabilityScale, v1alpha1.CapabilitySuspend}}
	if !p.Wants(v1alpha1.CapabilityScale) || !p.Wants(v1alpha1.CapabilitySuspend) || p.Wants(v1alpha1.CapabilityResources) {
		t.Errorf("of %v others are wanted", p.Needs)
	}
}

// A broken policy reports its errors at any instant.
func TestABrokenPolicySelectsNothing(t *testing.T) {
	errs := field.ErrorList{field.Required(field.NewPath("spec"), "give one"), field.Forbidden(field.NewPath("status"), "leave it")}
	p := policy.Broken(workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "night"}, errs)
	if want := (policy.Summary{Name: "Invalid", Message: errs.ToAggregate().Error()}); p.State(time.Time{}) != want {
		t.Errorf("its state is %+v, want %+v", p.State(time.Time{}), want)
	}
	deployment := schema.GroupKind{Group: "apps", Kind: "Deployment"}
	if p.ID.Name != "night" || p.Target.Matches(deployment, &workload.Object{Namespace: "shop", Name: "web"}, nil) {
		t.Errorf("%s selects %s", p.ID, p.Target)
	}
	if d := cmp.Diff(errs, p.Invalid); d != "" {
		t.Error(d)
	}
}

// The status counts the pods by state.
func TestResizedPodsCountsByState(t *testing.T) {
	got := policy.ResizedPods(workload.Resizing{Pods: 21, Resized: 1, InProgress: 2, Deferred: 3, Infeasible: 4, Waiting: 11,
		Message: "no room"})
	want := &v1alpha1.ResizedPods{Total: 21, Resized: 1, InProgress: 2, Deferred: 3, Infeasible: 4, Waiting: 11, Message: "no room"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
