package schedule

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// compileBounds returns the limits within which a schedule yields to Overrides.
func compileBounds(id workload.Policy, rules v1alpha1.ScheduleRules) pipeline.Bounds {
	b := pipeline.Bounds{By: id, Suspended: rules.Suspend}
	if rule := rules.Overrides; rule != nil {
		b.Effects = rule.Effects
		b.MaxDuration, _ = timeline.ParseDurationOrZero(string(rule.MaxDuration)) // validate reports unreadable durations
	}
	return b
}

// compileTimes compiles the rules into the times of the schedule. Without a zone the times are empty: the missing zone is
// already reported as an error.
func compileTimes(rules v1alpha1.ScheduleRules, loc *time.Location, calendars times.Calendars, at *field.Path) (
	sleepTimes, field.ErrorList) {
	forms := 0
	for _, given := range []bool{rules.Upscale != "" || rules.Downscale != "", len(rules.Asleep) > 0, len(rules.Awake) > 0} {
		if given {
			forms++
		}
	}
	switch {
	case forms == 0 && (rules.Age != nil || rules.Idle != nil):
		return byTargetAlone(rules, at)
	case forms != 1:
		return sleepTimes{}, field.ErrorList{field.Invalid(at, forms,
			"give exactly one of: downscale with or without upscale, asleep, awake; only age and idle may stand without them")}
	case loc == nil:
		return sleepTimes{}, nil
	case rules.Downscale != "" && rules.Upscale == "":
		return compileFirings(rules, loc, at)
	}
	errs := validateOtherwise(rules, at.Child("otherwise"))
	var base, open timeline.Timeline
	var es field.ErrorList
	if windows := slices.Concat(rules.Asleep, rules.Awake); len(windows) > 0 {
		name := "asleep"
		if len(rules.Awake) > 0 {
			name = "awake"
		}
		var list []timeline.Timeline
		list, es = times.Windows(windows, loc, at.Child(name))
		open = timeline.Union(list...)
		if base = open; name == "awake" {
			base = timeline.Not(open)
		}
	} else {
		base, es = compilePair(rules, loc, at)
	}
	effects, moreErrs := times.Effects(rules.Calendars, v1alpha1.EffectAwake, v1alpha1.EffectAsleep, calendars, at.Child("calendars"))
	if errs = slices.Concat(errs, es, moreErrs); len(errs) > 0 {
		return sleepTimes{}, errs
	}
	out := sleepTimes{asleep: base}
	if len(effects) > 0 {
		// If calendars disagree, awake wins. In Override the active state wins, so it is applied to the timeline that is
		// active while targets are awake.
		out.asleep = timeline.Not(timeline.Override(timeline.Not(base), effects...))
	}
	if rules.Otherwise == v1alpha1.OtherwiseNothing {
		all := []timeline.Timeline{open}
		for _, e := range effects {
			all = append(all, e.During)
		}
		says := timeline.Union(all...)
		out.says = &says
	}
	return out, nil
}

// byTargetAlone returns the times of a schedule without windows or crons: only the age or the use of a target puts it to sleep.
func byTargetAlone(rules v1alpha1.ScheduleRules, at *field.Path) (sleepTimes, field.ErrorList) {
	errs := validateOtherwise(rules, at.Child("otherwise"))
	if len(rules.Calendars) > 0 {
		errs = append(errs, field.Forbidden(at.Child("calendars"),
			"need windows or upscale and downscale to overrule: age and idle alone have neither"))
	}
	if rules.Idle != nil && rules.Idle.InWindows && rules.Age == nil {
		errs = append(errs, field.Forbidden(at.Child("idle", "inWindows"),
			"needs windows, upscale and downscale, or age: there is no other sleep"))
	}
	return sleepTimes{says: &timeline.Timeline{}}, errs
}

// compilePair compiles a cron pair into the timeline that is on while targets sleep.
func compilePair(rules v1alpha1.ScheduleRules, loc *time.Location, at *field.Path) (timeline.Timeline, field.ErrorList) {
	if rules.Downscale == "" {
		return timeline.Timeline{}, field.ErrorList{field.Required(at.Child(timeline.Downscale),
			`upscale needs a cron of when the targets go to sleep, such as "0 20 * * 1-5"`)}
	}
	pair, errs := timeline.Pair(rules.Upscale, rules.Downscale, loc, at)
	if len(errs) > 0 {
		return timeline.Timeline{}, errs
	}
	if _, changes := pair.Next(time.Time{}); !changes {
		return timeline.Timeline{}, field.ErrorList{field.Invalid(at.Child(timeline.Upscale), rules.Upscale,
			"whenever it fires, downscale fires too and wins, so the targets would never wake: write another time, or leave upscale out if "+
				"nobody but people shall wake them")}
	}
	return timeline.Not(pair), nil
}

// compileFirings compiles a downscale without an upscale.
func compileFirings(rules v1alpha1.ScheduleRules, loc *time.Location, at *field.Path) (sleepTimes, field.ErrorList) {
	errs := validateOtherwise(rules, at.Child("otherwise"))
	if len(rules.Calendars) > 0 {
		errs = append(errs, field.Forbidden(at.Child("calendars"),
			"downscale alone has no state for them to overrule: write upscale too, or windows"))
	}
	if rules.Age != nil {
		errs = append(errs, field.Forbidden(at.Child("age"),
			"does not go with downscale alone, where nothing but people wakes: write upscale too, or windows"))
	}
	if rules.Idle != nil {
		errs = append(errs, field.Forbidden(at.Child("idle"),
			"does not go with downscale alone, where nothing but people wakes: write upscale too, or windows"))
	}
	firings, es := timeline.ParseFirings(rules.Downscale, loc, at.Child(timeline.Downscale))
	return sleepTimes{firings: &firings}, append(errs, es...)
}

func validateOtherwise(rules v1alpha1.ScheduleRules, at *field.Path) field.ErrorList {
	already := v1alpha1.OtherwiseAsleep
	if len(rules.Awake) > 0 {
		already = v1alpha1.OtherwiseAwake
	}
	all := []v1alpha1.Otherwise{v1alpha1.OtherwiseAsleep, v1alpha1.OtherwiseAwake, v1alpha1.OtherwiseNothing}
	switch {
	case rules.Otherwise == "":
		return nil
	case rules.Idle != nil:
		return field.ErrorList{field.Forbidden(at, "does not go with idle, which decides outside of windows")}
	case !slices.Contains(all, rules.Otherwise):
		return field.ErrorList{field.NotSupported(at, rules.Otherwise, all)}
	case len(rules.Asleep)+len(rules.Awake) == 0:
		return field.ErrorList{field.Forbidden(at, "is for the time outside of windows: write asleep or awake, or leave it out")}
	case rules.Otherwise == already:
		return field.ErrorList{field.Invalid(at, rules.Otherwise, "is what the windows are already: write Nothing, or leave it out")}
	}
	return nil
}

func validate(rules v1alpha1.ScheduleRules, authorsAsked bool, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validateLevel(rules.AsleepAs, authorsAsked, at.Child("asleepAs"))...)
	errs = append(errs, validateLimit(rules.UpscaleRateLimit, at.Child("upscaleRateLimit"))...)
	errs = append(errs, validateLimit(rules.DownscaleRateLimit, at.Child("downscaleRateLimit"))...)
	if rules.GracePeriod != "" {
		errs = append(errs, validateDuration(rules.GracePeriod, at.Child("gracePeriod"))...)
	}
	if rules.Age != nil {
		errs = append(errs, validateDuration(rules.Age.AsleepAfter, at.Child("age", "asleepAfter"))...)
	}
	if o := rules.Overrides; o != nil && o.MaxDuration != "" {
		errs = append(errs, validateDuration(o.MaxDuration, at.Child("overrides", "maxDuration"))...)
	}
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
	return append(errs, validateDuration(r.DelayBetweenBatches, at.Child("delayBetweenBatches"))...)
}

func validateDuration(d v1alpha1.Duration, at *field.Path) field.ErrorList {
	if _, err := timeline.ParseDuration(string(d)); err != nil {
		return field.ErrorList{field.Invalid(at, d, err.Error())}
	}
	return nil
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
