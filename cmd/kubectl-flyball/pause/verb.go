package pause

import (
	"context"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

// Env are the inputs that the verbs get from the command.
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

// verb is one run of pause or resume.
type verb struct {
	Env
	dryRun bool
	paused bool
}

// New returns the verb pause.
func New(s Env) *cobra.Command {
	return (&verb{Env: s, paused: true}).command(&cobra.Command{
		Use:   "pause POLICY...",
		Short: "Suspend schedules or deletion costs, and show the effect",
		Long: `Sets spec.suspend on policies (KIND/NAME, such as schedule/nights). A paused schedule leaves everything as it is: sleeping
objects stay asleep, and awake objects stay awake. The costs of a paused DeletionCost are removed.

Pause a policy from Git in Git, because the next synchronisation would undo this.`,
		Example: "  kubectl flyball pause schedule/nights\n  kubectl flyball pause schedule/office-hours --dry-run",
	})
}

// NewResume returns the verb resume.
func NewResume(s Env) *cobra.Command {
	return (&verb{Env: s}).command(&cobra.Command{
		Use:     "resume POLICY...",
		Short:   "Undo pause, so that the policies act again",
		Long:    `Removes spec.suspend from policies (KIND/NAME, such as schedule/nights). A schedule then follows its window at once.`,
		Example: "  kubectl flyball resume schedule/nights",
	})
}

func (v *verb) command(cmd *cobra.Command) *cobra.Command {
	cmd.Args = cobra.MinimumNArgs(1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args) }
	cmd.ValidArgsFunction = v.Complete
	cmd.Flags().BoolVar(&v.dryRun, "dry-run", false, "Have the API server check the change, and write nothing")
	return cmd
}

// run sets spec.suspend of the policies. It needs only the right to patch policies.
func (v *verb) run(ctx context.Context, args []string) error {
	change := &Change{Paused: v.paused, DryRun: v.dryRun || v.Offline()}
	namespace := v.Namespace()
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
