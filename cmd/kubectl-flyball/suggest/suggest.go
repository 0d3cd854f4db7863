// Package suggest is the verb that proposes the scaling of a workload from its history: a Schedule with its unused hours as windows, a
// Trigger with bounds by hour, or requests with bounds and a target utilisation. It only reads and prints; package analysis learns
// from the history.
package suggest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/analysis"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/world"
)

// New returns the verb suggest.
func New(f *factory.Factory) *cobra.Command {
	cmd := &cobra.Command{Use: "suggest", Short: "Propose requests, a Schedule or a Trigger for a workload from its usage", Long: long}
	cmd.AddCommand(newSchedule(f), newTrigger(f), newRequests(f))
	return cmd
}

// Options are the flags and arguments of both suggest schedule and suggest trigger.
type Options struct {
	*factory.Factory
	history analysis.HistoryFlags
	learn   string

	arg         string
	learnDays   int
	asked       analysis.Asked
	teach, days analysis.Part
	demand      analysis.History
	// from is the source of the history.
	from string
}

// Complete implements factory.Verb.
func (o *Options) Complete(args []string) error {
	o.arg = args[0]
	return nil
}

// addFlags adds the flags of both verbs.
func (o *Options) addFlags(cmd *cobra.Command) {
	cmd.Args, cmd.ValidArgsFunction = cobra.ExactArgs(1), o.CompleteObject(nil)
	cmd.Annotations = map[string]string{factory.Reference: reference}
	f := cmd.Flags()
	o.history.Add(cmd, "1m")
	f.StringVar(&o.learn, "learn", "",
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
func (o *Options) check(f *faults) {
	o.asked = o.history.Check(f.add)
	if o.learn != "" {
		d, err := printer.ParseSpan(o.learn)
		if err != nil {
			f.add("--learn: %w", err)
		}
		const day = 24 * time.Hour
		if o.learnDays = int(d / day); o.learnDays < 7 || d%day != 0 {
			f.add("--learn: %q is not whole days, 7d at least: each hour of the week is to be seen", o.learn)
		}
	}
	if o.Zone.String() == "Local" {
		f.add("--time-zone: windows need the zone of those who use the target, by an IANA name such as Europe/Berlin")
	}
}

// read reads the world and the history. It splits the history into the part to learn from and the part for the
// back-test.
func (o *Options) read(ctx context.Context) (*source.World, *world.Memory, source.Target, error) {
	w, memory, target, err := o.load(ctx)
	if err != nil {
		return nil, nil, target, err
	}
	p := o.StartProgress()
	defer p.Done()
	readings, err := o.readings(ctx, target, p.Doing)
	if err != nil {
		return nil, nil, target, err
	}
	if o.demand, err = analysis.NewHistory(readings); err == nil {
		o.teach, o.days, err = o.demand.Split(o.Zone, o.learnDays)
	}
	return w, memory, target, o.refused(err)
}

// load reads the world around a target in a namespace.
func (o *Options) load(ctx context.Context) (*source.World, *world.Memory, source.Target, error) {
	w, target, err := o.Around(ctx, o.arg)
	if err != nil {
		return nil, nil, target, err
	}
	for _, note := range w.Notes {
		o.note(note)
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
func (o *Options) refused(err error) error {
	if refusal := analysis.Refusal(""); errors.As(err, &refusal) {
		return factory.Exit{Code: factory.ExitTooLittle, Cause: err}
	}
	return err
}

// readings returns the demand of a target. It comes from files, from Prometheus, or from the checkpoint of a Tortoise.
func (o *Options) readings(ctx context.Context, target source.Target, doing func(string)) ([]analysis.Reading, error) {
	switch {
	case len(o.history.Files) > 0:
		o.from = strings.Join(o.history.Files, ", ")
		return analysis.ReadDemand(o.history.Files, o.In, o.history.Format, doing)
	case o.history.Prometheus != "":
		o.from = "Prometheus"
		samples, err := o.history.Ask(ctx, o.asked, target.Ref, o.Now(), nil, doing, o.note)
		return analysis.DemandOf(samples), err
	}
	o.from = "its UsageCheckpoint"
	kept, err := o.checkpoint(ctx, target)
	if err != nil {
		return nil, err
	}
	if kept == nil {
		return nil,
			fmt.Errorf("there is no history to work from: no Tortoise has learnt of %s, so there is no UsageCheckpoint; give --usage FILE or "+
				"--prometheus URL", target.Ref)
	}
	return analysis.DemandKept(kept)
}

// checkpoint returns the UsageCheckpoint of a target, or nil.
func (o *Options) checkpoint(ctx context.Context, target source.Target) (*v1alpha1.UsageCheckpoint, error) {
	if o.Offline() {
		return o.Files(o.World, target.Namespace).Checkpoint(target.Ref)
	}
	cluster, err := o.Cluster()
	if err != nil {
		return nil, err
	}
	return cluster.Checkpoint(ctx, target.Ref)
}

// note prints a note for a person to standard error.
func (o *Options) note(text string) { _, _ = fmt.Fprintln(o.ErrOut, "note:", printer.Clean(text)) }
