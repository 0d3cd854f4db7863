package printer

import (
	"regexp"
	"strings"
	"time"
)

// limitOfState is the part of a reason that names the begin or the end of a state, with the zone if it follows.
var limitOfState = regexp.MustCompile(
	`(?: since| at|,? until|, next transition) (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d))(?: \((?:UTC|Local|[A-Za-z_]+/[\w/+-]+)\))?`)

// Beyond returns the part of the reason for a state that a reader does not know from the state, its begin and its end. It is
// empty if the reason repeats these alone. A zero begin or end is not known.
func Beyond(reason, state string, since, until time.Time) string {
	rest := limitOfState.ReplaceAllStringFunc(reason, func(part string) string {
		at, err := time.Parse(time.RFC3339, limitOfState.FindStringSubmatch(part)[1])
		if err == nil && (at.Equal(since) && !since.IsZero() || at.Equal(until) && !until.IsZero()) {
			return ""
		}
		return part
	})
	if len(rest) >= len(state) && strings.EqualFold(rest[:len(state)], state) {
		rest = rest[len(state):]
	}
	rest = strings.TrimLeft(rest, " ,;:")
	if name, ok := strings.CutPrefix(rest, "("); ok && strings.Count(rest, "(") == 1 && strings.HasSuffix(name, ")") {
		return strings.TrimSuffix(name, ")")
	}
	return rest
}
