package tortoise

import (
	"fmt"
	"io"
	"slices"
)

// Table writes a line for each world and contender. The numbers are means of the runs with all seeds. The best fixed
// setting is the cheapest setting with no more violations than Flyball or, if there is none, the setting with the
// fewest violations.
func Table(w io.Writer, results []Result) error {
	p := printer{w: w}
	p.line("%-30s %-17s %9s %9s %10s %10s %8s %8s %8s %9s %8s", "load", "contender", "cores", "GiB", "violations", "worst run", "kills",
		"restarts", "changes", "same cost", "same vio")
	all := runs(results)
	for len(all) > 0 {
		name := all[0].name()
		n := slices.IndexFunc(all, func(r run) bool { return r.name() != name })
		if n < 0 {
			n = len(all)
		}
		p.world(name, all[:n])
		all = all[n:]
	}
	all = slices.DeleteFunc(runs(results), func(r run) bool { return r.apart })
	if len(all) > 0 {
		p.world("all", all)
		p.frontier(all)
		for _, w := range worse(all) {
			p.line("worse than %s: %s", Baseline, w)
		}
	}
	return p.err
}

func (r run) name() string {
	for _, one := range r.by {
		return one.World
	}
	return ""
}

// printer writes texts and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format+"\n", args...)
	}
}

// world writes the lines for the runs of one world.
func (p *printer) world(name string, all []run) {
	f := frontierOf(all)
	for _, c := range contenders {
		if all[0].has(c.name) {
			p.contender(name, c.name, c.name, f, all)
		}
	}
	if best := bestFixed(all); best != "" {
		p.contender(name, best, "fixed "+best, f, all)
	}
}

func (p *printer) contender(world, who, title string, f frontier, all []run) {
	var t tally
	days, worst := 0.0, 0.0
	for _, r := range all {
		one := r.by[who]
		days += one.Days
		worst = max(worst, one.ViolationMinutes)
		t.ViolationMinutes += one.ViolationMinutes
		t.CoreHours += one.CoreHours
		t.GiBHours += one.GiBHours
		t.Kills += one.Kills
		t.Restarts += one.Restarts
		t.Changes += one.Changes
	}
	n, far := float64(len(all)), [2]string{"-", "-"}
	if f != nil {
		d := f.distance(sum(all, who))
		far = [2]string{fmt.Sprintf("%.2f", d.violations), fmt.Sprintf("%.2f", d.cost)}
	}
	p.line("%-30s %-17s %9.2f %9.2f %10.1f %10.1f %8.1f %8.1f %8.1f %9s %8s", world, title, t.CoreHours/24/days, t.GiBHours/24/days,
		t.ViolationMinutes/n, worst, float64(t.Kills)/n, float64(t.Restarts)/n, float64(t.Changes)/days, far[0], far[1])
}

// bestFixed returns the name of the cheapest fixed setting with no more violations than Flyball. If there is none, it
// returns the name of the fixed setting with the fewest violations. It returns "" if no fixed setting ran.
func bestFixed(all []run) string {
	ours, best, name := sum(all, Flyball), outcome{}, ""
	for _, g := range grid {
		if !all[0].has(g.name) {
			continue
		}
		o := sum(all, g.name)
		fits, fit := o.violations <= ours.violations, best.violations <= ours.violations
		if name == "" || fits && (!fit || o.cost < best.cost) || !fits && !fit && o.violations < best.violations {
			best, name = o, g.name
		}
	}
	return name
}

// frontier writes the fixed settings that no other fixed setting beats, over all runs.
func (p *printer) frontier(all []run) {
	f := frontierOf(all)
	for _, g := range grid {
		if o := sum(all, g.name); slices.Contains(f, o) {
			p.line("frontier %-10s cost %.0f core hours, violations %.0f minutes", g.name, o.cost, o.violations)
		}
	}
}
