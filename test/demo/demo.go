package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/test/demo/simclock"
	"flyball.dev/flyball/test/harness"
)

// demo is one run of the demo.
type demo struct {
	opts   options
	screen *screen
	begin  time.Time
	clock  *simclock.Clock
	// log receives the log lines of the manager and of libraries, which would spoil the table.
	log *os.File

	place   *place
	env     *harness.Env
	manager *harness.Manager
	rec     *recorder
	// leftOut are the API groups whose targets this cluster cannot have.
	leftOut []string
	// installed lists the objects to remove from the user's cluster.
	installed installed
	// refused and passed count the attempted changes during the freeze.
	refused, passed int
	// hook are the options of the manager's webhook.
	hook app.WebhookOptions
	// policiesSince is the time at which the policies were applied, by the machine's clock.
	policiesSince time.Time
}

// run runs the demo and cleans up afterwards in any case.
func run(ctx context.Context, opts options) (err error) {
	begin, err := start()
	if err != nil {
		return err
	}
	d := &demo{opts: opts, screen: newScreen(os.Stdout, opts.plain), begin: begin, clock: simclock.New(begin)}
	if err := d.openLog(); err != nil {
		return err
	}
	defer func() {
		cleaned := d.cleanUp()
		d.closeLog(cleaned == nil && (err == nil || ctx.Err() != nil))
		if ctx.Err() == nil || d.opts.useKubeconfig {
			err = errors.Join(err, cleaned)
		}
	}()
	d.screen.printf("%s\n", d.screen.in(bold, fmt.Sprintf("Flyball demo: a week of schedules in %s", spoken(opts.weekIn))))
	steps := []struct {
		title string
		do    func(context.Context) error
	}{
		{"Cluster", d.open},
		{"Install", d.install},
		{"Workloads", d.workloads},
		{"Manager", d.manage},
		{"Policies", d.policies},
		{"The week", d.week},
	}
	for i, step := range steps {
		d.screen.printf("\n%s\n", d.screen.in(bold, fmt.Sprintf("%d/%d  %s", i+1, len(steps), step.title)))
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	if err := d.verdict(ctx); err != nil {
		return err
	}
	if !d.opts.useKubeconfig {
		if err := d.order(ctx); err != nil {
			return err
		}
		if err := d.zones(ctx); err != nil {
			return err
		}
		if err := d.tune(ctx); err != nil {
			return err
		}
	}
	if err := d.why(ctx); err != nil {
		return err
	}
	if !d.opts.useKubeconfig {
		if err := d.idle(ctx); err != nil {
			return err
		}
	}
	d.tellNext()
	return nil
}

// say prints a line below a step's title.
func (d *demo) say(format string, args ...any) {
	d.screen.printf("     "+format+"\n", args...)
}

// done prints a line with the duration of a step.
func (d *demo) done(since time.Time, format string, args ...any) {
	d.say("%s %s %s", d.screen.in(green, "✓"), fmt.Sprintf(format, args...),
		d.screen.in(dim, fmt.Sprintf("(%.1f s)", time.Since(since).Seconds())))
}

func spoken(d time.Duration) string {
	if d%time.Minute == 0 && d != time.Minute {
		return fmt.Sprintf("%d minutes", d/time.Minute)
	}
	return fmt.Sprintf("%.0f seconds", d.Seconds())
}

func (d *demo) openLog() error {
	var err error
	if d.log, err = os.CreateTemp("", "flyball-demo-*.log"); err != nil {
		return fmt.Errorf("open the demo's log: %w", err)
	}
	klog.LogToStderr(false)
	klog.SetOutput(d.log)
	rest.SetDefaultWarningHandler(rest.NewWarningWriter(d.log, rest.WarningWriterOptions{}))
	return nil
}

// closeLog keeps the log only if it may explain a failure.
func (d *demo) closeLog(well bool) {
	klog.SetOutput(io.Discard)
	name := d.log.Name()
	if err := d.log.Close(); err != nil || (!well && d.manager != nil) {
		fmt.Fprintf(os.Stderr, "\nThe manager's log is %s\n", name)
		return
	}
	if err := os.Remove(name); err != nil {
		fmt.Fprintln(os.Stderr, "demo: remove the log:", err)
	}
}

// open starts the local control plane, or connects to the user's cluster.
func (d *demo) open(ctx context.Context) error {
	began := time.Now()
	root, err := repository()
	if err != nil {
		return err
	}
	if d.opts.useKubeconfig {
		d.place, err = openMine(ctx, root, d.opts.yes, d.screen)
	} else {
		d.say("etcd, API server, controllers, scheduler and simulated nodes on this machine.")
		d.say("The first time they are compiled, which takes about ten minutes on two cores.")
		said := &startLog{screen: d.screen, after: d.log}
		d.place, err = openLocal(ctx, root, said)
		said.quiet()
	}
	if err != nil {
		return err
	}
	d.env = &harness.Env{Cluster: d.place.cluster, Config: d.place.config, Root: root}
	if d.env.Client, err = client.New(d.place.config, client.Options{Scheme: app.Scheme()}); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	d.done(began, "API server at %s", d.place.config.Host)
	return nil
}

// until calls check until nothing is missing, and prints the missing parts while it waits.
func (d *demo) until(ctx context.Context, limit time.Duration, what string, check func() ([]string, error)) error {
	began, told := time.Now(), time.Now()
	for {
		missing, err := check()
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", what, err)
		case len(missing) == 0:
			return nil
		case time.Since(began) > limit:
			return fmt.Errorf("%s: still missing after %s: %s", what, limit, strings.Join(missing, ", "))
		case time.Since(told) > 3*time.Second:
			d.say("%s", d.screen.in(dim, fmt.Sprintf("waiting for %s", strings.Join(missing[:min(len(missing), 3)], ", "))))
			told = time.Now()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// week lets the clock run until the Monday morning after the week.
func (d *demo) week(ctx context.Context) error {
	d.say("%s to %s in %s: an hour is %.2f s.", stamp(d.begin), stamp(d.begin.Add(lastHour*time.Hour)), zone, time.Hour.Seconds()/d.rate())
	v := show(d.screen, d.rec, d.begin)
	defer v.stop()
	if d.freezable() {
		if err := d.freeze(ctx, v); err != nil {
			return err
		}
	}
	if err := d.runTo(ctx, lastHour); err != nil {
		return err
	}
	return d.arrive(ctx)
}

// runTo lets the clock run to an hour of the week, and stops it exactly there.
func (d *demo) runTo(ctx context.Context, hour int) error {
	at := d.begin.Add(time.Duration(hour) * time.Hour)
	there := d.clock.NewTimer(at.Sub(d.clock.Now()))
	defer there.Stop()
	d.clock.RunTo(at, d.rate())
	select {
	case <-ctx.Done():
		d.clock.Run(0)
		return context.Cause(ctx)
	case <-there.C():
		return nil
	}
}

// arrive waits, while the clock stands at a time when all targets are awake, until all pending changes, counts and pods
// have arrived. Missing ones are listed in the verdict.
func (d *demo) arrive(ctx context.Context) error {
	for deadline := time.Now().Add(harness.Patience); time.Now().Before(deadline); {
		missing := append(d.rec.unsettled(), d.unfinished()...)
		for _, t := range d.rec.snapshot() {
			if restored(&t) != "" {
				missing = append(missing, t.String())
			}
		}
		if len(missing) == 0 {
			break
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(50 * time.Millisecond):
		}
	}
	return context.Cause(ctx)
}

// rate returns the seconds of the week per second of the machine.
func (d *demo) rate() float64 { return (days * 24 * time.Hour).Seconds() / d.opts.weekIn.Seconds() }

// watch starts to follow the targets.
func (d *demo) watch(ctx context.Context) error {
	client, err := dynamic.NewForConfig(d.place.config)
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	list := slices.DeleteFunc(targets(), func(t target) bool { return slices.Contains(d.leftOut, t.resource.Group) })
	d.rec = newRecorder(d.clock, list)
	if d.freezable() {
		d.rec.freeze = newFreeze()
	}
	return d.rec.watch(ctx, client, namespace)
}
