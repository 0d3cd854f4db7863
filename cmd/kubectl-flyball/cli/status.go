package cli

import (
	"context"
	"errors"
	"fmt"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"flyball.dev/flyball/cmd/kubectl-flyball/overview"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/targets"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

type statusVerb struct {
	*factory.Factory
	selector               string
	when                   string
	watch, targets, asleep bool
	// judged is the number of objects that each freeze judges. It is counted only once, also with --watch.
	judged map[workload.Policy]int32
}

func newStatus(s *factory.Factory) *cobra.Command {
	v := &statusVerb{Factory: s}
	cmd := &cobra.Command{
		Use:   "status [--targets [POLICY]]",
		Short: "List every policy with its state, begin, end, targets and faults; --targets lists the targets",
		Long: `Lists every policy with its state, the begin and end of the state, its targets by state, and its faults.

States are computed from the policies; counts of targets and failures come from the manager's report. For freezes and
maintenance windows, the command counts the visible objects with judged changes, with --watch only once. Offline, targets
are counted by a decision now. Cluster policies are listed if they reach the namespace; with -A all of them.

With --targets it lists the targets, with their state under each policy, or with POLICY (KIND/NAME) only its targets; those of a freeze
are the objects with judged changes.`,
		Example: "  kubectl flyball status -A\n  kubectl flyball status --watch\n  kubectl flyball status --offline manifests/\n" +
			"  kubectl flyball status --targets --asleep -A\n  kubectl flyball status --targets schedule/nights",
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: s.CompletePolicies(),
		RunE:              func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args) },
	}
	v.AddAllFlag(cmd)
	cmd.Flags().BoolVar(&v.targets, "targets", false, "List targets in place of policies")
	cmd.Flags().BoolVar(&v.asleep, "asleep", false, "With --targets: only those that sleep")
	cmd.Flags().StringVarP(&v.selector, "selector", "l", "", "Only policies, or with --targets only targets, with these labels")
	cmd.Flags().StringVar(&v.when, "at", "now", "Instant to look at, with the objects as they are now")
	v.AddWatchFlag(cmd, &v.watch)
	return cmd
}

func (v *statusVerb) run(ctx context.Context, args []string) error {
	selector, err := labels.Parse(v.selector)
	switch {
	case err != nil:
		return fmt.Errorf("--selector: %w", err)
	case !v.targets && (len(args) > 0 || v.asleep):
		return errors.New("POLICY and --asleep go with --targets; kubectl flyball explain explains one policy")
	}
	return v.Redraw(ctx, v.watch, func() error {
		if v.targets {
			return v.listTargets(ctx, selector, args)
		}
		return v.listPolicies(ctx, selector)
	})
}

// listTargets prints the targets of the policies, or of the named one.
func (v *statusVerb) listTargets(ctx context.Context, selector labels.Selector, args []string) error {
	o := targets.Options{Asleep: v.asleep, Zone: v.Zone, Keep: func(obj *workload.Object) bool { return selector.Matches(obj.Labels) }}
	var err error
	if o.At, err = v.At("at", v.when); err != nil {
		return err
	}
	w, err := v.Load(ctx, source.Query{Namespace: v.Within()})
	if err != nil {
		return err
	}
	memory, err := w.Memory()
	if err != nil {
		return err
	}
	if len(args) == 1 {
		if o.Policy, err = w.FindPolicy(args[0], v.Namespace()); err != nil {
			return err
		}
		if p := memory.Find(o.Policy); p == nil || p.IsBroken() {
			return fmt.Errorf("%s cannot be read, so it has no targets: kubectl flyball status says why", o.Policy)
		}
	}
	if v.last() {
		v.ShowNotes(w)
	}
	return v.Print(targets.Of(memory, o))
}

// listPolicies prints the policies.
func (v *statusVerb) listPolicies(ctx context.Context, selector labels.Selector) error {
	at, err := v.At("at", v.when)
	if err != nil {
		return err
	}
	w, err := v.Load(ctx, source.Query{Namespace: v.Within(), PoliciesOnly: !v.Offline(), Judged: v.judged == nil})
	if err != nil {
		return err
	}
	if v.last() {
		v.ShowNotes(w)
	}
	memory, err := w.Memory()
	if err != nil {
		return err
	}
	if v.judged == nil {
		v.judged = overview.CountJudged(memory, w.CountsJudged)
	}
	o := overview.Options{At: at, Zone: v.Zone, Live: !v.Offline(), Judged: v.judged, Namespace: v.Within(),
		Keep: func(l map[string]string) bool { return selector.Matches(labels.Set(l)) },
		Unread: func(p *world.Policy) string {
			if w.HidesCalendarsOf(p) {
				return "it uses calendars, which you may not list"
			}
			return ""
		}}
	return v.Print(overview.Of(memory, o))
}

// last reports whether the list is printed only once. With --watch it is false, and the notes are left out, because each
// list would repeat them.
func (v *statusVerb) last() bool { return !v.watch }
