package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/common/model"

	"flyball.dev/flyball/cmd/kubectl-flyball/history"
	"flyball.dev/flyball/engine/policy/demand"
	"flyball.dev/flyball/engine/prometheus"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Demands asks a Prometheus server for the demand of each policy with idle: whether it answers, whether its series name targets, and
// whether they are scraped often enough. An empty address is no server.
func (c *Checkup) Demands(ctx context.Context, memory *world.Memory, o history.Server) error {
	const name = "demand"
	var asking []*world.Policy
	memory.Policies(func(p *world.Policy) bool {
		if p.Idle != nil && !p.IsBroken() && !p.Deleting {
			asking = append(asking, p)
		}
		return true
	})
	if len(asking) == 0 {
		return nil
	}
	if o.Address == "" {
		c.Skip(name, workload.Count(len(asking), "policy")+" with idle: give --prometheus to ask for the demand")
		return nil
	}
	server, err := prometheus.New(o.Options)
	if err != nil {
		return fmt.Errorf("--prometheus: %w", err)
	}
	var findings, notes []string
	for _, p := range asking {
		faults, note := demandFaults(ctx, server, o.TenantLabel, memory, p)
		for _, text := range faults {
			findings = append(findings, p.ID.String()+": "+text)
		}
		if note != "" {
			notes = append(notes, p.ID.String()+": "+note)
		}
	}
	slices.Sort(findings)
	c.Add(name, workload.Count(len(asking), "demand")+" answered, with a fresh series for each target", findings)
	last := &c.Checks[len(c.Checks)-1]
	last.Details = append(last.Details, notes...)
	return nil
}

// demandFaults returns the faults of the demand of a policy, and a note about it.
func demandFaults(ctx context.Context, server *prometheus.Server, tenantLabel string, memory *world.Memory, p *world.Policy) (
	faults []string, note string) {
	rule := p.Idle
	query, err := rule.Ask(tenantLabel)
	if err != nil {
		return []string{err.Error()}, ""
	}
	found, warnings, err := server.Now(ctx, query.Now, time.Time{})
	if err != nil {
		return []string{server.Failed("demand", rule.Text, err).Error()}, ""
	}
	faults, note = unnamed(memory, p, query, found)
	for _, text := range warnings {
		faults = append(faults, "the answer may be incomplete: "+text)
	}
	for _, selector := range query.Selectors {
		every, err := scrapeInterval(ctx, server, selector, rule.Interval)
		if err != nil {
			return append(faults, server.Failed("the scrape interval", selector, err).Error()), note
		}
		if every > rule.Interval+rule.Interval/10 {
			faults = append(faults, fmt.Sprintf("the series of %s have a sample every %s, and spec.idle.interval is %s: give at least the "+
				"scrape interval, or its samples are often too old", selector, every.Round(100*time.Millisecond), rule.Interval))
		}
	}
	return faults, note
}

// unnamed returns faults about targets without a series, and a note about series that name no target.
func unnamed(memory *world.Memory, p *world.Policy, query *demand.Query, found model.Vector) (faults []string, note string) {
	look := query.Look(found)
	var targets, missing []workload.Ref
	memory.EachTarget(p, func(ref workload.Ref) {
		targets = append(targets, ref)
		if look.Of(ref) == demand.Missing {
			missing = append(missing, ref)
		}
	})
	stale, strangers := look.Stale(), look.Strangers(targets)
	switch {
	case stale != "":
		return []string{stale}, ""
	case len(targets) > 0 && len(missing) == len(targets):
		return []string{look.Unnamed()}, ""
	case len(missing) > 0:
		faults = []string{fmt.Sprintf("%d of %s have no series, and stay as they are: %s", len(missing),
			workload.Count(len(targets), "target"), missing[0])}
	}
	if len(strangers) > 0 {
		note = fmt.Sprintf("%d of its names are no target of the policy, for example %s", len(strangers), strangers[0])
	}
	return faults, note
}

// scrapeInterval returns the usual time between two samples of the series of a selector, over some intervals; 0: not known.
func scrapeInterval(ctx context.Context, server *prometheus.Server, selector string, interval time.Duration) (time.Duration, error) {
	window := 60 * interval
	query := fmt.Sprintf("quantile(0.5, count_over_time(%[1]s[%[2]dms]) and %[1]s and %[1]s offset %[2]dms)", selector,
		window.Milliseconds())
	found, _, err := server.Now(ctx, query, time.Time{})
	if err != nil || len(found) == 0 || found[0].Value < 1 {
		return 0, err
	}
	return time.Duration(float64(window) / float64(found[0].Value)), nil
}
