package trigger

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

var (
	autoscaler = v1alpha1.KindRef{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
	deployment = v1alpha1.KindRef{Group: "apps", Kind: "Deployment"}
	configured = v1alpha1.KindRef{Group: "example.com", Kind: "Configured"}
	unheardOf  = v1alpha1.KindRef{Group: "example.com", Kind: "UnheardOf"}
)

// known are the kinds with adapters in these tests.
func known() Context {
	return Context{Kinds: func(gk schema.GroupKind) (policy.AdaptedKind, bool) {
		switch gk.Kind {
		case autoscaler.Kind:
			return policy.AdaptedKind{Min: n(1), Max: n(1), Governs: true, Version: "v2",
				Refers: func(text []byte) bool { return strings.Contains(string(text), "scaleTargetRef") }}, true
		case deployment.Kind:
			return policy.AdaptedKind{Scales: true, Version: "v1"}, true
		case configured.Kind:
			return policy.AdaptedKind{Version: "v1"}, true
		}
		return policy.AdaptedKind{}, false
	}}
}

func TestInvalidTriggersAreRefused(t *testing.T) {
	fine := daily("peak", 0, "08:00", "11:00", values(5, 20))
	window := func(w v1alpha1.Window) v1alpha1.TriggerRules {
		return rules(with(fine, func(t *v1alpha1.TimeTrigger) { t.Window = w }))
	}
	during := func(v v1alpha1.TriggerValues) v1alpha1.TriggerRules {
		return rules(with(fine, func(t *v1alpha1.TimeTrigger) { t.During = v }))
	}
	tests := []struct {
		reason string
		rules  v1alpha1.TriggerRules
		kinds  []v1alpha1.KindRef
		field  string
		says   string
	}{
		{"two of one name", rules(fine, fine), nil, "spec.triggers[1].name", "Duplicate"},
		{"no name", rules(with(fine, func(t *v1alpha1.TimeTrigger) { t.Name = "" })), nil, "spec.triggers[0].name", "Required"},
		{"min above max", during(values(20, 5)), nil, "spec.triggers[0].during.min", "must not be above max, 5"},
		{"min above max afterwards", rules(ending(fine, 3, 2)), nil, "spec.triggers[0].after.min", "must not be above max, 2"},
		{"nothing to set", during(v1alpha1.TriggerValues{}), nil, "spec.triggers[0].during", "give min, max, replicas"},
		{"a negative min", during(values(-1, 5)), nil, "spec.triggers[0].during.min", "must be from 0"},
		{"a size that fits no field", during(size(1 << 31)), nil, "spec.triggers[0].during.replicas", "must be from 0 to 2147483647"},
		{"an unknown weekday", window(v1alpha1.Window{Days: []v1alpha1.Day{"Mo"}, From: "08:00", To: "11:00"}), nil,
			"spec.triggers[0].window.days[0]", "Mo"},
		{"an empty window", window(v1alpha1.Window{From: "08:00", To: "08:00"}), nil, "spec.triggers[0].window.to", "must differ"},
		{"no window", window(v1alpha1.Window{}), nil, "spec.triggers[0].window", "set from and to"},
		{"two forms of window", window(v1alpha1.Window{From: "08:00", To: "11:00", Cron: "0 8 * * *", Duration: "1h"}), nil,
			"spec.triggers[0].window", "more than one form"},
		{"dates the wrong way round", window(v1alpha1.Window{Start: "2026-03-04", End: "2026-03-02"}), nil, "spec.triggers[0].window.end",
			"must be after start"},
		{"a suspended one is checked too", rules(with(fine, func(t *v1alpha1.TimeTrigger) { t.Suspend, t.During = true, values(2, 1) })), nil,
			"spec.triggers[0].during.min", "must not be above max"},
		{"an unknown zone", v1alpha1.TriggerRules{TimeZone: "Europe/Atlantis", Triggers: []v1alpha1.TimeTrigger{fine}}, nil, "spec.timeZone",
			"Atlantis"},
		{"an unknown overlap", v1alpha1.TriggerRules{Overlap: "Sum", Triggers: []v1alpha1.TimeTrigger{fine}}, nil, "spec.overlap", "Sum"},
		{"a min that the kind refuses", during(values(0, 5)), []v1alpha1.KindRef{autoscaler}, "spec.triggers[0].during.min",
			"accepts no less than 1"},
		{"a max that one of the kinds refuses", rules(with(fine, func(t *v1alpha1.TimeTrigger) { t.After = &v1alpha1.TriggerValues{Max: n(0)} })),
			[]v1alpha1.KindRef{deployment, autoscaler}, "spec.triggers[0].after.max", "accepts no less than 1"},
		{"bounds where there are none", during(values(1, 5)), []v1alpha1.KindRef{deployment}, "spec.triggers[0].during.min",
			"has no place for it"},
		{"a size where there is none", during(size(1)), []v1alpha1.KindRef{configured}, "spec.triggers[0].during.replicas",
			"has no place for it"},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			o := object(tc.rules)
			o.Spec.Target.Kinds = tc.kinds
			p, errs := Compile(o, known())
			if len(errs) == 0 {
				t.Fatal("was accepted")
			}
			if errs[0].Field != tc.field || !strings.Contains(errs[0].Error(), tc.says) {
				t.Errorf("refused with %q, want the field %s and %q", errs[0], tc.field, tc.says)
			}
			if !p.IsBroken() || p.State(monday).Name != "Invalid" || p.Reporter.Condition() != v1alpha1.ConditionActive {
				t.Errorf("the policy is not broken: %+v", p.State(monday))
			}
		})
	}
}

func TestValidTriggersAreAccepted(t *testing.T) {
	zero := rules(daily("night", 0, "20:00", "08:00", values(0, 5)))
	tests := []struct {
		reason string
		rules  v1alpha1.TriggerRules
		kinds  []v1alpha1.KindRef
	}{
		{"a zero where no kind is listed", zero, nil},
		{"a zero where one of the kinds is not known yet", zero, []v1alpha1.KindRef{autoscaler, unheardOf}},
		{"a size where one of the kinds has a place for it", rules(daily("a", 0, "20:00", "08:00", size(3))),
			[]v1alpha1.KindRef{configured, deployment}},
		{"a size for what an autoscaler governs", rules(daily("a", 0, "20:00", "08:00", size(3))), []v1alpha1.KindRef{autoscaler}},
		{"only a suspended one", rules(suspended), nil},
		{"the largest size that fits a field", rules(daily("a", 0, "20:00", "08:00", size(1<<31-1))), nil},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			o := object(tc.rules)
			o.Spec.Target.Kinds = tc.kinds
			if _, errs := Compile(o, known()); len(errs) > 0 {
				t.Errorf("refused: %v", errs.ToAggregate())
			}
		})
	}
}

func TestEmptyListIsRefused(t *testing.T) {
	for _, empty := range [][]v1alpha1.TimeTrigger{nil, {}} {
		if _, errs := Compile(object(rules(empty...)), Context{}); len(errs) != 1 || errs[0].Field != "spec.triggers" ||
			errs[0].Type != field.ErrorTypeRequired {
			t.Errorf("%#v: %v", empty, errs)
		}
	}
}

func TestClusterTriggerNamesItsNamespaces(t *testing.T) {
	o := &v1alpha1.ClusterTrigger{ObjectMeta: metav1.ObjectMeta{Name: "peaks"}}
	o.Spec.TriggerRules = rules(daily("peak", 0, "08:00", "11:00", values(5, 20)))
	if _, errs := CompileCluster(o, known()); len(errs) != 1 || errs[0].Field != "spec.target.namespaces" {
		t.Errorf("a target without namespaces: %v", errs)
	}
	o.Spec.Target.Namespaces = []string{"shop"}
	p, errs := CompileCluster(o, known())
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	if want := (workload.Policy{Kind: ClusterKindName, Name: "peaks"}); p.ID != want {
		t.Errorf("is %s, want %s", p.ID, want)
	}
}

const (
	wholeTemplate   = `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"web","labels":{"tier":"front"}},"spec":{"maxReplicas":9,"scaleTargetRef":{"name":"web"}},"status":{"x":1}}`
	unnamedTemplate = `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","spec":{"maxReplicas":9007199254740993,"scaleTargetRef":{"name":"web"}}}`
)

func templated(text string, change ...func(*v1alpha1.Trigger)) *v1alpha1.Trigger {
	o := object(rules(daily("peak", 0, "08:00", "11:00", values(5, 20))))
	o.Spec.Target.Kinds = []v1alpha1.KindRef{autoscaler}
	o.Spec.Template = &runtime.RawExtension{Raw: []byte(text)}
	for _, c := range change {
		c(o)
	}
	return o
}

func targetNamed(name string) func(*v1alpha1.Trigger) {
	return func(o *v1alpha1.Trigger) { o.Spec.Target.Names = []string{name} }
}

func TestInvalidTemplatesAreRefused(t *testing.T) {
	tests := []struct {
		reason string
		object *v1alpha1.Trigger
		want   string
	}{
		{"named by its metadata; its status is dropped", templated(wholeTemplate),
			`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"labels":{"tier":"front"},"name":"web","namespace":"shop"},"spec":{"maxReplicas":9,"scaleTargetRef":{"name":"web"}}}`},
		{"named by the target; whole numbers stay whole", templated(unnamedTemplate, targetNamed("api")),
			`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"api","namespace":"shop"},"spec":{"maxReplicas":9007199254740993,"scaleTargetRef":{"name":"web"}}}`},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			p, errs := Compile(tc.object, known())
			if len(errs) > 0 {
				t.Fatal(errs.ToAggregate())
			}
			if got := string(p.Template.Manifest); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if p.Template.Namespace != "shop" || p.Template.Version != "v2" || p.Template.Kind != autoscaler.Kind {
				t.Errorf("is %+v", p.Template)
			}
		})
	}
}

// The metrics in a template decide whether an autoscaler can scale to zero.
func TestTemplateAndAMinimumOfZero(t *testing.T) {
	zero := func(o *v1alpha1.Trigger) {
		o.Spec.Triggers = []v1alpha1.TimeTrigger{daily("peak", 0, "08:00", "11:00", values(1, 5)),
			with(daily("night", 0, "20:00", "08:00", values(0, 5)), func(t *v1alpha1.TimeTrigger) { t.After = afterwards(0, 3) })}
	}
	knowing := known()
	kinds := knowing.Kinds
	knowing.Kinds = func(gk schema.GroupKind) (policy.AdaptedKind, bool) { // as in the shipped adapter, the kind alone accepts 0
		k, ok := kinds(gk)
		k.Min = n(0)
		return k, ok
	}
	metrics := func(text string) string {
		return strings.Replace(wholeTemplate, `"maxReplicas":9`, `"maxReplicas":9,"metrics":`+text, 1)
	}
	for _, tc := range []struct {
		reason, template string
		fields           []string
	}{
		{"no metrics", wholeTemplate, []string{"spec.triggers[1].during.min", "spec.triggers[1].after.min"}},
		{"of pods only", metrics(`[{"type":"Resource"},{"type":"Pods"}]`), []string{"spec.triggers[1].during.min", "spec.triggers[1].after.min"}},
		{"not a list", metrics(`{"type":"External"}`), []string{"spec.triggers[1].during.min", "spec.triggers[1].after.min"}},
		{"an external one", metrics(`[{"type":"Resource"},{"type":"External"}]`), nil},
		{"one of an object", metrics(`[{"type":"Object"}]`), nil},
	} {
		_, errs := Compile(templated(tc.template, zero), knowing)
		var fields []string
		for _, err := range errs {
			fields = append(fields, err.Field)
		}
		if !slices.Equal(fields, tc.fields) {
			t.Errorf("%s: refused are %v, want %v", tc.reason, fields, tc.fields)
		}
	}
}

func TestTemplateListsItsMetadata(t *testing.T) {
	for _, tc := range []struct {
		metadata            string
		labels, annotations []string
		opaque              bool
	}{
		{`{"name":"web"}`, nil, nil, false},
		{`{"name":"web","namespace":"shop","labels":{"b":"1","a":"2"},"annotations":{"c":"3","kubernetes.io/d":"4"}}`, []string{"a", "b"},
			[]string{"c", "kubernetes.io/d"}, false},
		{`{"name":"web","finalizers":["example.com/keep"]}`, nil, nil, true},
	} {
		o := templated(strings.Replace(wholeTemplate, `{"name":"web","labels":{"tier":"front"}}`, tc.metadata, 1))
		p, errs := Compile(o, known())
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		got := p.Template
		if !slices.Equal(got.Labels, tc.labels) || !slices.Equal(got.AnnotationKeys(), tc.annotations) || got.Opaque != tc.opaque {
			t.Errorf("%s: labels %v, annotations %v, opaque %t", tc.metadata, got.Labels, got.Annotations, got.Opaque)
		}
	}
}

// metadata returns a template that has the given metadata besides its name.
func metadata(more string) string {
	return strings.Replace(wholeTemplate, `{"name":"web","labels":{"tier":"front"}}`, `{"name":"web",`+more+`}`, 1)
}

func TestTemplateRefused(t *testing.T) {
	tests := []struct {
		reason string
		object *v1alpha1.Trigger
		field  string
	}{
		{"no manifest", templated(`[]`), "spec.template"},
		{"a ledger", templated(metadata(`"annotations":{"flyball.dev/ledger":"{}"}`)), "spec.template.metadata.annotations[flyball.dev/ledger]"},
		{"a label of Flyball's", templated(metadata(`"labels":{"a.FLYBALL.dev/b":""}`)), "spec.template.metadata.labels[a.FLYBALL.dev/b]"},
		{"a ledger that another spelling hides", templated(strings.Replace(metadata(`"annotations":{"flyball.dev/ledger":"{}"}`), `"spec"`,
			`"Metadata":{"annotations":null},"spec"`, 1)), "spec.template.metadata.annotations[flyball.dev/ledger]"},
		{"no kind", templated(`{"apiVersion":"autoscaling/v2"}`), "spec.template.kind"},
		{"no version", templated(`{"kind":"HorizontalPodAutoscaler"}`), "spec.template.apiVersion"},
		{"a version that the adapter does not speak", templated(strings.Replace(wholeTemplate, "/v2", "/v1", 1)), "spec.template.apiVersion"},
		{"another kind than the target", templated(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"}}`),
			"spec.template.kind"},
		{"more kinds than one", templated(wholeTemplate,
			func(o *v1alpha1.Trigger) { o.Spec.Target.Kinds = append(o.Spec.Target.Kinds, deployment) }), "spec.template.kind"},
		{"no name", templated(unnamedTemplate), "spec.template.metadata.name"},
		{"another namespace", templated(strings.Replace(wholeTemplate, `"name":"web",`, `"name":"web","namespace":"bank",`, 1)),
			"spec.template.metadata.namespace"},
		{"not selected by name", templated(wholeTemplate, targetNamed("api")), "spec.template"},
		{"not selected by labels", templated(wholeTemplate, func(o *v1alpha1.Trigger) {
			o.Spec.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "back"}}
		}), "spec.template"},
		{"an autoscaler of nothing", templated(strings.Replace(wholeTemplate, "scaleTargetRef", "target", 1)), "spec.template.spec"},
	}
	for _, tc := range tests {
		t.Run(tc.reason, func(t *testing.T) {
			_, errs := Compile(tc.object, known())
			if len(errs) == 0 {
				t.Fatal("was accepted")
			}
			if errs[0].Field != tc.field {
				t.Errorf("refused with %q, want the field %s", errs[0], tc.field)
			}
		})
	}
}
