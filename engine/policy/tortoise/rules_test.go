package tortoise

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
)

func rulesOf(t *testing.T, text string) (rules, field.ErrorList) {
	t.Helper()
	var in v1alpha1.TortoiseRules
	if err := yaml.UnmarshalStrict([]byte(text), &in); err != nil {
		t.Fatal(err)
	}
	return compileRules(in, field.NewPath("spec"))
}

// TestEndsOfRanges checks that the ends of ranges are allowed and values beyond them are not.
func TestEndsOfRanges(t *testing.T) {
	for text, want := range map[string]string{
		`{replicas: {min: 1, max: 100000}}`:                                             "",
		`{replicas: {min: 0}}`:                                                          "spec.replicas.min",
		`{replicas: {max: 100001}}`:                                                     "spec.replicas.max",
		`{vertical: {maxStepDown: 1%, maxStepUp: 1%}}`:                                  "",
		`{guard: {maxDisruption: 1%}}`:                                                  "",
		`{guard: {maxDisruption: 100%}}`:                                                "",
		`{guard: {maxDisruption: 0%}}`:                                                  "spec.guard.maxDisruption",
		`{guard: {maxDisruption: 101%}}`:                                                "spec.guard.maxDisruption",
		`{vertical: {maxStepDown: 0%}}`:                                                 "spec.vertical.maxStepDown",
		`{resources: [{min: {cpu: 1, memory: 1Gi}, max: {cpu: 1, memory: 1Gi}}]}`:       "",
		`{resources: [{min: {cpu: 0}}]}`:                                                "spec.resources[0].min.cpu",
		`{resources: [{min: {memory: 0}}]}`:                                             "spec.resources[0].min.memory",
		`{resources: [{max: {memory: 1Pi}}]}`:                                           "",
		`{resources: [{max: {memory: "1125899906842625"}}]}`:                            "spec.resources[0].max.memory",
		`{resources: [{min: {cpu: 1001m}, max: {cpu: 1}}]}`:                             "spec.resources[0].min.cpu",
		`{resources: [{min: {memory: "1073741825"}, max: {memory: 1Gi}}]}`:              "spec.resources[0].min.memory",
		`{resources: [{container: a, cpu: Horizontal}, {cpu: Horizontal}]}`:             "",
		`{resources: [{cpu: Horizontal}, {container: a, cpu: Horizontal}]}`:             "",
		`{resources: [{container: a, cpu: "Off"}, {container: b, cpu: Horizontal}]}`:    "",
		`{resources: [{container: a, memory: "Off"}, {container: a, memory: "Off"}]}`:   "spec.resources[1].container",
		`{vertical: {limits: None}}`:                                                    "",
		`{vertical: {limits: Keep, apply: InPlace}}`:                                    "",
		`{vertical: {limits: None, apply: OnCreate}}`:                                   "",
		`{vertical: {limits: None, apply: InPlace}}`:                                    "spec.vertical.limits",
		`{vertical: {limits: None, apply: InPlaceOrRollOut}}`:                           "spec.vertical.limits",
		`{vertical: {limits: Double}}`:                                                  "spec.vertical.limits",
		`{vertical: {startupBoost: {cpu: 2x}}}`:                                         "",
		`{vertical: {startupBoost: {cpu: 1.5x, until: 60s}}}`:                           "",
		`{vertical: {startupBoost: {cpu: 500m, until: Ready}, apply: InPlace}}`:         "",
		`{vertical: {startupBoost: {cpu: 1x}}}`:                                         "spec.vertical.startupBoost.cpu",
		`{vertical: {startupBoost: {cpu: "-1"}}}`:                                       "spec.vertical.startupBoost.cpu",
		`{vertical: {startupBoost: {cpu: 2x, until: Soon}}}`:                            "spec.vertical.startupBoost.until",
		`{replicas: {min: 4, max: 4, preferredMax: 4}, vertical: {maxStepUp: 1001%}}`:   "spec.vertical.maxStepUp",
		`{replicas: {preferredMax: 100000}, vertical: {maxStepUp: 1000%, apply: Wait}}`: "spec.vertical.apply",
	} {
		_, errs := rulesOf(t, text)
		got := ""
		if len(errs) > 0 {
			got = errs[0].Field
		}
		if got != want || len(errs) > 1 {
			t.Errorf("%s: refused %v, want %q", text, errs, want)
		}
	}
}

// TestPercentagesCompileToSharesAndExplicitValuesDifferFromDefaults checks that percentages become shares. It also
// checks that explicit values are told from defaults.
func TestPercentagesCompileToSharesAndExplicitValuesDifferFromDefaults(t *testing.T) {
	r, errs := rulesOf(t, `{mode: Auto, vertical: {maxStepDown: 25%, maxStepUp: 300%, cooldown: 90m}, replicas: {min: 2, max: 9},
  resources: [{container: a, min: {cpu: 1}}, {container: b, max: {cpu: 2}}, {container: c, max: {memory: 1Gi}}, {container: d, min: {memory: 1Mi}}]}`)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	if r.guard.Down != 0.25 || r.guard.Up != 3 || r.cooldown != 90*time.Minute {
		t.Errorf("steps of %v down and %v up, every %v", r.guard.Down, r.guard.Up, r.cooldown)
	}
	for name, want := range map[string][4]bool{"a": {true}, "b": {false, true}, "c": {false, false, true}, "d": {false, false, false, true},
		"other": {}} {
		g := r.of(name).given
		if got := [4]bool{g.Min.CPU > 0, g.Max.CPU > 0, g.Max.Memory > 0, g.Min.Memory > 0}; got != want {
			t.Errorf("of container %s it was given %v, want %v", name, got, want)
		}
	}
	all, _ := rulesOf(t,
		`{replicas: {preferredMax: 7}, resources: [{container: a, cpu: "Off"}, {memory: "Off"}], priority: 5, guard: {maxDisruption: 20%}}`)
	if a, other := all.of("a"), all.of("other"); a.cpu != v1alpha1.ScaleOff || a.memory != "" || other.cpu != "" || other.memory != "Off" {
		t.Errorf("of container a holds %+v, of all others %+v", a, other)
	}
	if _, _, preferred := all.replicaBounds(4, 20); preferred != 7 {
		t.Errorf("preferred are no more than %d replicas", preferred)
	}
	if whole := (&tortoise{rules: all}); whole.Precedence() != 5 || whole.MaxDisruption() != 20 || whole.ActsOnTargets() ||
		!(&tortoise{rules: r}).ActsOnTargets() {
		t.Errorf("its precedence is %d, it restarts %d %%, and acts while it is Off: %t", whole.Precedence(), whole.MaxDisruption(),
			whole.ActsOnTargets())
	}
	if least, greatest, preferred := r.replicaBounds(4, 20); least != 2 || greatest != 9 || preferred != 9 {
		t.Errorf("the bounds are %d to %d, preferred %d", least, greatest, preferred)
	}
	if (&tortoise{rules: r}).Mode() != "Auto" || (&tortoise{}).Mode() != "Off" {
		t.Error("a mode that is not given is Off, and Auto is Auto")
	}
	if orig := r.original(nil); orig.StepDown != 0.25 {
		t.Errorf("the formulas step down by %v", orig.StepDown)
	}
	r.guard = tune.DefaultGuard()
	if orig := r.original(map[string]tune.Requests{"b": {}}); orig.StepDown != 0 || orig.Min != 2 || orig.Max != 9 ||
		orig.Most["b"] != (tune.Requests{CPU: 2000}) || orig.Least["b"] != (tune.Requests{}) {
		t.Errorf("the formulas are told %+v", orig)
	}
	if _, errs := rulesOf(t, `{mode: Often}`); len(errs) != 1 || !strings.Contains(errs[0].Error(), "spec.mode") {
		t.Errorf("an unknown mode: %v", errs)
	}
}
