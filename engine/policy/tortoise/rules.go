package tortoise

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// Defaults for an object without the defaults of the schema.
const (
	defaultMin, defaultPreferred = 3, 30
	defaultCooldown              = time.Hour
	defaultDisruption            = 10
	allContainers                = "*"
	// maxReplicas is the largest number of replicas in a spec.
	maxReplicas = 100_000
)

// rules are compiled rules, with all defaults.
type rules struct {
	mode    v1alpha1.TortoiseMode
	profile tune.Profile
	// formulas is true for the profile Tortoise.
	formulas bool
	guard    tune.Guard
	cooldown time.Duration
	// apply is the way in which requests change.
	apply v1alpha1.VerticalApply
	// limits is the rule for the limits beside requests.
	limits workload.LimitRule
	// boost is the boost of created pods; nil: none.
	boost *v1alpha1.StartupBoost
	// runtime has the settings of runtimes for created pods.
	runtime  v1alpha1.TunedRuntime
	priority int32
	// maxDisruption is the number of targets in a hundred that may roll out at once.
	maxDisruption int
	containers    []containerRule
	source        policy.Source
	// zone is the time zone in which demand repeats by the day and the week. daily is true if demand repeats only by the
	// day.
	zone  *time.Location
	daily bool
	// min, max and preferredMax are nil if the spec omits them.
	min, max, preferredMax *int
}

// containerRule has the tuned resources of a container.
type containerRule struct {
	name   string // allContainers: every container without an entry
	cpu    v1alpha1.ScalingPolicy
	memory v1alpha1.MemoryPolicy
	limits tune.Limits
	// given are the bounds that the spec gives; zero: not given.
	given tune.Limits
}

// of returns the rule for a container.
func (r *rules) of(name string) containerRule {
	all := containerRule{name: allContainers, limits: tune.DefaultLimits}
	for _, c := range r.containers {
		switch c.name {
		case name:
			return c
		case allContainers:
			all = c
		}
	}
	return all
}

func compileRules(in v1alpha1.TortoiseRules, at *field.Path) (rules, field.ErrorList) {
	out := rules{mode: in.Mode, priority: in.Priority, cooldown: defaultCooldown, guard: tune.DefaultGuard(), runtime: in.Runtime}
	errs := policy.OneOf(at.Child("mode"), in.Mode, v1alpha1.TortoiseOff, v1alpha1.TortoiseAuto, v1alpha1.TortoiseEmergency)
	name := in.Profile
	if name == "" {
		name = v1alpha1.ProfileBalanced
	}
	out.formulas = name == v1alpha1.ProfileTortoise
	if out.formulas {
		name = v1alpha1.ProfileBalanced // the formulas do not use its numbers
	}
	profile, ok := tune.Profiles[string(name)]
	if !ok {
		errs = append(errs, field.NotSupported(at.Child("profile"), name,
			[]v1alpha1.TortoiseProfile{v1alpha1.ProfileLean, v1alpha1.ProfileBalanced, v1alpha1.ProfileSafe, v1alpha1.ProfileTortoise}))
	}
	out.profile = profile
	errs = append(errs, out.compileHistory(in.History, at.Child("history"))...)
	errs = append(errs, out.compileReplicas(in.Replicas, at.Child("replicas"))...)
	errs = append(errs, out.compileVertical(in.Vertical, at.Child("vertical"))...)
	out.maxDisruption = defaultDisruption
	if text := in.Guard.MaxDisruption; text != "" {
		n, es := percent(text, 100, at.Child("guard", "maxDisruption"))
		out.maxDisruption, errs = n, append(errs, es...)
	}
	errs = append(errs, out.compileContainers(in.Resources, at.Child("resources"))...)
	return out, errs
}

// leastWindow is the shortest window of a history. mostWindow is the longest. No older samples are kept.
const leastWindow, mostWindow = time.Hour, 28 * 24 * time.Hour

func (r *rules) compileHistory(in v1alpha1.TunedHistory, at *field.Path) field.ErrorList {
	r.source.Window = mostWindow
	zone, errs := times.Zone(in.TimeZone, at.Child("timeZone"))
	r.zone, r.daily = zone, in.Seasonality == v1alpha1.SeasonalityDaily
	errs = append(errs, policy.OneOf(at.Child("seasonality"), in.Seasonality, v1alpha1.SeasonalityAuto, v1alpha1.SeasonalityDaily)...)
	r.source.Recorded, r.source.Vertical = in.Source == v1alpha1.HistoryPrometheus, in.Source == v1alpha1.HistoryVertical
	r.source.MakesVertical = r.source.Vertical && in.Create
	errs = append(errs, policy.OneOf(at.Child("source"), in.Source, v1alpha1.HistoryMetrics, v1alpha1.HistoryVertical,
		v1alpha1.HistoryPrometheus)...)
	if in.Window != "" && !r.source.Recorded {
		errs = append(errs, field.Forbidden(at.Child("window"), "only Prometheus has a history: it is for that source"))
	}
	if in.Create && !r.source.Vertical {
		errs = append(errs, field.Forbidden(at.Child("create"), "it is for the source VerticalPodAutoscaler"))
	}
	if in.Window != "" {
		d, err := timeline.ParseDuration(string(in.Window))
		if err == nil && (d < leastWindow || d > mostWindow) {
			err = errors.New("must be from 1h to 28d")
		}
		if err != nil {
			errs = append(errs, field.Invalid(at.Child("window"), in.Window, err.Error()))
		}
		r.source.Window = d
	}
	return errs
}

func (r *rules) compileReplicas(in v1alpha1.TunedReplicas, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, n := range []struct {
		name string
		in   *int32
		out  **int
	}{{"min", in.Min, &r.min}, {"max", in.Max, &r.max}, {"preferredMax", in.PreferredMax, &r.preferredMax}} {
		if n.in == nil {
			continue
		}
		if *n.in < 1 || *n.in > maxReplicas {
			errs = append(errs, field.Invalid(at.Child(n.name), *n.in, fmt.Sprintf("must be from 1 to %d", maxReplicas)))
		}
		value := int(*n.in)
		*n.out = &value
	}
	for _, n := range []struct {
		name  string
		value *int
	}{{"min", r.min}, {"preferredMax", r.preferredMax}} {
		if n.value != nil && r.max != nil && *n.value > *r.max {
			errs = append(errs, field.Invalid(at.Child(n.name), *n.value, fmt.Sprintf("must not be above max, which is %d", *r.max)))
		}
	}
	return errs
}

// replicaBounds returns the bounds for the minimum and the maximum of an autoscaler, and the preferred maximum, given the
// owner's bounds.
func (r *rules) replicaBounds(ownMin, ownMax int) (least, greatest, preferred int) {
	least, greatest, preferred = min(defaultMin, ownMin), ownMax, defaultPreferred
	if r.min != nil {
		least = *r.min
	}
	if r.max != nil {
		greatest = *r.max
	}
	if r.preferredMax != nil {
		preferred = *r.preferredMax
	}
	least = max(least, 1)
	greatest = max(greatest, least)
	return least, greatest, min(preferred, greatest)
}

func (r *rules) compileVertical(in v1alpha1.TunedVertical, at *field.Path) field.ErrorList {
	r.apply = cmp.Or(in.Apply, v1alpha1.ApplyRollOut)
	errs := policy.OneOf(at.Child("apply"), in.Apply, v1alpha1.ApplyInPlace, v1alpha1.ApplyInPlaceOrRollOut, v1alpha1.ApplyRollOut,
		v1alpha1.ApplyOnCreate)
	errs = append(errs, r.compileLimitRule(in, at)...)
	errs = append(errs, r.compileBoost(in.StartupBoost, at.Child("startupBoost"))...)
	if in.Cooldown != "" {
		d, err := timeline.ParseDuration(string(in.Cooldown))
		if err != nil {
			errs = append(errs, field.Invalid(at.Child("cooldown"), in.Cooldown, err.Error()))
		}
		r.cooldown = d
	}
	for _, p := range []struct {
		name  string
		text  v1alpha1.Percentage
		most  int
		share *float64
	}{{"maxStepDown", in.MaxStepDown, 90, &r.guard.Down}, {"maxStepUp", in.MaxStepUp, 1000, &r.guard.Up}} {
		if p.text == "" {
			continue
		}
		n, es := percent(p.text, p.most, at.Child(p.name))
		errs = append(errs, es...)
		*p.share = float64(n) / 100
	}
	return errs
}

func (r *rules) compileLimitRule(in v1alpha1.TunedVertical, at *field.Path) field.ErrorList {
	r.limits = policy.LimitRules[in.Limits]
	errs := policy.OneOf(at.Child("limits"), in.Limits, v1alpha1.LimitsRatio, v1alpha1.LimitsKeep, v1alpha1.LimitsNone)
	if r.limits == workload.LimitsGo && (r.apply == v1alpha1.ApplyInPlace || r.apply == v1alpha1.ApplyInPlaceOrRollOut) {
		errs = append(errs, field.Invalid(at.Child("limits"), in.Limits,
			"needs apply RollOut or OnCreate: the limit of a pod that runs cannot be removed"))
	}
	return errs
}

// percent parses a share from 1 % to most percent.
func percent(text v1alpha1.Percentage, most int, at *field.Path) (int, field.ErrorList) {
	n, err := strconv.Atoi(strings.TrimSuffix(string(text), "%"))
	if err != nil || n < 1 || n > most || !strings.HasSuffix(string(text), "%") {
		return 0, field.ErrorList{field.Invalid(at, text, fmt.Sprintf("must be from 1%% to %d%%", most))}
	}
	return n, nil
}

func (r *rules) compileContainers(in []v1alpha1.TunedResources, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen, horizontal := map[string]bool{}, ""
	for i, c := range in {
		here := at.Index(i)
		rule := containerRule{name: c.Container, cpu: c.CPU, memory: c.Memory, limits: tune.DefaultLimits}
		if rule.name == "" {
			rule.name = allContainers
		}
		if seen[rule.name] {
			errs = append(errs, field.Duplicate(here.Child("container"), rule.name))
		}
		seen[rule.name] = true
		if c.CPU == v1alpha1.ScaleHorizontal && rule.name != allContainers {
			if horizontal != "" {
				errs = append(errs, field.Invalid(here.Child("cpu"), c.CPU, fmt.Sprintf("container %s is Horizontal already: one can be", horizontal)))
			}
			horizontal = rule.name
		}
		errs = append(errs, policy.OneOf(here.Child("cpu"), c.CPU, v1alpha1.ScaleHorizontal, v1alpha1.ScaleVertical, v1alpha1.ScaleOff)...)
		errs = append(errs, policy.OneOf(here.Child("memory"), c.Memory, "Vertical", "Off")...)
		errs = append(errs, rule.compileLimits(c, here)...)
		r.containers = append(r.containers, rule)
	}
	return errs
}

// compileLimits parses the least and the largest request.
func (r *containerRule) compileLimits(c v1alpha1.TunedResources, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	l := &r.limits
	for _, end := range []struct {
		name       string
		in         *v1alpha1.Quantities
		out, given *tune.Requests
	}{{"min", c.Min, &l.Min, &r.given.Min}, {"max", c.Max, &l.Max, &r.given.Max}} {
		if end.in == nil {
			continue
		}
		here := at.Child(end.name)
		if q := end.in.CPU; q != nil {
			errs = append(errs, positive(q, here.Child("cpu"))...)
			end.given.CPU = q.MilliValue()
			end.out.CPU = end.given.CPU
		}
		if q := end.in.Memory; q != nil {
			errs = append(errs, positive(q, here.Child("memory"))...)
			end.given.Memory = q.Value()
			end.out.Memory = end.given.Memory
		}
	}
	if l.Min.CPU > l.Max.CPU {
		errs = append(errs, field.Invalid(at.Child("min", "cpu"), fmt.Sprintf("%dm", l.Min.CPU),
			fmt.Sprintf("must not be above max.cpu, which is %dm", l.Max.CPU)))
	}
	if l.Min.Memory > l.Max.Memory {
		errs = append(errs, field.Invalid(at.Child("min", "memory"), l.Min.Memory,
			fmt.Sprintf("must not be above max.memory, which is %d", l.Max.Memory)))
	}
	return errs
}

// most is the largest accepted request: a million cores, or a pebibyte.
const most = 1 << 50

func positive(q *resource.Quantity, at *field.Path) field.ErrorList {
	if q.Sign() <= 0 {
		return field.ErrorList{field.Invalid(at, q.String(), "must be above 0")}
	}
	if q.CmpInt64(most) > 0 {
		return field.ErrorList{field.Invalid(at, q.String(), "is more than any node has")}
	}
	return nil
}
