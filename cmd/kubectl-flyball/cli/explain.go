package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/explain"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

type explainVerb struct {
	*session
	manifests
	when string
}

func newExplain(s *session) *cobra.Command {
	v := &explainVerb{session: s}
	cmd := &cobra.Command{
		Use:   "explain KIND/NAME",
		Short: "Tell the whole story of one object: who decides about it and why, what was there before, what comes next",
		Long: `Tells the whole story of one object: each policy that selects it with its reasoning step by step, each that nearly does
with the term that fails, who wins and why, what was there before, autoscalers in the relation, what a write waits for, the
next three changes, and for each action whether a freeze refuses it now and until when.

Where --at is in the future, the time until then is simulated first (five weeks of it at most). Where it is in the past, the story is
hypothetical: the policies and objects of now, applied to that time.`,
		Example:           "  kubectl flyball explain deployment/web\n  kubectl flyball explain sts/db --at 2037-05-11T21:00\n  kubectl flyball explain --offline -f manifests/ deployment/web",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: s.completeTargets,
		RunE:              func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args[0]) },
	}
	v.addFlags(cmd, offlineFiles)
	cmd.Flags().StringVar(&v.when, "at", "now", "Instant to explain")
	return cmd
}

func (v *explainVerb) run(ctx context.Context, arg string) error {
	at, err := v.at("at", v.when)
	if err != nil {
		return err
	}
	w, target, err := v.around(ctx, arg, v.paths)
	if err != nil {
		return err
	}
	user, err := v.user(ctx)
	if err != nil {
		return err
	}
	story, err := explain.Of(ctx, w, target, explain.Options{At: at, Now: v.Now(), Zone: v.zone, User: user, FlyballNamespace: v.flyballNamespace})
	if err != nil {
		return err
	}
	return v.print(story)
}

// around loads what one target is decided by: its kind, the kinds that govern others, and the kind that it governs itself.
func (s *session) around(ctx context.Context, arg string, files []string) (*source.World, source.Target, error) {
	namespace := s.namespace()
	q := source.Query{Namespace: namespace, PoliciesOnly: !s.offline}
	w, err := s.load(ctx, q, files)
	if err != nil {
		return nil, source.Target{}, err
	}
	target, err := w.FindTarget(arg, namespace)
	if err != nil || s.offline {
		return w, target, err
	}
	q.PoliciesOnly, q.Kinds = false, append(w.Governing(), target.GroupKind)
	if w, err = s.load(ctx, q, files); err != nil {
		return nil, target, err
	}
	governed, err := w.Governed(target.Ref)
	if err != nil || governed == nil || slices.Contains(q.Kinds, *governed) {
		return w, target, err
	}
	q.Kinds = append(q.Kinds, *governed)
	w, err = s.load(ctx, q, files)
	return w, target, err
}
