package demand

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/engine/workload"
)

// Reading has the meaning of the series of one instant, or of one step of a history, by target.
type Reading struct {
	*Query
	// values has the meanings. The key of a series that counts for a whole namespace has no name.
	values map[types.NamespacedName]Value
	// fresh reports, by selector of the demand, whether it has series with fresh samples.
	fresh []bool
	// Example is one of the series; empty: there is none.
	Example string
	// named is true if a series names a target. Otherwise its absence may be that of a label.
	named bool
}

// Read returns the meaning of an answer to Now.
func (q *Query) Read(found model.Vector) *Reading {
	l := &Reading{Query: q, values: map[types.NamespacedName]Value{}, fresh: make([]bool, len(q.Selectors))}
	for _, v := range found {
		l.add(v.Metric, float64(v.Value))
	}
	return l
}

// ReadSteps returns the meanings of n steps of an answer to Past.
func (q *Query) ReadSteps(found model.Matrix, first time.Time, step time.Duration, n int) []*Reading {
	all := make([]*Reading, n)
	for i := range all {
		all[i] = q.Read(nil)
	}
	for _, series := range found {
		for _, v := range series.Values {
			if i := int(v.Timestamp.Time().Sub(first) / step); i >= 0 && i < n {
				all[i].add(series.Metric, float64(v.Value))
			}
		}
	}
	return all
}

// add adds the value of a series. A series that names no target that the policy may have adds nothing.
func (l *Reading) add(series model.Metric, value float64) {
	if place, proves := series[SelectorLabel]; proves && len(series) == 1 {
		i, err := strconv.Atoi(string(place))
		if err == nil && i >= 0 && i < len(l.fresh) && !math.IsInf(value, 1) { // +Inf: for a part of a step alone
			l.fresh[i] = true
		}
		return
	}
	if l.Example == "" {
		l.Example = workload.OneLine(series.String(), 256)
	}
	key := types.NamespacedName{Namespace: string(series[model.LabelName(l.rule.NamespaceLabel)]),
		Name: string(series[model.LabelName(l.rule.NameLabel)])}
	if own := l.rule.Namespace; own != "" {
		if key.Namespace != "" && key.Namespace != own {
			return
		}
		key.Namespace = own
	}
	meaning := l.rule.Of(value)
	if key == (types.NamespacedName{}) || key.Name == "" && meaning == Quiet && l.hasNames {
		return
	}
	l.values[key] = max(l.values[key], meaning)
}

// See looks for the series of a target. The absence of a series proves nothing as long as no target has been seen.
func (l *Reading) See(ref workload.Ref) {
	l.named = l.named || l.value(ref) != Missing
}

func (l *Reading) value(ref workload.Ref) Value {
	v := l.values[types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}]
	if ref.Namespace != "" {
		v = max(v, l.values[types.NamespacedName{Namespace: ref.Namespace}])
	}
	return v
}

// Of returns the meaning for a target.
func (l *Reading) Of(ref workload.Ref) Value {
	v := l.value(ref)
	switch known := !slices.Contains(l.fresh, false); {
	case v == Missing && known && l.named && l.rule.AbsentIdle:
		return Quiet
	case v == Quiet && !known: // the query may have filled in for missing series
		return Missing
	}
	return v
}

// Stale returns a message about the selectors without fresh samples; empty: there are none.
func (l *Reading) Stale() string {
	var stale []string
	for i, selector := range l.Selectors {
		if !l.fresh[i] {
			stale = append(stale, selector)
		}
	}
	if len(stale) == 0 {
		return ""
	}
	return fmt.Sprintf("no series of %s has a sample of the last %s: is spec.idle.interval shorter than the scrape interval?",
		strings.Join(stale, " or "), l.rule.Fresh())
}

// Unnamed returns a message about an answer that names no target.
func (l *Reading) Unnamed() string {
	return fmt.Sprintf("no series names a target by the labels %s and %s, for example %s", l.rule.NamespaceLabel, l.rule.NameLabel,
		cmp.Or(l.Example, "there is none"))
}
