package pause

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/policy/kinds"
)

// Options are the flags and arguments of pause.
type Options struct {
	*factory.Factory
	dryRun, end bool
	selector    string

	policies  []string
	namespace string
	change    *Change
}

// New returns the verb pause.
func New(f *factory.Factory) *cobra.Command {
	o := &Options{Factory: f}
	cmd := factory.Command(o, &cobra.Command{
		Use:   "pause {POLICY... | -l LABELS} [--end]",
		Short: "Suspend schedules or deletion costs, and show the effect; --end lets them act again",
		Long: `Sets spec.suspend on policies (KIND/NAME, such as schedule/nights). A paused schedule leaves everything as it is: sleeping
objects stay asleep, and awake objects stay awake. The costs of a paused DeletionCost are removed. With --end it removes spec.suspend,
and a schedule follows its window at once.

Pause a policy from Git in Git, because the next synchronisation would undo this.`,
		Example: "  kubectl flyball pause schedule/nights\n  kubectl flyball pause schedule/office-hours --dry-run\n" +
			"  kubectl flyball pause schedule/nights --end\n  kubectl flyball pause -l team=search --dry-run",
		ValidArgsFunction: f.CompletePolicies(),
	})
	cmd.Flags().BoolVar(&o.end, "end", false, "End it: the policies act again")
	cmd.Flags().StringVarP(&o.selector, "selector", "l", "",
		"In place of POLICYs: the schedules and deletion costs of the namespace with these labels")
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "Have the API server check the change, and write nothing")
	return cmd
}

// Complete implements factory.Verb.
func (o *Options) Complete(args []string) error {
	o.policies, o.namespace = args, o.Namespace()
	o.change = &Change{Paused: !o.end, DryRun: o.dryRun || o.Offline()}
	return nil
}

// Validate implements factory.Verb.
func (o *Options) Validate() error {
	if (len(o.policies) > 0) == (o.selector != "") {
		return errors.New("give POLICYs (KIND/NAME, such as schedule/nights), or labels with -l, and not both")
	}
	return nil
}

// Run sets spec.suspend of the policies. It needs only the right to patch policies.
func (o *Options) Run(ctx context.Context) error {
	if o.selector != "" {
		var err error
		if o.policies, err = o.selected(ctx); err != nil {
			return err
		}
	}
	for _, name := range o.policies {
		if err := o.change.Add(name, o.namespace); err != nil {
			return err
		}
	}
	if o.Offline() {
		return o.offline(ctx)
	}
	cluster, err := o.Cluster()
	if err != nil {
		return err
	}
	if err := o.change.Write(ctx, cluster.Client, factory.FieldManager); err != nil {
		return err
	}
	return o.Print(o.change)
}

// selected returns the policies of the namespace with the labels that can be paused, as KIND/NAME.
func (o *Options) selected(ctx context.Context) (names []string, err error) {
	selector, err := labels.Parse(o.selector)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	w, err := o.Load(ctx, source.Query{Namespace: o.namespace})
	if err != nil {
		return nil, err
	}
	for _, p := range w.Policies {
		kind, known := kinds.Find(p.GetObjectKind().GroupVersionKind().Kind)
		if known && hasSuspend(kind) && p.GetNamespace() == o.namespace && selector.Matches(labels.Set(p.GetLabels())) {
			names = append(names, strings.ToLower(kind.Name)+"/"+p.GetName())
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no schedule and no deletion cost in namespace %s has the labels %s", o.namespace, o.selector)
	}
	slices.Sort(names)
	return names, nil
}

// offline returns an error if one of the policies is not in the files.
func (o *Options) offline(ctx context.Context) error {
	w, err := o.Load(ctx, source.Query{Namespace: o.namespace})
	if err != nil {
		return err
	}
	for _, arg := range o.policies {
		if _, err := w.FindPolicy(arg, o.namespace); err != nil {
			return err
		}
	}
	o.change.Compare(w)
	return o.Print(o.change)
}
