// Package suggest is the verb that proposes a policy from the history of a workload: a Schedule with its unused hours
// as windows, or a Trigger with bounds by hour. It only reads and prints; package habit learns from the first part of
// the history and tries the result on the rest.
package suggest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/cmd/kubectl-flyball/habit"
	"flyball.dev/flyball/cmd/kubectl-flyball/history"
	"flyball.dev/flyball/cmd/kubectl-flyball/instant"
	"flyball.dev/flyball/cmd/kubectl-flyball/report"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/world"
)

// Env are the dependencies of the verb from its command.
type Env struct {
	genericiooptions.IOStreams
	// Now is the clock. Zone points to the time zone of the windows. The zone is set once the flags are parsed.
	Now  func() time.Time
	Zone **time.Location
	// Load reads the world around a target, which is given as KIND/NAME. Without a cluster it reads files.
	Load func(ctx context.Context, target string) (*source.World, source.Target, error)
	// Checkpoint returns the UsageCheckpoint of a target, or nil.
	Checkpoint func(ctx context.Context, target source.Target) (*v1alpha1.UsageCheckpoint, error)
	// Print writes the manifest with comments. In another format it writes the back-test too.
	Print func(report.Finding) error
	// Refused returns the error for a history from which nothing can be proposed.
	Refused func(error) error
	// Progress starts the progress line. doing sets the shown activity, and done removes the line.
	Progress func() (doing func(what string), done func())
	// Complete completes the names of targets.
	Complete cobra.CompletionFunc
}

// New returns the verb suggest.
func New(s Env) *cobra.Command {
	cmd := &cobra.Command{Use: "suggest", Short: "Propose requests, a Schedule or a Trigger for a workload from its usage", Long: long}
	cmd.AddCommand(newSchedule(s), newTrigger(s))
	return cmd
}

// verb is the common part of suggest schedule and suggest trigger.
type verb struct {
	Env
	history     history.Flags
	learn       string
	asked       history.Asked
	teach, days habit.Part
	demand      habit.History
	// from is the source of the history.
	from string
}

// addFlags adds the flags of both verbs.
func (v *verb) addFlags(cmd *cobra.Command) {
	cmd.Args, cmd.ValidArgsFunction = cobra.ExactArgs(1), v.Complete
	cmd.Annotations = map[string]string{factory.Reference: reference}
	f := cmd.Flags()
	v.history.Add(cmd, "1m")
	f.StringVar(&v.learn, "learn", "",
		"How much of the history to learn from, such as 14d (default: two thirds, and 14d at least); the rest tries the result")
}

// faults collects the errors about flags.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

// span parses a flag with a length of time that may be zero.
func (f *faults) span(flag, text string) time.Duration {
	d, err := timeline.ParseDurationOrZero(text)
	if err != nil {
		f.add("--%s: read the span %q: give one such as 10m or 2h: %w", flag, text, err)
	}
	return d
}

// check parses the flags of both verbs.
func (v *verb) check(f *faults) (learn int) {
	v.asked = v.history.Check(f.add)
	if v.learn != "" {
		d, err := instant.Span(v.learn)
		if err != nil {
			f.add("--learn: %w", err)
		}
		const day = 24 * time.Hour
		if learn = int(d / day); learn < 7 || d%day != 0 {
			f.add("--learn: %q is not whole days, 7d at least: each hour of the week is to be seen", v.learn)
		}
	}
	if (*v.Zone).String() == "Local" {
		f.add("--time-zone: windows need the zone of those who use the target, by an IANA name such as Europe/Berlin")
	}
	return learn
}

// read reads the world and the history. It splits the history into the part to learn from and the part for the
// back-test.
func (v *verb) read(ctx context.Context, arg string, learn int) (*source.World, *world.Memory, source.Target, error) {
	w, memory, target, err := v.load(ctx, arg)
	if err != nil {
		return nil, nil, target, err
	}
	doing, done := v.Progress()
	defer done()
	readings, err := v.readings(ctx, target, doing)
	if err != nil {
		return nil, nil, target, err
	}
	if v.demand, err = habit.NewHistory(readings); err == nil {
		v.teach, v.days, err = v.demand.Split(*v.Zone, learn)
	}
	return w, memory, target, v.refused(err)
}

// load reads the world around a target in a namespace.
func (v *verb) load(ctx context.Context, arg string) (*source.World, *world.Memory, source.Target, error) {
	w, target, err := v.Load(ctx, arg)
	if err != nil {
		return nil, nil, target, err
	}
	for _, note := range w.Notes {
		v.note(note)
	}
	memory, err := w.Memory()
	if err != nil {
		return nil, nil, target, err
	}
	if memory.Raw(target.Ref) == nil {
		return nil, nil, target, w.Missing(target.Ref)
	}
	if target.Namespace == "" {
		return nil, nil, target, fmt.Errorf("%s has no namespace: a policy is proposed for one namespace", target.Ref)
	}
	return w, memory, target, nil
}

// refused gives a separate exit code to the error that nothing can be proposed from the history.
func (v *verb) refused(err error) error {
	if refusal := habit.Refusal(""); errors.As(err, &refusal) {
		return v.Refused(err)
	}
	return err
}

// readings returns the demand of a target. It comes from files, from Prometheus, or from the checkpoint of a Tortoise.
func (v *verb) readings(ctx context.Context, target source.Target, doing func(string)) ([]habit.Reading, error) {
	switch {
	case len(v.history.Files) > 0:
		v.from = strings.Join(v.history.Files, ", ")
		return history.ReadDemand(v.history.Files, v.In, v.history.Format, doing)
	case v.history.Prometheus != "":
		v.from = "Prometheus"
		samples, err := v.history.Ask(ctx, v.asked, target.Ref, v.Now(), nil, doing, v.note)
		return history.DemandOf(samples), err
	}
	v.from = "its UsageCheckpoint"
	kept, err := v.Checkpoint(ctx, target)
	if err != nil {
		return nil, err
	}
	if kept == nil {
		return nil,
			fmt.Errorf("there is no history to work from: no Tortoise has learnt of %s, so there is no UsageCheckpoint; give --usage FILE or "+
				"--prometheus URL", target.Ref)
	}
	return history.DemandKept(kept)
}

// note prints a note for a person to standard error.
func (v *verb) note(text string) { _, _ = fmt.Fprintln(v.ErrOut, "note:", report.Clean(text)) }
