package explain

import (
	"context"
	"errors"
	"strings"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/analysis"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Options are the flags and arguments of explain.
type Options struct {
	*factory.Factory
	when   string
	watch  bool
	demand analysis.ServerFlags

	arg string
}

// New returns the verb explain.
func New(f *factory.Factory) *cobra.Command {
	o := &Options{Factory: f}
	cmd := factory.Command(o, &cobra.Command{
		Use:   "explain KIND/NAME",
		Short: "Explain one object: the deciding policies with their reasons, the originals and the next changes; or one policy or Calendar",
		Long: `Explains an object: each selecting policy with the reasoning step by step, each nearly selecting policy with the failed term,
the winner and the reason, the originals, related autoscalers, the reason for a waiting write, the next three changes, and for each
action whether a freeze refuses the action now and until when.

For a policy, such as schedule/nights, the state and the reason, the next transitions, and the state of each target.

For a Calendar, such as calendar/company, the coming days with the field, the line of the file or the rule of holidays behind each, and
the events that cannot be read.

If --at is in the future, the time until then is simulated first (at most five weeks). If --at is in the past, the answer is
hypothetical: the present policies and objects, applied to that time.`,
		Example: "  kubectl flyball explain deployment/web\n  kubectl flyball explain schedule/office-hours\n  kubectl flyball " +
			"explain calendar/company\n  kubectl flyball " +
			"explain sts/db --at 2037-05-11T21:00\n  kubectl flyball explain --offline manifests/ deployment/web",
		Args: cobra.ExactArgs(1),
		ValidArgsFunction: f.CompleteObject(func(w *source.World, namespace string) []string {
			return append(source.PolicyNames(w, namespace), source.CalendarNames(w)...)
		}),
	})
	cmd.Flags().StringVar(&o.when, "at", "now", "Instant to explain")
	o.demand.Add(cmd, "say since when nobody uses the object")
	o.AddWatchFlag(cmd, &o.watch)
	return cmd
}

// Complete implements factory.Verb.
func (o *Options) Complete(args []string) error {
	o.arg = args[0]
	_, err := o.At("at", o.when)
	return err
}

// Validate implements factory.Verb.
func (o *Options) Validate() error { return nil }

// Run explains, with --watch again and again.
func (o *Options) Run(ctx context.Context) error {
	return o.Redraw(ctx, o.watch, func() error { return o.explain(ctx) })
}

func (o *Options) explain(ctx context.Context) error {
	if name, ok := source.CalendarNamed(o.arg); ok {
		return o.explainCalendar(ctx, name)
	}
	if id, _, ok := source.PolicyNamed(o.arg, o.Namespace()); ok {
		if done, err := o.explainPolicy(ctx, id); done {
			return err
		}
	}
	w, target, err := o.Around(ctx, o.arg)
	if err != nil {
		return err
	}
	user, err := o.User(ctx)
	if err != nil {
		return err
	}
	now := o.Now() // after the reading, as in plan
	at, err := o.At("at", o.when)
	if err != nil {
		return err
	}
	in := Input{At: at, Now: now, Zone: o.Zone, User: user, FlyballNamespace: o.FlyballNamespace}
	if o.demand.Address != "" {
		in.Ask = func(ctx context.Context, w *world.World) ([]string, error) {
			_, loop, err := o.demand.Loop(w)
			if err != nil {
				return nil, err
			}
			return loop.Once(ctx, true), nil
		}
	}
	story, err := Of(ctx, w, target, in)
	if err != nil {
		return err
	}
	return o.Print(story)
}

// explainCalendar explains a Calendar.
func (o *Options) explainCalendar(ctx context.Context, name string) error {
	w, err := o.Load(ctx, source.Query{Namespace: o.Namespace(), PoliciesOnly: true})
	if err != nil {
		return err
	}
	at, err := o.At("at", o.when)
	if err != nil {
		return err
	}
	story, err := OfCalendar(w, name, Input{At: at, Zone: o.Zone})
	if err != nil {
		return err
	}
	return o.Print(story)
}

// explainPolicy explains a policy. It returns false if an adapter has a kind of the same name. In this case the
// argument means an object.
func (o *Options) explainPolicy(ctx context.Context, id workload.Policy) (bool, error) {
	w, err := o.Load(ctx, source.Query{Namespace: id.Namespace})
	if missing := (source.MissingRights)(nil); id.Namespace == "" && errors.As(err, &missing) {
		if w, err = o.Load(ctx, source.Query{Namespace: o.Namespace()}); err == nil {
			w.Note("only the targets in namespace %s are listed, because you may not read all namespaces", o.Namespace())
		}
	}
	if err != nil {
		return true, err
	}
	kind, _, _ := strings.Cut(o.arg, "/")
	if _, err := w.FindKind(kind); err == nil {
		return false, nil
	}
	now := o.Now()
	at, err := o.At("at", o.when)
	if err != nil {
		return true, err
	}
	story, err := OfPolicy(w, id, Input{At: at, Now: now, Zone: o.Zone})
	if err != nil {
		return true, err
	}
	return true, o.Print(story)
}
