package world_test

import (
	"fmt"
	"slices"
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

var byNights = workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}

// slept is a Deployment with a ledger of two entries of one policy.
func slept(name string, by workload.Policy) *workload.Object {
	return &workload.Object{Namespace: "shop", Name: name, Ledger: workload.Ledger{
		{Pointer: "/spec/replicas", By: by.String()}, {Pointer: "/spec/paused", By: by.String()},
	}}
}

// put applies an object to a Live as its watch would.
func put(live *world.Live, obj *workload.Object) world.Effects {
	return world.New(selector.Scope{}).ObjectChanged(live, live.Objects.(*worldtest.Store).Put(obj), obj)
}

func remove(live *world.Live, obj *workload.Object) world.Effects {
	return world.New(selector.Scope{}).ObjectChanged(live, live.Objects.(*worldtest.Store).Remove(obj.Namespace, obj.Name), nil)
}

func TestLedgerIndexIsIdempotentAndReportsEmptiedPolicies(t *testing.T) {
	use, live := useKind(t, worldtest.Deployments, "")
	w := world.New(selector.Scope{})
	update(w, use)
	for i := range 2 {
		if e := put(live, slept("web", byNights)); len(e.Emptied) > 0 || e.FirstOrLast != (i == 0) {
			t.Fatalf("adding, time %d, emptied %v; first or last: %t", i+1, e.Emptied, e.FirstOrLast)
		}
	}
	var refs []workload.Ref
	w.Snapshot().EachTarget(&world.Policy{Policy: policyNothing(byNights)}, func(ref workload.Ref) { refs = append(refs, ref) })
	if n := w.Snapshot().LedgersOf(byNights); n != 1 || live.Ledgers() != 1 || len(refs) != 1 {
		t.Errorf("counts %d, %d, %d; want one object", n, live.Ledgers(), len(refs))
	}
	plain := &workload.Object{Namespace: "shop", Name: "web"}
	e := put(live, plain)
	if len(e.Emptied) != 1 || e.Emptied[0] != byNights || !e.FirstOrLast {
		t.Errorf("removing the last emptied %v, %t", e.Emptied, e.FirstOrLast)
	}
	if e := remove(live, plain); len(e.Emptied) > 0 || e.FirstOrLast {
		t.Errorf("removing it again emptied %v, %t", e.Emptied, e.FirstOrLast)
	}
}

// A finalizer of another controller may keep a deleted object for ever. Its ledger does not count, readable or not.
func TestLedgersOfDeletedObjectsDoNotCount(t *testing.T) {
	for _, fault := range []string{"", "not JSON"} {
		use, live := useKind(t, worldtest.Deployments, "")
		w := world.New(selector.Scope{})
		update(w, use)
		put(live, slept("web", byNights))
		going := slept("web", byNights)
		going.Deleting, going.LedgerError = true, fault
		if e := put(live, going); !slices.Equal(e.Emptied, []workload.Policy{byNights}) || !e.FirstOrLast {
			t.Errorf("emptied %v, %t", e.Emptied, e.FirstOrLast)
		}
		if n := w.Snapshot().LedgersOf(byNights); n != 0 || live.Ledgers() != 0 || len(live.WithLedgers()) != 0 {
			t.Errorf("%d ledgers of the policy and %d of the kind are left", n, live.Ledgers())
		}
	}
}

// An unreadable ledger counts for the policies that it named when it was last readable, even after the watch was
// replaced.
func TestUnreadableLedgersCountForTheirLastKnownPolicies(t *testing.T) {
	use, live := useKind(t, worldtest.Deployments, "")
	w := world.New(selector.Scope{})
	update(w, use)
	put(live, slept("web", byNights))
	bad := &workload.Object{Namespace: "shop", Name: "web", LedgerError: "not JSON"}
	if e := put(live, bad); len(e.Emptied) > 0 {
		t.Errorf("emptied %v, though nobody can read what is left", e.Emptied)
	}
	next, after := useKind(t, worldtest.Deployments, "")
	put(after, bad)
	put(after, &workload.Object{Namespace: "shop", Name: "other", LedgerError: "not JSON"})
	update(w, next)
	s := w.Snapshot()
	ref := workload.Ref{GroupKind: deployments, Namespace: "shop", Name: "web"}
	if n := s.LedgersOf(byNights); n != 1 || !slices.Equal(s.LastKnown(ref), []workload.Policy{byNights}) {
		t.Errorf("under the next watch %d ledgers, of %v", n, s.LastKnown(ref))
	}
	if after.Ledgers() != 2 {
		t.Errorf("%d objects have something to give back, want 2", after.Ledgers())
	}
}

func autoscaler(t *testing.T, k *decide.Kind, name, of string) *workload.Object {
	return worldtest.Project(t, k, worldtest.Autoscaler(name, of, 1, 5, ""))
}

func web(name string) workload.Ref {
	return workload.Ref{GroupKind: deployments, Namespace: "shop", Name: name}
}

func TestWorldFindsAutoscalersOfTargets(t *testing.T) {
	k := worldtest.Kind(t, worldtest.Autoscalers)
	use, live := useKind(t, worldtest.Autoscalers, "")
	w := world.New(selector.Scope{})
	update(w, use)
	hpa := k.Ref(autoscaler(t, k, "hpa", "web"))
	of := func(name string) []workload.Ref { return w.Snapshot().Autoscalers(web(name)) }
	if e := put(live, autoscaler(t, k, "hpa", "web")); !slices.Equal(e.Targets, []workload.Ref{hpa, web("web")}) {
		t.Errorf("to look at: %v", e.Targets)
	}
	if e := put(live, autoscaler(t, k, "hpa", "api")); !slices.Equal(e.Targets, []workload.Ref{hpa, web("api"), web("web")}) {
		t.Errorf("to look at: %v, want what it governs and what it governed", e.Targets)
	}
	if got := of("web"); len(got) != 0 {
		t.Errorf("web is still governed by %v", got)
	}
	if got := of("api"); !slices.Equal(got, []workload.Ref{hpa}) {
		t.Errorf("api is governed by %v", got)
	}
	var related []workload.Ref
	w.Snapshot().Related(hpa, func(ref workload.Ref) { related = append(related, ref) })
	if !slices.Equal(related, []workload.Ref{hpa, web("api")}) {
		t.Errorf("related are %v", related)
	}
	c := update(w, func(tx *world.Tx) { tx.DropKind(worldtest.Autoscalers) })
	if got := of("api"); len(got) != 0 || len(c.Dropped) != 1 {
		t.Errorf("after its kind is gone, %v still governs; dropped %d", got, len(c.Dropped))
	}
}

// A new watch takes over while the old watch still delivers events.
func TestLateEventsOfAReplacedWatchAreIgnored(t *testing.T) {
	w := world.New(selector.Scope{})
	useOld, old := useKind(t, worldtest.Autoscalers, "")
	k := worldtest.Kind(t, worldtest.Autoscalers)
	update(w, useOld)
	put(old, autoscaler(t, k, "hpa", "web"))
	useNext, next := useKind(t, worldtest.Autoscalers, "")
	put(next, autoscaler(t, k, "hpa", "web"))
	if c := update(w, useNext); len(c.Kinds) != 1 || c.Kinds[0] != k.GroupKind {
		t.Errorf("the next watch takes over: %+v", c)
	}
	late := autoscaler(t, k, "late", "api")
	late.Ledger = slept("late", byNights).Ledger
	put(old, late)
	remove(old, autoscaler(t, k, "hpa", "web"))
	s := w.Snapshot()
	if n := s.LedgersOf(byNights); n != 0 {
		t.Errorf("%d ledgers of the old watch are counted", n)
	}
	if got := s.Autoscalers(web("api")); len(got) != 0 {
		t.Errorf("api is governed by %v, which only the old watch tells of", got)
	}
	if got := s.Autoscalers(web("web")); len(got) != 1 {
		t.Errorf("web is governed by %v, though only the old watch says that this is over", got)
	}
	if s.Object(k.Ref(late)) != nil {
		t.Error("an object of the old watch is found")
	}
}

// The new adapter reads the scale targets of a kind that had none before, or no longer reads them.
func TestAdaptRebuildsTheAutoscalerIndex(t *testing.T) {
	k := worldtest.Kind(t, worldtest.Autoscalers)
	use, live := useKind(t, worldtest.Autoscalers, "")
	w := world.New(selector.Scope{})
	update(w, use)
	for i := range 3 {
		put(live, autoscaler(t, k, fmt.Sprint("hpa-", i), "web"))
	}
	alone, errs := adapter.Compile(worldtest.Autoscalers, v1alpha1.AdapterSpec{
		Target: v1alpha1.AdapterTarget{Group: k.Group, Kind: k.Kind, Versions: []string{"v2"}},
		Bounds: &v1alpha1.Bounds{Min: &v1alpha1.Bound{Path: ".spec.minReplicas", Minimum: 0}},
	}, adapter.Keys{})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	live.Adapt(alone)
	if got := w.Snapshot().Autoscalers(web("web")); len(got) != 0 {
		t.Errorf("by rules that name nothing governed, %v govern", got)
	}
	live.Adapt(k.Adapter)
	if got := w.Snapshot().Autoscalers(web("web")); len(got) != 3 {
		t.Errorf("by the former rules, %v govern", got)
	}
}

// The kind is in use before its watch is in sync.
func TestAnUnsyncedWatchShowsNoObjects(t *testing.T) {
	use, live := useKind(t, worldtest.Deployments, "")
	w := world.New(selector.Scope{})
	update(w, use)
	put(live, slept("web", byNights))
	store := live.Objects.(*worldtest.Store)
	store.SetSynced(false)
	if w.Snapshot().Object(web("web")) != nil {
		t.Error("an object is found before the first list is complete")
	}
	store.SetSynced(true)
	if w.Snapshot().Object(web("web")) == nil {
		t.Error("an object is not found")
	}
}
