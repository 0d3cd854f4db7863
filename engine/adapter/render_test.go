package adapter

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

func entry(pointer, was, set string) workload.Entry {
	return workload.Entry{Pointer: pointer, Was: was, Set: set, By: nights.String(), Since: monday}
}

func wasNull(e workload.Entry) workload.Entry {
	e.WasNull = true
	return e
}

// rendering has the fields of a Result to compare, and the object after the writes.
type rendering struct {
	Writes     int
	Spec       string
	Ledger     workload.Ledger
	State      string
	Direction  string
	By         workload.Policy
	Overridden []string
	Corrected  bool
	Message    string
}

func renderingOf(t *testing.T, a *Adapter, doc []byte, plan workload.Plan) rendering {
	t.Helper()
	s := newServer(doc)
	r := s.settle(t, a, plan)
	o := rendering{
		Writes: s.writes, Spec: s.spec(), Ledger: s.ledger(t, a), State: r.State.String(), Direction: r.Direction.String(),
		By: r.By, Overridden: r.Overridden, Corrected: r.Corrected, Message: r.Message,
	}
	return o
}

func TestRenderRules(t *testing.T) {
	replicas := entry("/spec/replicas", "3", "0")
	tuesday := monday.Add(24 * time.Hour)
	adopted := func(e workload.Entry) workload.Entry {
		e.Adopted = true
		return e
	}
	by := func(e workload.Entry, p workload.Policy, since time.Time) workload.Entry {
		e.By, e.Since = p.String(), since
		return e
	}
	tests := []struct {
		name string
		spec string
		was  []workload.Entry
		plan workload.Plan
		want rendering
	}{
		{"1: no entry, other value: written with the original", `{"replicas":3}`, nil, sleep(), rendering{
			Writes: 1, Spec: `{"replicas":0}`, Ledger: workload.Ledger{replicas}, State: "asleep", Direction: "down", By: nights,
			Message: "replicas 3 -> 0",
		}},
		{"1: absent is remembered apart from a value", `{}`, nil, sleep(), rendering{
			Writes: 1, Spec: `{"replicas":0}`, Ledger: workload.Ledger{entry("/spec/replicas", "", "0")}, State: "asleep",
			Direction: "down", By: nights, Message: "replicas absent -> 0",
		}},
		{"1: no entry, same value: the owner's own zero is left alone", `{"replicas":0}`, nil, sleep(), rendering{
			Spec: `{"replicas":0}`, State: "already_asleep", Direction: "ledger", By: nights, Message: "already asleep by its owner",
		}},
		{"2: as set: nothing", `{"replicas":0}`, []workload.Entry{replicas}, sleep(), rendering{
			Spec: `{"replicas":0}`, Ledger: workload.Ledger{replicas}, State: "asleep", Direction: "ledger", By: nights,
		}},
		{"2: as set, the claim begins later: noted, so that a later change is told from an earlier one", `{"replicas":0}`,
			[]workload.Entry{replicas},
			at(sleep(), tuesday), rendering{
				Writes: 1, Spec: `{"replicas":0}`, Ledger: workload.Ledger{by(replicas, nights, tuesday)}, State: "asleep", Direction: "ledger",
				By: nights,
			}},
		{"2: as set, the claim began earlier: nothing", `{"replicas":0}`, []workload.Entry{replicas}, at(sleep(), monday.Add(-time.Hour)),
			rendering{
				Spec: `{"replicas":0}`, Ledger: workload.Ledger{replicas}, State: "asleep", Direction: "ledger", By: nights,
			}},
		{"2: as set, another value wanted: the original stays", `{"replicas":0}`, []workload.Entry{replicas},
			at(size(workload.SizeAtMost, 1), tuesday), rendering{
				Writes: 1, Spec: `{"replicas":1}`, Ledger: workload.Ledger{by(entry("/spec/replicas", "3", "1"), nights, tuesday)},
				State: "asleep", Direction: "up", By: nights, Message: "replicas 0 -> 1",
			}},
		{"2: as set, less wanted: down", `{"replicas":2}`, []workload.Entry{entry("/spec/replicas", "3", "2")}, sleep(), rendering{
			Writes: 1, Spec: `{"replicas":0}`, Ledger: workload.Ledger{replicas}, State: "asleep", Direction: "down", By: nights,
			Message: "replicas 2 -> 0",
		}},
		{"2: as set, the original wanted: given back", `{"replicas":0}`, []workload.Entry{replicas}, size(workload.SizeAtMost, 9), rendering{
			Writes: 1, Spec: `{"replicas":3}`, State: "already_asleep", Direction: "up", By: nights, Message: "replicas 0 -> 3",
		}},
		{"3: changed by somebody else in the same transition: respected", `{"replicas":5}`, []workload.Entry{replicas}, sleep(), rendering{
			Writes: 1, Spec: `{"replicas":5}`, Ledger: workload.Ledger{adopted(replicas)}, State: "overridden", Direction: "ledger", By: nights,
			Overridden: []string{"/spec/replicas"}, Message: "replicas is 5, changed by another writer: left until the next transition",
		}},
		{"3: changed back to the original: respected", `{"replicas":3}`, []workload.Entry{replicas}, sleep(), rendering{
			Writes: 1, Spec: `{"replicas":3}`, Ledger: workload.Ledger{adopted(replicas)}, State: "overridden", Direction: "ledger", By: nights,
			Overridden: []string{"/spec/replicas"}, Message: "replicas is 3, changed by another writer: left until the next transition",
		}},
		{"3: percent of another original is the same transition", `{"replicas":8}`, []workload.Entry{entry("/spec/replicas", "10", "5")},
			size(workload.SizePercent, 50), rendering{
				Writes: 1, Spec: `{"replicas":8}`, Ledger: workload.Ledger{adopted(entry("/spec/replicas", "10", "5"))}, State: "overridden",
				Direction: "ledger",
				By:        nights, Overridden: []string{"/spec/replicas"},
				Message: "replicas is 8, changed by another writer: left until the next transition",
			}},
		{"3: enforced: written again, the original stays", `{"replicas":5}`, []workload.Entry{replicas}, enforced(sleep()), rendering{
			Writes: 1, Spec: `{"replicas":0}`, Ledger: workload.Ledger{replicas}, State: "asleep", Direction: "down", By: nights,
			Corrected: true, Message: "replicas 5 -> 0",
		}},
		{"3: a later transition takes their value as the original", `{"replicas":5}`, []workload.Entry{replicas}, at(sleep(), tuesday), rendering{
			Writes: 1, Spec: `{"replicas":0}`, Ledger: workload.Ledger{by(entry("/spec/replicas", "5", "0"), nights, tuesday)},
			State: "asleep", Direction: "down", By: nights, Message: "replicas 5 -> 0",
		}},
		{"3: another wish is a new transition", `{"replicas":5}`, []workload.Entry{replicas}, size(workload.SizeAtMost, 1), rendering{
			Writes: 1, Spec: `{"replicas":1}`, Ledger: workload.Ledger{entry("/spec/replicas", "5", "1")}, State: "asleep",
			Direction: "down", By: nights, Message: "replicas 5 -> 1",
		}},
		{"3: their value is what is wanted: the entry goes", `{"replicas":1}`, []workload.Entry{replicas}, size(workload.SizeAtMost, 1),
			rendering{
				Writes: 1, Spec: `{"replicas":1}`, State: "already_asleep", Direction: "ledger", By: nights, Message: "already asleep by its owner",
			}},
		{"4: unclaimed: given back", `{"replicas":0}`, []workload.Entry{replicas}, workload.Plan{}, rendering{
			Writes: 1, Spec: `{"replicas":3}`, State: "awake", Direction: "up", By: nights, Message: "replicas 0 -> 3",
		}},
		{"4: unclaimed, absent before: removed", `{"replicas":0}`, []workload.Entry{entry("/spec/replicas", "", "0")}, workload.Plan{}, rendering{
			Writes: 1, Spec: `{}`, State: "awake", Direction: "up", By: nights, Message: "replicas 0 -> absent",
		}},
		{"4: unclaimed, changed by somebody else: their value stands", `{"replicas":5}`, []workload.Entry{replicas}, workload.Plan{}, rendering{
			Writes: 1, Spec: `{"replicas":5}`, State: "awake", Direction: "ledger", By: nights,
		}},
		{"4: orphaned: the entry goes, the value stays", `{"replicas":0}`, []workload.Entry{replicas},
			workload.Plan{Orphan: map[workload.Policy]bool{nights: true}}, rendering{
				Writes: 1, Spec: `{"replicas":0}`, State: "awake", Direction: "ledger", By: nights,
			}},
		{"4: kept: both stay", `{"replicas":0}`, []workload.Entry{replicas},
			workload.Plan{Keep: map[workload.Policy]bool{nights: true}}, rendering{
				Spec: `{"replicas":0}`, Ledger: workload.Ledger{replicas}, State: "asleep", Direction: "ledger", By: nights,
			}},
		{"4: kept by one, not by another", `{"replicas":0}`, []workload.Entry{replicas},
			workload.Plan{Keep: map[workload.Policy]bool{peaks: true}}, rendering{
				Writes: 1, Spec: `{"replicas":3}`, State: "awake", Direction: "up", By: nights, Message: "replicas 0 -> 3",
			}},
		{"6: the entry passes to who claims it now", `{"replicas":0}`, []workload.Entry{by(replicas, peaks, monday.Add(-time.Hour))}, sleep(),
			rendering{
				Writes: 1, Spec: `{"replicas":0}`, Ledger: workload.Ledger{replicas}, State: "asleep", Direction: "ledger", By: nights,
			}},
		{"6: overridden or not", `{"replicas":5}`, []workload.Entry{by(replicas, peaks, tuesday)}, sleep(), rendering{
			Writes: 1, Spec: `{"replicas":5}`, Ledger: workload.Ledger{adopted(by(replicas, nights, tuesday))}, State: "overridden",
			Direction: "ledger",
			By:        nights, Overridden: []string{"/spec/replicas"},
			Message: "replicas is 5, changed by another writer: left until the next transition",
		}},
		{"9: exactly raises", `{"replicas":3}`, nil, size(workload.SizeExactly, 6), rendering{
			Writes: 1, Spec: `{"replicas":6}`, Ledger: workload.Ledger{entry("/spec/replicas", "3", "6")}, State: "set", Direction: "down",
			By: nights, Message: "replicas 3 -> 6",
		}},
		{"9: exactly the default is what absent means already", `{}`, nil, size(workload.SizeExactly, 1), rendering{
			Spec: `{}`, State: "set", Direction: "ledger", By: nights,
		}},
		{"9: percent, rounded up", `{"replicas":5}`, nil, size(workload.SizePercent, 50), rendering{
			Writes: 1, Spec: `{"replicas":3}`, Ledger: workload.Ledger{entry("/spec/replicas", "5", "3")}, State: "asleep", Direction: "down",
			By: nights, Message: "replicas 5 -> 3",
		}},
		{"9: own is no claim", `{"replicas":0}`, []workload.Entry{replicas}, size(workload.SizeOwn, 0), rendering{
			Writes: 1, Spec: `{"replicas":3}`, State: "awake", Direction: "up", By: nights, Message: "replicas 0 -> 3",
		}},
		{"an ill-typed count is never guessed at", `{"replicas":"three"}`, nil, sleep(), rendering{
			Spec: `{"replicas":"three"}`, State: "unable", Direction: "ledger", By: nights,
			Message: `the count of main is "three", which is no whole number of 0 or more`,
		}},
		{"4: changed by somebody else and back again: the last word is theirs", `{"replicas":0}`, []workload.Entry{adopted(replicas)},
			workload.Plan{}, rendering{
				Writes: 1, Spec: `{"replicas":0}`, State: "awake", Direction: "ledger", By: nights,
			}},
		{"3: changed by somebody else and back again: respected", `{"replicas":0}`, []workload.Entry{adopted(replicas)}, sleep(), rendering{
			Spec: `{"replicas":0}`, Ledger: workload.Ledger{adopted(replicas)}, State: "already_asleep", Direction: "ledger", By: nights,
			Message: "already asleep by its owner",
		}},
		{"3: changed by somebody else and back again: nothing to correct", `{"replicas":0}`, []workload.Entry{adopted(replicas)},
			enforced(sleep()), rendering{
				Spec: `{"replicas":0}`, Ledger: workload.Ledger{adopted(replicas)}, State: "already_asleep", Direction: "ledger", By: nights,
				Message: "already asleep by its owner",
			}},
		{"3: theirs, and the next transition wants the same: the entry goes", `{"replicas":0}`, []workload.Entry{adopted(replicas)},
			at(sleep(), tuesday), rendering{
				Writes: 1, Spec: `{"replicas":0}`, State: "already_asleep", Direction: "ledger", By: nights, Message: "already asleep by its owner",
			}},
		{"as set, in another spelling: still Flyball's", `{"replicas":"0"}`, []workload.Entry{replicas}, workload.Plan{}, rendering{
			Writes: 1, Spec: `{"replicas":3}`, State: "awake", Direction: "up", By: nights, Message: `replicas "0" -> 3`,
		}},
		{"an explicit null is none", `{"replicas":null}`, nil, sleep(), rendering{
			Writes: 1, Spec: `{"replicas":0}`, Ledger: workload.Ledger{wasNull(entry("/spec/replicas", "", "0"))}, State: "asleep",
			Direction: "down", By: nights, Message: "replicas null -> 0",
		}},
		{"and comes back as a null", `{"replicas":0}`, []workload.Entry{wasNull(entry("/spec/replicas", "", "0"))}, workload.Plan{}, rendering{
			Writes: 1, Spec: `{"replicas":null}`, State: "awake", Direction: "up", By: nights, Message: "replicas 0 -> null",
		}},
		{"numbers are equal by value", `{"replicas":0.0}`, []workload.Entry{replicas}, sleep(), rendering{
			Spec: `{"replicas":0.0}`, Ledger: workload.Ledger{replicas}, State: "asleep", Direction: "ledger", By: nights,
		}},
	}
	a := mustCompile(t, deploymentYAML, Keys{})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			doc := object(test.spec)
			if test.was != nil {
				doc = withLedger(t, test.spec, test.was...)
			}
			got := renderingOf(t, a, doc, test.plan)
			if path.Equal(got.Spec, test.want.Spec) {
				got.Spec = test.want.Spec
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRenderWritesFieldAndLedgerInOnePatch(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{})
	r := rendered(t, a, object(`{"replicas":3}`), sleep())
	const want = `{"metadata":{"annotations":{"flyball.dev/ledger":` +
		`"{\"/spec/replicas\":{\"was\":3,\"set\":0,\"by\":\"Schedule/shop/nights\",\"since\":\"2026-03-02T20:00:00Z\"},\"of\":\"Deployment/web\"}"},` +
		`"resourceVersion":"7"},"spec":{"replicas":0}}`
	if diff := cmp.Diff(want, string(r.Patch.Body)); diff != "" {
		t.Errorf("sleeping (-want +got):\n%s", diff)
	}
	r = rendered(t, a, withLedger(t, `{"replicas":0}`, entry("/spec/replicas", "3", "0")), workload.Plan{})
	const back = `{"metadata":{"annotations":{"flyball.dev/ledger":null},"resourceVersion":"7"},"spec":{"replicas":3}}`
	if diff := cmp.Diff(back, string(r.Patch.Body)); diff != "" {
		t.Errorf("waking (-want +got):\n%s", diff)
	}
}

func TestRenderRefusesAnUnreadableLedger(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{})
	for _, ledger := range []string{"{", "[]", `{"spec":{}}`, `{"/a~2":{"by":"x","since":"2026-03-02T20:00:00Z"}}`} {
		obj := projected(t, a, object(`{"replicas":3}`, v1alpha1.AnnotationLedger, ledger))
		_, err := a.Render(obj, sleep())
		if err == nil {
			t.Fatalf("ledger %s: no error", ledger)
		}
		const prefix = "render Deployment.apps/shop/web: annotation flyball.dev/ledger: the ledger cannot be read: "
		if got := err.Error(); len(got) <= len(prefix) || got[:len(prefix)] != prefix {
			t.Errorf("ledger %s: error %q does not begin with %q", ledger, got, prefix)
		}
	}
}

func TestRenderLeavesDeletedObjects(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{})
	doc := []byte(`{"metadata":{"name":"web","deletionTimestamp":"2026-03-02T20:00:00Z"},"spec":{"replicas":3}}`)
	if r := rendered(t, a, doc, sleep()); r.Patch != nil {
		t.Errorf("patch %s", r.Patch.Body)
	}
}

func TestRenderRefusesObjectsOfAnotherProjection(t *testing.T) {
	a, b := mustCompile(t, deploymentYAML, Keys{}), mustCompile(t, cronJobYAML, Keys{})
	if _, err := a.Render(projected(t, b, object(`{"replicas":3}`)), sleep()); err == nil {
		t.Error("no error")
	}
}

// An editor of an object can edit its ledger. A value that no adapter can have written is not restored, and a restored
// pod template is a roll-out.
func TestForgedLedger(t *testing.T) {
	a := mustCompile(t, deploymentYAML, Keys{})
	const template = `{"spec":{"containers":[{"image":"a:1"}]}}`
	const spec = `{"replicas":3,"template":` + template + `}`
	for _, tc := range []struct {
		pointer, set, was string
		written           bool
		impact            v1alpha1.Impact
	}{
		{"/spec", spec, `{"replicas":9}`, false, v1alpha1.ImpactNone},
		{"/metadata", `{}`, `{"labels":{}}`, false, v1alpha1.ImpactNone},
		{"/spec/template", template, `{"spec":{"containers":[{"image":"a:2"}]}}`, true, v1alpha1.ImpactRollout},
		{"/spec/template/spec/containers", `[{"image":"a:1"}]`, `[]`, true, v1alpha1.ImpactRollout},
	} {
		doc := withLedger(t, spec, entry(tc.pointer, tc.was, tc.set))
		r := rendered(t, a, doc, workload.Plan{})
		if wrote := len(r.Changed) > 0; wrote != tc.written || r.Impact != tc.impact {
			t.Errorf("%s: written %t with impact %s, want %t with %s", tc.pointer, wrote, r.Impact, tc.written, tc.impact)
		}
	}
}
