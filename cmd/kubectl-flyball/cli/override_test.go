package cli_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"flyball.dev/flyball/cmd/kubectl-flyball/override"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
)

// morning is a time at which everything in the worlds of these tests is awake.
var morning = time.Date(2037, 5, 13, 10, 0, 0, 0, time.UTC)

const (
	namespace = "\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: shop}}"
	web       = "\n---\n{apiVersion: apps/v1, kind: Deployment, " +
		"metadata: {name: web, namespace: shop, labels: {app.kubernetes.io/name: web}}, spec: {replicas: 3}}"
	api    = "\n---\n{apiVersion: apps/v1, kind: Deployment, metadata: {name: api, namespace: shop}, spec: {replicas: 2}}"
	webSet = "\n---\n{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: web, namespace: shop}, spec: {replicas: 1}}"
	nights = "\n---\n{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {name: nights, namespace: shop}, " +
		"spec: {upscale: \"0 8 * * *\", downscale: \"0 20 * * *\"}}"
)

// worldOf returns the world of some manifests.
func worldOf(t *testing.T, manifests ...string) *source.World {
	t.Helper()
	w, err := source.Files{Paths: []string{"-"}, Stdin: strings.NewReader(strings.Join(manifests, "")), Namespace: "shop",
		FlyballNamespace: source.DefaultNamespace, Now: morning}.Load()
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// placesOf returns the places that a command line names.
func placesOf(t *testing.T, w *source.World, args ...string) []override.Place {
	t.Helper()
	labels := ""
	if args[0] == "-l" {
		args, labels = nil, args[1]
	}
	places, err := override.Places(w, args, labels, "shop")
	if err != nil {
		t.Fatal(err)
	}
	return places
}

// orderOf returns a checked order for an hour.
func orderOf(t *testing.T, effect v1alpha1.OverrideEffect) *override.Order {
	t.Helper()
	o := &override.Order{Effect: effect, Span: "1h", Now: morning, Zone: time.UTC}
	if err := o.Check(); err != nil {
		t.Fatal(err)
	}
	return o
}

// TestOrdersSayExactlyOnceHowLong checks the flags of the verbs that contradict each other.
func TestOrdersSayExactlyOnceHowLong(t *testing.T) {
	for _, tc := range []struct {
		order override.Order
		want  string
	}{
		{override.Order{Span: "1h"}, ""},
		{override.Order{Until: "11:00"}, ""},
		{override.Order{End: true}, ""},
		{override.Order{}, "say how long"},
		{override.Order{Span: "1h", Until: "11:00"}, "exclude each other"},
		{override.Order{Span: "1h", End: true}, "exclude each other"},
		{override.Order{End: true, Reason: "demo"}, "no --reason"},
		{override.Order{Span: "soon"}, "--for: "},
		{override.Order{Until: "soon"}, "--until: "},
		{override.Order{Until: "2037-05-13T09:00:00Z"}, "is over"},
	} {
		tc.order.Now, tc.order.Zone = morning, time.UTC
		err := tc.order.Check()
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %q", tc.order, err, tc.want)
		}
		if err == nil && !tc.order.End && !tc.order.Instant().Equal(morning.Add(time.Hour)) {
			t.Errorf("%+v ends at %s", tc.order, tc.order.Instant())
		}
	}
}

// TestNamesOfOverridesAreValid checks the beginning of the name that the API server completes.
func TestNamesOfOverridesAreValid(t *testing.T) {
	long := strings.Repeat("a", 199) + "." + strings.Repeat("b", 20)
	w := worldOf(t, namespace, web, nights, strings.Replace(api, "name: api", "name: "+long, 1))
	for place, want := range map[string]string{
		"deployment/web": "wake-web-", "namespace/shop": "wake-shop-", "schedule/nights": "wake-nights-",
		"-l app.kubernetes.io/name=web": "wake-labels-", "-l app in (web, api)": "wake-labels-",
		"deployment/" + long: "wake-" + strings.Repeat("a", 199) + "-",
	} {
		args := []string{place}
		if labels, ok := strings.CutPrefix(place, "-l "); ok {
			args = []string{"-l", labels}
		}
		got := orderOf(t, v1alpha1.OverrideAwake).Objects(placesOf(t, w, args...))[0].GetGenerateName()
		if errs := validation.IsDNS1123Subdomain(got + "x"); got != want || len(errs) > 0 {
			t.Errorf("%s: %s, want %s; %v", place, got, want, errs)
		}
	}
}

// created returns an Override as the API server returns it after its creation.
func created(obj policy.Object, suffix string) policy.Object {
	obj = obj.DeepCopyObject().(policy.Object)
	obj.SetName(obj.GetGenerateName() + suffix)
	return obj
}

// TestAnOrderFindsTheOverridesOfItsPlaces checks the Overrides that --end deletes.
func TestAnOrderFindsTheOverridesOfItsPlaces(t *testing.T) {
	base := worldOf(t, namespace, web, api, webSet, nights)
	asleep := orderOf(t, v1alpha1.OverrideAsleep)
	for _, tc := range []struct {
		reason     string
		made, ends []string
		edit       func(policy.Object)
		found      bool
	}{
		{"the same place", []string{"deployment/web"}, []string{"deployment/web"}, nil, true},
		{"another order of objects", []string{"deployment/web", "deployment/api"}, []string{"deployment/api", "deployment/web"}, nil, true},
		{"a manifest with another order of names", []string{"deployment/web", "deployment/api"}, []string{"deployment/web", "deployment/api"},
			func(o policy.Object) {
				o.SetGenerateName("")
				slices.Reverse(o.(*v1alpha1.Override).Spec.Target.Names)
			}, true},
		{"one object more", []string{"deployment/web", "deployment/api"}, []string{"deployment/web"}, nil, false},
		{"another kind", []string{"deployment/web"}, []string{"statefulset/web"}, nil, false},
		{"a schedule that selects the whole namespace", []string{"schedule/nights"}, []string{"namespace/shop"}, nil, false},
		{"a manifest for the whole namespace", []string{"schedule/nights"}, []string{"namespace/shop"},
			func(o policy.Object) { o.SetGenerateName("") }, true},
		{"an Override of another effect", []string{"deployment/web"}, []string{"deployment/web"},
			func(o policy.Object) { o.(*v1alpha1.Override).Spec.Effect = v1alpha1.OverrideHold }, false},
		{"an Override that is over", []string{"deployment/web"}, []string{"deployment/web"},
			func(o policy.Object) { o.SetCreationTimestamp(metav1.Time{Time: morning.Add(-time.Hour)}) }, false},
		{"an Override that is being deleted", []string{"deployment/web"}, []string{"deployment/web"},
			func(o policy.Object) { o.SetDeletionTimestamp(&metav1.Time{Time: morning}) }, false},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			w := *base
			is := created(asleep.Objects(placesOf(t, base, tc.made...))[0], "x7k2p")
			if tc.edit != nil {
				tc.edit(is)
			}
			w.SetPolicy(is)
			end := override.Order{Effect: v1alpha1.OverrideAsleep, End: true, Now: morning}
			if got := end.InForce(&w, placesOf(t, base, tc.ends...)); (len(got) == 1) != tc.found {
				t.Errorf("found %d of 1 Override", len(got))
			}
		})
	}
}

// TestAnEndNamesTheSchedulesInAnyOrder checks that only the set of yielding schedules counts.
func TestAnEndNamesTheSchedulesInAnyOrder(t *testing.T) {
	w := worldOf(t, namespace, web, nights)
	awake := orderOf(t, v1alpha1.OverrideAwake)
	is := created(awake.Objects(placesOf(t, w, "schedule/nights"))[0], "x7k2p")
	is.(*v1alpha1.Override).Spec.Policies = []string{"Schedule/nights", "Schedule/nights"}
	w.SetPolicy(is)
	end := override.Order{Effect: v1alpha1.OverrideAwake, End: true, Now: morning}
	if got := end.InForce(w, placesOf(t, w, "schedule/nights")); len(got) != 1 {
		t.Errorf("found %d Overrides", len(got))
	}
	if got := end.InForce(w, placesOf(t, w, "namespace/shop")); len(got) != 0 {
		t.Errorf("the namespace's end finds %d Overrides of one schedule", len(got))
	}
}
