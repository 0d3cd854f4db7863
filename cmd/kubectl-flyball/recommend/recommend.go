// Package recommend is the verb suggest requests, which recommends requests, bounds by hour and target utilisation of a workload, each
// with its reasons, from manifests and past usage. It only reads and prints; package history reads the usage, package
// replay computes the numbers.
package recommend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/cmd/kubectl-flyball/history"
	"flyball.dev/flyball/cmd/kubectl-flyball/instant"
	"flyball.dev/flyball/cmd/kubectl-flyball/recommend/replay"
	"flyball.dev/flyball/cmd/kubectl-flyball/report"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/subject"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise/mercari"
	"flyball.dev/flyball/engine/policy/tortoise/simulation"
	"flyball.dev/flyball/engine/workload"
)

// ErrTooLittle is the error if nothing can be recommended yet. The facts that are known are printed nevertheless.
var ErrTooLittle = errors.New("too little was seen to recommend anything")

// Env are the dependencies of the verb from its command.
type Env struct {
	genericiooptions.IOStreams
	// Now is the clock. Zone points to the time zone in which instants are read and shown. The zone is set once the flags
	// are parsed.
	Now  func() time.Time
	Zone **time.Location
	// Load reads the world around a target, which is given as KIND/NAME. Without a cluster it reads files.
	Load func(ctx context.Context, target string) (*source.World, source.Target, error)
	// Print writes a finding.
	Print func(report.Finding) error
	// TooLittle is the error of the verb if nothing can be recommended yet.
	TooLittle error
	// Progress starts the progress line. doing sets the shown activity, and done removes the line.
	Progress func() (doing func(what string), done func())
	// Complete completes the names of targets.
	Complete cobra.CompletionFunc
}

// verb is one run of suggest requests.
type verb struct {
	Env
	history                  history.Flags
	profile, container, when string
	bounds                   simulation.Bounds
	// given reports whether a flag was given.
	given func(flag string) bool
}

// profiles returns the known profiles, sorted by their caution.
func profiles() []string {
	all := slices.SortedFunc(maps.Keys(simulation.Profiles), func(a, b string) int {
		return cmp.Compare(simulation.Profiles[a].Violation, simulation.Profiles[b].Violation)
	})
	return append(all, mercari.Profile)
}

// New returns the verb suggest requests.
func New(s Env) *cobra.Command {
	v := &verb{Env: s}
	cmd := &cobra.Command{
		Use:               "requests KIND/NAME",
		Short:             "Recommend requests, bounds and target utilisation for a workload from its usage",
		Long:              long,
		Example:           examples,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: s.Complete,
		RunE:              func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args[0]) },
	}
	cmd.Annotations = map[string]string{factory.Reference: reference()}
	f := cmd.Flags()
	v.given = f.Changed
	v.history.Add(cmd, "1m")
	f.StringVar(&v.profile, "profile", defaultProfile, "How much risk is worth how much money: "+strings.Join(profiles(), ", ")+
		"; it goes before that of a Tortoise")
	f.StringVar(&v.container, "container", "",
		"Container whose CPU is scaled by replicas (default: the autoscaler's, else the one that requests most)")
	f.StringVar(&v.when, "at", "", "Instant for which to recommend (default: the last sample's; with --prometheus, now)")
	f.IntVar(&v.bounds.Min, "min-replicas", defaultMin, "Least minimum to recommend; it goes before that of a Tortoise")
	f.IntVar(&v.bounds.Max, "max-replicas", defaultMax, "Maximum to recommend; it goes before that of a Tortoise")
	f.IntVar(&v.bounds.PreferredMax, "preferred-max", defaultPreferredMax,
		"Replicas from which larger requests are preferred; it goes before that of a Tortoise")
	_ = cmd.RegisterFlagCompletionFunc("profile", cobra.FixedCompletions(profiles(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// options are the parsed flags.
type options struct {
	at      time.Time // the zero time means the time of the last sample
	history history.Asked
}

// check parses the flags. The error names each wrong flag.
func (v *verb) check() (o options, err error) {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if len(v.history.Files) == 0 && v.history.Prometheus == "" {
		fault("there is no usage to work from: give --usage FILE or --prometheus URL")
	}
	o.history = v.history.Check(fault)
	if !slices.Contains(profiles(), v.profile) {
		fault("--profile: %q is not one of %s", v.profile, strings.Join(profiles(), ", "))
	}
	if v.bounds.Min < 1 || v.bounds.Min > v.bounds.Max {
		fault("--min-replicas: %d is not between 1 and --max-replicas, which is %d", v.bounds.Min, v.bounds.Max)
	}
	v.bounds.PreferredMax = min(v.bounds.PreferredMax, v.bounds.Max)
	if v.bounds.PreferredMax < 1 {
		fault("--preferred-max: %d is below 1", v.bounds.PreferredMax)
	}
	if v.when != "" {
		if o.at, err = instant.Parse(v.when, v.Now(), *v.Zone); err != nil {
			fault("--at: %w", err)
		}
	}
	return o, errors.Join(faults...)
}

func (v *verb) run(ctx context.Context, arg string) error {
	o, err := v.check()
	if err != nil {
		return err
	}
	w, target, err := v.Load(ctx, arg)
	if err != nil {
		return err
	}
	for _, note := range w.Notes {
		v.note(note)
	}
	f, _, err := v.find(ctx, o, w, target)
	if err != nil {
		return err
	}
	if err := v.Print(f); err != nil {
		return err
	}
	if f.TooLittle() {
		return v.TooLittle
	}
	return nil
}

// find returns the finding for a target, and the samples behind it.
func (v *verb) find(ctx context.Context, o options, w *source.World, target source.Target) (*Finding, []workload.Sample, error) {
	memory, err := w.Memory()
	if err != nil {
		return nil, nil, err
	}
	s, err := subject.New(w, memory, target)
	if err != nil {
		return nil, nil, err
	}
	rules, from := rulesFor(memory, target)
	if err := s.Scale(v.container, rules); err != nil {
		return nil, nil, err
	}
	tuner, err := v.tuner(rules)
	if err != nil {
		return nil, nil, err
	}
	doing, done := v.Progress()
	defer done()
	samples, err := v.read(ctx, o, s, doing)
	if err != nil {
		return nil, nil, err
	}
	if len(samples) == 0 {
		return nil, nil, errors.New("there are no samples of the containers of " + s.Ref.String())
	}
	if o.at.IsZero() {
		o.at = samples[len(samples)-1].At
	}
	out, err := replay.Run(replay.Input{
		Policy: tuner, Requests: s.Requests, Scaled: s.Scaled, Autoscaler: s.AutoscalerWith(v.bounds), Bounds: v.bounds, Samples: samples,
		At:       o.at,
		Border:   border(samples, o.at),
		Progress: percent(doing, "replaying the history"),
	})
	if err != nil {
		return nil, nil, err
	}
	f := newFinding(s, v.profile, o.at, out, *v.Zone)
	f.Tortoise = from
	if b := border(samples, o.at); !b.IsZero() {
		f.BackTest = backTest(s, samples, b, out.Last, out.Earlier)
	}
	return f, samples, nil
}

// percent returns a function that receives the finished share of the work. It shows the share each time the percentage
// changes.
func percent(doing func(string), what string) func(share float64) {
	before := -1
	return func(share float64) {
		if now := int(share * 100); now != before {
			before = now
			doing(fmt.Sprintf("%s, %d %%", what, now))
		}
	}
}

// tuner returns the policy to replay. It has the rules of the world, which flags override.
func (v *verb) tuner(rules v1alpha1.TortoiseRules) (policy.Tuner, error) {
	if rules.Profile != "" && !v.given("profile") {
		v.profile = string(rules.Profile)
	}
	rules.Profile = v1alpha1.TortoiseProfile(v.profile)
	if v.profile == mercari.Profile {
		rules.Mode = v1alpha1.TortoiseAuto // in mode Off only the next step is recommended, but here all later steps count too
	}
	for _, n := range []struct {
		flag  string
		value int
		to    **int32
	}{{"min-replicas", v.bounds.Min, &rules.Replicas.Min}, {"max-replicas", v.bounds.Max, &rules.Replicas.Max},
		{"preferred-max", v.bounds.PreferredMax, &rules.Replicas.PreferredMax}} {
		if v.given(n.flag) {
			*n.to = ptr.To(int32(n.value))
		}
	}
	if v.container != "" {
		rules.Resources = slices.DeleteFunc(rules.Resources, func(r v1alpha1.TunedResources) bool { return r.Container == v.container })
		rules.Resources = append(rules.Resources, v1alpha1.TunedResources{Container: v.container, CPU: v1alpha1.ScaleHorizontal})
	}
	return tunerOf(rules)
}

// read returns the samples of the subject's containers.
func (v *verb) read(ctx context.Context, o options, s *subject.Subject, doing func(string)) ([]workload.Sample, error) {
	if v.history.Prometheus == "" {
		return history.ReadFiles(v.history.Files, v.In, v.history.Format, s.Names(), doing)
	}
	to := o.at
	if to.IsZero() {
		to = v.Now()
	}
	return v.history.Ask(ctx, o.history, s.Ref, to, s.Names(), doing, v.note)
}

// note prints a note for a person to standard error.
func (v *verb) note(text string) { _, _ = fmt.Fprintln(v.ErrOut, "note:", text) }
