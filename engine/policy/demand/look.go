package demand

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/engine/workload"
)

// Look has the meaning of the series of one instant, or of one step of a history, by target.
type Look struct {
	rule *Rule
	// values has the meanings. The key of a series that counts for a whole namespace has no name.
	values map[types.NamespacedName]Value
	// fresh reports, by selector of the demand, whether it has series with fresh samples.
	fresh []bool
}

// NewLook returns a Look without series.
func (r *Rule) NewLook(q *Query) *Look {
	return &Look{rule: r, values: map[types.NamespacedName]Value{}, fresh: make([]bool, len(q.Selectors))}
}

// Add adds the value of a series. A series that names no target that the policy may have adds nothing.
func (l *Look) Add(series model.Metric, value float64) {
	if place, proves := series[SelectorLabel]; proves {
		i, err := strconv.Atoi(string(place))
		if err == nil && i >= 0 && i < len(l.fresh) && !math.IsInf(value, 1) { // +Inf: for a part of a step alone
			l.fresh[i] = true
		}
		return
	}
	key := types.NamespacedName{Namespace: string(series[model.LabelName(l.rule.NamespaceLabel)]),
		Name: string(series[model.LabelName(l.rule.NameLabel)])}
	if l.rule.Namespace != "" {
		if key.Namespace != "" && key.Namespace != l.rule.Namespace {
			return
		}
		key.Namespace = l.rule.Namespace
	}
	if key == (types.NamespacedName{}) {
		return
	}
	l.values[key] = max(l.values[key], l.rule.Of(value))
}

// Of returns the meaning for a target.
func (l *Look) Of(ref workload.Ref) Value {
	v := l.values[types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}]
	if ref.Namespace != "" {
		v = max(v, l.values[types.NamespacedName{Namespace: ref.Namespace}])
	}
	if slices.Contains(l.fresh, false) {
		if v == Quiet { // the query may have filled in for missing series
			return Missing
		}
		return v
	}
	if v == Missing && l.rule.AbsentIdle {
		return Quiet
	}
	return v
}

// Strangers returns the names of series that name none of the targets.
func (l *Look) Strangers(targets []workload.Ref) []types.NamespacedName {
	left := maps.Clone(l.values)
	for _, ref := range targets {
		delete(left, types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name})
		delete(left, types.NamespacedName{Namespace: ref.Namespace})
	}
	return slices.SortedFunc(maps.Keys(left), func(a, b types.NamespacedName) int { return cmp.Compare(a.String(), b.String()) })
}

// Stale returns the selectors of the demand without fresh samples.
func (l *Look) Stale(q *Query) (stale []string) {
	for i, selector := range q.Selectors {
		if !l.fresh[i] {
			stale = append(stale, selector)
		}
	}
	return stale
}
