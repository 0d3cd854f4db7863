// Command bench measures Flyball's promises about speed, memory and traffic, and prints one line per figure on standard
// output: figure, name, value, unit. The baseline of a ratio is measured in the same run, on the same API server, in
// turns with the measured program. Progress, rounds and other context go to standard error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"flyball.dev/flyball/test/bench/tortoise"
)

// sizes are the sizes of all measurements.
type sizes struct {
	// targets is the number of Deployments under the schedule. perNamespace is the number of Deployments in each
	// namespace.
	targets, perNamespace int
	// writers is the number of parallel writes, in the manager and in the bare loop.
	writers          int
	transitionRounds int
	idle             time.Duration
	// watched are the numbers of Deployments to watch, in ascending order. updates is the number of updates at the last of
	// these numbers.
	watched     []int
	updates     int
	watchRounds int
	// scaled is the number of Deployments in a large cluster. scaleRounds is the number of rounds with them.
	scaled, scaleRounds int
	pureRounds          int
	// decideRounds is the number of rounds of decisions among freeze policies.
	decideRounds int
	// reviews and updatesJudged are the numbers of judged reviews and updates, per round and webhook. admitRounds is the
	// number of rounds.
	reviews, updatesJudged, admitRounds int
	// reactObjects is the number of Deployments, and reactSpaces is the number of namespaces, that are changed while
	// others sleep.
	reactObjects, reactSpaces int
	// frozenTimes is the number of freezes for measuring enforcement. firstFrozen is the number of first freezes.
	frozenTimes, firstFrozen int
	// outageRounds is the number of outages of the API server. Each outage lasts for outage, and a transition of
	// outageTargets targets comes during it.
	outageRounds, outageTargets int
	outage                      time.Duration
	// kept are the numbers of policies to keep in memory.
	kept []int
	// costed is the number of pods of the Deployment with deletion costs. podChanges is the number of replaced pods.
	// keptPods is the number of pods in memory.
	costed, podChanges, keptPods int
	// plannedTargets is the number of planned Deployments. planRounds is the number of plans.
	plannedTargets, planRounds int
	// usageTargets is the number of tuned targets in memory. notifications is the number of Notifications in memory, a multiple of
	// inNamespace.
	usageTargets, notifications int
	// looks is the number of measured looks at a demand.
	looks int
	// tuningSeeds and tuningDays are the size of the offline benchmark of tuning. Zero days means all its days.
	tuningSeeds []uint64
	tuningDays  int
}

func fullSizes() sizes {
	return sizes{
		targets: 2000, perNamespace: 50, writers: 16, transitionRounds: 3, idle: time.Minute,
		watched: []int{10_000, 50_000}, updates: 10_000, watchRounds: 2, scaled: 20_000, scaleRounds: 1, pureRounds: 5,
		decideRounds: 5, reviews: 5000, updatesJudged: 2000, admitRounds: 3,
		reactObjects: 200, reactSpaces: 20, frozenTimes: 50, firstFrozen: 10,
		outageRounds: 4, outageTargets: 200, outage: 20 * time.Second, kept: []int{1000, 10_000},
		costed: 2000, podChanges: 30, keptPods: 20_000, plannedTargets: 2000, planRounds: 3, usageTargets: 100, notifications: 1000, looks: 10,
		tuningSeeds: tortoise.Seeds[:2],
	}
}

// quickSizes returns sizes with which the whole list takes a minute or two. The figures have no meaning, but all are
// measured.
func quickSizes() sizes {
	return sizes{
		targets: 40, perNamespace: 10, writers: 16, transitionRounds: 2, idle: 3 * time.Second,
		watched: []int{60, 120}, updates: 40, watchRounds: 1, scaled: 100, scaleRounds: 1, pureRounds: 1,
		decideRounds: 1, reviews: reviewBlock, updatesJudged: updateBlock, admitRounds: 1,
		reactObjects: 3, reactSpaces: 2, frozenTimes: 2, firstFrozen: 1,
		outageRounds: 1, outageTargets: 10, outage: announceLimit + 2*time.Second, kept: []int{20, 100},
		costed: 30, podChanges: 2, keptPods: 300, plannedTargets: 200, planRounds: 1, usageTargets: 20, notifications: 2 * inNamespace, looks: 2,
		tuningSeeds: tortoise.Seeds[:1], tuningDays: 8,
	}
}

// options are the flags.
type options struct {
	only    string
	quick   bool
	profile string
}

// part measures some figures together. It ends soon after its context, with an error. A part that does not end within patience is left
// behind: its figures are dropped, and the next part begins.
type part struct {
	figures []string
	// limit is the time limit of the part. A part over its limit has no figures.
	limit time.Duration
	run   func(*bench, context.Context) error
}

// parts returns the parts in the order in which they run: counts and memory first, because a busy machine does not change them, then pure
// code, and the part that fills the cluster last.
func parts() []part {
	const short, long = 5 * time.Minute, 10 * time.Minute
	return []part{
		{[]string{"library_kinds"}, short, (*bench).library},
		{[]string{"usage_heap_mb_2000", "usage_checkpoint_bytes"}, short, (*bench).usageHeap},
		{[]string{"heap_per_pod_ratio"}, short, (*bench).keepingPods},
		{[]string{"heap_per_policy_bytes"}, short, (*bench).heap},
		{[]string{"memory_mb_notifications_1000", "memory_mb_message_queue"}, short, (*bench).messages},
		{[]string{"goroutines_idle"}, short, (*bench).idleGoroutines},
		{[]string{"noop_requests", "idle_requests_per_minute"}, short, (*bench).quiet},
		{[]string{"cost_steady_writes", "cost_writes_per_pod_change"}, short, (*bench).costing},
		{tuningFigures, long, (*bench).tuning},
		{[]string{"decide_ns", "timeline_next_ns"}, short, (*bench).pure},
		{[]string{"policy_check_ms"}, short, (*bench).checking},
		{[]string{"ledger_hostile_ratio"}, short, (*bench).filledLedgers},
		{[]string{"cost_plan_ms_2000"}, short, (*bench).costPlans},
		{[]string{"idle_look_ms_2000", "idle_look_mb_2000"}, short, (*bench).looking},
		{[]string{"plan_seconds_2000", "plan_heap_mb_2000", "plan_changes_2000"}, short, (*bench).planning},
		{[]string{"ui_first_paint_ms_2000", "ui_whole_page_ms_2000", "ui_heap_mb_2000", "ui_month_seconds_2000"}, short, (*bench).painting},
		{[]string{"admit_decide_ns_10", "admit_decide_ns_1000", "admit_decide_ns_10000", "admit_decide_ratio"}, short, (*bench).deciding},
		{[]string{"admit_globs_ratio", "decide_globs_ratio"}, short, (*bench).globbing},
		{[]string{"decide_overrides_ratio"}, short, (*bench).ordering},
		{[]string{"admit_p99_ratio", "admit_rps_ratio"}, short, (*bench).handling},
		{[]string{"admit_hostile_p99_ratio"}, short, (*bench).besieging},
		{[]string{"admit_added_p99_ms"}, short, (*bench).updating},
		{[]string{"mutate_added_p99_ms", "mutate_own_p99_ms", "mutate_floor_p99_ms", "mutate_p99_ratio"}, short, (*bench).mutating},
		{[]string{"react_p99_ms", "react_max_ms", "react_ratio"}, short, (*bench).reacting},
		{[]string{"freeze_enforced_ms", "freeze_enforced_ratio", "freeze_first_enforced_ms", "webhook_restored_ms"}, short, (*bench).enforcing},
		{[]string{"outage_recovery_ms"}, short, (*bench).outages},
		{[]string{"edge_ratio", "edge_ratio_watching", "edge_cpu_ratio", "edge_cpu_ratio_watching", "edge_requests_per_change"}, short,
			(*bench).transitions},
		{[]string{"scale_20000_edge_ratio", "scale_20000_start_seconds", "scale_20000_memory_ratio", "memory_mb_targets_2000",
			"memory_mb_targets_20000"}, long, (*bench).scaling},
		{[]string{"heap_per_object_ratio", "watch_cpu_ratio"}, long, (*bench).watching},
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
	flag.BoolVar(&o.quick, "quick", false,
		"smallest sizes and fewest rounds, which shows that every figure can be measured; promises are not compared")
	flag.StringVar(&o.profile, "profile", "", "existing `directory` for CPU and heap profiles of what is measured")
	flag.Usage = func() {
		_, _ = fmt.Fprintln(flag.CommandLine.Output(),
			"Usage: go run ./test/bench [flags], from within the repository.\n\nPrints one line a figure: figure <name> <value> <unit>. See "+
				"docs/benchmarks.md.")
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

// selected returns the figures in --only. An empty --only means every figure.
func selected(only string) []string {
	return strings.FieldsFunc(only, func(r rune) bool { return r == ',' || r == ' ' })
}

func main() { os.Exit(command()) }

// command runs the command and returns its exit code.
func command() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if hidden := hiddenCommand(); hidden != nil {
		if err := hidden(ctx, os.Args[2:]); err != nil {
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
	if err := run(ctx, opts, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

// hiddenCommand returns the command of a process that another run has started, or nil.
func hiddenCommand() func(ctx context.Context, args []string) error {
	if len(os.Args) < 2 {
		return nil
	}
	return map[string]func(context.Context, []string) error{watcherCommand: watcher, managerCommand: managerProcess}[os.Args[1]]
}

// bench is one run.
type bench struct {
	sizes
	opts    options
	report  *report
	cluster *stage // created at first use
	starts  sync.Mutex
	// patience is the time for a part to end after its limit.
	patience time.Duration
	// halfTime is the instant, in Unix nanoseconds, at which the part under way has used half of its limit.
	halfTime atomic.Int64
}

// run measures the selected figures. Failed parts are named at the end, and do not stop the others.
func run(ctx context.Context, opts options, out, log io.Writer) (err error) {
	b := &bench{sizes: fullSizes(), opts: opts, report: &report{out: out, log: log}, patience: 30 * time.Second}
	if opts.quick {
		b.sizes = quickSizes()
		b.report.remark = "(quick)"
		if err := shortenBenchmarks(); err != nil {
			return err
		}
	}
	ctrl.SetLogger(logr.Discard()) // otherwise controller-runtime warns about a missing logger
	b.report.machine()
	defer func() {
		b.starts.Lock()
		defer b.starts.Unlock()
		if b.cluster != nil {
			err = errors.Join(err, b.cluster.stop())
		}
	}()
	return b.measureAll(ctx, wanted(parts(), selected(opts.only)))
}

// shortenBenchmarks makes Go's benchmarks run only for a moment instead of a second.
func shortenBenchmarks() error {
	testing.Init()
	if err := flag.Set("test.benchtime", "20ms"); err != nil {
		return fmt.Errorf("shorten the benchmarks: %w", err)
	}
	return nil
}

// wanted returns the parts that measure any of the named figures, or all parts if no figure is named.
func wanted(all []part, only []string) []part {
	if len(only) == 0 {
		return all
	}
	return slices.DeleteFunc(all, func(p part) bool {
		return !slices.ContainsFunc(p.figures, func(name string) bool { return slices.Contains(only, name) })
	})
}

// measureAll runs the parts one after another. The error names every failed part and every broken promise.
func (b *bench) measureAll(ctx context.Context, all []part) error {
	var failed []error
	var took []time.Duration
	for i, p := range all {
		figures, started := strings.Join(p.figures, ", "), time.Now()
		b.report.say("measuring %s (part %d of %d, at most %s)", figures, i+1, len(all), p.limit)
		b.report.begin(p.figures)
		b.halfTime.Store(started.Add(p.limit / 2).UnixNano())
		err := b.measure(ctx, p)
		b.report.end(err != nil)
		took = append(took, time.Since(started))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			b.report.say("failed to measure %s: %v", figures, err)
			failed = append(failed, fmt.Errorf("measure %s: %w", figures, err))
		}
	}
	b.report.shares(all, took)
	if !b.opts.quick {
		for _, s := range shortfalls(b.report.values) {
			b.report.say("falls short: %s", s)
			failed = append(failed, errors.New(s))
		}
	}
	b.report.say("%d figures measured; %d parts failed or promises missed", len(b.report.values), len(failed))
	return errors.Join(failed...)
}

// progressEvery is the time between two lines about a running part.
const progressEvery = 30 * time.Second

// measure runs one part within its limit and checks that it has reported all of its figures.
func (b *bench) measure(ctx context.Context, p part) error {
	ctx, cancel := context.WithTimeoutCause(ctx, p.limit, fmt.Errorf("not measured within %s", p.limit))
	defer cancel()
	done, started := make(chan error, 1), time.Now()
	go func() { done <- p.run(b, ctx) }()
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	overdue := time.After(p.limit + b.patience)
	for {
		select {
		case <-overdue:
			return fmt.Errorf("%w, and not ended %s later: it goes on beside the next part", context.Cause(ctx), b.patience)
		case <-tick.C:
			b.report.say("still measuring %s: %s so far", p.figures[0], time.Since(started).Round(time.Second))
		case err := <-done:
			if ctx.Err() != nil {
				return errors.Join(context.Cause(ctx), err)
			}
			if err != nil {
				return err
			}
			return b.report.complete(p.figures)
		}
	}
}
