package cli_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/cmd/kubectl-flyball/explain"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

const root = "../../.."

// TestExplainIsTrue compares the output of explain with the later writes in a simulation of all objects. It does so at
// each instant with a write, and between two of them. It covers the demo's week, and the first two days of every
// sample of schedules and triggers.
func TestExplainIsTrue(t *testing.T) {
	scenes := map[string][]string{"demo": {root + "/test/demo/manifests", root + "/samples/calendars"}}
	for _, dir := range []string{"schedules", "triggers", "cluster-schedules", "cluster-triggers"} {
		files, err := filepath.Glob(filepath.Join(root, "samples", dir, "*.yaml"))
		if err != nil || len(files) == 0 {
			t.Fatalf("samples of %s: %d, %v", dir, len(files), err)
		}
		for _, file := range files {
			scenes[dir+"/"+filepath.Base(file)] = []string{file, root + "/samples/calendars"}
		}
	}
	told := 0
	for name, paths := range scenes {
		t.Run(name, func(t *testing.T) {
			w, err := source.Files{Paths: paths, Namespace: "shop", FlyballNamespace: source.DefaultNamespace}.Load()
			if err != nil {
				t.Fatal(err)
			}
			withoutIdle(w)
			days := 2
			if name == "demo" {
				days = 7
			}
			told += tell(t, w, time.Date(2037, 5, 10, 22, 0, 0, 0, time.UTC), days)
		})
	}
	t.Logf("%d stories", told)
	if told < 500 {
		t.Errorf("only %d stories were told", told)
	}
}

// withoutIdle removes the adapters of kinds without objects, because compiling the adapters for each explanation takes
// most of the time. It changes the given world.
func withoutIdle(w *source.World) {
	w.Adapters = slices.DeleteFunc(w.Adapters, func(a *v1alpha1.Adapter) bool {
		return !slices.ContainsFunc(w.Objects, func(raw []byte) bool { return rawjson.GetBytes(raw, "kind").Str == a.Spec.Target.Kind })
	})
}

// atOnce is the number of targets that are explained at each instant. The targets of a large world take turns. Targets
// that nothing changes are explained at one of seldom of these instants, since explain searches a year for their next change.
const atOnce, seldom = 3, 10

// tell explains targets at every instant of some days, and returns the number of explanations.
func tell(t *testing.T, w *source.World, from time.Time, days int) (stories int) {
	t.Helper()
	memory, err := w.Memory()
	if err != nil {
		t.Fatal(err)
	}
	var targets []workload.Ref
	memory.EachObject(func(ref workload.Ref) { targets = append(targets, ref) })
	slices.SortFunc(targets, workload.Ref.Compare)
	writes, objectsAt := simulated(t, memory, w.Objects, from, days)
	first, err := explain.NewTeller(w)
	if err != nil {
		t.Fatal(err)
	}
	turns := (len(targets) + atOnce - 1) / atOnce
	for turn, at := range instantsOf(writes, from, from.AddDate(0, 0, days)) {
		next := *w
		next.Objects = objectsAt(at)
		teller, err := explain.NewTeller(&next)
		if err != nil {
			t.Fatal(err)
		}
		for i, ref := range targets {
			changes := slices.ContainsFunc(writes, func(w decide.Write) bool { return w.Target == ref && w.Message != "" })
			if i%turns != turn%turns || !changes && turn%seldom != 0 {
				continue
			}
			story, err := teller.Of(t.Context(), source.Target{Ref: ref, Kind: kindOf(w, ref)}, explain.Input{At: at, Zone: time.UTC})
			if err != nil {
				t.Fatal(err)
			}
			compare(t, story, writes, ref, at)
			stories++
			if at.Equal(from) {
				continue
			}
			foreseen, err := first.Of(t.Context(), source.Target{Ref: ref, Kind: kindOf(w, ref)}, explain.Input{At: at, Now: from, Zone: time.UTC})
			if err != nil {
				t.Fatal(err)
			}
			isForeseen(t, story, foreseen)
		}
	}
	return stories
}

// simulated returns the writes of four weeks in a world with the given objects. The function at returns the objects
// after all writes until an instant of the first days.
func simulated(t *testing.T, memory *world.Memory, objects [][]byte, from time.Time, days int) (
	writes []decide.Write, at func(time.Time) [][]byte,
) {
	t.Helper()
	type state struct {
		since   time.Time
		objects [][]byte
	}
	states := []state{{objects: objects}}
	for write, err := range decide.Writes(memory, from, from.AddDate(0, 0, 28)) {
		if err != nil {
			t.Fatal(err)
		}
		writes = append(writes, write)
		if write.At.After(from.AddDate(0, 0, days)) {
			continue
		}
		next := state{since: write.At}
		memory.EachObject(func(ref workload.Ref) { next.objects = append(next.objects, memory.Raw(ref)) })
		states = append(states, next)
	}
	return writes, func(at time.Time) [][]byte {
		i := len(states) - 1
		for states[i].since.After(at) {
			i--
		}
		return states[i].objects
	}
}

func kindOf(w *source.World, ref workload.Ref) source.AdaptedKind {
	i := slices.IndexFunc(w.Kinds, func(k source.AdaptedKind) bool { return k.GroupKind == ref.GroupKind })
	return w.Kinds[i]
}

// instantsOf returns the instants of the writes, and the middle between each two of these instants.
func instantsOf(writes []decide.Write, from, to time.Time) []time.Time {
	all := []time.Time{from}
	for _, write := range writes {
		last := all[len(all)-1]
		if write.At.After(to) || write.At.Equal(last) {
			continue
		}
		all = append(all, last.Add(write.At.Sub(last)/2).Truncate(time.Second), write.At)
	}
	return slices.CompactFunc(all, time.Time.Equal)
}

// isForeseen compares two explanations of the same instant. before was made from an earlier world. then was made from
// the world after all writes until the instant.
func isForeseen(t *testing.T, then, before *explain.Explanation) {
	t.Helper()
	if slices.ContainsFunc(then.Policies, func(p explain.Policy) bool { return p.Batch != "" }) {
		return // the objects do not show how much of an open batch is used
	}
	type seen struct {
		State, Summary, Pending string
		Ledger                  []explain.Entry
		Next                    []explain.Change
	}
	of := func(e *explain.Explanation) seen { return seen{e.State, e.Summary, e.Pending, e.Ledger, e.Next} }
	if diff := cmp.Diff(of(then), of(before), cmp.Transformer("utc", time.Time.UTC)); diff != "" {
		t.Errorf("%s at %s: then (-) and as it was foreseen (+):\n%s", then.Target, then.At.Format(time.RFC3339), diff)
	}
}

// compare compares an explanation with the simulated writes before and after its instant.
func compare(t *testing.T, story *explain.Explanation, writes []decide.Write, ref workload.Ref, at time.Time) {
	t.Helper()
	var next []explain.Change
	var before, last *decide.Write
	for i := range writes {
		write := &writes[i]
		switch {
		case !write.At.After(at):
			last = write
			if write.Target == ref {
				before = write
			}
		case write.Target == ref && write.Message != "" && len(next) < 3:
			next = append(next, explain.Change{At: write.At, Message: write.Message, By: write.By.String()})
		}
	}
	limited := slices.ContainsFunc(story.Policies, func(p explain.Policy) bool { return p.Batch != "" })
	if limited && last != nil && at.Sub(last.At) < time.Hour {
		return // the objects do not show how much of an open batch is used
	}
	if diff := cmp.Diff(next, story.Next, cmp.Transformer("utc", time.Time.UTC)); diff != "" && len(next)+len(story.Next) > 0 {
		t.Errorf("%s at %s: what happens next (-) and what was told (+):\n%s", ref, at.Format(time.RFC3339), diff)
	}
	if story.State == "asleep" {
		if before == nil || before.By.String() != story.Winner {
			t.Errorf("%s at %s: asleep because of %q, but the last write was %+v", ref, at.Format(time.RFC3339), story.Winner, before)
		}
		if len(story.Ledger) == 0 {
			t.Errorf("%s at %s: asleep, and what was there before is not told", ref, at.Format(time.RFC3339))
		}
	}
	if story.State == "asleep" && len(story.Policies) == 1 && len(next) > 0 && !limited &&
		!strings.Contains(story.Reason, next[0].At.UTC().Format(time.RFC3339)) {
		t.Errorf("%s at %s: the reason %q does not name %s, when it wakes", ref, at.Format(time.RFC3339), story.Reason, next[0].At)
	}
}

// TestAllPoliciesForAwakeAreNamed checks that none of several policies that agree is called the only cause.
func TestAllPoliciesForAwakeAreNamed(t *testing.T) {
	w, err := source.Files{Paths: []string{"-"}, Stdin: strings.NewReader(`
{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: 3}}
---
{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {name: days, namespace: shop}, spec: {
  upscale: "0 8 * * *", downscale: "0 20 * * *"}}
---
{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {name: late, namespace: shop}, spec: {
  upscale: "0 9 * * *", downscale: "0 22 * * *", priority: 9}}
`), Namespace: "shop", FlyballNamespace: source.DefaultNamespace}.Load()
	if err != nil {
		t.Fatal(err)
	}
	target, err := w.FindTarget("deployment/web", "shop")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2037, 5, 11, 12, 0, 0, 0, time.UTC)
	e, err := explain.Of(t.Context(), w, target, explain.Input{At: at, Now: at, Zone: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	if want := "as its owner has it, because of Schedule/shop/days and Schedule/shop/late: awake since"; !strings.HasPrefix(e.Summary, want) {
		t.Errorf("it says %q, want %q", e.Summary, want)
	}
}
