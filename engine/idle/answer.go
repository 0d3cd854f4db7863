package idle

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/engine/policy/demand"
	"flyball.dev/flyball/engine/workload"
)

// answer has the meaning of the series of one instant, or of one step of a history, by target. The key of a series that counts for a
// whole namespace has no name.
type answer struct {
	values map[types.NamespacedName]demand.Value
	// fresh reports, by selector of the demand, whether it has series with fresh samples.
	fresh []bool
	// absentIdle is true if a target without a series is quiet.
	absentIdle bool
}

func newAnswer(w *watcher) *answer {
	return &answer{values: map[types.NamespacedName]demand.Value{}, fresh: make([]bool, len(w.query.Selectors)), absentIdle: w.rule.AbsentIdle}
}

// add adds the value of a series. A series that names no target that the policy may have adds nothing.
func (a *answer) add(rule *demand.Rule, series model.Metric, value float64) {
	if place, proves := series[demand.SelectorLabel]; proves {
		i, err := strconv.Atoi(string(place))
		if err == nil && i >= 0 && i < len(a.fresh) && !math.IsInf(value, 1) { // +Inf: for a part of a step alone
			a.fresh[i] = true
		}
		return
	}
	key := types.NamespacedName{Namespace: string(series[model.LabelName(rule.NamespaceLabel)]),
		Name: string(series[model.LabelName(rule.NameLabel)])}
	if rule.Namespace != "" {
		if key.Namespace != "" && key.Namespace != rule.Namespace {
			return
		}
		key.Namespace = rule.Namespace
	}
	if key == (types.NamespacedName{}) {
		return
	}
	a.values[key] = max(a.values[key], rule.Of(value))
}

// of returns the meaning for a target.
func (a *answer) of(ref workload.Ref) demand.Value {
	v := a.values[types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}]
	if ref.Namespace != "" {
		v = max(v, a.values[types.NamespacedName{Namespace: ref.Namespace}])
	}
	if v == demand.Missing && a.absentIdle && !slices.Contains(a.fresh, false) {
		return demand.Quiet
	}
	return v
}

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

// stale returns a message about the selectors without fresh samples, or "" if one has some.
func (a *answer) stale(w *watcher) string {
	if len(a.fresh) == 0 || slices.Contains(a.fresh, true) {
		return ""
	}
	return fmt.Sprintf("no series of %s has a sample of the last %s: is spec.idle.interval shorter than the scrape interval?",
		strings.Join(w.query.Selectors, " or "), w.rule.Fresh())
}
