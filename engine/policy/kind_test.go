package policy_test

import (
	"errors"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// The errors name each unfit kind. Unknown kinds are accepted.
func TestUnfitKindsAreRefused(t *testing.T) {
	kinds := []schema.GroupKind{{Group: "batch", Kind: "CronJob"}, {Group: "apps", Kind: "Deployment"},
		{Group: "example.com", Kind: "Unknown"}, {Kind: "Pod"}}
	ctx := policy.Context{Kinds: func(gk schema.GroupKind) (policy.AdaptedKind, bool) {
		return policy.AdaptedKind{Scales: gk.Kind == "Deployment"}, gk.Kind != "Unknown"
	}}
	at := field.NewPath("spec", "kinds")
	unfit := func(k policy.AdaptedKind) bool { return !k.Scales }
	errs := ctx.RefuseKinds(kinds, at, unfit, "has no count")
	var refused []any
	for _, e := range errs {
		if refused = append(refused, e.BadValue); e.Field != "spec.kinds" || e.Type != field.ErrorTypeInvalid || e.Detail != "has no count" {
			t.Errorf("it is refused by %v", e)
		}
	}
	if !slices.Equal(refused, []any{"CronJob.batch", "Pod"}) {
		t.Errorf("refused are %v", refused)
	}
	if errs := (policy.Context{}).RefuseKinds(kinds, at, unfit, "has no count"); len(errs) > 0 {
		t.Errorf("where nothing is known: %v", errs)
	}
}

func TestOneOfRefusesUnknownValues(t *testing.T) {
	at := field.NewPath("spec", "mode")
	for given, ok := range map[v1alpha1.TortoiseMode]bool{"": true, "Auto": true, "Off": true, "auto": false, "On": false} {
		errs := policy.OneOf(at, given, v1alpha1.TortoiseOff, v1alpha1.TortoiseAuto)
		if (len(errs) == 0) != ok {
			t.Errorf("%q: %v", given, errs)
		}
		for _, e := range errs {
			if e.Type != field.ErrorTypeNotSupported || e.Field != "spec.mode" || e.BadValue != given {
				t.Errorf("%q is refused by %v", given, e)
			}
		}
	}
}

// The test uses adapters of the library.
func TestAdaptedReturnsTheAdaptersProperties(t *testing.T) {
	library, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	adapted := map[string]policy.AdaptedKind{}
	for _, a := range library {
		compiled, errs := adapter.Compile(a.Name, a.Spec, adapter.Keys{})
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		adapted[a.Name] = policy.Adapted(compiled, "v7")
	}
	type flags struct{ scales, governs, requests, heedsCosts, bounds bool }
	for name, want := range map[string]flags{
		"deployments.apps":                     {scales: true, requests: true, heedsCosts: true},
		"statefulsets.apps":                    {scales: true, requests: true},
		"cronjobs.batch":                       {requests: true},
		"horizontalpodautoscalers.autoscaling": {governs: true, bounds: true},
	} {
		k, ok := adapted[name]
		if got := (flags{k.Scales, k.Governs, k.Requests, k.HeedsCosts, k.Min != nil && k.Max != nil}); !ok || got != want || k.Version != "v7" {
			t.Errorf("%s: %+v in version %s, want %+v", name, got, k.Version, want)
		}
	}
	hpa := adapted["horizontalpodautoscalers.autoscaling"]
	if *hpa.Min != 0 || *hpa.Max != 1 {
		t.Errorf("the lowest bounds of an autoscaler are %d and %d", *hpa.Min, *hpa.Max)
	}
	const manifest = `{"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"}, "spec": {"maxReplicas": 3`
	if named := manifest +
		`, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}}`; !hpa.Refers([]byte(named)) ||
		hpa.Refers([]byte(manifest+"}}")) {
		t.Errorf("with a target it refers to one: %t, without one: %t", hpa.Refers([]byte(named)), hpa.Refers([]byte(manifest+"}}")))
	}
}

// A row creates objects of its own type and passes given objects to the functions of the type.
func TestRowsUseTheirOwnType(t *testing.T) {
	rows := policy.Pair("Schedule", "schedules", "fsch",
		policy.NewKind[v1alpha1.Schedule, v1alpha1.ScheduleList](
			func(s *v1alpha1.Schedule, ctx policy.Context) (*policy.Policy, field.ErrorList) {
				if ctx.Stored {
					return nil, field.ErrorList{field.InternalError(nil, errors.New("it is stored"))}
				}
				return &policy.Policy{ID: workload.Policy{Name: s.Name}}, nil
			},
			func(s *v1alpha1.Schedule) policy.Meta { return policy.Meta{Calendars: []string{s.Name}} }),
		policy.NewKind[v1alpha1.ClusterSchedule, v1alpha1.ClusterScheduleList](nil, nil))
	if len(rows) != 2 {
		t.Fatalf("there are %d rows", len(rows))
	}
	namespaced, cluster := rows[0], rows[1]
	if namespaced.Name != "Schedule" || namespaced.Resource != "schedules" || namespaced.ClusterScoped {
		t.Errorf("the row of objects in namespaces is %s, %s, of the cluster: %t", namespaced.Name, namespaced.Resource, namespaced.ClusterScoped)
	}
	if cluster.Name != "ClusterSchedule" || cluster.Resource != "clusterschedules" || !cluster.ClusterScoped {
		t.Errorf("the row of those of the cluster is %s, %s, of the cluster: %t", cluster.Name, cluster.Resource, cluster.ClusterScoped)
	}
	obj, isSchedule := namespaced.New().(*v1alpha1.Schedule)
	if _, isList := namespaced.NewList().(*v1alpha1.ScheduleList); !isSchedule || !isList {
		t.Fatalf("it makes %T and %T", namespaced.New(), namespaced.NewList())
	}
	if _, isOfCluster := cluster.New().(*v1alpha1.ClusterSchedule); !isOfCluster {
		t.Errorf("the row of the cluster makes %T", cluster.New())
	}
	obj.Name = "night"
	if p, errs := namespaced.Compile(obj, policy.Context{}); len(errs) > 0 || p.ID.Name != "night" {
		t.Errorf("it compiles to %+v, %v", p, errs)
	}
	if _, errs := namespaced.Compile(obj, policy.Context{Stored: true}); len(errs) != 1 {
		t.Errorf("the context does not come through: %v", errs)
	}
	if parts := namespaced.Meta(obj); !slices.Equal(parts.Calendars, []string{"night"}) {
		t.Errorf("its parts are %+v", parts)
	}
}
