package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/explain"
	"flyball.dev/flyball/cmd/kubectl-flyball/history"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

type explainVerb struct {
	*session
	when   string
	watch  bool
	demand history.Server
}

func newExplain(s *session) *cobra.Command {
	v := &explainVerb{session: s}
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
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: v.completeArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			return v.redraw(cmd.Context(), v.watch, func() error { return v.run(cmd.Context(), args[0]) })
		},
	}
	cmd.Flags().StringVar(&v.when, "at", "now", "Instant to explain")
	v.demand.Add(cmd, "say since when nobody uses the object")
	v.addWatchFlag(cmd, &v.watch)
	return cmd
}

func (v *explainVerb) completeArg(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 && !isKind(args) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return words(args, typed, func(typed string) ([]string, cobra.ShellCompDirective) {
		return v.suggestions().Objects(cmd, typed, func(w *source.World, namespace string) []string {
			return append(source.PolicyNames(w, namespace), source.CalendarNames(w)...)
		})
	})
}

func (v *explainVerb) run(ctx context.Context, arg string) error {
	if _, err := v.at("at", v.when); err != nil {
		return err
	}
	if name, ok := source.CalendarNamed(arg); ok {
		return v.explainCalendar(ctx, name)
	}
	if id, _, ok := source.PolicyNamed(arg, v.namespace()); ok {
		if done, err := v.explainPolicy(ctx, arg, id); done {
			return err
		}
	}
	w, target, err := v.around(ctx, arg)
	if err != nil {
		return err
	}
	user, err := v.user(ctx)
	if err != nil {
		return err
	}
	now := v.Now() // after the reading, as in plan
	at, err := v.at("at", v.when)
	if err != nil {
		return err
	}
	o := explain.Options{At: at, Now: now, Zone: v.zone, User: user, FlyballNamespace: v.flyballNamespace}
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
	return v.print(story)
}

// around loads the objects that are needed to decide about one target.
func (s *session) around(ctx context.Context, arg string) (*source.World, source.Target, error) {
	w, targets, err := s.aroundAll(ctx, []string{arg})
	if err != nil {
		return w, source.Target{}, err
	}
	return w, targets[0], nil
}

// aroundAll loads the objects that are needed to decide about targets, and prints a note about missing rights.
func (s *session) aroundAll(ctx context.Context, args []string) (*source.World, []source.Target, error) {
	w, targets, err := s.readAround(ctx, args)
	if err == nil {
		s.noteMissing(w.Unseen)
	}
	return w, targets, err
}

// readAround reads the objects that are needed to decide about targets: objects of the targets' kinds, of the kinds
// that govern other objects, and of the kinds that the targets govern.
func (s *session) readAround(ctx context.Context, args []string) (*source.World, []source.Target, error) {
	namespace := s.namespace()
	q := source.Query{Namespace: namespace, PoliciesOnly: !s.offline()}
	if s.offline() {
		q.Namespace = "" // an owner and its objects have different namespaces
	}
	w, err := s.read(ctx, q)
	if err != nil {
		return nil, nil, err
	}
	var targets []source.Target
	kinds := w.Governing()
	for _, arg := range args {
		target, err := w.FindTarget(arg, namespace)
		if err != nil {
			return nil, nil, err
		}
		targets, kinds = append(targets, target), append(append(kinds, target.GroupKind), w.Followed(target.GroupKind)...)
	}
	if s.offline() {
		return w, targets, nil
	}
	q.PoliciesOnly, q.Kinds = false, kinds
	if w, err = s.read(ctx, q); err != nil {
		return nil, nil, err
	}
	for _, target := range targets {
		governed, err := w.Governed(target.Ref)
		if err != nil {
			return nil, nil, err
		}
		if governed != nil && !slices.Contains(q.Kinds, *governed) {
			q.Kinds = append(q.Kinds, *governed)
		}
	}
	if len(q.Kinds) > len(kinds) {
		if w, err = s.read(ctx, q); err != nil {
			return nil, nil, err
		}
	}
	w, err = s.withOwners(ctx, w, q, targets)
	return w, targets, err
}

// explainCalendar explains a Calendar.
func (v *explainVerb) explainCalendar(ctx context.Context, name string) error {
	w, err := v.load(ctx, source.Query{Namespace: v.namespace(), PoliciesOnly: true})
	if err != nil {
		return err
	}
	at, err := v.at("at", v.when)
	if err != nil {
		return err
	}
	story, err := explain.OfCalendar(w, name, explain.Options{At: at, Zone: v.zone})
	if err != nil {
		return err
	}
	return v.print(story)
}

// withOwners reads the objects of a query in all namespaces if a policy holds owners, with the owners and the objects of
// owners among the targets: an owner and its objects have different namespaces. Without the rights, the world stays.
func (s *session) withOwners(ctx context.Context, w *source.World, q source.Query, targets []source.Target) (*source.World, error) {
	refs := make([]workload.Ref, len(targets))
	for i, target := range targets {
		refs[i] = target.Ref
	}
	kinds, err := w.Owning(refs)
	if err != nil || len(kinds) == 0 {
		return w, err
	}
	q.Namespace, q.Kinds = "", append(slices.Clone(q.Kinds), kinds...)
	all, err := s.read(ctx, q)
	if missing := (source.MissingRights)(nil); errors.As(err, &missing) {
		w.Note("owners and their objects in other namespaces are not known, because you may not list them")
		return w, nil
	}
	return all, err
}

// explainPolicy explains a policy. It returns false if an adapter has a kind of the same name. In this case the
// argument means an object.
func (v *explainVerb) explainPolicy(ctx context.Context, arg string, id workload.Policy) (bool, error) {
	w, err := v.load(ctx, source.Query{Namespace: id.Namespace})
	if missing := (source.MissingRights)(nil); id.Namespace == "" && errors.As(err, &missing) {
		if w, err = v.load(ctx, source.Query{Namespace: v.namespace()}); err == nil {
			w.Note("only the targets in namespace %s are listed, because you may not read all namespaces", v.namespace())
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
	at, err := v.at("at", v.when)
	if err != nil {
		return true, err
	}
	story, err := explain.OfPolicy(w, id, explain.Options{At: at, Now: now, Zone: v.zone})
	if err != nil {
		return true, err
	}
	return true, v.print(story)
}
