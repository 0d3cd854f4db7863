package schedule_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

func order(waves ...v1alpha1.Wave) func(*v1alpha1.ScheduleRules) {
	return func(r *v1alpha1.ScheduleRules) { r.Order = &v1alpha1.Order{Waves: waves} }
}

// An object belongs to the first wave that selects it. It must match everything that the wave names.
func TestObjectBelongsToTheFirstWaveThatSelectsIt(t *testing.T) {
	statefulSets := []v1alpha1.KindRef{{Group: "apps", Kind: "StatefulSet"}}
	front := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}
	p, errs := compile(nights(order(
		v1alpha1.Wave{Name: "databases", Kinds: statefulSets, Timeout: "1h30m", OnTimeout: v1alpha1.OnTimeoutStop},
		v1alpha1.Wave{Names: []string{"web", "api"}, Selector: front, WaitFor: v1alpha1.WaitForWritten},
	)))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, test := range []struct {
		kind, name string
		labels     map[string]string
		title      string
	}{
		{"StatefulSet", "web", map[string]string{"tier": "front"}, "databases (1 of 3)"},
		{"Deployment", "web", map[string]string{"tier": "front"}, "wave 2 (2 of 3)"},
		{"Deployment", "web", nil, "the rest (3 of 3)"},
		{"Deployment", "mail", map[string]string{"tier": "front"}, "the rest (3 of 3)"},
	} {
		obj := &workload.Object{Namespace: "shop", Name: test.name, Labels: workload.NewPairs(test.labels)}
		if got := p.Order.Title(p.Order.Place(schema.GroupKind{Group: "apps", Kind: test.kind}, obj)); got != test.title {
			t.Errorf("%s/%s %v is in wave %s, want %s", test.kind, test.name, test.labels, got, test.title)
		}
	}
	type settings struct {
		ready, stop bool
		timeout     time.Duration
	}
	for i, want := range []settings{{true, true, 90 * time.Minute}, {false, false, 10 * time.Minute}, {true, false, 10 * time.Minute}} {
		if w := p.Order.Waves[i]; (settings{w.Ready, w.Stop, w.Timeout}) != want {
			t.Errorf("wave %d: %+v, want %+v", i+1, w, want)
		}
	}
	if p, _ := compile(nights()); p.Order != nil {
		t.Error("a schedule without waves has an order")
	}
}

func TestWavesAreRefused(t *testing.T) {
	db := []string{"db"}
	for _, test := range []struct{ field, says string }{
		{"spec.order.waves[0]", "a wave needs kinds, names or selector"},
		{"spec.order.waves[1].waitFor", "Ready"},
		{"spec.order.waves[2].onTimeout", "Continue"},
		{"spec.order.waves[3].timeout", "ten"},
		{"spec.order.waves[5].name", "twice"},
		{"spec.order.waves[6].selector", "Sideways"},
	} {
		_, errs := compile(nights(order(
			v1alpha1.Wave{}, v1alpha1.Wave{Names: db, WaitFor: "Healthy"}, v1alpha1.Wave{Names: db, OnTimeout: "Fail"},
			v1alpha1.Wave{Names: db, Timeout: "ten"},
			v1alpha1.Wave{Names: db, Name: "twice"}, v1alpha1.Wave{Names: db, Name: "twice"},
			v1alpha1.Wave{Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Sideways"}}}},
		)))
		found := false
		for _, err := range errs {
			found = found || err.Field == test.field && strings.Contains(err.Error(), test.says)
		}
		if !found || len(errs) != 6 {
			t.Errorf("%s is not named with %q: %v", test.field, test.says, errs)
		}
	}
}

// Only a ClusterSchedule reaches several namespaces, so only its order says across which.
func TestAnOrderOfOneNamespaceGoesAcrossNone(t *testing.T) {
	across := func(r *v1alpha1.ScheduleRules) {
		order(v1alpha1.Wave{Names: []string{"db"}})(r)
		r.Order.Across = v1alpha1.AcrossNamespaces
	}
	if _, errs := compile(nights(across)); len(errs) != 1 || errs[0].Field != "spec.order.across" {
		t.Errorf("a Schedule with across: %v", errs)
	}
	if _, errs := compile(nights(func(r *v1alpha1.ScheduleRules) { r.Order = &v1alpha1.Order{} })); len(errs) != 1 ||
		errs[0].Field != "spec.order.waves" {
		t.Errorf("an order without waves: %v", errs)
	}
}
