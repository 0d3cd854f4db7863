package targets

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

// Env are the inputs that the verb gets from the command.
type Env struct {
	// Zone points to the time zone of the printed times. It is set once the flags are parsed.
	Zone **time.Location
	// Namespace returns the namespace of the policies.
	Namespace func() string
	// At parses a flag's value as an instant.
	At func(flag, text string) (time.Time, error)
	// Load reads the world from the cluster. If the session is offline, it reads files.
	Load func(ctx context.Context) (*source.World, error)
	// Print writes the answer.
	Print func(*source.World, *List) error
	// Complete completes the names of policies.
	Complete cobra.CompletionFunc
}

// verb is one run of targets.
type verb struct {
	Env
	when   string
	asleep bool
}

// New returns the verb targets.
func New(s Env) *cobra.Command {
	v := &verb{Env: s}
	cmd := &cobra.Command{
		Use:   "targets [POLICY]",
		Short: "List the targets of policies with their state",
		Long: `Lists the targets of policies, with their state under each policy. With POLICY (KIND/NAME, such as schedule/nights) only its targets;
for a freeze or a maintenance window these are the objects with judged changes.

The states are those of status: asleep, awake, already asleep, pending, overridden, failed, set, unable; and judged.`,
		Example:           "  kubectl flyball targets\n  kubectl flyball targets --asleep -A\n  kubectl flyball targets schedule/nights",
		Args:              cobra.MaximumNArgs(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args) },
		ValidArgsFunction: s.Complete,
	}
	cmd.Flags().BoolVar(&v.asleep, "asleep", false, "Only what sleeps")
	cmd.Flags().StringVar(&v.when, "at", "now", "Instant to look at, with the objects as they are now")
	return cmd
}

func (v *verb) run(ctx context.Context, args []string) error {
	o := Options{Asleep: v.asleep, Zone: *v.Zone}
	var err error
	if o.At, err = v.At("at", v.when); err != nil {
		return err
	}
	namespace := v.Namespace()
	w, err := v.Load(ctx)
	if err != nil {
		return err
	}
	memory, err := w.Memory()
	if err != nil {
		return err
	}
	if len(args) == 1 {
		if o.Policy, err = w.FindPolicy(args[0], namespace); err != nil {
			return err
		}
		if p := memory.Find(o.Policy); p == nil || p.IsBroken() {
			return fmt.Errorf("%s cannot be read, so it has no targets: kubectl flyball status says why", o.Policy)
		}
	}
	return v.Print(w, Of(memory, o))
}
