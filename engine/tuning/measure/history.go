package measure

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	promapi "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"flyball.dev/flyball/engine/prometheus"
	"flyball.dev/flyball/engine/workload"
)

// Range is the requested part of a history.
type Range struct {
	// Namespace is the namespace of the target. Pods is a regular expression for the names of its pods.
	Namespace, Pods string
	// From is the instant of the first sample. To is the instant of the last sample. Step is the time between two
	// samples.
	From, To time.Time
	Step     time.Duration
	// Progress is called after each part. Note is called with warnings of the server. Both may be nil.
	Progress func(part, parts int)
	Note     func(string)
}

const (
	// longestPart is the longest range of one query. mostPoints is the largest number of points of a series: servers
	// refuse more than 11,000. A range that is too much for the server is halved, down to shortestPart.
	longestPart  = 7 * 24 * time.Hour
	shortestPart = time.Hour
	mostPoints   = 10_000
)

// Nothing is the error of a server without the needed data.
type Nothing struct {
	// What names the server and the query.
	What prometheus.Error
	// Pods is true if the server knows nothing at all of the pods.
	Pods bool
}

// Error implements error.
func (n *Nothing) Error() string { return n.What.Error() }

// History returns the recorded samples of the pods of a target, the oldest first. Its error is a *Nothing if the
// server has no data.
func (s *Prometheus) History(ctx context.Context, r Range) ([]workload.Sample, error) {
	var all []workload.Sample
	err := s.Each(ctx, r, func(part []workload.Sample) { all = append(all, part...) })
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Each passes the samples of History to take part by part, so only one part is in memory. A refused query is an error,
// and an empty answer for the whole range is the error Nothing.
func (s *Prometheus) Each(ctx context.Context, r Range, take func([]workload.Sample)) error {
	if r.Progress == nil {
		r.Progress = func(int, int) {}
	}
	points := map[string]int{}
	part := min(longestPart, mostPoints*r.Step)
	parts := max(int((r.To.Sub(r.From)+part-1)/part), 1)
	for i := range parts {
		r.Progress(i, parts)
		from := r.From.Add(time.Duration(i) * part)
		to := r.To
		if i < parts-1 {
			to = from.Add(part - r.Step)
		}
		found := newAnswers()
		for _, name := range ofHistory {
			n, err := s.ask(ctx, name, r, from, to, found)
			if err != nil {
				return err
			}
			points[name] += n
			if n == 0 && name == CPU {
				break // the target had no pods
			}
		}
		take(found.samples())
	}
	r.Progress(parts, parts)
	for _, name := range mustAnswer {
		if points[name] == 0 {
			return &Nothing{Pods: name == CPU, What: prometheus.Error{Host: s.Host(), Name: name, Query: fill(s.query(name), r),
				Text: fmt.Sprintf("it has nothing for %s between %s and %s", name, r.From.Format(time.RFC3339), r.To.Format(time.RFC3339))}}
		}
	}
	return nil
}

// ask sends one query for a part, and returns the number of points.
func (s *Prometheus) ask(ctx context.Context, name string, r Range, from, to time.Time, found *answers) (points int, err error) {
	query := fill(s.query(name), r)
	matrix, warnings, remarks, err := s.Range(ctx, query, promapi.Range{Start: from, End: to, Step: r.Step})
	if span := to.Sub(from); err != nil && divisible(err) && ctx.Err() == nil && span > max(shortestPart, 2*r.Step) {
		half := from.Add((span / 2).Truncate(r.Step))
		before, err := s.ask(ctx, name, r, from, half, found)
		if err != nil {
			return 0, err
		}
		after, err := s.ask(ctx, name, r, half.Add(r.Step), to, found)
		return before + after, err
	}
	if err != nil {
		return 0, s.Failed(name, query, err)
	}
	if r.Note != nil {
		for _, text := range slices.Concat(warnings, remarks) {
			r.Note(fmt.Sprintf("Prometheus says of %s: %s", name, text))
		}
	}
	for _, series := range matrix {
		if err := found.take(name, series); err != nil {
			return 0, s.Failed(name, query, err)
		}
		points += len(series.Values)
	}
	return points, nil
}

// values are the values of a container at one instant, in the order of ofHistory; NaN means unknown.
type values [6]float64

// unknown is a row of values that are all unknown.
var unknown = values{math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN(), math.NaN()}

// answers are the values of one part.
type answers struct {
	// places has the index of each instant in a row. rows has the values by container. The row of the name "" has the
	// replicas, which belong to all containers.
	places map[model.Time]int
	rows   map[string][]values
}

func newAnswers() *answers {
	return &answers{places: map[model.Time]int{}, rows: map[string][]values{}}
}

const containerLabel = "container"

func (a *answers) take(name string, series *model.SampleStream) error {
	container := string(series.Metric[containerLabel])
	if container == "" && name != Replicas {
		return fmt.Errorf("a series has no label %q: %s", containerLabel, series.Metric)
	}
	if name == Replicas {
		container = ""
	}
	query, row := slices.Index(ofHistory, name), a.rows[container]
	for _, v := range series.Values {
		if math.IsNaN(float64(v.Value)) || math.IsInf(float64(v.Value), 0) {
			continue
		}
		place, known := a.places[v.Timestamp]
		if !known {
			place = len(a.places)
			a.places[v.Timestamp] = place
		}
		for len(row) <= place {
			row = append(row, unknown)
		}
		if !math.IsNaN(row[place][query]) {
			return fmt.Errorf("there are two series of container %q: the query must give one a container", container)
		}
		row[place][query] = float64(v.Value)
	}
	a.rows[container] = row
	return nil
}

// at returns the values of a container at a place.
func (a *answers) at(container string, place int) values {
	if row := a.rows[container]; place < len(row) {
		return row[place]
	}
	return unknown
}

// known reports whether any value is known.
func (v *values) known() bool {
	return slices.ContainsFunc(v[:], func(x float64) bool { return !math.IsNaN(x) })
}

// of returns the value of a query by its name, or otherwise if the value is unknown.
func (v *values) of(name string, otherwise float64) float64 {
	if x := v[slices.Index(ofHistory, name)]; !math.IsNaN(x) {
		return x
	}
	return otherwise
}

// samples joins the answers, the oldest first. Without the number of replicas, an instant has no sample.
func (a *answers) samples() []workload.Sample {
	containers := slices.Sorted(maps.Keys(a.rows))
	var all []workload.Sample
	for _, at := range slices.Sorted(maps.Keys(a.places)) {
		ready := a.at("", a.places[at])
		if !ready.known() {
			continue
		}
		for _, name := range containers {
			if v := a.at(name, a.places[at]); name != "" && v.known() {
				all = append(all, sampleOf(at.Time().UTC(), name, int(math.Round(ready.of(Replicas, 0))), &v))
			}
		}
	}
	return all
}

func sampleOf(at time.Time, container string, replicas int, v *values) workload.Sample {
	s := workload.Sample{At: at, Container: container, CPU: -1, Memory: v.of(Memory, -1), Replicas: replicas,
		Throttled: min(max(v.of(Throttled, 0), 0), 1)}
	if cores := v.of(CPU, -1); cores >= 0 {
		s.CPU = cores * 1000
	}
	if limit := v.of(MemoryLimit, 0); limit > 0 {
		s.MemoryLimit, s.OOMKills = limit, int(math.Round(v.of(OOMKills, 0)))
	}
	return s
}
