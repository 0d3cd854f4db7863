package tortoise

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Table writes a line for each family and contender: means over the seeds, core hours and violations also over the baseline, with
// bootstrap intervals of 90 %.
func Table(w io.Writer, results []Result) error {
	t := tabulate(results)
	if _, err := fmt.Fprintf(w, "%-13s %-17s %10s %22s %10s %22s %10s %6s %9s %8s\n", "family", "contender", "violations", "over "+baseline, "core h", "over "+baseline, "GiB h", "kills", "restarts", "changes"); err != nil {
		return err
	}
	for _, f := range families {
		for _, c := range contenders {
			rows := t[[2]string{f, c.name}]
			if len(rows) == 0 {
				continue
			}
			n := float64(len(rows))
			sum := func(measure func(Result) float64) float64 { return t.total(c.name, measure, f) }
			if _, err := fmt.Fprintf(w, "%-13s %-17s %10.1f %22s %10.1f %22s %10.1f %6.1f %9.1f %8.0f\n", f, c.name,
				sum(violations)/n, over(t.ratios(c.name, violations, f)), sum(cores)/n, over(t.ratios(c.name, cores, f)),
				sum(func(r Result) float64 { return r.GiBHours })/n, sum(func(r Result) float64 { return float64(r.Kills) })/n,
				sum(restarts)/n, sum(func(r Result) float64 { return float64(r.Changes) })/n); err != nil {
				return err
			}
		}
	}
	return nil
}

func over(ratios []float64) string {
	if len(ratios) == 0 {
		return "-"
	}
	i := bootstrap(ratios)
	return fmt.Sprintf("%.2f [%.2f, %.2f]", i.mean, i.low, i.high)
}

// Plots writes an SVG a family into a directory: demand and what was requested, of the last week of the first seed.
func Plots(dir string, results []Result) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the directory of the plots: %w", err)
	}
	for _, f := range families {
		var shown []Result
		for _, r := range results {
			if r.Family == f && (r.Contender == baseline || r.Contender == ours) && (len(shown) == 0 || r.Seed == shown[0].Seed) {
				shown = append(shown, r)
			}
		}
		if len(shown) == 0 {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "tortoise-"+f+".svg"), []byte(plot(f, shown)), 0o644); err != nil {
			return fmt.Errorf("write a plot: %w", err)
		}
	}
	return nil
}

const plotWidth, plotHeight = 1200.0, 360.0

// plot draws the demand in grey and the requested CPU of each contender as a line.
func plot(title string, shown []Result) string {
	top := 1.0
	for _, r := range shown {
		for _, p := range r.trace {
			top = max(top, float64(p.demand), float64(p.capacity))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="12">`+"\n", plotWidth, plotHeight+40)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/><text x="8" y="16">%s, seed %d: the last week; demand (grey) and requested CPU; the top is %.1f cores</text>`+"\n", title, shown[0].Seed, top/1000)
	line := func(trace []point, value func(point) float32, style string) {
		b.WriteString(`<polyline fill="none" ` + style + ` points="`)
		for i, p := range trace {
			fmt.Fprintf(&b, "%.1f,%.1f ", float64(i)/float64(len(trace))*plotWidth, 30+plotHeight*(1-float64(value(p))/top))
		}
		b.WriteString("\"/>\n")
	}
	line(shown[0].trace, func(p point) float32 { return p.demand }, `stroke="#999" stroke-width="0.7"`)
	for i, r := range shown {
		colour := []string{"#d62728", "#1f77b4"}[i%2]
		line(r.trace, func(p point) float32 { return p.capacity }, `stroke="`+colour+`" stroke-width="1.2"`)
		fmt.Fprintf(&b, `<text x="%d" y="30" fill="%s">%s</text>`+"\n", 8+i*120, colour, r.Contender)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
