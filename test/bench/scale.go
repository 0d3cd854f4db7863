package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
)

// managerCommand is the hidden first argument of the manager process.
const managerCommand = "manager"

// shift is the report of a manager process, from the start through a transition to sleep and a transition to wake.
type shift struct {
	// Start is the time in seconds until the manager has decided every target and makes no more requests.
	Start       float64   `json:"start"`
	Transitions [2]timing `json:"transitions"`
	// PeakRSS is the peak memory of the process, in bytes.
	PeakRSS int64 `json:"peakRSS"`
}

// managerProcess runs a manager through the transitions of a night and writes its shift as a line of JSON.
func managerProcess(ctx context.Context, args []string) (err error) {
	flags := flag.NewFlagSet(managerCommand, flag.ContinueOnError)
	kubeconfig := flags.String("kubeconfig", "", "")
	targets := flags.Int("targets", 0, "")
	round := flags.Int("round", 0, "")
	profile := flags.String("profile", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return fmt.Errorf("load the kubeconfig: %w", err)
	}
	config.QPS = -1
	s := &stage{sizes: sizes{targets: *targets}, env: &harness.Env{Config: config}}
	if s.clients, err = kubernetes.NewForConfig(protobuf(config)); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	n := nightOf(*round)
	o, err := s.operator(ctx, n.dusk.Add(-time.Hour), false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.stop()) }()
	out := shift{Start: o.started.Seconds()}
	for i := range out.Transitions {
		transition := func() (time.Duration, error) { return o.transition(ctx, n.transition(i == 0), s.targets) }
		name := named(*profile, fmt.Sprintf("scale-%d-%s", *targets, stateName(i == 0)))
		if out.Transitions[i], err = s.timed(ctx, name, transition); err != nil {
			return err
		}
		if err := o.meter.settle(ctx, 1500*time.Millisecond, time.Minute); err != nil {
			return err
		}
		if applied, refused := o.meter.patches(); applied != s.targets || refused != 0 {
			fmt.Fprintf(os.Stderr, "the manager's transition took %d patches that went through and %d that did not\n", applied, refused)
		}
	}
	if out.PeakRSS, err = peakRSS(); err != nil {
		return err
	}
	if err := writeHeap(named(*profile, fmt.Sprintf("scale-%d-heap.pprof", *targets))); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// scaling compares a large cluster with a cluster of a tenth of its size. Each namespace has its own Schedule beside the
// ClusterSchedule. The manager runs in a process of its own, so that its peak memory is known.
func (b *bench) scaling(ctx context.Context) (err error) {
	s, err := b.start(ctx, local.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	if err := s.schedule(ctx); err != nil {
		return err
	}
	l, err := s.loop()
	if err != nil {
		return err
	}
	small, err := b.scaleTo(ctx, s, l, b.scaled/10, s.transitionRounds)
	if err != nil {
		return err
	}
	large, err := b.scaleTo(ctx, s, l, b.scaled, s.transitionRounds+s.scaleRounds)
	if err != nil {
		return err
	}
	b.report.rounds("scale_20000_edge_ratio", large.ratios)
	b.report.rounds("scale_20000_start_seconds", large.starts)
	b.report.rounds("MiB at the peak with a tenth of the targets", small.peaks)
	b.report.rounds("MiB at the peak with all targets", large.peaks)
	b.report.figure("scale_20000_edge_ratio", median(large.ratios), "ratio")
	b.report.figure("scale_20000_start_seconds", median(large.starts), "s")
	b.report.figure("memory_mb_targets_2000", median(small.peaks), "MB")
	b.report.figure("memory_mb_targets_20000", median(large.peaks), "MB")
	b.report.figure("scale_20000_memory_ratio", median(large.peaks)/median(small.peaks), "ratio")
	return nil
}

// scaled are the costs of transitions at one size, by round: the time over the bare loop's, the time until the manager was
// in sync, and its peak memory in MB.
type scaled struct{ ratios, starts, peaks []float64 }

// scaleTo grows the cluster and measures transitions. In each round the manager and the bare loop put the targets to sleep
// and wake them, in turns.
func (b *bench) scaleTo(ctx context.Context, s *stage, l *loop, targets, firstRound int) (all scaled, err error) {
	scheduled := s.grown / s.perNamespace
	s.targets = targets
	if err := errors.Join(s.grow(ctx, targets), s.scheduleNamespaces(ctx, l, scheduled, targets/s.perNamespace)); err != nil {
		return all, err
	}
	for round := firstRound; round < firstRound+s.scaleRounds; round++ {
		var manager shift
		var bare [2]timing
		ways := []func() error{
			func() (err error) { manager, err = b.shift(ctx, s, round); return err },
			func() (err error) { bare, err = s.watchedNight(ctx, l, nightOf(round)); return err },
		}
		for turn := range ways {
			if err := errors.Join(ways[(round+turn)%len(ways)](), s.verify(ctx, false)); err != nil {
				return all, fmt.Errorf("%d targets, round %d: %w", targets, round, err)
			}
		}
		for i, m := range manager.Transitions {
			b.report.say("%d targets %s in round %d: manager %s; bare loop beside a watch %s", targets, stateName(i == 0), round, m, bare[i])
			all.ratios = append(all.ratios, m.Seconds/bare[i].Seconds)
		}
		all.starts = append(all.starts, manager.Start)
		all.peaks = append(all.peaks, float64(manager.PeakRSS)/1e6)
	}
	return all, nil
}

// shift runs a manager process through one night.
func (b *bench) shift(ctx context.Context, s *stage, round int) (out shift, err error) {
	c, err := b.startChild(ctx, managerCommand, "--kubeconfig", s.env.Cluster.Kubeconfig, "--targets", strconv.Itoa(s.targets),
		"--round", strconv.Itoa(round), "--profile", b.opts.profile)
	if err != nil {
		return out, err
	}
	defer c.end()
	err = c.read(&out)
	return out, err
}

// watchedNight runs the bare loop through one night, beside a watch.
func (s *stage) watchedNight(ctx context.Context, l *loop, n night) (took [2]timing, err error) {
	for i := range took {
		if took[i], err = s.watchedTransition(ctx, l, n.transition(i == 0), ""); err != nil {
			return took, err
		}
		if err := s.verify(ctx, i == 0); err != nil {
			return took, err
		}
	}
	return took, nil
}

// scheduleNamespaces creates a Schedule in each of the namespaces with numbers in [from, to). Their hours are those of
// the ClusterSchedule.
func (s *stage) scheduleNamespaces(ctx context.Context, l *loop, from, to int) error {
	all := nightly("nights").Spec
	for i := from; i < to; i++ {
		own := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespaceName(i), Name: "own"}}
		own.Spec.Target.Kinds, own.Spec.ScheduleRules = all.Target.Kinds, all.ScheduleRules
		if err := s.env.Client.Create(ctx, own); err != nil {
			return fmt.Errorf("create the schedule of %s: %w", own.Namespace, err)
		}
		p, errs := schedule.Compile(own, schedule.Context{})
		if len(errs) > 0 {
			return fmt.Errorf("compile the schedule of %s: %w", own.Namespace, errs.ToAggregate())
		}
		l.policies = append(l.policies, p)
	}
	return nil
}
