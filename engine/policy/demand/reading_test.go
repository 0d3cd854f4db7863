package demand_test

import (
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
	rule := &demand.Rule{Text: "rate(requests[2m]) or rate(others[2m])", NamespaceLabel: "namespace", NameLabel: "name",
		Interval: 15 * time.Second}
	q, err := rule.Query("")
	if err != nil {
		t.Fatal(err)
	}
	web := workload.Ref{Namespace: "shop", Name: "web"}
	for _, c := range []struct {
		fresh []int
		value float64
		want  demand.Value
	}{
		{nil, 0, demand.Missing}, {[]int{0}, 0, demand.Missing}, {[]int{1}, 0, demand.Missing}, {[]int{0, 1}, 0, demand.Quiet},
		{nil, 1, demand.Used}, {[]int{1}, 1, demand.Used},
	} {
		found := model.Vector{{Metric: model.Metric{"namespace": "shop", "name": "web"}, Value: model.SampleValue(c.value)}}
		for _, i := range c.fresh {
			found = append(found, &model.Sample{Metric: model.Metric{demand.SelectorLabel: model.LabelValue(strconv.Itoa(i))}, Value: 1})
		}
		look := q.Read(found)
		if got := look.Of(web); got != c.want || (look.Stale() == "") != (len(c.fresh) == 2) {
			t.Errorf("%v fresh, value %v: %v, %q, want %v", c.fresh, c.value, got, look.Stale(), c.want)
		}
	}
}
