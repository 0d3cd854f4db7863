package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
)

// sampleFiles are those that the demo uses; the first is a CRD.
var sampleFiles = []string{
	"samples/adapter-own-kind/1-crd.yaml", "samples/adapter-own-kind/2-adapter.yaml", "samples/calendars/german-holidays.yaml",
}

// startLog shows what the local control plane says while it starts, and keeps what it says later out of the table.
type startLog struct {
	screen *screen
	after  interface{ Write([]byte) (int, error) }

	mu     sync.Mutex
	silent bool
}

func (l *startLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.silent {
		return l.after.Write(p)
	}
	for line := range bytes.Lines(p) {
		l.screen.printf("     %s\n", l.screen.in(dim, strings.TrimSpace(string(line))))
	}
	return len(p), nil
}

func (l *startLog) quiet() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.silent = true
}

// install applies the CRDs, the shipped adapters, samples, and the demo's own small CRDs, with kubectl. A cluster of the
// user's keeps the CRDs it has.
func (d *demo) install(ctx context.Context) error {
	began := time.Now()
	crds, err := d.place.files("crds", "*.yaml")
	if err != nil {
		return err
	}
	kinds, err := d.missingKinds()
	if err != nil {
		return err
	}
	d.installed.flyball, d.installed.kinds = true, kinds
	if err := d.place.applyAll(ctx, append(crds, kinds...), "--server-side"); err != nil {
		return err
	}
	if err := d.place.established(ctx, append(crds, kinds...)); err != nil {
		return err
	}
	d.done(began, "%d CRDs of Flyball, and %d small ones of kinds to show", len(crds), len(kinds))

	began = time.Now()
	adapters, err := d.place.files("adapters", "adapter.yaml")
	if err != nil {
		return err
	}
	if err := d.place.applyAll(ctx, adapters, "--server-side"); err != nil {
		return err
	}
	d.done(began, "%d shipped adapters, each one YAML file", len(adapters))
	return d.samples(ctx)
}

// samples applies what the demo uses of samples/: the calendar of its schedules, and a kind of one's own with its adapter.
func (d *demo) samples(ctx context.Context) error {
	began := time.Now()
	for _, file := range sampleFiles {
		if err := d.place.applyAll(ctx, []string{file}); err != nil {
			return err
		}
	}
	if err := d.place.established(ctx, sampleFiles[:1]); err != nil {
		return err
	}
	d.done(began, "from samples/: a calendar, and the adapter of a kind of one's own")
	return nil
}

// missingKinds are the demo's CRDs that the cluster lacks. Where the real kind is installed the demo leaves it out: a real
// operator would make a real database of its object.
func (d *demo) missingKinds() ([]string, error) {
	found, err := discovery.NewDiscoveryClientForConfig(d.place.config)
	if err != nil {
		return nil, fmt.Errorf("make a client: %w", err)
	}
	var files []string
	for file, gvr := range map[string]schema.GroupVersionResource{"cnpg-crd.yaml": clusters, "kubevirt-crd.yaml": machines} {
		has, err := serves(found, gvr.GroupVersion().String())
		if err != nil {
			return nil, err
		}
		if has {
			d.leftOut = append(d.leftOut, gvr.Group)
			d.say("This cluster has %s already: left alone.", gvr.GroupResource())
			continue
		}
		files = append(files, manifest(file))
	}
	slices.Sort(files)
	return files, nil
}

// workloads makes the demo's namespace and what is in it, and waits until its pods are ready.
func (d *demo) workloads(ctx context.Context) error {
	began := time.Now()
	d.installed.namespace = true
	if _, err := d.place.run(ctx, "create", "namespace", namespace); err != nil {
		return err
	}
	files := []string{"workloads.yaml", "renderfarm.yaml"}
	for file, group := range map[string]string{"cnpg.yaml": clusters.Group, "kubevirt.yaml": machines.Group} {
		if !slices.Contains(d.leftOut, group) {
			files = append(files, file)
		}
	}
	for _, f := range files {
		if _, err := d.place.demo(ctx, "apply", "-f", manifest(f)); err != nil {
			return err
		}
	}
	if _, err := d.place.demo(ctx, "apply", "-f", manifest("hpa.yaml")); err != nil {
		if !d.opts.useKubeconfig || !strings.Contains(err.Error(), "minReplicas") {
			return err
		}
		d.say("This API server refuses an autoscaler with a minimum of 0: left out.")
		d.leftOut = append(d.leftOut, autoscalers.Group)
	}
	if err := d.watch(ctx); err != nil {
		return err
	}
	err := d.until(ctx, 2*time.Minute, "wait for the workloads", func() ([]string, error) { return d.rec.unsettled(), nil })
	if err != nil {
		return err
	}
	d.rec.begin()
	d.done(began, "%d objects, all pods ready: this is what must come back", len(d.rec.tracks))
	return nil
}

// manage starts the manager's code on the demo's clock, which stands still for now.
func (d *demo) manage(ctx context.Context) error {
	began := time.Now()
	d.manager = d.env.Start(harness.Options{Clock: d.clock, Log: d.log, Config: d.place.config})
	var names []string
	for _, t := range d.rec.tracks {
		names = append(names, t.resource.GroupResource().String())
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if err := d.env.AwaitAdapters(ctx, names...); err != nil {
		return err
	}
	d.done(began, "the real manager runs; the adapters of %d kinds are ready", len(names))
	d.say("Its clock is the demo's: it stands at %s.", stamp(d.begin))
	return nil
}

// schedules applies the demo's policies and waits until all that sleeps on a Monday at midnight does.
func (d *demo) schedules(ctx context.Context) error {
	began := time.Now()
	d.policiesSince = began
	if _, err := d.place.demo(ctx, "apply", "-f", manifest("policies.yaml")); err != nil {
		return err
	}
	err := d.until(ctx, 30*time.Second, "wait for the schedules", func() ([]string, error) {
		unready, err := d.unreadyPolicies(ctx)
		return append(unready, d.awakeStill()...), err
	})
	if err != nil {
		return err
	}
	d.done(began, "it is night: what has to sleep was put to sleep at once")
	table, err := d.place.demo(ctx, "get", "schedules.flyball.dev")
	if err != nil {
		return err
	}
	d.say("%s", d.screen.in(dim, "$ kubectl -n "+namespace+" get schedules.flyball.dev"))
	width, _ := d.screen.size()
	for line := range strings.Lines(table) {
		d.say("%s", strings.TrimRight(fit(strings.TrimSpace(line), width-6), " "))
	}
	return nil
}

// awakeStill names the targets that should sleep when the week begins and are not seen to.
func (d *demo) awakeStill() []string {
	var out []string
	for _, t := range d.rec.snapshot() {
		if t.state == awake && !t.week.awake(0) {
			out = append(out, t.String())
		}
	}
	return out
}

// unreadyPolicies names the schedules that do not say that they are ready.
func (d *demo) unreadyPolicies(ctx context.Context) ([]string, error) {
	var list v1alpha1.ScheduleList
	if err := d.env.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the schedules: %w", err)
	}
	var out []string
	for i := range list.Items {
		if !meta.IsStatusConditionTrue(list.Items[i].Status.Conditions, v1alpha1.ConditionReady) {
			out = append(out, "Schedule/"+list.Items[i].Name)
		}
	}
	return out, nil
}
