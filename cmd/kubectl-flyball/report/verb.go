// Package report is the verb report: the week, the savings, the freezes and the problems, as text or as a page.
package report

import (
	"context"
	"fmt"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui/page"
	"flyball.dev/flyball/engine/timeline"
)

// html is an output format of the verb report only.
const html = "html"

// Options are the flags of report.
type Options struct {
	*factory.Factory
	factory.Rates
	from, span string
}

// New returns the verb report.
func New(f *factory.Factory) *cobra.Command {
	o := &Options{Factory: f}
	cmd := factory.Command(o, &cobra.Command{
		Use:   "report",
		Short: "Sum up the week, the savings, the freezes and the problems; -o html writes a page for a mail or a wiki",
		Long: `Sums up a span of time: the hours of sleep of each target, the savings, the freezes in force, and the problems.

-o html writes one file without scripts and without use of the network. The page can be printed, follows the reader's choice of light or
dark, and repeats the picture as text.

The past is shown as far as ledgers know the past. The future is the simulation of plan. Freezes are listed for 90 days.`,
		Example: "  kubectl flyball report -A -o html > week.html\n  kubectl flyball report --offline manifests/ --from 2037-05-11T00:00\n" +
			"  kubectl flyball report -A --price cpu=0.031,memory=0.004,currency=EUR --co2 cpu=4.6,memory=0.4",
		Args:        cobra.NoArgs,
		Annotations: map[string]string{factory.MoreFormats: html},
	})
	o.AddAllFlag(cmd)
	cmd.Flags().StringVar(&o.from, "from", "", "Instant to begin at (default: the last midnight)")
	cmd.Flags().StringVar(&o.span, "for", "", "How long: a span such as 24h or 7d (default: seven days of the calendar)")
	o.AddRates(cmd)
	return cmd
}

// Complete implements factory.Verb.
func (o *Options) Complete([]string) error { return nil }

// Validate implements factory.Verb.
func (o *Options) Validate() error {
	_, err := o.input()
	return err
}

// Run prints the report, as a page with -o html.
func (o *Options) Run(ctx context.Context) error {
	w, err := o.Load(ctx, source.Query{Namespace: o.Within()})
	if err != nil {
		return err
	}
	in, err := o.input() // of an instant after the reading, as in plan
	if err != nil {
		return err
	}
	found, err := page.Of(ctx, w, in)
	if err != nil {
		return err
	}
	if o.Output == html {
		return found.HTML(o.Out)
	}
	return o.Print(found)
}

// freezesFor is the length of the time whose freezes a report lists.
const freezesFor = 90 * 24 * time.Hour

func (o *Options) input() (page.Input, error) {
	now := o.Now().Truncate(time.Second)
	in := page.Input{Now: now, From: timeline.Midnight(now, 0, o.Zone), Zone: o.Zone, Namespace: o.Within(), Live: !o.Offline()}
	var err error
	if in.Rates, err = o.ParseRates(); err != nil {
		return in, err
	}
	if o.from != "" {
		if in.From, err = o.At("from", o.from); err != nil {
			return in, err
		}
	}
	in.To = in.From.In(o.Zone).AddDate(0, 0, 7)
	if o.span != "" {
		d, err := printer.ParseSpan(o.span)
		if err != nil {
			return in, fmt.Errorf("--for: %w", err)
		}
		in.To = in.From.Add(d)
	}
	in.FreezesTo = in.From.Add(freezesFor)
	return in, nil
}
