package world_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Readers read snapshots while each transaction adds or removes two policies together.
func TestReadersSeeWholeTransactions(t *testing.T) {
	w := world.New(selector.Scope{})
	a, b := nights(), nights()
	b.Name = "days"
	over := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				s := w.Snapshot()
				listed := 0
				s.EachPolicy("shop", func(*decide.Policy) { listed++ })
				first, second := s.Find(idOf("Schedule", a)) != nil, s.Find(idOf("Schedule", b)) != nil
				if first != second || listed != s.PolicyCount() || listed == 1 || len(s.Keys(deployments).Match) > 0 != first {
					t.Errorf("one is there: %t, the other: %t; %d listed of %d", first, second, listed, s.PolicyCount())
					return
				}
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	a.Spec.Target.Annotations = map[string]string{"team": "a"}
	for range 300 {
		update(w, func(tx *world.Tx) { tx.SetPolicy(kind("Schedule"), a); tx.SetPolicy(kind("Schedule"), b) })
		update(w, func(tx *world.Tx) { tx.RemovePolicy(idOf("Schedule", a)); tx.RemovePolicy(idOf("Schedule", b)) })
	}
	close(over)
	readers.Wait()
}

// The freezes act on no target in the namespace, but they judge changes there.
func TestPolicyIndexFindsFreezesOfANamespace(t *testing.T) {
	w := world.New(selector.Scope{})
	f := &v1alpha1.ClusterChangeFreeze{ObjectMeta: meta("", "inventory")}
	f.Spec.Target.Namespaces, f.Spec.Deny = []string{"shop"}, []v1alpha1.Action{v1alpha1.ActionDelete}
	f.Spec.StartTime = metav1.NewTime(time.Date(2026, 3, 2, 11, 0, 0, 0, time.UTC))
	f.Spec.EndTime = metav1.NewTime(f.Spec.StartTime.Add(time.Hour))
	update(w, func(tx *world.Tx) { tx.SetPolicy(kind("ClusterChangeFreeze"), f) })
	for namespace, want := range map[string]int{"shop": 1, "bank": 0, "": 1} {
		found := 0
		w.Snapshot().EachPolicy(namespace, func(*decide.Policy) { found++ })
		if found != want {
			t.Errorf("namespace %q: %d policies, want %d", namespace, found, want)
		}
	}
}

// The index of policies is compared with a plain map under random changes. Snapshots taken earlier must not change.
func TestPolicyIndexEqualsAPlainMap(t *testing.T) {
	spaces := []string{"shop", "bank", "post"}
	rapid.Check(t, func(t *rapid.T) {
		w := world.New(selector.Scope{})
		model := map[workload.Policy][]string{} // the namespaces named by each policy; no names mean every namespace
		reached := func(s *world.Snapshot, namespace string) (names []string) {
			s.EachPolicy(namespace, func(p *decide.Policy) { names = append(names, p.ID.String()) })
			slices.Sort(names)
			return names
		}
		var old *world.Snapshot
		var then [][]string
		var generation int64
		for range rapid.IntRange(1, 30).Draw(t, "transactions") {
			before := w.Snapshot()
			if old == nil || rapid.IntRange(0, 4).Draw(t, "keep") == 0 {
				old, then = before, nil
				for _, ns := range append(spaces, "") {
					then = append(then, reached(old, ns))
				}
			}
			update(w, func(tx *world.Tx) {
				for range rapid.IntRange(1, 4).Draw(t, "steps") {
					c := &v1alpha1.ClusterSchedule{ObjectMeta: meta("", rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name"))}
					id := idOf("ClusterSchedule", c)
					if rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
						tx.RemovePolicy(id)
						delete(model, id)
						continue
					}
					generation++
					c.Generation = generation
					c.Spec.Downscale, c.Spec.Upscale = "0 20 * * *", "0 8 * * *"
					named := rapid.SliceOfNDistinct(rapid.SampledFrom(spaces), 0, 2, rapid.ID[string]).Draw(t, "namespaces")
					c.Spec.Target.Namespaces = named
					byLabels := len(named) == 0 || rapid.Bool().Draw(t, "broad")
					if byLabels {
						c.Spec.Target.NamespaceSelector = &metav1.LabelSelector{}
						named = nil
					}
					tx.SetPolicy(kind("ClusterSchedule"), c)
					model[id] = named
				}
			})
			s := w.Snapshot()
			for _, ns := range append(spaces, "") {
				var want []string
				for id, named := range model {
					if ns == "" || len(named) == 0 || slices.Contains(named, ns) {
						want = append(want, id.String())
					}
				}
				slices.Sort(want)
				if got := reached(s, ns); !slices.Equal(got, want) {
					t.Fatalf("namespace %q: found %v, want %v", ns, got, want)
				}
			}
			for i, ns := range append(spaces, "") {
				if got := reached(old, ns); !slices.Equal(got, then[i]) {
					t.Fatalf("namespace %q of an old snapshot: found %v, there were %v", ns, got, then[i])
				}
			}
			if s.PolicyCount() != len(model) {
				t.Fatalf("%d policies, want %d", s.PolicyCount(), len(model))
			}
		}
	})
}
