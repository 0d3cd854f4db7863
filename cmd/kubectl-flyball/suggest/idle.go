package suggest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	promapi "github.com/prometheus/client_golang/api/prometheus/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/cmd/kubectl-flyball/analysis"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/idle"
	"flyball.dev/flyball/engine/policy/demand"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/prometheus"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

// idleFlags are the flags about sleep without use.
type idleFlags struct{ demand, asleepAfter, tenantLabel string }

// compared are the times without use whose outcomes are printed beside the proposed one.
var compared = []time.Duration{30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour}

// partSteps is the number of steps of a history in one answer of Prometheus.
const partSteps = 1440

// validateIdle returns the faults of the flags about sleep without use.
func (o *ScheduleOptions) validateIdle() error {
	var f faults
	o.asked = o.history.Check(f.add)
	if strings.HasPrefix(o.idle.demand, "--") {
		f.add("--idle: %q looks like a flag, and is no demand", o.idle.demand)
	}
	if o.history.Prometheus == "" {
		f.add("--idle: the history of a demand comes from a Prometheus server: give --prometheus")
	}
	return errors.Join(f...)
}

// runIdle replays the demand for a target, and prints the Schedule with its outcome.
func (o *ScheduleOptions) runIdle(ctx context.Context) error {
	_, _, target, err := o.load(ctx)
	if err != nil {
		return err
	}
	asks := &v1alpha1.IdleRule{Demand: o.idle.demand, AsleepAfter: v1alpha1.Duration(o.idle.asleepAfter)}
	rule, errs := schedule.CompileIdle(asks, target.Namespace, field.NewPath("spec", "idle"))
	if len(errs) > 0 {
		return fmt.Errorf("read --idle and --asleep-after: %w", errs.ToAggregate())
	}
	p := o.StartProgress()
	defer p.Done()
	step := rule.Interval * max(1, (o.asked.Step()+rule.Interval-1)/rule.Interval)
	end := rule.Whole(o.Now())
	history, err := o.uses(ctx, rule, target.Ref, end, step, int(o.asked.Span()/step), p.Doing)
	if err != nil {
		return err
	}
	found, err := replayed(asks, rule, target.Ref, history, end, step)
	if err != nil {
		return o.refused(err)
	}
	return o.PrintManifests(found)
}

// uses returns the meaning of the demand for a target in n steps.
func (o *ScheduleOptions) uses(ctx context.Context, rule *demand.Rule, ref workload.Ref, end time.Time, step time.Duration, n int,
	doing func(string)) ([]demand.Value, error) {
	query, err := rule.Query(o.idle.tenantLabel)
	if err != nil {
		return nil, err
	}
	servers, err := idle.Connect(prometheus.Options{Address: o.history.Prometheus, TokenFile: o.history.TokenFile})
	if err != nil {
		return nil, err
	}
	server := servers.Of(rule)
	text := query.Past(step)
	all := make([]demand.Value, 0, n)
	for len(all) < n {
		doing(fmt.Sprintf("asking Prometheus, %d of %d steps", len(all), n))
		part := min(partSteps, n-len(all))
		first := end.Add(-time.Duration(n-1-len(all)) * step)
		found, warnings, _, err := server.Range(ctx, text, promapi.Range{Start: first, End: first.Add(time.Duration(part-1) * step),
			Step: step})
		if err != nil {
			return nil, server.Failed("the history of the demand", rule.Text, err)
		}
		for _, text := range warnings {
			o.note("Prometheus says: " + text)
		}
		for _, l := range query.ReadSteps(found, first, step, part) {
			all = append(all, l.Of(ref))
		}
	}
	return all, nil
}

// Idle is a Schedule by use, with its outcome on the history of the demand.
type Idle struct {
	Target string `json:"target"`
	// Days is the length of the history, and UnknownPercent the part of it without a complete answer.
	Days           float64 `json:"days"`
	UnknownPercent float64 `json:"unknownPercent"`
	// Outcomes are those of several times without use.
	Outcomes []IdleOutcome `json:"outcomes"`
	// LongestWait is the longest time from a user's first request to the write that wakes the target.
	LongestWait string         `json:"longestWait"`
	Manifest    map[string]any `json:"manifest"`
}

// IdleOutcome is the outcome of a time without use.
type IdleOutcome struct {
	AsleepAfter string `json:"asleepAfter"`
	// AsleepPercent is the part of the history in which the target would have slept. Wakes is the number of wake-ups by use.
	AsleepPercent float64 `json:"asleepPercent"`
	Wakes         int     `json:"wakes"`
}

// replayed returns the outcomes of a rule on a history.
func replayed(asks *v1alpha1.IdleRule, rule *demand.Rule, ref workload.Ref, history []demand.Value, end time.Time,
	step time.Duration) (*Idle, error) {
	own := rule.Replay(history, end, step)
	if own.Unknown == own.Total {
		return nil, analysis.Refusal(fmt.Sprintf("the demand has no series for %s: its labels %s and %s are to name the target", ref,
			rule.NamespaceLabel, rule.NameLabel))
	}
	share := func(d time.Duration) float64 { return round(100 * float64(d) / float64(own.Total)) }
	f := &Idle{Target: ref.String(), Days: round(own.Total.Hours() / 24), UnknownPercent: share(own.Unknown),
		LongestWait: timeline.DurationText(rule.LongestWait())}
	for _, after := range slices.Compact(slices.Sorted(slices.Values(append(compared[:len(compared):len(compared)], rule.AsleepAfter)))) {
		other := *rule
		other.AsleepAfter = after
		out := other.Replay(history, end, step)
		f.Outcomes = append(f.Outcomes, IdleOutcome{timeline.DurationText(after), share(out.Asleep), out.Wakes})
	}
	spec := v1alpha1.ScheduleSpec{Target: targetOf(ref), ScheduleRules: v1alpha1.ScheduleRules{Idle: asks}}
	var err error
	if f.Manifest, err = manifest(schedule.Kind, ref, spec); err == nil {
		unstructured.RemoveNestedField(f.Manifest, "spec", "idle", "labels") // they are the defaults
	}
	return f, err
}

// Text implements printer.Finding.
func (f *Idle) Text(w *printer.Writer) {
	printer.Comment(w, "", fmt.Sprintf("Sleep without use for %s, tried on its demand of %.1f days in Prometheus.", f.Target, f.Days))
	for _, o := range f.Outcomes {
		printer.Comment(w, "- ", fmt.Sprintf("with %s this would have slept %.0f %% of the time, with %s", o.AsleepAfter, o.AsleepPercent,
			workload.Count(o.Wakes, "wake")))
	}
	printer.Comment(w, "- ", fmt.Sprintf("the longest wait of a user: %s until the write, and the start of the pods", f.LongestWait))
	if f.UnknownPercent > 0 {
		printer.Comment(w, "- ", fmt.Sprintf("for %.1f %% of the time the demand is not known, and puts nothing to sleep", f.UnknownPercent))
	}
	printer.Comment(w, "- ", "the manager needs --prometheus, and for a namespaced Schedule --prometheus-tenant-label")
	block(w, f.Manifest)
}

// Names implements printer.Finding.
func (f *Idle) Names() []string { return nameOf(f.Manifest) }
