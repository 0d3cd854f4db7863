package analysis

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/engine/idle"
	"flyball.dev/flyball/engine/prometheus"
	"flyball.dev/flyball/engine/tuning/measure"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// These are the values of flags that are not set.
const defaultSpan, defaultStep = "28d", "5m"

// HistoryFlags are the flags of a verb for the source of a history.
type HistoryFlags struct {
	Files                         []string
	Format, Prometheus, TokenFile string

	queries          []string
	pods, span, step string
}

// Add adds the flags to a verb. The parameter step is the default time between two samples of Prometheus.
func (f *HistoryFlags) Add(cmd *cobra.Command, step string) {
	to := cmd.Flags()
	to.StringSliceVar(&f.Files, "usage", nil, "Files of samples, which may be compressed with gzip; - is standard input")
	to.StringVar(&f.Format, "usage-format", "", "Format of --usage: csv or jsonl (default: by the ending of the name)")
	to.StringVar(&f.Prometheus, "prometheus", "", "URL of a Prometheus server to ask for samples")
	to.StringVar(&f.TokenFile, "prometheus-token-file", "", "File with the bearer token for --prometheus")
	to.StringArrayVar(&f.queries, "query", nil, "NAME=PROMQL: a query to put in place of the default one")
	to.StringVar(&f.pods, "pods", "", "Regular expression of the names of the pods, for --prometheus (default: by kind and name)")
	to.StringVar(&f.span, "history", defaultSpan, "How far back to ask Prometheus: a span such as 7d")
	to.StringVar(&f.step, "step", step, fmt.Sprintf("Time between two samples of Prometheus: at most %d are read of a container",
		MostInstants))
	_ = cmd.MarkFlagFilename("usage", "csv", "jsonl", "ndjson", "gz")
	_ = cmd.RegisterFlagCompletionFunc("usage-format", cobra.FixedCompletions([]string{CSV, JSONLines}, cobra.ShellCompDirectiveNoFileComp))
}

// ServerFlags has the flags of a verb for the server that the manager asks for demand.
type ServerFlags struct {
	prometheus.Options
	// TenantLabel is the label with the namespace of a series.
	TenantLabel string
}

// Add adds the flags to a verb. use is the use that the verb has for the demand.
func (s *ServerFlags) Add(cmd *cobra.Command, use string) {
	f := cmd.Flags()
	f.StringVar(&s.Address, "prometheus", "", "URL of the manager's Prometheus server, to "+use)
	f.StringVar(&s.TokenFile, "prometheus-token-file", "", "File with the bearer token for --prometheus")
	f.StringVar(&s.TenantLabel, "prometheus-tenant-label", "", "Label with the namespace of a series, as the manager has it")
}

// Loop returns a Loop that asks the server as the manager does.
func (s *ServerFlags) Loop(w *world.World) (*idle.Servers, *idle.Monitor, error) {
	servers, err := idle.Connect(s.Options)
	if err != nil {
		return nil, nil, fmt.Errorf("--prometheus: %w", err)
	}
	return servers, idle.New(idle.Options{World: w, Servers: servers, TenantLabel: s.TenantLabel, Clock: clock.RealClock{},
		Log:     logr.Discard(),
		Requeue: func(...workload.Ref) {}, Dirty: func(workload.Policy) {}, Fault: func() {}}), nil
}

// Asked has the parsed values of the flags.
type Asked struct {
	span, step time.Duration
	queries    map[string]string
}

// Span returns the length of the history.
func (a Asked) Span() time.Duration { return a.span }

// Step returns the time between two samples.
func (a Asked) Step() time.Duration { return a.step }

// Check parses the flags. It calls fault for each wrong flag.
func (f *HistoryFlags) Check(fault func(format string, args ...any)) (a Asked) {
	if len(f.Files) > 0 && f.Prometheus != "" {
		fault("--usage and --prometheus are two sources: give one")
	}
	if f.Format != "" && f.Format != CSV && f.Format != JSONLines {
		fault("--usage-format: %q is neither %s nor %s", f.Format, CSV, JSONLines)
	}
	var err error
	if a.span, err = printer.ParseSpan(cmp.Or(f.span, defaultSpan)); err != nil {
		fault("--history: %w", err)
	}
	if a.step, err = printer.ParseSpan(cmp.Or(f.step, defaultStep)); err != nil {
		fault("--step: %w", err)
	} else if a.step < time.Second || a.step > time.Hour {
		fault("--step: %s is not between 1s and 1h", f.step)
	} else if n := int64(a.span / a.step); f.Prometheus != "" && n > MostInstants {
		fault("--step: %s over --history %s are %d instants, and at most %d are read: take a longer step", f.step, f.span, n, MostInstants)
	}
	if a.queries, err = measure.ParseQueries(f.queries, CheckQuery); err != nil {
		fault("--query: %w", err)
	}
	return a
}

// Ask reads the samples of a workload's containers from Prometheus, up to the instant to. If containers is nil, it
// reads all containers. The function note receives remarks for the user.
func (f *HistoryFlags) Ask(ctx context.Context, a Asked, ref workload.Ref, to time.Time, containers []string, doing,
	note func(string)) ([]workload.Sample, error) {
	noted, strange := map[string]bool{}, map[string]bool{}
	p := Prometheus{
		Address: f.Prometheus, TokenFile: f.TokenFile, Namespace: ref.Namespace, Pods: cmp.Or(f.pods, measure.PodsOf(ref.Kind, ref.Name)),
		Queries: a.queries,
		From:    to.Add(-a.span).Truncate(a.step), To: to.Truncate(a.step), Step: a.step, Progress: doing,
		Note: func(text string) {
			if !noted[text] {
				noted[text] = true
				note(text)
			}
		},
		// The samples of injected containers, such as sidecars, are left out.
		Keeps: func(container string) bool {
			has := containers == nil || slices.Contains(containers, container)
			if !has {
				strange[container] = true
			}
			return has
		},
	}
	all, err := p.Read(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(strange)) {
		note(fmt.Sprintf("container %s is left out: %s does not have it", name, ref))
	}
	return all, nil
}
