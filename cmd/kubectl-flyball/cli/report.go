package cli

import (
	"context"
	"fmt"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/instant"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui/page"
	"flyball.dev/flyball/engine/timeline"
)

// html is an output format of the verb report only.
const html = "html"

type reportVerb struct {
	*factory.Factory
	factory.Rates
	from, span string
}

func newReport(s *factory.Factory) *cobra.Command {
	v := &reportVerb{Factory: s}
	cmd := &cobra.Command{
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
		RunE:        func(cmd *cobra.Command, _ []string) error { return v.run(cmd.Context()) },
	}
	v.AddAllFlag(cmd)
	cmd.Flags().StringVar(&v.from, "from", "", "Instant to begin at (default: the last midnight)")
	cmd.Flags().StringVar(&v.span, "for", "", "How long: a span such as 24h or 7d (default: seven days of the calendar)")
	v.AddRates(cmd)
	return cmd
}

func (v *reportVerb) run(ctx context.Context) error {
	if _, err := v.options(); err != nil {
		return err
	}
	w, err := v.Load(ctx, source.Query{Namespace: v.Within()})
	if err != nil {
		return err
	}
	o, err := v.options() // of an instant after the reading, as in plan
	if err != nil {
		return err
	}
	found, err := page.Of(ctx, w, o)
	if err != nil {
		return err
	}
	if v.Output == html {
		return found.HTML(v.Out)
	}
	return v.Print(found)
}

// freezesFor is the length of the time whose freezes a report lists.
const freezesFor = 90 * 24 * time.Hour

func (v *reportVerb) options() (page.Input, error) {
	now := v.Now().Truncate(time.Second)
	o := page.Input{Now: now, From: timeline.Midnight(now, 0, v.Zone), Zone: v.Zone, Namespace: v.Within(), Live: !v.Offline()}
	var err error
	if o.Rates, err = v.ParseRates(); err != nil {
		return o, err
	}
	if v.from != "" {
		if o.From, err = v.At("from", v.from); err != nil {
			return o, err
		}
	}
	o.To = o.From.In(v.Zone).AddDate(0, 0, 7)
	if v.span != "" {
		d, err := instant.Span(v.span)
		if err != nil {
			return o, fmt.Errorf("--for: %w", err)
		}
		o.To = o.From.Add(d)
	}
	o.FreezesTo = o.From.Add(freezesFor)
	return o, nil
}
