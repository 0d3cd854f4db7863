// Package witness checks the output of kubectl flyball explain against reality. Whenever a spec is about to move its
// clock, and at the spec's end, every target in the spec's namespaces is explained from the live cluster, by the verb's
// own code. The explanations must agree with the ledgers and with the manager's statuses, and the predicted changes
// with the writes that the manager then makes.
package witness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/cmd/kubectl-flyball/explain"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/harness"
)

// Clock is a clock controlled by a spec.
type Clock struct {
	*clocktesting.FakeClock
	witness *Witness
}

// NewClock returns a clock that stands at an instant.
func NewClock(at time.Time) *Clock { return &Clock{FakeClock: clocktesting.NewFakeClock(at)} }

// SetTime moves the clock, after all targets have been explained.
func (c *Clock) SetTime(at time.Time) {
	GinkgoHelper()
	c.Tell()
	c.FakeClock.SetTime(at)
}

// Step moves the clock by a span, after all targets have been explained.
func (c *Clock) Step(by time.Duration) {
	GinkgoHelper()
	c.Tell()
	c.FakeClock.Step(by)
}

// Tell explains all targets.
func (c *Clock) Tell() {
	GinkgoHelper()
	if c.witness != nil {
		c.witness.tellAll()
	}
}

// Count counts the explanations of a suite.
type Count struct {
	// Told is the number of explanations that agreed with reality. Kept is the number of explanations with a prediction
	// that came true. Open is the number of targets with a pending write.
	Told, Kept, Open int
}

// Witness explains for one clock.
type Witness struct {
	clock *Clock
	// namespaces returns the namespaces of the spec.
	namespaces func() []string
	count      *Count
	cluster    source.Cluster
	managers   []*harness.Manager
	writes     *writes
	last       map[string]*scene
}

// Of returns the witness of a clock, created at the first call. namespaces returns the namespaces of the running spec.
// The witness adds to count.
func Of(env *harness.Env, clock *Clock, namespaces func() []string, count *Count) *Witness {
	GinkgoHelper()
	if clock.witness == nil {
		client, err := dynamic.NewForConfig(env.Remembering())
		Expect(err).NotTo(HaveOccurred())
		clock.witness = &Witness{
			clock: clock, namespaces: namespaces, count: count, last: map[string]*scene{}, writes: &writes{now: clock.Now},
			cluster: source.Cluster{Client: client, Mapper: env.Client.RESTMapper(), FlyballNamespace: harness.Namespace},
		}
	}
	return clock.witness
}

// Overhear returns the configuration of a manager whose writes are recorded.
func (w *Witness) Overhear(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(w.writes.wrap)
	return config
}

// Manages adds a manager that runs by the clock.
func (w *Witness) Manages(m *harness.Manager) { w.managers = append(w.managers, m) }

// scene is the state of a namespace at one instant, with its explanations.
type scene struct {
	at time.Time
	// heard is the number of writes before the scene, and turned the number of writes to policies.
	heard, turned int
	// rules are the inputs of decisions besides the targets.
	rules   string
	objects map[workload.Ref][]byte
	stories map[workload.Ref]*explain.Explanation
	// paths are the API paths of the objects.
	paths map[workload.Ref]string
	// open are the targets with a pending write that waits for nothing.
	open map[workload.Ref]bool
}

// settles is how long a spec's clock waits for pending writes. Some specs prevent them.
const settles = time.Second

// tellAll explains all targets and compares. Without a running manager nothing happens and nothing is explained.
func (w *Witness) tellAll() {
	GinkgoHelper()
	if !slices.ContainsFunc(w.managers, (*harness.Manager).Running) {
		clear(w.last)
		return
	}
	for _, ns := range w.namespaces() {
		w.tell(ns)
	}
}

func (w *Witness) tell(ns string) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(context.Background(), harness.Patience)
	defer cancel()
	now, wrong := await(ctx, func() (*scene, []string, error) {
		now, wrong, err := w.look(ctx, ns)
		if err != nil {
			return nil, nil, err
		}
		return now, append(wrong, w.kept(w.last[ns], now)...), nil
	}, w.writes.answered)
	if now == nil {
		delete(w.last, ns) // a namespace broken by its spec cannot be explained
		return
	}
	Expect(wrong).To(BeEmpty(), "what is told in %s at %s is not so", ns, now.at.UTC().Format(time.RFC3339))
	w.count.Open += len(now.open)
	w.count.Told += len(now.stories) - len(now.open)
	w.count.Kept += w.foretold(w.last[ns], now)
	w.last[ns] = now
}

// await calls look until all explanations agree and no write is pending, or until the context ends; remaining
// disagreements are errors. A write that stays pending is awaited only as long as settles. It returns nil if look
// fails. It calls look again after the managers have written (by the number of answered writes), because look is
// expensive, and from time to time, because others write too.
func await(ctx context.Context, look func() (*scene, []string, error), answered func() int) (now *scene, wrong []string) {
	begun := time.Now()
	for {
		heard := answered()
		seen, disagree, err := look()
		switch {
		case err != nil && ctx.Err() != nil: // the last result counts
			return now, wrong
		case err != nil:
			return nil, nil
		}
		now, wrong = seen, disagree
		if len(wrong) == 0 && (len(now.open) == 0 || time.Since(begun) > settles) || ctx.Err() != nil {
			return now, wrong
		}
		pause := time.NewTicker(settles / 50)
		<-pause.C
		for looked := time.Now(); answered() == heard && time.Since(looked) < settles/3; {
			<-pause.C
		}
		pause.Stop()
	}
}

// look explains every target of a namespace. wrong lists the disagreements with reality.
func (w *Witness) look(ctx context.Context, ns string) (now *scene, wrong []string, err error) {
	now = &scene{at: w.clock.Now(), objects: map[workload.Ref][]byte{}, stories: map[workload.Ref]*explain.Explanation{},
		paths: map[workload.Ref]string{}, open: map[workload.Ref]bool{}}
	now.heard, now.turned = w.writes.count()
	loaded, err := w.cluster.Load(ctx, source.Query{Namespace: ns})
	if err != nil {
		return nil, nil, err
	}
	now.rules = rules(loaded)
	withoutIdle(loaded)
	teller, err := explain.NewTeller(loaded)
	if err != nil {
		return nil, nil, err
	}
	teller.Each(func(ref workload.Ref, raw []byte) { now.objects[ref] = raw })
	for ref := range now.objects {
		kind := loaded.Kinds[slices.IndexFunc(loaded.Kinds, func(k source.AdaptedKind) bool { return k.GroupKind == ref.GroupKind })]
		now.paths[ref] = pathOf(kind.Resource, ref)
		story, err := teller.Of(ctx, source.Target{Kind: kind, Ref: ref},
			explain.Input{At: now.at, Zone: time.UTC, FlyballNamespace: harness.Namespace})
		if err != nil {
			return nil, nil, fmt.Errorf("explain %s: %w", ref, err)
		}
		now.stories[ref] = story
		if (story.Pending != "" || story.Recording) && (story.Waits == nil || !story.Waits.Until.After(now.at)) {
			now.open[ref] = true
			continue
		}
		for _, what := range slices.Concat(disagreesWithLedger(story, now.objects[ref]), disagreesWithStatus(story, loaded)) {
			wrong = append(wrong, ref.String()+": "+what)
		}
	}
	slices.Sort(wrong)
	return now, wrong, nil
}

// withoutIdle removes the adapters of kinds without objects in the namespace, because compiling them for each
// explanation takes most of the time. It edits the given world.
func withoutIdle(loaded *source.World) {
	used := map[schema.GroupKind]bool{}
	for _, raw := range loaded.Objects {
		used[groupKind(raw)] = true
	}
	kept := loaded.Adapters[:0]
	for _, a := range loaded.Adapters {
		if used[schema.GroupKind{Group: a.Spec.Target.Group, Kind: a.Spec.Target.Kind}] {
			kept = append(kept, a)
		}
	}
	loaded.Adapters = kept
}

// rules returns all inputs of decisions besides the targets. While it is unchanged, only time and the targets cause new
// decisions.
func rules(w *source.World) string {
	var all []string
	for _, p := range w.Policies {
		all = append(all, fmt.Sprint(source.IDOf(p), p.GetUID(), p.GetGeneration(), p.GetDeletionTimestamp(), p.GetAnnotations()))
	}
	for _, a := range w.Adapters {
		all = append(all, fmt.Sprint(a.Name, a.UID, a.Generation, a.DeletionTimestamp, w.Blocked[a.Name]))
	}
	for _, c := range w.Calendars {
		all = append(all, fmt.Sprint(c.Name, c.UID, c.Generation))
	}
	for _, ns := range w.Namespaces {
		all = append(all, fmt.Sprint(ns.Name, ns.Labels, ns.Annotations))
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// sameTargets reports whether two scenes have the same objects.
func sameTargets(a, b *scene) bool {
	names := func(s *scene) []workload.Ref { return slices.SortedFunc(maps.Keys(s.objects), workload.Ref.Compare) }
	return slices.Equal(names(a), names(b))
}
