// Command bench measures what Flyball promises of its speed, its memory and its traffic, and prints one line a figure on
// standard output: figure, name, value, unit. Whatever is a ratio has its baseline measured in the same run, on the same
// API server, in turns with what it is compared to. Progress, rounds and other context go to standard error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// sizes say how much of everything is measured.
type sizes struct {
	// targets is the number of Deployments under the schedule, perNamespace to a namespace.
	targets, perNamespace int
	// writers is how many writes are under way at once, in the manager as in the bare loop.
	writers    int
	edgeRounds int
	idle       time.Duration
	// watched are the numbers of Deployments to watch, ascending; updates is how many of the last are then updated.
	watched     []int
	updates     int
	watchRounds int
	pureRounds  int
	// decideRounds are the rounds of decisions among freeze policies.
	decideRounds int
	// reviews are judged and updatesJudged made in a round of admission, of each kind.
	reviews, updatesJudged, admitRounds int
	// reactObjects Deployments and reactSpaces namespaces are changed while others sleep.
	reactObjects, reactSpaces int
	// frozenTimes is how many freezes are made to see how soon each is enforced; firstFrozen of others are the first of all.
	frozenTimes, firstFrozen int
	// outageRounds outages of the API server are so long each, across an edge of so many targets.
	outageRounds, outageTargets int
	outage                      time.Duration
	// kept are the numbers of policies to keep in memory.
	kept []int
	// costed pods of one Deployment get deletion costs, and as many come and go as podChanges says; keptPods are kept in memory.
	costed, podChanges, keptPods int
}

func fullSizes() sizes {
	return sizes{
		targets: 2000, perNamespace: 50, writers: 16, edgeRounds: 5, idle: time.Minute,
		watched: []int{10_000, 50_000}, updates: 10_000, watchRounds: 3, pureRounds: 7,
		decideRounds: 15, reviews: 5000, updatesJudged: 2000, admitRounds: 15,
		reactObjects: 200, reactSpaces: 20, frozenTimes: 50, firstFrozen: 10,
		outageRounds: 4, outageTargets: 200, outage: 20 * time.Second, kept: []int{1000, 10_000},
		costed: 2000, podChanges: 30, keptPods: 20_000,
	}
}

func quickSizes() sizes {
	return sizes{
		targets: 400, perNamespace: 50, writers: 16, edgeRounds: 2, idle: 10 * time.Second,
		watched: []int{1000, 4000}, updates: 1000, watchRounds: 1, pureRounds: 3,
		decideRounds: 3, reviews: 2000, updatesJudged: 400, admitRounds: 2,
		reactObjects: 20, reactSpaces: 4, frozenTimes: 10, firstFrozen: 3,
		outageRounds: 2, outageTargets: 50, outage: 8 * time.Second, kept: []int{200, 1000},
		costed: 300, podChanges: 8, keptPods: 3000,
	}
}

// options are the flags.
type options struct {
	only    string
	quick   bool
	profile string
}

// part measures some figures together.
type part struct {
	figures []string
	run     func(*bench, context.Context) error
}

// parts are in the order in which they run: what needs a quiet machine first, what fills the cluster last.
func parts() []part {
	return []part{
		{[]string{"decide_ns", "timeline_next_ns"}, (*bench).pure},
		{[]string{"ledger_hostile_ratio"}, (*bench).filledLedgers},
		{[]string{"cost_plan_ms_2000"}, (*bench).costPlans},
		{[]string{"usage_heap_mb_2000", "usage_checkpoint_bytes"}, (*bench).usageHeap},
		{tuningFigures, (*bench).tuning},
		{[]string{"heap_per_pod_ratio"}, (*bench).keepingPods},
		{[]string{"heap_per_policy_bytes"}, (*bench).heap},
		{[]string{"plan_seconds_2000", "plan_heap_mb_2000", "plan_changes_2000"}, (*bench).planning},
		{[]string{"admit_decide_ns_10", "admit_decide_ns_1000", "admit_decide_ns_10000", "admit_decide_ratio"}, (*bench).deciding},
		{[]string{"admit_p99_ratio", "admit_rps_ratio"}, (*bench).handling},
		{[]string{"admit_hostile_p99_ratio"}, (*bench).besieging},
		{[]string{"admit_added_p99_ms"}, (*bench).updating},
		{[]string{"mutate_added_p99_ms", "mutate_own_p99_ms", "mutate_floor_p99_ms", "mutate_p99_ratio"}, (*bench).mutating},
		{[]string{"noop_requests", "idle_requests_per_minute"}, (*bench).quiet},
		{[]string{"cost_steady_writes", "cost_writes_per_pod_change"}, (*bench).costing},
		{[]string{"react_p99_ms", "react_max_ms", "react_ratio"}, (*bench).reacting},
		{[]string{"freeze_enforced_ms", "freeze_enforced_ratio", "freeze_first_enforced_ms", "webhook_restored_ms"}, (*bench).enforcing},
		{[]string{"outage_recovery_ms"}, (*bench).outages},
		{[]string{"edge_ratio", "edge_ratio_watching", "edge_cpu_ratio", "edge_requests_per_change"}, (*bench).edges},
		{[]string{"heap_per_object_ratio", "watch_cpu_ratio"}, (*bench).watching},
	}
}

func names() []string {
	var all []string
	for _, p := range parts() {
		all = append(all, p.figures...)
	}
	return all
}

func parseFlags() (options, error) {
	var o options
	flag.StringVar(&o.only, "only", "", "measure these figures only, separated by commas, out of:\n"+strings.Join(names(), ", "))
	flag.BoolVar(&o.quick, "quick", false, "smaller sizes and fewer rounds, for development; the figures say so")
	flag.StringVar(&o.profile, "profile", "", "existing `directory` for CPU and heap profiles of what is measured")
	flag.Usage = func() {
		_, _ = fmt.Fprintln(flag.CommandLine.Output(), "Usage: go run ./test/bench [flags], from within the repository.\n\nPrints one line a figure: figure <name> <value> <unit>. See docs/benchmarks.md.")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() > 0 {
		return o, fmt.Errorf("unknown argument %q; see --help", flag.Arg(0))
	}
	for _, name := range selected(o.only) {
		if !slices.Contains(names(), name) {
			return o, fmt.Errorf("--only: there is no figure %q; there are %s", name, strings.Join(names(), ", "))
		}
	}
	return o, nil
}

// selected splits --only; nothing means everything.
func selected(only string) []string {
	return strings.FieldsFunc(only, func(r rune) bool { return r == ',' || r == ' ' })
}

func main() { os.Exit(command()) }

// command gives the exit code.
func command() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == watcherCommand {
		if err := watcher(ctx, os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			return 1
		}
		return 0
	}
	opts, err := parseFlags()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 2
	}
	if err := run(ctx, opts); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

// bench is one run.
type bench struct {
	sizes
	opts    options
	report  *report
	cluster *stage // made by whoever needs it first
}

func run(ctx context.Context, opts options) (err error) {
	b := &bench{sizes: fullSizes(), opts: opts, report: &report{out: os.Stdout, log: os.Stderr}}
	if opts.quick {
		b.sizes = quickSizes()
		b.report.remark = "(quick)"
	}
	ctrl.SetLogger(logr.Discard()) // else controller-runtime complains that nobody has set one
	b.report.machine()
	defer func() {
		if b.cluster != nil {
			err = errors.Join(err, b.cluster.stop())
		}
	}()
	only := selected(opts.only)
	for _, p := range parts() {
		wanted := len(only) == 0
		for _, name := range p.figures {
			wanted = wanted || slices.Contains(only, name)
		}
		if !wanted {
			continue
		}
		started := time.Now()
		if err := p.run(b, ctx); err != nil {
			return fmt.Errorf("measure %s: %w", strings.Join(p.figures, ", "), err)
		}
		b.report.say("%s took %s", strings.Join(p.figures, ", "), time.Since(started).Round(time.Second))
	}
	return nil
}
