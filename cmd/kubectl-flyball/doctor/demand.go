package doctor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/analysis"
	"flyball.dev/flyball/engine/idle"
	"flyball.dev/flyball/engine/policy/demand"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Demands asks a Prometheus server for the demand of each policy with idle: whether it answers, whether its series name targets, and
// whether they are scraped often enough. An empty address is no server.
func (c *Checkup) Demands(ctx context.Context, memory *world.Memory, o analysis.ServerFlags) error {
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
	servers, loop, err := o.Loop(memory.World())
	if err != nil {
		return err
	}
	findings := loop.Once(ctx, false)
	for _, p := range asking {
		for _, text := range slices.Concat(unproven(memory, p), seldom(ctx, servers.Of(p.Idle), o.TenantLabel, p.Idle)) {
			findings = append(findings, p.ID.String()+": "+text)
		}
	}
	slices.Sort(findings)
	c.Add(name, workload.Count(len(asking), "demand")+" answered, with a fresh series for each target", findings)
	return nil
}

// unproven returns a finding about targets of which a demand that answers about others says nothing.
func unproven(memory *world.Memory, p *world.Policy) []string {
	var targets, unknown int
	example := ""
	memory.EachTarget(p, func(ref workload.Ref) {
		targets++
		if u := memory.Use(p.ID, ref); u != nil && u.Doubt != "" {
			unknown, example = unknown+1, ref.String()+": "+u.Doubt
		}
	})
	if unknown == 0 || unknown == targets {
		return nil
	}
	return []string{fmt.Sprintf("%d of %s stay as they are, such as %s", unknown, workload.Count(targets, "target"), example)}
}

// seldom returns findings about selectors with fewer samples than the rule expects.
func seldom(ctx context.Context, server idle.Server, tenantLabel string, rule *demand.Rule) (findings []string) {
	query, err := rule.Ask(tenantLabel)
	if err != nil {
		return nil // the Loop says so
	}
	for _, selector := range query.Selectors {
		every, err := scrapeInterval(ctx, server, selector, rule.Interval)
		switch {
		case err != nil:
			return []string{server.Failed("the scrape interval", selector, err).Error()}
		case every > rule.Interval+rule.Interval/10:
			findings = append(findings, fmt.Sprintf("the series of %s have a sample every %s, and spec.idle.interval is %s: give at least the "+
				"scrape interval, or its samples are often too old", selector, every.Round(100*time.Millisecond), rule.Interval))
		}
	}
	return findings
}

// scrapeInterval returns the usual time between two samples of the series of a selector, over some intervals; 0: not known.
func scrapeInterval(ctx context.Context, server idle.Server, selector string, interval time.Duration) (time.Duration, error) {
	window := 60 * interval
	query := fmt.Sprintf("quantile(0.5, count_over_time(%[1]s[%[2]dms]) and %[1]s and %[1]s offset %[2]dms)", selector,
		window.Milliseconds())
	found, _, err := server.Now(ctx, query, time.Time{})
	if err != nil || len(found) == 0 || found[0].Value < 1 {
		return 0, err
	}
	return time.Duration(float64(window) / float64(found[0].Value)), nil
}
