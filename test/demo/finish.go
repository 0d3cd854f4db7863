package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// verdict draws the week, counts, compares, and returns an error unless everything is as expected.
func (d *demo) verdict(ctx context.Context) error {
	tracks := d.rec.snapshot()
	width, _ := d.screen.size()
	d.screen.printf("\n%s\n\n", d.screen.in(bold, "The week as it was seen"))
	rows := tracks
	if f := d.rec.freezeTrack(); f != nil {
		rows = append(slices.Clip(rows), *f)
	}
	for _, line := range chart(d.screen, rows, d.begin, width) {
		d.screen.printf("%s\n", line)
	}
	d.screen.printf("\n")

	var wrong []string
	wrong = append(wrong, d.reportTransitions(tracks)...)
	if err := d.tellWrites(tracks); err != nil {
		return err
	}
	wrong = append(wrong, d.tellFreeze(tracks)...)
	wrong = append(wrong, d.tellRestored(tracks)...)
	for _, w := range wrong {
		d.screen.printf("     %s\n", strings.ReplaceAll(w, "\n", "\n     "))
	}
	if len(wrong) > 0 {
		d.screen.printf("\n  %s\n", d.screen.in(red, "The demo failed: see above."))
		return errNotKept
	}
	file, err := weekReport(ctx, d.place.root, "", d.begin)
	if err != nil {
		return err
	}
	d.tell(true, "Report    this week as a page for a browser: %s", file)
	return nil
}

// tell prints one line of the verdict.
func (d *demo) tell(ok bool, format string, args ...any) {
	sign := d.screen.in(green, "✓")
	if !ok {
		sign = d.screen.in(red, "✗")
	}
	d.screen.printf("  %s %s\n", sign, fmt.Sprintf(format, args...))
}

// also prints an addition to the previous line.
func (d *demo) also(format string, args ...any) {
	d.screen.printf("              "+format+"\n", args...)
}

func (d *demo) reportTransitions(tracks []track) (wrong []string) {
	var late []time.Duration
	due, seen := 0, 0
	for i := range tracks {
		l, w := kept(&tracks[i], d.begin, d.rate())
		late, wrong = append(late, l...), append(wrong, w...)
		seen += len(tracks[i].history)
		if tracks[i].week != nil {
			due += len(tracks[i].week.transitions())
		}
	}
	slowest := time.Duration(0)
	for _, l := range late {
		slowest = max(slowest, l)
	}
	d.tell(len(wrong) == 0, "On time   %d of %d transitions seen, half of them within %d ms, the last after %d ms", seen, due,
		median(late).Milliseconds(), slowest.Milliseconds())
	return wrong
}

func (d *demo) tellWrites(tracks []track) error {
	counted, err := writesCounted(d.manager.Registry)
	if err != nil {
		return err
	}
	changes := 0
	for i := range tracks {
		changes += len(tracks[i].history)
	}
	if d.place.cluster == nil {
		d.tell(counted == changes, "Writes    %d for %d changes, by the manager's metrics", counted, changes)
		return nil
	}
	log, err := d.place.cluster.Audit()
	if err != nil {
		return err
	}
	asked := countRequests(log, d.policiesSince)
	d.tell(asked.targets == changes && counted == changes, "Writes    %d for %d changes, counted by the API server", asked.targets, changes)
	for i := range tracks {
		t := &tracks[i]
		if n := asked.of[t.resource.Resource+"/"+t.name]; n != len(t.history) {
			d.screen.printf("     %s: %d writes for %d changes\n", t, n, len(t.history))
		}
	}
	d.tell(true, "Besides   %d status writes, %d events, %d reviews of rights, %d reads", asked.own, asked.events, asked.reviews, asked.reads)
	d.also("and %d writes of the webhook's configuration", asked.webhook)
	return nil
}

// tellFreeze reports on the freeze, if there was one.
func (d *demo) tellFreeze(tracks []track) []string {
	if !d.freezable() {
		return nil
	}
	wrong := d.unfinished()
	due, seen := transitionsIn(tracks)
	d.tell(len(wrong) == 0, "Freeze    %d roll-outs refused, %d let through by the exception", d.refused, d.passed)
	d.also("schedules went on: %d of %d transitions of what was frozen", seen, due)
	return wrong
}

func (d *demo) tellRestored(tracks []track) (wrong []string) {
	for i := range tracks {
		if diff := restored(&tracks[i]); diff != "" {
			wrong = append(wrong, fmt.Sprintf("%s is not what it was (- before, + now):\n%s", &tracks[i], diff))
		}
	}
	d.tell(len(wrong) == 0, "Restored  %d of %d exactly as they were: spec, labels, annotations",
		len(tracks)-len(wrong), len(tracks))
	if d.passed > 0 {
		d.also("Deployment/%s has the image that alice was let set, and no other change", frozenApp)
	}
	return wrong
}

func (d *demo) tellNext() {
	d.screen.printf("\n%s\n", d.screen.in(bold, "What to do next"))
	for _, row := range [][2]string{
		{"A control plane that stays; it prints the KUBECONFIG to export.", "make cluster-up"},
		{"CRDs and adapters into that cluster, and the manager on it.", "make install run"},
		{"A first schedule. Every file in samples/ says what to expect.", "kubectl apply -f samples/schedules/weeknights.yaml"},
		{"What sleeps, and when it changes next.", "kubectl get flyball -A"},
		{"Why something is as it is; make build leaves the plugin in bin/.", "kubectl flyball explain deployment/web"},
		{"This demo on the cluster of KUBECONFIG.", "make demo CLUSTER=mine"},
	} {
		d.screen.printf("  %s\n  %s\n", d.screen.in(dim, "# "+row[0]), d.screen.in(cyan, row[1]))
	}
}

// installed lists the demo's objects in a cluster.
type installed struct {
	// flyball means CRDs, adapters and samples.
	flyball bool
	// kinds are the files of the demo's own CRDs.
	kinds     []string
	namespace bool
}

// errLeft means that objects of the demo are still in the user's cluster.
var errLeft = errors.New("clean up")

// cleanUp removes everything that the demo has created. A local cluster is removed as a whole. In the user's cluster
// policies and adapters are deleted first, while the manager can still restore their targets.
func (d *demo) cleanUp() error {
	d.clock.Run(0)
	if d.place == nil {
		return nil
	}
	if d.place.cluster != nil {
		return d.stopLocal()
	}
	began := time.Now()
	d.screen.printf("\n%s\n", d.screen.in(bold, "Cleaning up"))
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	var errs []error
	remove := func(args ...string) {
		args = append([]string{"delete", "--ignore-not-found", "--timeout=60s"}, args...)
		if _, err := d.place.run(ctx, args...); err != nil {
			errs = append(errs, err)
		}
	}
	if d.manager != nil {
		remove("--namespace", namespace, "schedules.flyball.dev", "--all")
		remove("adapters.flyball.dev,calendars.flyball.dev", "--all")
		errs = append(errs, d.manager.Stop())
	}
	if d.installed.namespace {
		remove("namespace", namespace)
	}
	if d.installed.flyball {
		remove("-f", "crds")
		remove("-f", sampleFiles[0])
	}
	for _, f := range d.installed.kinds {
		remove("-f", f)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: look for the namespace %s and for CRDs of flyball.dev: %w", errLeft, namespace, err)
	}
	d.done(began, "nothing of the demo is left in the cluster")
	return nil
}

func (d *demo) stopLocal() error {
	var errs []error
	if d.manager != nil {
		if err := d.manager.Stop(); err != nil {
			errs = append(errs, fmt.Errorf("stop the manager: %w", err))
		}
	}
	if err := d.place.cluster.Stop(); err != nil {
		errs = append(errs, fmt.Errorf("stop the control plane: %w", err))
	}
	return errors.Join(errs...)
}
