package demand_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"pgregory.net/rapid"

	"flyball.dev/flyball/engine/policy/demand"
	"flyball.dev/flyball/engine/workload"
)

// arrival is a sample, and the instant from which queries see it.
type arrival struct {
	at, seen time.Time
	value    float64
	// isHistogram is true if the sample is a native histogram with this count.
	isHistogram bool
}

// T and the other methods implement chunks.Sample.
func (a arrival) T() int64                { return a.at.UnixMilli() }
func (a arrival) ST() int64               { return 0 }
func (a arrival) F() float64              { return a.value }
func (a arrival) H() *histogram.Histogram { return nil }
func (a arrival) FH() *histogram.FloatHistogram {
	return &histogram.FloatHistogram{Count: a.value, ZeroCount: a.value}
}
func (a arrival) Copy() chunks.Sample { return a }

func (a arrival) Type() chunkenc.ValueType {
	if a.isHistogram {
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValFloat
}

// part is a series.
type part struct {
	labels   labels.Labels
	arrivals []arrival
}

// store has the samples of all series.
type store struct {
	*promql.Engine
	parts []part
}

func newStore(t testing.TB) *store {
	e := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e6, Timeout: time.Minute, Parser: parser.NewParser(parser.Options{})})
	t.Cleanup(func() { _ = e.Close() })
	return &store{Engine: e}
}

// ask returns the answer of Prometheus' own engine at an instant.
func (s *store) ask(t interface{ Fatal(...any) }, query string, at time.Time) (found model.Vector) {
	read := func(_ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
		var all []storage.Series
		for _, p := range s.parts {
			matches := true
			for _, m := range matchers {
				matches = matches && m.Matches(p.labels.Get(m.Name))
			}
			var samples []chunks.Sample
			for _, a := range p.arrivals {
				if !a.seen.After(at) {
					samples = append(samples, a)
				}
			}
			if matches && len(samples) > 0 {
				all = append(all, storage.NewListSeries(p.labels, samples))
			}
		}
		return &seriesSet{SeriesSet: storage.EmptySeriesSet(), left: all}
	}
	mock := &storage.MockQueryable{MockQuerier: &storage.MockQuerier{SelectMockFunction: read}}
	q, err := s.NewInstantQuery(context.Background(), mock, nil, query, at)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	answer := q.Exec(context.Background())
	vector, err := answer.Vector()
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vector {
		m := model.Metric{}
		v.Metric.Range(func(l labels.Label) { m[model.LabelName(l.Name)] = model.LabelValue(l.Value) })
		found = append(found, &model.Sample{Metric: m, Value: model.SampleValue(v.F), Timestamp: model.Time(v.T)})
	}
	return found
}

// seriesSet is the set of the series that are left.
type seriesSet struct {
	storage.SeriesSet
	now  storage.Series
	left []storage.Series
}

// Next and At implement storage.SeriesSet.
func (s *seriesSet) Next() bool {
	if len(s.left) == 0 {
		return false
	}
	s.now, s.left = s.left[0], s.left[1:]
	return true
}

func (s *seriesSet) At() storage.Series { return s.now }

// forms are demands for web. Requests are counted by two instances, and jobs are in a queue. The instances are up, and stand in a table.
var forms = []string{
	"rate(requests[1m])",
	"sum by (namespace, name) (rate(requests[1m]))",
	"max by (namespace, name) (increase(requests[2m])) * 60 / 2",
	"avg by (namespace, name) (ceil(changes(requests[1m])))",
	"max by (namespace, name) (changes(requests[1m]))",
	"sum by (namespace, name) (clamp_min(rate(requests[1m]), 0)) + max by (namespace, name) (max_over_time(queue[1m]))",
	"sum by (namespace, name) (max_over_time(queue[1m])) or sum by (namespace, name) (rate(others[2m]))",
	"sum by (namespace, name) (sum_over_time(queue[1m])) - sum by (namespace, name) (-rate(requests[1m]))",
	"sum by (namespace, name) (rate(requests[1m])) * on () group_left () max(avg_over_time(table[1m]))",
	"sum by (namespace, name) (rate(requests[1m])) - on () group_left () sum(ln(max_over_time(up[1m])))",
}

// draw adds a series with a sample an interval, some of which are missing, late by up to two intervals, or doubled. It is away once, for up
// to the time without use, and is often used then. step returns the next value, and whether its instant is one of use. It returns these
// instants. The use of a gauge is known by its samples alone.
func (s *store) draw(r *rapid.T, dice *rand.Rand, name, more string, gauge bool,
	step func(before float64, hidden bool) (value float64, used bool)) (used []time.Time) {
	const steps = 40
	p := part{labels: labels.FromStrings("__name__", name, "namespace", "shop", "name", "web", "instance", more)}
	away := dice.IntN(steps)
	back := away + rapid.SampledFrom([]int{0, 6, int(samplesRule.AsleepAfter / samplesRule.Interval)}).Draw(r, name+" is away for")
	hidden := away + rapid.SampledFrom([]int{1, 4, 5, 7}).Draw(r, "hidden use")
	odd := rapid.SampledFrom([]int{8, 20, 1000}).Draw(r, "samples are odd one in")
	at, value := noon.Add(time.Duration(dice.IntN(15000))*time.Millisecond), 0.0
	for i := range steps {
		at = at.Add(samplesRule.Interval)
		var use bool
		value, use = step(value, i == hidden && i < back)
		fate := dice.IntN(odd)
		edge := i == away-1 || i == back // the time away is no longer than drawn
		isLost := i >= away && i < back || fate == 0 && !edge
		if use && (!gauge || !isLost) {
			used = append(used, at)
		}
		if isLost {
			continue
		}
		a := arrival{at: at, seen: at, value: value}
		if fate == 1 && !edge {
			a.seen = at.Add(time.Duration(dice.IntN(31)) * time.Second)
		}
		p.arrivals = append(p.arrivals, a)
		if fate == 2 {
			a.at = a.at.Add(5 * time.Millisecond)
			p.arrivals = append(p.arrivals, a)
		}
	}
	s.parts = append(s.parts, p)
	return used
}

var samplesRule = demand.Rule{NamespaceLabel: "namespace", NameLabel: "name", AsleepAfter: 2 * time.Minute, Interval: 15 * time.Second}

// TestNoSequenceOfSamplesPutsAUsedTargetToSleep: as Prometheus' own engine evaluates it, no missing, late or doubled sample and no lost
// answer puts a target to sleep within asleepAfter of a use that was counted, or keeps it asleep for longer than a sample counts.
func TestNoSequenceOfSamplesPutsAUsedTargetToSleep(t *testing.T) {
	s := newStore(t)
	web, slept := workload.Ref{Namespace: "shop", Name: "web"}, 0
	rapid.Check(t, func(r *rapid.T) {
		rule := samplesRule
		rule.Text = rapid.SampledFrom(forms).Draw(r, "demand")
		q, err := rule.Query("")
		if err != nil {
			r.Fatal(err)
		}
		s.parts = nil
		dice := rand.New(rand.NewPCG(rapid.Uint64().Draw(r, "dice"), 0)) // draws of rapid are seldom large
		var used []time.Time
		busy := rapid.SampledFrom([]int{3, 1000}).Draw(r, "use is one in")
		constant := func(float64, bool) (float64, bool) { return 1, false }
		count := func(before float64, hidden bool) (float64, bool) {
			if !hidden && dice.IntN(busy) > 0 {
				return before, false
			}
			return before + 1, strings.Contains(rule.Text, "requests")
		}
		gauge := func(float64, bool) (float64, bool) {
			if dice.IntN(busy) > 0 {
				return 0, false
			}
			return 1, strings.Contains(rule.Text, "queue")
		}
		for _, instance := range []string{"a", "b"} {
			used = append(used, s.draw(r, dice, "requests", instance, false, count)...)
			s.draw(r, dice, "up", instance, false, constant)
			s.draw(r, dice, "table", instance, false, constant)
		}
		used = append(used, s.draw(r, dice, "queue", "a", true, gauge)...)
		u, odd := workload.Use{}, rapid.SampledFrom([]int{3, 30}).Draw(r, "answers are lost one in")
		for i := range 40 {
			now := noon.Add(time.Duration(i) * rule.Interval)
			if dice.IntN(odd) == 0 {
				continue
			}
			u = demand.Observe(u, now, 0, q.Read(s.ask(r, q.Now, now)).Of(web), rule.Fresh())
			if rule.At(&u, now, time.Time{}, false).Class != workload.ClassSleep {
				continue
			}
			slept++
			for _, at := range used {
				if now.After(at.Add(rule.Fresh())) && now.Before(at.Add(rule.AsleepAfter)) {
					r.Fatalf("%s: asleep at %s, used at %s: %+v", rule.Text, now.Sub(noon), at.Sub(noon), u)
				}
			}
		}
	})
	if slept == 0 {
		t.Error("nothing slept")
	}
}
