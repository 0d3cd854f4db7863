// Package times compiles the time sections of policy specs and calendars into timelines: windows, dates, public holidays and
// calendar files. Its errors name the field.
//
// Decisions (docs/decisions): 0051.
package times

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
)

// Zone loads an IANA time zone. An unknown zone is an error, and is never replaced silently by another zone.
func Zone(name string, at *field.Path) (*time.Location, field.ErrorList) {
	loc, err := timeline.LoadZone(name)
	if err != nil {
		return nil, field.ErrorList{field.Invalid(at, name, err.Error())}
	}
	return loc, nil
}

// Windows compiles a list of windows. A repeated name is an error, as in Repeated.
func Windows(ws []v1alpha1.Window, loc *time.Location, at *field.Path) ([]timeline.Timeline, field.ErrorList) {
	errs := Repeated(ws, at)
	out, es := EveryWindow(ws, loc, at)
	return out, append(errs, es...)
}

// Repeated returns an error for each window with the name of an earlier one: messages could not distinguish
// the windows.
func Repeated(ws []v1alpha1.Window, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, w := range ws {
		if w.Name != "" && seen.Has(w.Name) {
			errs = append(errs, field.Duplicate(at.Index(i).Child("name"), w.Name))
		}
		seen.Insert(w.Name)
	}
	return errs
}

// MaxCrons is the maximum number of windows with a cron in a policy. The ends of these windows are found by a search, and
// other policies wait during the search.
const MaxCrons = 32

// TooManyCrons returns an error for a list with more than MaxCrons windows that have a cron.
func TooManyCrons(ws []v1alpha1.Window, at *field.Path) field.ErrorList {
	n := 0
	for i := range ws {
		if ws[i].Cron != "" {
			n++
		}
	}
	if n <= MaxCrons {
		return nil
	}
	return field.ErrorList{field.Invalid(at, n,
		fmt.Sprintf("%d windows have a cron, where at most %d may: write the others as days with from and to, or make another policy", n,
			MaxCrons))}
}

// EveryWindow compiles a list of windows and ignores repeated names.
func EveryWindow(ws []v1alpha1.Window, loc *time.Location, at *field.Path) ([]timeline.Timeline, field.ErrorList) {
	if errs := TooManyCrons(ws, at); len(errs) > 0 {
		return nil, errs
	}
	var errs field.ErrorList
	out := make([]timeline.Timeline, 0, len(ws))
	for i, w := range ws {
		window, es := timeline.ParseWindow(w, loc, at.Index(i))
		errs = append(errs, es...)
		out = append(out, window)
	}
	return out, errs
}

// Effects compiles the calendars of a policy for timeline.Override. on is the effect that turns the policy's timeline on,
// and off is the effect that turns it off. At apply, calendars is nil, and only the references are checked.
func Effects[R interface{ Use() (string, E) }, E ~string](refs []R, on, off E, calendars Calendars, at *field.Path) ([]timeline.Effect,
	field.ErrorList) {
	var errs field.ErrorList
	var effects []timeline.Effect
	seen := sets.New[string]()
	for i, ref := range refs {
		name, effect := ref.Use()
		if seen.Has(name) {
			errs = append(errs, field.Duplicate(at.Index(i).Child("name"), name))
			continue
		}
		seen.Insert(name)
		if effect != on && effect != off {
			errs = append(errs, field.NotSupported(at.Index(i).Child("effect"), effect, []E{on, off}))
		}
		if calendars == nil {
			continue
		}
		days, ok := calendars(name)
		if !ok {
			errs = append(errs, field.NotFound(at.Index(i).Child("name"), name))
			continue
		}
		effects = append(effects, timeline.Effect{During: days, Active: effect == on})
	}
	return effects, errs
}

// Names returns the names of the calendars in several lists, each once.
func Names[R interface{ Use() (string, E) }, E ~string](lists ...[]R) []string {
	names := sets.New[string]()
	for _, refs := range lists {
		for _, ref := range refs {
			name, _ := ref.Use()
			names.Insert(name)
		}
	}
	return sets.List(names)
}
