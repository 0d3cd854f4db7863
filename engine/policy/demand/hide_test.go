package demand_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"flyball.dev/flyball/engine/policy/demand"
	"flyball.dev/flyball/engine/workload"
)

// given adds a series with a sample an interval for ten minutes.
func (s *store) given(series string, value func(i int) float64) {
	name, rest, _ := strings.Cut(series, " ")
	l := []string{"__name__", name}
	for pair := range strings.FieldsSeq(rest) {
		k, v, _ := strings.Cut(pair, "=")
		l = append(l, k, v)
	}
	p := part{labels: labels.FromStrings(l...)}
	for i := range 41 {
		at := noon.Add(time.Duration(i) * samplesRule.Interval)
		p.arrivals = append(p.arrivals, arrival{at: at, seen: at, value: value(i), isHistogram: name == "seconds"})
	}
	s.parts = append(s.parts, p)
}

func constant(v float64) func(int) float64 { return func(int) float64 { return v } }

func growing(i int) float64 { return float64(i) }

// TestNoFormHidesUse: web is used throughout, or a part of its demand is no number. It never sleeps, whatever other series say, or the form
// is refused.
func TestNoFormHidesUse(t *testing.T) {
	s := newStore(t)
	const queue, both = "max by (namespace, name) (max_over_time(queue[1m]))", "must not have this "
	type all map[string]func(int) float64
	for name, c := range map[string]struct {
		text    string
		absent  bool
		series  all
		refused string
	}{
		"a maximum of no number": {text: queue, series: all{
			"queue namespace=shop name=web instance=a": constant(math.NaN()), "queue namespace=shop name=web instance=b": constant(0)}},
		"a maximum of -Inf": {text: queue, series: all{
			"queue namespace=shop name=web instance=a": constant(math.Inf(-1)), "queue namespace=shop name=web instance=b": constant(0)}},
		"or": {text: "sum by (namespace, name) (rate(requests[1m])) or sum by (namespace, name) (max_over_time(queue[1m]))",
			series: all{"requests namespace=shop name=web": constant(0), "queue namespace=shop name=web": constant(5)}},
		"a native histogram": {text: "rate(seconds[1m])", absent: true,
			series: all{"seconds namespace=shop name=web": growing, "seconds namespace=shop name=db": growing}},
		"a native histogram beside numbers": {text: "rate(seconds[1m]) or rate(requests[1m])", absent: true,
			series: all{"seconds namespace=shop name=web": growing, "requests namespace=shop name=db": growing}},
		"a sum without its other side": {text: "rate(requests[1m]) + max_over_time(queue[1m])", absent: true, refused: both + "+", series: all{
			"requests namespace=shop name=web": growing, "queue namespace=shop name=db": constant(0), "requests namespace=shop name=db": growing}},
		"a product without its other side": {text: "rate(requests[1m]) * on (ingress) group_left (name) max_over_time(info[1m])", absent: true,
			refused: both + "*", series: all{"requests namespace=shop ingress=a": growing, "requests namespace=shop ingress=b": constant(0),
				"info ingress=b name=db": constant(1)}},
		"a part of the whole": {text: "rate(requests[1m]) - on () group_left () sum(ln(max_over_time(up[1m])))", absent: true,
			series: all{"requests namespace=shop name=web": growing, "requests namespace=shop name=db": constant(0), "up job=a": constant(1)}},
	} {
		rule := samplesRule
		rule.Text, rule.AbsentIdle = c.text, c.absent
		q, err := rule.Query("")
		if err != nil {
			if c.refused == "" || !strings.HasPrefix(err.Error(), c.refused) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		s.parts = nil
		for series, value := range c.series {
			s.given(series, value)
		}
		if at := s.sleeps(t, &rule, q); at != "" {
			t.Errorf("%s: web is %s", name, at)
		}
	}
}

// sleeps returns when and why web sleeps; empty: it does not.
func (s *store) sleeps(t *testing.T, rule *demand.Rule, q *demand.Query) string {
	t.Helper()
	web, u := workload.Ref{Namespace: "shop", Name: "web"}, workload.Use{}
	for i := range 40 {
		now := noon.Add(time.Duration(i) * rule.Interval)
		look := q.Read(s.ask(t, q.Now, now))
		look.See(web)
		look.See(workload.Ref{Namespace: "shop", Name: "db"})
		u = demand.Observe(u, now, 0, look.Of(web), rule.Fresh())
		if a := rule.At(&u, now, time.Time{}, false); a.Class == workload.ClassSleep {
			return "asleep at " + now.Sub(noon).String() + ": " + a.Text
		}
	}
	return ""
}
