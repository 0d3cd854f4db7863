package cli

import (
	"context"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/freezes"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

type freezesVerb struct {
	*factory.Factory
	factory.Named
	from, span string
}

// ics is an output format of the verb freezes only.
const ics = "ics"

func newFreezes(s *factory.Factory) *cobra.Command {
	v := &freezesVerb{Factory: s}
	cmd := &cobra.Command{
		Use:   "freezes [KIND/NAME...]",
		Short: "Show which freezes and maintenance windows are in force when, with gaps and overlaps",
		Long: `Shows the coming weeks: when which freeze, maintenance window and exception is in force, for the namespace, for some objects, or
with -A for everything; the gaps in which nothing denies changes; and the times at which several policies do.

-o ics writes the same as a calendar (RFC 5545).`,
		Example: "  kubectl flyball freezes --for 30d\n  kubectl flyball freezes deployment/web\n  kubectl flyball freezes -A " +
			"--for 90d -o ics > freezes.ics",
		Annotations:       map[string]string{factory.MoreFormats: ics},
		ValidArgsFunction: s.CompleteObjects(nil),
		RunE:              func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args) },
	}
	v.AddAllFlag(cmd)
	v.AddSelector(cmd)
	cmd.Flags().StringVar(&v.from, "from", "now", "Instant to begin at")
	cmd.Flags().StringVar(&v.span, "for", "28d", "How long: a span such as 12h or 28d")
	return cmd
}

func (v *freezesVerb) run(ctx context.Context, args []string) error {
	o := freezes.Options{Zone: v.Zone, Namespace: v.Within()}
	var err error
	if o.From, o.To, err = v.Between(v.from, v.span); err != nil {
		return err
	}
	if args, err = v.Given(ctx, v.Factory, args); err != nil {
		return err
	}
	var w *source.World
	if len(args) > 0 {
		var targets []source.Target
		w, targets, err = v.AroundAll(ctx, args)
		for _, target := range targets {
			o.Targets = append(o.Targets, target.Ref)
		}
	} else {
		w, err = v.Load(ctx, source.Query{Namespace: o.Namespace, PoliciesOnly: !v.Offline()})
	}
	if err != nil {
		return err
	}
	memory, err := w.Memory()
	if err != nil {
		return err
	}
	for _, ref := range o.Targets {
		if memory.Raw(ref) == nil {
			return w.Missing(ref)
		}
	}
	v.ShowNotes(w)
	found := freezes.Of(memory, o)
	if v.Output == ics {
		return found.WriteICS(v.Out, v.Now())
	}
	return v.Print(found)
}
