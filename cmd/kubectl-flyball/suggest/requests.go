package suggest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/ptr"

	"flyball.dev/flyball/cmd/kubectl-flyball/analysis"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise/mercari"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// errTooLittle is the error if nothing can be recommended yet. The facts that are known are printed nevertheless.
var errTooLittle = errors.New("too little was seen to recommend anything")

// question has the flags of the verb, and the sources of the answer.
type question struct {
	history            analysis.HistoryFlags
	profile, container string
	bounds             tune.Bounds
	// given reports whether a flag was given.
	given func(flag string) bool

	asked analysis.Asked
	// at is the instant to recommend for. The zero time means the time of the last sample.
	at   time.Time
	now  func() time.Time
	zone *time.Location
	in   io.Reader
	// note takes a remark for the user. progress starts the progress line.
	note     func(text string)
	progress func() (doing func(activity string), done func())
}

// RequestsOptions are the flags and arguments of suggest requests.
type RequestsOptions struct {
	*factory.Factory
	question question
	when     string

	arg string
}

// profiles returns the known profiles, sorted by their caution.
func profiles() []string {
	all := slices.SortedFunc(maps.Keys(tune.Profiles), func(a, b string) int {
		return cmp.Compare(tune.Profiles[a].Violation, tune.Profiles[b].Violation)
	})
	return append(all, mercari.Profile)
}

// newRequests returns the verb suggest requests.
func newRequests(f *factory.Factory) *cobra.Command {
	o := &RequestsOptions{Factory: f}
	cmd := factory.Command(o, &cobra.Command{
		Use:               "requests KIND/NAME",
		Short:             "Recommend requests, bounds and target utilisation for a workload from its usage",
		Long:              longRequests,
		Example:           examplesRequests,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: f.CompleteObject(nil),
	})
	cmd.Annotations = map[string]string{factory.Reference: referenceRequests()}
	q, flags := &o.question, cmd.Flags()
	q.given = flags.Changed
	q.history.Add(cmd, "1m")
	flags.StringVar(&q.profile, "profile", defaultProfile, "How much risk is worth how much money: "+strings.Join(profiles(), ", ")+
		"; it goes before that of a Tortoise")
	flags.StringVar(&q.container, "container", "",
		"Container whose CPU is scaled by replicas (default: the autoscaler's, else the one that requests most)")
	flags.StringVar(&o.when, "at", "", "Instant for which to recommend (default: the last sample's; with --prometheus, now)")
	flags.IntVar(&q.bounds.Min, "min-replicas", defaultMin, "Least minimum to recommend; it goes before that of a Tortoise")
	flags.IntVar(&q.bounds.Max, "max-replicas", defaultMax, "Maximum to recommend; it goes before that of a Tortoise")
	flags.IntVar(&q.bounds.PreferredMax, "preferred-max", defaultPreferredMax,
		"Replicas from which larger requests are preferred; it goes before that of a Tortoise")
	_ = cmd.RegisterFlagCompletionFunc("profile", cobra.FixedCompletions(profiles(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// Complete implements factory.Verb.
func (o *RequestsOptions) Complete(args []string) error {
	o.arg = args[0]
	q := &o.question
	q.now, q.zone, q.in = o.Now, o.Zone, o.In
	q.note = func(text string) { _, _ = fmt.Fprintln(o.ErrOut, "note:", text) }
	q.progress = func() (func(string), func()) { p := o.StartProgress(); return p.Doing, p.Done }
	return nil
}

// Validate implements factory.Verb.
func (o *RequestsOptions) Validate() error {
	faults := o.question.check()
	if o.when != "" {
		at, err := printer.ParseInstant(o.when, o.Now(), o.Zone)
		if o.question.at = at; err != nil {
			faults = append(faults, fmt.Errorf("--at: %w", err))
		}
	}
	return errors.Join(faults...)
}

// check parses the flags. It returns a fault of each wrong one.
func (q *question) check() (faults []error) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if len(q.history.Files) == 0 && q.history.Prometheus == "" {
		fault("there is no usage to work from: give --usage FILE or --prometheus URL")
	}
	q.asked = q.history.Check(fault)
	if !slices.Contains(profiles(), q.profile) {
		fault("--profile: %q is not one of %s", q.profile, strings.Join(profiles(), ", "))
	}
	if q.bounds.Min < 1 || q.bounds.Min > q.bounds.Max {
		fault("--min-replicas: %d is not between 1 and --max-replicas, which is %d", q.bounds.Min, q.bounds.Max)
	}
	q.bounds.PreferredMax = min(q.bounds.PreferredMax, q.bounds.Max)
	if q.bounds.PreferredMax < 1 {
		fault("--preferred-max: %d is below 1", q.bounds.PreferredMax)
	}
	return faults
}

// Run recommends.
func (o *RequestsOptions) Run(ctx context.Context) error {
	w, target, err := o.Around(ctx, o.arg)
	if err != nil {
		return err
	}
	for _, note := range w.Notes {
		o.question.note(note)
	}
	f, _, err := o.question.find(ctx, w, target)
	if err != nil {
		return err
	}
	if err := o.Print(f); err != nil {
		return err
	}
	if f.TooLittle() {
		return factory.Exit{Code: factory.ExitTooLittle, Cause: errTooLittle}
	}
	return nil
}

// find returns the finding for a target, and the samples behind it.
func (q *question) find(ctx context.Context, w *source.World, target source.Target) (*Requests, []workload.Sample, error) {
	memory, err := w.Memory()
	if err != nil {
		return nil, nil, err
	}
	s, err := analysis.NewSubject(w, memory, target)
	if err != nil {
		return nil, nil, err
	}
	rules, from := rulesFor(memory, target)
	if err := s.Scale(q.container, rules); err != nil {
		return nil, nil, err
	}
	tuner, err := q.tuner(rules)
	if err != nil {
		return nil, nil, err
	}
	doing, done := q.progress()
	defer done()
	samples, err := q.read(ctx, s, doing)
	if err != nil {
		return nil, nil, err
	}
	if len(samples) == 0 {
		return nil, nil, errors.New("there are no samples of the containers of " + s.Ref.String())
	}
	at := q.at
	if at.IsZero() {
		at = samples[len(samples)-1].At
	}
	out, err := analysis.Replay(analysis.ReplayInput{
		Policy: tuner, Requests: s.Requests, Scaled: s.Scaled, Autoscaler: s.AutoscalerWith(q.bounds), Bounds: q.bounds, Samples: samples,
		At:       at,
		Border:   border(samples, at),
		Progress: percent(doing, "replaying the history"),
	})
	if err != nil {
		return nil, nil, err
	}
	f := requestsOf(s, q.profile, at, out, q.zone)
	f.Tortoise = from
	if b := border(samples, at); !b.IsZero() {
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
func (q *question) tuner(rules v1alpha1.TortoiseRules) (policy.Tuner, error) {
	if rules.Profile != "" && !q.given("profile") {
		q.profile = string(rules.Profile)
	}
	rules.Profile = v1alpha1.TortoiseProfile(q.profile)
	if q.profile == mercari.Profile {
		rules.Mode = v1alpha1.TortoiseAuto // in mode Off only the next step is recommended, but here all later steps count too
	}
	for _, n := range []struct {
		flag  string
		value int
		to    **int32
	}{{"min-replicas", q.bounds.Min, &rules.Replicas.Min}, {"max-replicas", q.bounds.Max, &rules.Replicas.Max},
		{"preferred-max", q.bounds.PreferredMax, &rules.Replicas.PreferredMax}} {
		if q.given(n.flag) {
			*n.to = ptr.To(int32(n.value))
		}
	}
	if q.container != "" {
		rules.Resources = slices.DeleteFunc(rules.Resources, func(r v1alpha1.TunedResources) bool { return r.Container == q.container })
		rules.Resources = append(rules.Resources, v1alpha1.TunedResources{Container: q.container, CPU: v1alpha1.ScaleHorizontal})
	}
	return tunerOf(rules)
}

// read returns the samples of the subject's containers.
func (q *question) read(ctx context.Context, s *analysis.Subject, doing func(string)) ([]workload.Sample, error) {
	if q.history.Prometheus == "" {
		return analysis.ReadFiles(q.history.Files, q.in, q.history.Format, s.Names(), doing)
	}
	to := q.at
	if to.IsZero() {
		to = q.now()
	}
	return q.history.Ask(ctx, q.asked, s.Ref, to, s.Names(), doing, q.note)
}
