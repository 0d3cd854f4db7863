package freezes

import (
	"context"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

// Options are the flags and arguments of freezes.
type Options struct {
	*factory.Factory
	factory.Named
	from, span string

	args []string
	in   Input
}

// ics is an output format of the verb freezes only.
const ics = "ics"

// New returns the verb freezes.
func New(f *factory.Factory) *cobra.Command {
	o := &Options{Factory: f}
	cmd := factory.Command(o, &cobra.Command{
		Use:   "freezes [KIND/NAME...]",
		Short: "Show which freezes and maintenance windows are in force when, with gaps and overlaps",
		Long: `Shows the coming weeks: when which freeze, maintenance window and exception is in force, for the namespace, for some objects, or
with -A for everything; the gaps in which nothing denies changes; and the times at which several policies do.

-o ics writes the same as a calendar (RFC 5545).`,
		Example: "  kubectl flyball freezes --for 30d\n  kubectl flyball freezes deployment/web\n  kubectl flyball freezes -A " +
			"--for 90d -o ics > freezes.ics",
		Annotations:       map[string]string{factory.MoreFormats: ics},
		ValidArgsFunction: f.CompleteObjects(nil),
	})
	o.AddAllFlag(cmd)
	o.AddSelector(cmd)
	cmd.Flags().StringVar(&o.from, "from", "now", "Instant to begin at")
	cmd.Flags().StringVar(&o.span, "for", "28d", "How long: a span such as 12h or 28d")
	return cmd
}

// Complete implements factory.Verb.
func (o *Options) Complete(args []string) error {
	o.args, o.in = args, Input{Zone: o.Zone, Namespace: o.Within()}
	var err error
	o.in.From, o.in.To, err = o.Between(o.from, o.span)
	return err
}

// Validate implements factory.Verb.
func (o *Options) Validate() error { return nil }

// Run prints the agenda, as a calendar with -o ics.
func (o *Options) Run(ctx context.Context) error {
	names, err := o.Given(ctx, o.Factory, o.args)
	if err != nil {
		return err
	}
	var w *source.World
	if len(names) > 0 {
		var targets []source.Target
		w, targets, err = o.AroundAll(ctx, names)
		for _, target := range targets {
			o.in.Targets = append(o.in.Targets, target.Ref)
		}
	} else {
		w, err = o.Load(ctx, source.Query{Namespace: o.in.Namespace, PoliciesOnly: !o.Offline()})
	}
	if err != nil {
		return err
	}
	memory, err := w.Memory()
	if err != nil {
		return err
	}
	for _, ref := range o.in.Targets {
		if memory.Raw(ref) == nil {
			return w.Missing(ref)
		}
	}
	o.ShowNotes(w)
	found := Of(memory, o.in)
	if o.Output == ics {
		return found.WriteICS(o.Out, o.Now())
	}
	return o.Print(found)
}
