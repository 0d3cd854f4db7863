package status

import (
	"context"
	"errors"
	"fmt"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Options are the flags and arguments of status.
type Options struct {
	*factory.Factory
	selector               string
	when                   string
	watch, targets, asleep bool
	// judged is the number of objects that each freeze judges. It is counted only once, also with --watch.
	judged map[workload.Policy]int32

	args   []string
	labels labels.Selector
}

// New returns the verb status.
func New(f *factory.Factory) *cobra.Command {
	o := &Options{Factory: f}
	cmd := factory.Command(o, &cobra.Command{
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
		ValidArgsFunction: f.CompletePolicies(),
	})
	o.AddAllFlag(cmd)
	cmd.Flags().BoolVar(&o.targets, "targets", false, "List targets in place of policies")
	cmd.Flags().BoolVar(&o.asleep, "asleep", false, "With --targets: only those that sleep")
	cmd.Flags().StringVarP(&o.selector, "selector", "l", "", "Only policies, or with --targets only targets, with these labels")
	cmd.Flags().StringVar(&o.when, "at", "now", "Instant to look at, with the objects as they are now")
	o.AddWatchFlag(cmd, &o.watch)
	return cmd
}

// Complete implements factory.Verb.
func (o *Options) Complete(args []string) (err error) {
	o.args = args
	if o.labels, err = labels.Parse(o.selector); err != nil {
		return fmt.Errorf("--selector: %w", err)
	}
	return nil
}

// Validate implements factory.Verb.
func (o *Options) Validate() error {
	if !o.targets && (len(o.args) > 0 || o.asleep) {
		return errors.New("POLICY and --asleep go with --targets; kubectl flyball explain explains one policy")
	}
	return nil
}

// Run prints the list, with --watch again and again.
func (o *Options) Run(ctx context.Context) error {
	return o.Redraw(ctx, o.watch, func() error {
		if o.targets {
			return o.listTargets(ctx)
		}
		return o.listPolicies(ctx)
	})
}

// listTargets prints the targets of the policies, or of the named one.
func (o *Options) listTargets(ctx context.Context) error {
	in := TargetsInput{Asleep: o.asleep, Zone: o.Zone, Keep: func(obj *workload.Object) bool { return o.labels.Matches(obj.Labels) }}
	var err error
	if in.At, err = o.At("at", o.when); err != nil {
		return err
	}
	w, err := o.Load(ctx, source.Query{Namespace: o.Within()})
	if err != nil {
		return err
	}
	memory, err := w.Memory()
	if err != nil {
		return err
	}
	if len(o.args) == 1 {
		if in.Policy, err = w.FindPolicy(o.args[0], o.Namespace()); err != nil {
			return err
		}
		if p := memory.Find(in.Policy); p == nil || p.IsBroken() {
			return fmt.Errorf("%s cannot be read, so it has no targets: kubectl flyball status says why", in.Policy)
		}
	}
	if o.last() {
		o.ShowNotes(w)
	}
	return o.Print(TargetsOf(memory, in))
}

// listPolicies prints the policies.
func (o *Options) listPolicies(ctx context.Context) error {
	at, err := o.At("at", o.when)
	if err != nil {
		return err
	}
	w, err := o.Load(ctx, source.Query{Namespace: o.Within(), PoliciesOnly: !o.Offline(), Judged: o.judged == nil})
	if err != nil {
		return err
	}
	if o.last() {
		o.ShowNotes(w)
	}
	memory, err := w.Memory()
	if err != nil {
		return err
	}
	if o.judged == nil {
		o.judged = CountJudged(memory, w.CountsJudged)
	}
	in := Input{At: at, Zone: o.Zone, Live: !o.Offline(), Judged: o.judged, Namespace: o.Within(),
		Keep: func(l map[string]string) bool { return o.labels.Matches(labels.Set(l)) },
		Unread: func(p *world.Policy) string {
			if w.HidesCalendarsOf(p) {
				return "it uses calendars, which you may not list"
			}
			return ""
		}}
	return o.Print(Of(memory, in))
}

// last reports whether the list is printed only once. With --watch it is false, and the notes are left out, because each
// list would repeat them.
func (o *Options) last() bool { return !o.watch }
