package demand_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"flyball.dev/flyball/engine/policy/demand"
	"flyball.dev/flyball/engine/workload"
)

// TestQuietNeedsFreshSamplesOfEachSelector: a query can fill in zeros for missing series, of an answer and of a step of a history. Use
// counts in any case.
func TestQuietNeedsFreshSamplesOfEachSelector(t *testing.T) {
	q, err := demand.Parse("rate(requests[2m]) or 0 * kube_deployment_created", 15*time.Second, demand.Bind{})
	if err != nil {
		t.Fatal(err)
	}
	rule := &demand.Rule{NamespaceLabel: "namespace", NameLabel: "name", Interval: 15 * time.Second}
	web := workload.Ref{Namespace: "shop", Name: "web"}
	for _, c := range []struct {
		fresh []int
		value float64
		want  demand.Value
	}{
		{nil, 0, demand.Missing}, {[]int{0}, 0, demand.Missing}, {[]int{1}, 0, demand.Missing}, {[]int{0, 1}, 0, demand.Quiet},
		{nil, 1, demand.Used}, {[]int{1}, 1, demand.Used},
	} {
		look := rule.NewLook(q)
		look.Add(model.Metric{"namespace": "shop", "name": "web"}, c.value)
		var stale []string
		for i, selector := range q.Selectors {
			if slices.Contains(c.fresh, i) {
				look.Add(model.Metric{demand.SelectorLabel: model.LabelValue(strconv.Itoa(i))}, 1)
			} else {
				stale = append(stale, selector)
			}
		}
		if got := look.Of(web); got != c.want || !slices.Equal(look.Stale(q), stale) {
			t.Errorf("%v fresh, value %v: %v with the stale %q, want %v and %q", c.fresh, c.value, got, look.Stale(q), c.want, stale)
		}
	}
}
