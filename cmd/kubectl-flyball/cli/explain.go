package cli

import (
	"context"
	"errors"
	"strings"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/explain"
	"flyball.dev/flyball/cmd/kubectl-flyball/history"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

type explainVerb struct {
	*factory.Factory
	when   string
	watch  bool
	demand history.Server
}

func newExplain(s *factory.Factory) *cobra.Command {
	v := &explainVerb{Factory: s}
	cmd := &cobra.Command{
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
		ValidArgsFunction: s.CompleteObject(func(w *source.World, namespace string) []string {
			return append(source.PolicyNames(w, namespace), source.CalendarNames(w)...)
		}),
		RunE: func(cmd *cobra.Command, args []string) error {
			return v.Redraw(cmd.Context(), v.watch, func() error { return v.run(cmd.Context(), args[0]) })
		},
	}
	cmd.Flags().StringVar(&v.when, "at", "now", "Instant to explain")
	v.demand.Add(cmd, "say since when nobody uses the object")
	v.AddWatchFlag(cmd, &v.watch)
	return cmd
}

func (v *explainVerb) run(ctx context.Context, arg string) error {
	if _, err := v.At("at", v.when); err != nil {
		return err
	}
	if name, ok := source.CalendarNamed(arg); ok {
		return v.explainCalendar(ctx, name)
	}
	if id, _, ok := source.PolicyNamed(arg, v.Namespace()); ok {
		if done, err := v.explainPolicy(ctx, arg, id); done {
			return err
		}
	}
	w, target, err := v.Around(ctx, arg)
	if err != nil {
		return err
	}
	user, err := v.User(ctx)
	if err != nil {
		return err
	}
	now := v.Now() // after the reading, as in plan
	at, err := v.At("at", v.when)
	if err != nil {
		return err
	}
	o := explain.Options{At: at, Now: now, Zone: v.Zone, User: user, FlyballNamespace: v.FlyballNamespace}
	if v.demand.Address != "" {
		o.Ask = func(ctx context.Context, w *world.World) ([]string, error) {
			_, loop, err := v.demand.Loop(w)
			if err != nil {
				return nil, err
			}
			return loop.Once(ctx, true), nil
		}
	}
	story, err := explain.Of(ctx, w, target, o)
	if err != nil {
		return err
	}
	return v.Print(story)
}

// explainCalendar explains a Calendar.
func (v *explainVerb) explainCalendar(ctx context.Context, name string) error {
	w, err := v.Load(ctx, source.Query{Namespace: v.Namespace(), PoliciesOnly: true})
	if err != nil {
		return err
	}
	at, err := v.At("at", v.when)
	if err != nil {
		return err
	}
	story, err := explain.OfCalendar(w, name, explain.Options{At: at, Zone: v.Zone})
	if err != nil {
		return err
	}
	return v.Print(story)
}

// explainPolicy explains a policy. It returns false if an adapter has a kind of the same name. In this case the
// argument means an object.
func (v *explainVerb) explainPolicy(ctx context.Context, arg string, id workload.Policy) (bool, error) {
	w, err := v.Load(ctx, source.Query{Namespace: id.Namespace})
	if missing := (source.MissingRights)(nil); id.Namespace == "" && errors.As(err, &missing) {
		if w, err = v.Load(ctx, source.Query{Namespace: v.Namespace()}); err == nil {
			w.Note("only the targets in namespace %s are listed, because you may not read all namespaces", v.Namespace())
		}
	}
	if err != nil {
		return true, err
	}
	kind, _, _ := strings.Cut(arg, "/")
	if _, err := w.FindKind(kind); err == nil {
		return false, nil
	}
	now := v.Now()
	at, err := v.At("at", v.when)
	if err != nil {
		return true, err
	}
	story, err := explain.OfPolicy(w, id, explain.Options{At: at, Now: now, Zone: v.Zone})
	if err != nil {
		return true, err
	}
	return true, v.Print(story)
}
