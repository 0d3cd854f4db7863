package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	engine "flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/harness"
)

// globbedKind is the kind of the object that is decided about.
var globbedKind = schema.GroupKind{Group: "apps", Kind: "Deployment"}

// globbing measures decisions among ten and among ten thousand policies that select namespaces and names by globs. Five
// of the policies concern the object. It measures a decision about a change at admission, and a decision about a target
// in the engine.
func (b *bench) globbing(ctx context.Context) error {
	ends := []int{decidedAmong[0], decidedAmong[len(decidedAmong)-1]}
	var judge, act []func()
	for _, n := range ends {
		judged, err := b.globbedChange(n)
		if err != nil {
			return err
		}
		acted, err := b.globbedTarget(n)
		if err != nil {
			return err
		}
		judge, act = append(judge, judged), append(act, acted)
	}
	for _, f := range []struct {
		figure string
		run    []func()
	}{{"admit_globs_ratio", judge}, {"decide_globs_ratio", act}} {
		if err := b.growing(ctx, f.figure, f.run); err != nil {
			return err
		}
	}
	return nil
}

// growing measures the time of the second decision over the time of the first.
func (b *bench) growing(ctx context.Context, figure string, run []func()) error {
	var growth []float64
	for round := 0; b.again(b.decideRounds, growth); round++ {
		took := globRound(run)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if round > 0 { // caches are warm now
			growth = append(growth, median(quotients(took[1], took[0])))
		}
	}
	b.report.rounds(figure, growth)
	b.report.figure(figure, median(growth), "ratio")
	return nil
}

// globRound returns the nanoseconds of each decision in each slice. The order of the decisions rotates.
func globRound(run []func()) [][]float64 {
	const decisions = sliceDecisions / 10
	took := make([][]float64, len(run))
	for slice := range decideSlices {
		for i := range run {
			at := (slice + i) % len(run)
			began := time.Now()
			for range decisions {
				run[at]()
			}
			took[at] = append(took[at], float64(time.Since(began).Nanoseconds())/decisions)
		}
	}
	return took
}

// globs returns the selection of the i-th policy. The first five policies select the object shop-blue/web-1. Each other
// policy selects other objects, by a prefix or suffix of namespaces, of names, or of both.
func globs(i int) v1alpha1.ClusterTargetSelector {
	var spec v1alpha1.ClusterTargetSelector
	switch {
	case i < 5:
		spec.Namespaces, spec.Names = []string{"shop-*"}, []string{"web-*"}
	case i%4 == 0:
		spec.Namespaces = []string{fmt.Sprintf("team-%d-*", i)}
	case i%4 == 1:
		spec.Namespaces = []string{fmt.Sprintf("*-preview-%d", i)}
	case i%4 == 2:
		spec.Namespaces, spec.Names = []string{"shop-*"}, []string{fmt.Sprintf("app-%d-*", i)}
	default:
		spec.Namespaces, spec.Names = []string{"*-blue"}, []string{fmt.Sprintf("*-of-%d", i)}
	}
	return spec
}

// globbedChange returns a function that decides about a change of the object among n freezes.
func (b *bench) globbedChange(n int) (func(), error) {
	var rules []*freeze.Rule
	for i := range n {
		f := &v1alpha1.ClusterChangeFreeze{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("globs-", i)}}
		f.Spec.Target, f.Spec.Deny = globs(i), []v1alpha1.Action{v1alpha1.ActionScale}
		f.Spec.StartTime, f.Spec.EndTime = metav1.NewTime(admitNow.AddDate(0, 0, -4)), metav1.NewTime(admitNow.AddDate(0, 0, 10))
		rule, _, errs := freeze.CompileObject(f, freeze.Context{Scope: world.Scope(harness.Namespace, nil)})
		if len(errs) > 0 {
			return nil, fmt.Errorf("compile freeze %d: %w", i, errs.ToAggregate())
		}
		rules = append(rules, rule)
	}
	set := (&freeze.Set{}).With(rules...)
	req := freeze.UserChange{Actions: workload.ChangeScale, Kind: globbedKind, Namespace: "shop-blue", Name: "web-1", User: "pipeline",
		Now: admitNow}
	if denials := len(set.Decide(req).Denials); denials != 5 {
		return nil, fmt.Errorf("%d freezes of %d deny the change, want 5", denials, n)
	}
	return func() { set.Decide(req) }, nil
}

// globbedTarget returns a function that decides about the object among n schedules.
func (b *bench) globbedTarget(n int) (func(), error) {
	var policies []policy.Object
	for i := range n {
		c := nightly(fmt.Sprint("globs-", i))
		c.Spec.Target = globs(i)
		c.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ClusterSchedule"))
		policies = append(policies, c)
	}
	return b.targetAmong(policies, 5)
}

// targetAmong returns a function that decides about the object, which goes to sleep, among policies. The number of policies with an
// opinion is known.
func (b *bench) targetAmong(policies []policy.Object, opinions int) (func(), error) {
	library, err := adapters.All()
	if err != nil {
		return nil, err
	}
	d := (&stage{sizes: b.sizes}).deployment(0)
	d.APIVersion, d.Kind, d.ResourceVersion, d.UID = "apps/v1", "Deployment", "1", "u"
	d.Namespace, d.Name = "shop-blue", "web-1"
	object, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode a Deployment: %w", err)
	}
	lists := world.Lists{Scope: world.Scope(harness.Namespace, nil), Objects: [][]byte{object}, Policies: policies,
		Namespaces: []*workload.Object{{Name: "shop-blue"}}}
	for i := range library {
		lists.Adapters = append(lists.Adapters, &library[i])
	}
	w, err := world.NewMemory(lists)
	if err != nil {
		return nil, err
	}
	ref, now := workload.Ref{GroupKind: globbedKind, Namespace: "shop-blue", Name: "web-1"}, nightOf(0).dusk.Add(2*time.Hour)
	if v := engine.Target(w, ref, now, nil); v.Result.Patch == nil || len(v.Opinions) != opinions {
		return nil, fmt.Errorf("%d of %d policies have an opinion, want %d; the patch is %v", len(v.Opinions), len(policies), opinions,
			v.Result.Patch)
	}
	return func() { engine.Target(w, ref, now, nil) }, nil
}
