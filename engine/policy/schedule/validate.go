package schedule

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/when"
	"flyball.dev/flyball/engine/timeline"
)

// sleeping compiles the rules into the timeline of sleep. Without a valid zone, which is an error of its own, the
// timeline is empty.
func sleeping(rules v1alpha1.ScheduleRules, loc *time.Location, calendars when.Calendars, at *field.Path) (timeline.Timeline, field.ErrorList) {
	var errs field.ErrorList
	forms := 0
	for _, given := range []bool{rules.Upscale != "" || rules.Downscale != "", len(rules.Asleep) > 0, len(rules.Awake) > 0} {
		if given {
			forms++
		}
	}
	if forms != 1 {
		errs = append(errs, field.Invalid(at, forms, "give exactly one of: upscale with downscale, asleep, awake"))
	}
	if len(errs) > 0 || loc == nil {
		return timeline.Timeline{}, errs
	}
	var base timeline.Timeline
	switch {
	case len(rules.Asleep) > 0:
		windows, es := when.Windows(rules.Asleep, loc, at.Child("asleep"))
		base, errs = timeline.Union(windows...), append(errs, es...)
	case len(rules.Awake) > 0:
		windows, es := when.Windows(rules.Awake, loc, at.Child("awake"))
		base, errs = timeline.Not(timeline.Union(windows...)), append(errs, es...)
	default:
		pair, es := timeline.Pair(rules.Upscale, rules.Downscale, loc, at)
		base, errs = timeline.Not(pair), append(errs, es...)
	}
	effects, es := overrides(rules.Calendars, calendars, at.Child("calendars"))
	if errs = append(errs, es...); len(errs) > 0 {
		return timeline.Timeline{}, errs
	}
	if len(effects) == 0 {
		return base, nil
	}
	// If calendars disagree, awake wins. Override lets the active state win, so it is applied to the timeline
	// of being awake.
	return timeline.Not(timeline.Override(timeline.Not(base), effects...)), nil
}

func overrides(refs []v1alpha1.CalendarRef, calendars when.Calendars, at *field.Path) ([]timeline.Effect, field.ErrorList) {
	var errs field.ErrorList
	var effects []timeline.Effect
	seen := sets.New[string]()
	for i, ref := range refs {
		if seen.Has(ref.Name) {
			errs = append(errs, field.Duplicate(at.Index(i).Child("name"), ref.Name))
			continue
		}
		seen.Insert(ref.Name)
		if ref.Effect != v1alpha1.EffectAsleep && ref.Effect != v1alpha1.EffectAwake {
			errs = append(errs, field.NotSupported(at.Index(i).Child("effect"), ref.Effect, []v1alpha1.CalendarEffect{v1alpha1.EffectAsleep, v1alpha1.EffectAwake}))
		}
		if calendars == nil {
			continue
		}
		days, ok := calendars(ref.Name)
		if !ok {
			errs = append(errs, field.NotFound(at.Index(i).Child("name"), ref.Name))
			continue
		}
		effects = append(effects, timeline.Effect{During: days, Active: ref.Effect == v1alpha1.EffectAwake})
	}
	return effects, errs
}

// warnings warns of crons that always fire together: downscale wins then, so no target ever wakes.
func warnings(rules v1alpha1.ScheduleRules, loc *time.Location, at *field.Path) []string {
	if rules.Upscale == "" {
		return nil
	}
	pair, _ := timeline.Pair(rules.Upscale, rules.Downscale, loc, at) // its errors are reported elsewhere
	if _, changes := pair.Next(time.Time{}); changes {
		return nil
	}
	return []string{fmt.Sprintf("%s: whenever it fires, downscale fires too and wins, so the targets never wake", at.Child(timeline.Upscale))}
}

func validate(rules v1alpha1.ScheduleRules, authorsAsked bool, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validateLevel(rules.AsleepAs, authorsAsked, at.Child("asleepAs"))...)
	errs = append(errs, validateLimit(rules.UpscaleRateLimit, at.Child("upscaleRateLimit"))...)
	errs = append(errs, validateLimit(rules.DownscaleRateLimit, at.Child("downscaleRateLimit"))...)
	return errs
}

func validateLimit(r *v1alpha1.RateLimit, at *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	var errs field.ErrorList
	if r.BatchSize < 1 {
		errs = append(errs, field.Invalid(at.Child("batchSize"), r.BatchSize, "must be at least 1"))
	}
	if _, err := timeline.ParseDuration(string(r.DelayBetweenBatches)); err != nil {
		errs = append(errs, field.Invalid(at.Child("delayBetweenBatches"), r.DelayBetweenBatches, err.Error()))
	}
	return errs
}

func validateLevel(as *v1alpha1.AsleepAs, authorsAsked bool, at *field.Path) field.ErrorList {
	if as == nil {
		return nil
	}
	var errs field.ErrorList
	forms := 0
	for _, given := range []bool{as.Replicas != nil, as.Percent != nil, as.Bounds != nil, as.Hold != nil, len(as.Annotations) > 0} {
		if given {
			forms++
		}
	}
	if forms != 1 {
		errs = append(errs, field.Invalid(at, forms, "give exactly one of replicas, percent, bounds, hold and annotations"))
	}
	if as.Replicas != nil && (*as.Replicas < 0 || *as.Replicas > maxReplicas) {
		errs = append(errs, field.Invalid(at.Child("replicas"), *as.Replicas, fmt.Sprintf("must be from 0 to %d", maxReplicas)))
	}
	if as.Percent != nil && (*as.Percent < 0 || *as.Percent > 100) {
		errs = append(errs, field.Invalid(at.Child("percent"), *as.Percent, "must be from 0 to 100"))
	}
	if b := as.Bounds; b != nil {
		if b.Min == nil && b.Max == nil {
			errs = append(errs, field.Required(at.Child("bounds"), "give min, max or both"))
		}
		if b.Min != nil && b.Max != nil && *b.Min > *b.Max {
			errs = append(errs, field.Invalid(at.Child("bounds", "min"), *b.Min, fmt.Sprintf("must not be above max, %d", *b.Max)))
		}
	}
	if as.Hold != nil && !*as.Hold {
		errs = append(errs, field.NotSupported(at.Child("hold"), *as.Hold, []string{"true"}))
	}
	errs = append(errs, validation.ValidateAnnotations(as.Annotations, at.Child("annotations"))...)
	return append(errs, validateKeys(as.Annotations, authorsAsked, at.Child("annotations"))...)
}

// validateKeys refuses annotations that make Flyball or Kubernetes itself act: otherwise the author of a schedule could
// have Flyball write values that the author may not write. Keys of Kubernetes need the verb override, and are refused
// if authors' rights are not checked.
func validateKeys(annotations map[string]string, authorsAsked bool, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		owner := policy.KubernetesDomain(key)
		switch {
		case policy.IsOwnKey(key):
			owner = v1alpha1.GroupVersion.Group
		case owner == "" || authorsAsked:
			continue
		}
		errs = append(errs, field.Forbidden(at.Key(key), "keys under "+owner+" are not for schedules to set"))
	}
	return errs
}

// maxReplicas is the largest count that a replicas field of 32 bits can hold.
const maxReplicas = math.MaxInt32
