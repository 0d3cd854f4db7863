package adapter

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
)

// New returns the verb adapter with its subcommands.
func New(f *factory.Factory) *cobra.Command {
	cmd := &cobra.Command{Use: "adapter", Short: "Draft, check, try and test adapters, and print the needed rights"}
	cmd.AddCommand(newNew(f), newCheck(f), newTry(f), newTest(f), newRBAC(f))
	return cmd
}

// Options are the arguments of a subcommand. The first argument is a file with an adapter, the name of a kind, or a directory.
type Options struct {
	*factory.Factory
	args []string
}

// Complete implements factory.Verb.
func (o *Options) Complete(args []string) error {
	o.args = args
	return nil
}

// Validate implements factory.Verb.
func (o *Options) Validate() error { return nil }

// read reads the first argument, a file with exactly one adapter.
func (o *Options) read() (*v1alpha1.Adapter, *adapter.Adapter, error) {
	file := o.args[0]
	m, err := o.Files([]string{file}, "").Read()
	if err != nil {
		return nil, nil, err
	}
	if len(m.Adapters) != 1 {
		return nil, nil, fmt.Errorf("%s has %d adapters; give a file with one", file, len(m.Adapters))
	}
	if err := m.CheckAdapters(); err != nil {
		return nil, nil, err
	}
	compiled, _ := adapter.Compile(m.Adapters[0].Name, m.Adapters[0].Spec, adapter.Keys{}) // the adapter was checked above
	return m.Adapters[0], compiled, nil
}

// CheckOptions are the flags and arguments of adapter check.
type CheckOptions struct {
	Options
	specOnly bool
}

func newCheck(f *factory.Factory) *cobra.Command {
	o := &CheckOptions{Options: Options{Factory: f}}
	cmd := factory.Command(o, &cobra.Command{
		Use:   "check FILE",
		Short: "Check an adapter: the spec, and against a cluster the paths, types, /scale and your own rights",
		Long: "Checks an adapter: whether the spec compiles, with the line of each fault; and against a cluster " +
			`whether the kind is served, each path
has the right type in the schema, a used /scale exists, and you have the rights of an author of the adapter.

Exit codes: 0 no fault, 1 a fault.`,
		Example: "  kubectl flyball adapter check adapter.yaml\n  kubectl flyball adapter check --spec-only adapter.yaml",
		Args:    cobra.ExactArgs(1),
	})
	cmd.Flags().BoolVar(&o.specOnly, "spec-only", false, "Only the spec; ask no cluster")
	return cmd
}

// Run checks the adapter.
func (o *CheckOptions) Run(ctx context.Context) error {
	_, compiled, err := o.read()
	if err != nil {
		return err
	}
	c := CheckOf(compiled, o.specOnly)
	if !o.specOnly {
		config, err := o.RestConfig()
		if err != nil {
			return err
		}
		if err := c.Live(ctx, config, compiled); err != nil {
			return err
		}
	}
	return factory.Answer(o.Print(c), len(c.Problems) > 0, factory.ExitError)
}

// TestOptions are the flags and arguments of adapter test.
type TestOptions struct {
	Options
	update bool
}

func newTest(f *factory.Factory) *cobra.Command {
	o := &TestOptions{Options: Options{Factory: f}}
	cmd := factory.Command(o, &cobra.Command{
		Use:   "test DIR...",
		Short: "Run the golden cases of adapters, as the library does",
		Long: "Runs the golden cases of every adapter.yaml in the directories. Each folder of testdata beside the " +
			`adapter is a case: object.yaml is put
to sleep and woken in memory by case.yaml, and the writes are compared with the golden files. docs/adapters.md describes the files.

A capability without a case is a failure. No cluster is needed.

Exit codes: 0 all cases pass, 1 a failed case, or an error.`,
		Example: "  kubectl flyball adapter test adapters/\n  kubectl flyball adapter test adapters/apps/Deployment --update",
		Args:    cobra.MinimumNArgs(1),
	})
	cmd.Flags().BoolVar(&o.update, "update", false, "Write the golden files instead of comparing with them; read them before you keep them")
	return cmd
}

// Run runs the golden cases.
func (o *TestOptions) Run(context.Context) error {
	found, err := RunCases(o.args, o.update)
	if err != nil {
		return err
	}
	return factory.Answer(o.Print(found), !found.Passed, factory.ExitError)
}

// RBACOptions are the arguments of adapter rbac.
type RBACOptions struct{ Options }

func newRBAC(f *factory.Factory) *cobra.Command {
	return factory.Command(&RBACOptions{Options{Factory: f}}, &cobra.Command{
		Use:     "rbac FILE",
		Short:   "Print the manager's ClusterRole for an adapter",
		Example: "  kubectl flyball adapter rbac adapter.yaml | kubectl apply -f -",
		Args:    cobra.ExactArgs(1),
	})
}

// Run prints the ClusterRole.
func (o *RBACOptions) Run(context.Context) error {
	_, compiled, err := o.read()
	if err != nil {
		return err
	}
	return o.Print(RightsOf(compiled))
}
