package trigger

import (
	"fmt"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/times"
	"flyball.dev/flyball/engine/timeline"
)

// maxReplicas is the largest count that a field of 32 bits can hold.
const maxReplicas = math.MaxInt32

// compileTriggers compiles the triggers that are not suspended; suspended triggers are checked too.
func compileTriggers(rules v1alpha1.TriggerRules, calendars times.Calendars, at *field.Path) ([]trigger, field.ErrorList) {
	loc, errs := times.Zone(rules.TimeZone, at.Child("timeZone"))
	errs = append(errs, policy.OneOf(at.Child("overlap"), rules.Overlap, v1alpha1.OverlapPriority, v1alpha1.OverlapHighest)...)
	if len(rules.Triggers) == 0 {
		errs = append(errs, field.Required(at.Child("triggers"), "list at least one"))
	}
	windows := make([]v1alpha1.Window, len(rules.Triggers))
	for i := range rules.Triggers {
		windows[i] = rules.Triggers[i].Window
	}
	if es := times.TooManyCrons(windows, at.Child("triggers")); len(es) > 0 {
		return nil, append(errs, es...)
	}
	var all []trigger
	seen := sets.New[string]()
	for i, t := range rules.Triggers {
		here := at.Child("triggers").Index(i)
		switch {
		case t.Name == "":
			errs = append(errs, field.Required(here.Child("name"), "a name that no other trigger of this policy has"))
		case seen.Has(t.Name):
			errs = append(errs, field.Duplicate(here.Child("name"), t.Name))
		}
		seen.Insert(t.Name)
		errs = append(errs, checkValues(t.During, here.Child("during"))...)
		if t.After != nil {
			errs = append(errs, checkValues(*t.After, here.Child("after"))...)
		}
		if loc == nil {
			continue
		}
		window, es := compileTime(t, loc, calendars, here)
		errs = append(errs, es...)
		if !t.Suspend {
			all = append(all, trigger{name: t.Name, index: i, priority: t.Priority, open: window, during: t.During, after: t.After})
		}
	}
	return all, errs
}

// compileTime compiles the time of a trigger: its window, overruled by its calendars.
func compileTime(t v1alpha1.TimeTrigger, loc *time.Location, calendars times.Calendars, at *field.Path) (timeline.Timeline,
	field.ErrorList) {
	var window timeline.Timeline
	var errs field.ErrorList
	opens := slices.ContainsFunc(t.Calendars, func(c v1alpha1.WindowCalendar) bool { return c.Effect == v1alpha1.EffectOpen })
	switch {
	case !equality.Semantic.DeepEqual(t.Window, v1alpha1.Window{}):
		window, errs = timeline.ParseWindow(t.Window, loc, at.Child("window"))
	case !opens:
		errs = field.ErrorList{field.Required(at.Child("window"),
			"set from and to, days, cron with duration or until, or start and end, or add a calendar with the effect Open")}
	}
	effects, es := times.Effects(t.Calendars, v1alpha1.EffectOpen, v1alpha1.EffectClosed, calendars, at.Child("calendars"))
	if errs = append(errs, es...); len(errs) > 0 || len(effects) == 0 {
		return window, errs
	}
	return timeline.Override(window, effects...), nil
}

func checkValues(v v1alpha1.TriggerValues, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if v.Min == nil && v.Max == nil && v.Replicas == nil {
		errs = append(errs, field.Required(at, "give min, max, replicas or several of them"))
	}
	for _, n := range named(v) {
		if n.value != nil && (*n.value < 0 || *n.value > maxReplicas) {
			errs = append(errs, field.Invalid(at.Child(n.name), *n.value, fmt.Sprintf("must be from 0 to %d", maxReplicas)))
		}
	}
	if v.Min != nil && v.Max != nil && *v.Min > *v.Max {
		errs = append(errs, field.Invalid(at.Child("min"), *v.Min, fmt.Sprintf("must not be above max, %d", *v.Max)))
	}
	return errs
}

type value struct {
	name  string
	value *int64
}

func named(v v1alpha1.TriggerValues) []value {
	return []value{{"min", v.Min}, {"max", v.Max}, {"replicas", v.Replicas}}
}

// checkKinds checks the values against the listed kinds, as far as the kinds are known. A bound below the lowest bound of
// a kind is an error. A value that no listed kind has a field for is an error too.
func checkKinds(rules v1alpha1.TriggerRules, gks []schema.GroupKind, ctx Context, at *field.Path) field.ErrorList {
	kinds := make(map[schema.GroupKind]policy.AdaptedKind, len(gks))
	for _, gk := range gks {
		k, ok := ctx.Kind(gk)
		if !ok {
			return nil // an unknown kind may have a field for every value
		}
		kinds[gk] = k
	}
	if len(kinds) == 0 {
		return nil
	}
	var errs field.ErrorList
	for i, t := range rules.Triggers {
		errs = append(errs, checkPlaces(t.During, gks, kinds, at.Index(i).Child("during"))...)
		if t.After != nil {
			errs = append(errs, checkPlaces(*t.After, gks, kinds, at.Index(i).Child("after"))...)
		}
	}
	return errs
}

func checkPlaces(v v1alpha1.TriggerValues, gks []schema.GroupKind, kinds map[schema.GroupKind]policy.AdaptedKind,
	at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, n := range named(v) {
		if n.value == nil {
			continue
		}
		here, placed := at.Child(n.name), false
		for _, gk := range gks {
			k := kinds[gk]
			var floor *int64
			switch n.name {
			case "min":
				floor = k.Min
			case "max":
				floor = k.Max
			case "replicas":
				placed = placed || k.Scales || k.Governs
				continue
			}
			if floor == nil {
				continue
			}
			placed = true
			if *n.value < *floor {
				errs = append(errs, field.Invalid(here, *n.value, fmt.Sprintf("%s accepts no less than %d", gk, *floor)))
			}
		}
		if !placed {
			errs = append(errs, field.Forbidden(here, fmt.Sprintf("%v has no place for it", gks)))
		}
	}
	return errs
}
