package timeline

import (
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/engine/timeline/recur"
)

// Firings are the instants of a cron in a zone.
type Firings struct{ repeat *repeat }

// ParseFirings returns the firings of a cron in five fields or of a descriptor. Errors name fldPath.
func ParseFirings(expr string, loc *time.Location, fldPath *field.Path) (Firings, field.ErrorList) {
	c, err := recur.ParseCron(expr)
	if err != nil {
		return Firings{}, field.ErrorList{field.Invalid(fldPath, expr, err.Error())}
	}
	return Firings{&repeat{zone: zoneOf(loc), cron: c}}, nil
}

// Around returns the last firing at or before the instant, and the first firing after it. A missing firing is a zero
// time.
func (f Firings) Around(at time.Time) (last, next time.Time) {
	u := toSeconds(at)
	return toTime(f.repeat.previous(u)), toTime(f.repeat.next(u))
}
