package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
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

// sampleFiles are the samples in the demo; the first is a CRD.
var sampleFiles = []string{
	"samples/adapter-own-kind/1-crd.yaml", "samples/adapter-own-kind/2-adapter.yaml", "samples/calendars/german-holidays.yaml",
}

// startLog shows the output of the local control plane during its start, and keeps later output out of the table.
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

// install applies the CRDs, the shipped adapters, samples, and the demo's own small CRDs, with kubectl. The user's
// cluster keeps its CRDs.
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
	pods := filepath.Join("adapters", "core", "Pod") // off by default
	adapters = slices.DeleteFunc(adapters, func(file string) bool { return filepath.Dir(file) == pods })
	if err := d.place.applyAll(ctx, adapters, "--server-side"); err != nil {
		return err
	}
	d.done(began, "%d shipped adapters, each one YAML file", len(adapters))
	return d.samples(ctx)
}

// samples applies the demo's part of samples/: the calendar of its schedules, and a custom kind with its adapter.
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

// missingKinds returns the demo's CRDs missing in the cluster. If the real kind is installed, the demo leaves it out,
// because a real operator would create a real database.
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

// workloads creates the demo's namespace and its objects, and waits until its pods are ready.
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

// manage starts the manager's code on the demo's clock, which stands still at first.
func (d *demo) manage(ctx context.Context) error {
	began := time.Now()
	opts := harness.Options{Clock: d.clock, Log: d.log, Config: d.place.config, UsageResolution: time.Second}
	if d.freezable() {
		var err error
		if d.hook, err = d.webhook(ctx); err != nil {
			return err
		}
		opts.Webhook = d.hook
	}
	d.manager = d.env.Start(opts)
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
	if !d.freezable() {
		d.say("No change freeze is shown here: for that this cluster's API server would have to reach the manager,")
		d.say("which runs on this machine. A demo without CLUSTER=mine shows one.")
		return nil
	}
	began = time.Now()
	if err := d.awaitWebhook(ctx); err != nil {
		return err
	}
	d.done(began, "the API server asks its webhook at %s", opts.Webhook.URL)
	return nil
}

// policies applies the demo's policies and waits until all targets sleep that are due to on a Monday at midnight.
func (d *demo) policies(ctx context.Context) error {
	began := time.Now()
	d.policiesSince = began
	files, kinds := []string{manifest("policies.yaml")}, []string{"schedules.flyball.dev"}
	if d.freezable() {
		files, kinds = append(files, manifest("freeze.yaml")), append(kinds, "changefreezes.flyball.dev")
	}
	// The schedule of higher priority and the Override come first. Applied later, they would change sleeping targets, which
	// is one more write.
	if err := d.apply(ctx, manifest("shop.yaml")); err != nil {
		return err
	}
	if err := d.apply(ctx, files...); err != nil {
		return err
	}
	err := d.until(ctx, harness.Patience, "wait for the schedules", func() ([]string, error) { return d.awakeStill(), nil })
	if err != nil {
		return err
	}
	d.done(began, "it is night: what has to sleep was put to sleep at once")
	for _, kind := range kinds {
		table, err := d.place.demo(ctx, "get", kind)
		if err != nil {
			return err
		}
		d.say("%s", d.screen.in(dim, "$ kubectl -n "+namespace+" get "+kind))
		width, _ := d.screen.size()
		for _, line := range output(table, true, width-6) {
			d.say("%s", line)
		}
	}
	return nil
}

// apply applies files of policies and waits until all policies are ready.
func (d *demo) apply(ctx context.Context, files ...string) error {
	for _, f := range files {
		if _, err := d.place.demo(ctx, "apply", "-f", f); err != nil {
			return err
		}
	}
	return d.until(ctx, harness.Patience, "wait for the policies", func() ([]string, error) { return d.unreadyPolicies(ctx) })
}

// awakeStill returns the targets that should sleep when the week begins but do not.
func (d *demo) awakeStill() []string {
	var out []string
	for _, t := range d.rec.snapshot() {
		if t.state == awake && !t.week.awake(0) {
			out = append(out, t.String())
		}
	}
	return out
}

// unreadyPolicies returns the policies that are not ready, and the schedules without a count of sleeping targets.
func (d *demo) unreadyPolicies(ctx context.Context) ([]string, error) {
	var schedules v1alpha1.ScheduleList
	var freezes v1alpha1.ChangeFreezeList
	var overrides v1alpha1.OverrideList
	if err := errors.Join(d.env.Client.List(ctx, &schedules, client.InNamespace(namespace)),
		d.env.Client.List(ctx, &overrides, client.InNamespace(namespace)),
		d.env.Client.List(ctx, &freezes, client.InNamespace(namespace))); err != nil {
		return nil, fmt.Errorf("list the policies: %w", err)
	}
	var out []string
	for i := range schedules.Items {
		status := &schedules.Items[i].Status
		if !meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady) || status.Targets == nil || status.Targets.Asleep == 0 {
			out = append(out, "Schedule/"+schedules.Items[i].Name)
		}
	}
	for i := range overrides.Items {
		if !meta.IsStatusConditionTrue(overrides.Items[i].Status.Conditions, v1alpha1.ConditionReady) {
			out = append(out, "Override/"+overrides.Items[i].Name)
		}
	}
	for i := range freezes.Items {
		if !meta.IsStatusConditionTrue(freezes.Items[i].Status.Conditions, v1alpha1.ConditionReady) {
			out = append(out, "ChangeFreeze/"+freezes.Items[i].Name)
		}
	}
	return out, nil
}
