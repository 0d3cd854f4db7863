package idle

import (
	"fmt"
	"strings"

	"flyball.dev/flyball/engine/policy/demand"
)

// doubt returns the reason why an answer says nothing about a target, or "".
func doubt(v demand.Value) string {
	switch v {
	case demand.Missing:
		return "the demand has no series for it"
	case demand.Unknown:
		return "a part of its demand has vanished, or is no number"
	}
	return ""
}

// stale returns a message about the selectors without fresh samples, or "" without such a selector.
func (w *watcher) stale(l *demand.Look) string {
	stale := l.Stale(w.query)
	if len(stale) == 0 {
		return ""
	}
	return fmt.Sprintf("no series of %s has a sample of the last %s: is spec.idle.interval shorter than the scrape interval?",
		strings.Join(stale, " or "), w.rule.Fresh())
}
