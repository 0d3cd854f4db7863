package pause

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/policy/kinds"
)

// Env are the inputs that the verb gets from the command.
type Env struct {
	// Namespace returns the namespace of the policies.
	Namespace func() string
	// Offline reports whether no cluster is used. It is valid once the flags are parsed.
	Offline func() bool
	// Load reads the world.
	Load func(ctx context.Context) (*source.World, error)
	// Cluster returns the cluster to write to. Manager is the name of the field manager.
	Cluster func() (source.Cluster, error)
	Manager string
	// Print writes the answer.
	Print func(*Change) error
	// Complete completes the names of policies.
	Complete cobra.CompletionFunc
}

// verb is one run of pause.
type verb struct {
	Env
	dryRun, end bool
	selector    string
}

// New returns the verb pause.
func New(s Env) *cobra.Command {
	v := &verb{Env: s}
	cmd := &cobra.Command{
		Use:   "pause {POLICY... | -l LABELS} [--end]",
		Short: "Suspend schedules or deletion costs, and show the effect; --end lets them act again",
		Long: `Sets spec.suspend on policies (KIND/NAME, such as schedule/nights). A paused schedule leaves everything as it is: sleeping
objects stay asleep, and awake objects stay awake. The costs of a paused DeletionCost are removed. With --end it removes spec.suspend,
and a schedule follows its window at once.

Pause a policy from Git in Git, because the next synchronisation would undo this.`,
		Example: "  kubectl flyball pause schedule/nights\n  kubectl flyball pause schedule/office-hours --dry-run\n" +
			"  kubectl flyball pause schedule/nights --end\n  kubectl flyball pause -l team=search --dry-run",
		RunE:              func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args) },
		ValidArgsFunction: s.Complete,
	}
	cmd.Flags().BoolVar(&v.end, "end", false, "End it: the policies act again")
	cmd.Flags().StringVarP(&v.selector, "selector", "l", "",
		"In place of POLICYs: the schedules and deletion costs of the namespace with these labels")
	cmd.Flags().BoolVar(&v.dryRun, "dry-run", false, "Have the API server check the change, and write nothing")
	return cmd
}

// run sets spec.suspend of the policies. It needs only the right to patch policies.
func (v *verb) run(ctx context.Context, args []string) error {
	if (len(args) > 0) == (v.selector != "") {
		return errors.New("give POLICYs (KIND/NAME, such as schedule/nights), or labels with -l, and not both")
	}
	change := &Change{Paused: !v.end, DryRun: v.dryRun || v.Offline()}
	namespace := v.Namespace()
	if v.selector != "" {
		var err error
		if args, err = v.selected(ctx, namespace); err != nil {
			return err
		}
	}
	for _, arg := range args {
		if err := change.Add(arg, namespace); err != nil {
			return err
		}
	}
	if v.Offline() {
		return v.offline(ctx, change, args, namespace)
	}
	cluster, err := v.Cluster()
	if err != nil {
		return err
	}
	if err := change.Write(ctx, cluster.Client, v.Manager); err != nil {
		return err
	}
	return v.Print(change)
}

// selected returns the policies of the namespace with the labels that can be paused, as KIND/NAME.
func (v *verb) selected(ctx context.Context, namespace string) (names []string, err error) {
	selector, err := labels.Parse(v.selector)
	if err != nil {
		return nil, fmt.Errorf("--selector: %w", err)
	}
	w, err := v.Load(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range w.Policies {
		kind, known := kinds.Find(p.GetObjectKind().GroupVersionKind().Kind)
		if known && hasSuspend(kind) && p.GetNamespace() == namespace && selector.Matches(labels.Set(p.GetLabels())) {
			names = append(names, strings.ToLower(kind.Name)+"/"+p.GetName())
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no schedule and no deletion cost in namespace %s has the labels %s", namespace, v.selector)
	}
	slices.Sort(names)
	return names, nil
}

// offline returns an error if one of the policies is not in the files.
func (v *verb) offline(ctx context.Context, change *Change, args []string, namespace string) error {
	w, err := v.Load(ctx)
	if err != nil {
		return err
	}
	for _, arg := range args {
		if _, err := w.FindPolicy(arg, namespace); err != nil {
			return err
		}
	}
	change.Compare(w)
	return v.Print(change)
}
