package adapter

import (
	"strings"
	"testing"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// namesakesYAML is a kind in which two filters of one list may yield an element of one name each.
const namesakesYAML = `
target: {group: example.com, kind: Any, versions: [v1]}
scale:
- {name: w, each: '.spec.pools[?(@.role=="worker")]', nameFrom: .name, replicas: .n}
- {name: h, each: '.spec.pools[?(@.role=="head")]', nameFrom: .name, replicas: .n, minimum: 1}
`

// TestANameThatTwoHaveHad: the ledger knows both of them by it once it was seen, and tells them apart by their places.
func TestANameThatTwoHaveHad(t *testing.T) {
	a := compiled(t, elasticYAML, Keys{})
	for _, c := range []struct {
		name, edited, back string
		unclear            bool
	}{
		{"put right", `[{"name":"a","count":1},{"name":"b","count":1}]`, `[{"name":"a","count":2},{"name":"b","count":5}]`, false},
		{"under a third name", `[{"name":"a","count":1},{"name":"c","count":1}]`, `[{"name":"a","count":2},{"name":"c","count":5}]`, false},
		{"the first under another name", `[{"name":"c","count":1},{"name":"a","count":1}]`, `[{"name":"c","count":2},{"name":"a","count":5}]`, false},
		{"one sized", `[{"name":"a","count":4},{"name":"a","count":1}]`, `[{"name":"a","count":4},{"name":"a","count":5}]`, false},
		{"one removed", `[{"name":"a","count":1}]`, `[{"name":"a","count":1}]`, true},
		{"both moved, and one removed", `[{"name":"x","count":9},{"name":"y","count":9},{"name":"a","count":1}]`,
			`[{"name":"x","count":9},{"name":"y","count":9},{"name":"a","count":1}]`, true},
	} {
		s := newServer(object(`{"nodeSets":[{"name":"a","count":2},{"name":"b","count":5}]}`))
		s.settle(t, a, sleep())
		s.set("/spec/nodeSets/1/name", `"a"`)
		s.settle(t, a, sleep())
		s.set("/spec/nodeSets", c.edited)
		if r := s.settle(t, a, sleep()); (r.Failure != "") != c.unclear {
			t.Errorf("%s: asleep: %q", c.name, r.Failure)
		}
		s.settle(t, a, workload.Plan{})
		if got := s.value("/spec/nodeSets"); !path.Equal(got, c.back) || (len(s.ledger(t, a)) > 0) != c.unclear {
			t.Errorf("%s: given back %s, want %s; left %+v", c.name, got, c.back, s.ledger(t, a))
		}
	}
}

// TestANameGivenToAnotherWhilePlacesMoved: the place of an element tells nothing where one before it has gone, so all originals are kept.
func TestANameGivenToAnotherWhilePlacesMoved(t *testing.T) {
	a := compiled(t, elasticYAML, Keys{})
	s := newServer(object(`{"nodeSets":[{"name":"a","count":2},{"name":"b","count":5},{"name":"c","count":7}]}`))
	s.settle(t, a, sleep())
	s.set("/spec/nodeSets", `[{"name":"b","count":1},{"name":"b","count":1}]`)
	r := s.settle(t, a, workload.Plan{})
	if got, want := s.value("/spec/nodeSets"), `[{"name":"b","count":1},{"name":"b","count":1}]`; !path.Equal(got, want) {
		t.Errorf("given back %s, want %s", got, want)
	}
	if left := s.ledger(t, a); len(left) != 3 || r.Failure == "" {
		t.Errorf("left %+v, failure %q; want three entries and a failure", left, r.Failure)
	}
}

// TestANameGivenToAnotherThatWasSetDifferently: what it holds says that it is another's, although it has the name.
func TestANameGivenToAnotherThatWasSetDifferently(t *testing.T) {
	a := compiled(t, allocatedListsYAML, Keys{Amounts: true})
	s := newServer(object(`{"nodeSets":[{"name":"a","count":"7"},{"name":"b","count":"9"}]}`))
	plan := workload.Plan{Amounts: map[workload.Amount]workload.Claim[int64]{}}
	for component, value := range map[string]int64{"a": 1, "b": 40} {
		key := workload.Amount{Kind: workload.AmountRequest, Component: component, Resource: workload.Memory}
		plan.Amounts[key] = workload.Claim[int64]{Since: monday, By: nights, Value: value}
	}
	s.settle(t, a, plan)
	s.set("/spec/nodeSets", `[{"name":"a","count":"40"}]`)
	r := s.settle(t, a, workload.Plan{})
	if left := s.ledger(t, a); len(left) != 2 || r.Failure == "" {
		t.Errorf("given back %s, left %+v, failure %q; want two entries and a failure", s.value("/spec/nodeSets"), left, r.Failure)
	}
}

// TestANameThatOneIsLeftOf: what it holds says which of the two entries of the name is about it.
func TestANameThatOneIsLeftOf(t *testing.T) {
	a := compiled(t, allocatedListsYAML, Keys{Amounts: true})
	first, second := entry("/spec/nodeSets/0/count", `"7"`, `"1"`), entry("/spec/nodeSets/1/count", `"9"`, `"40"`)
	first.Element, second.Element = "a", "a"
	s := newServer(withLedger(t, `{"nodeSets":[{"name":"a","count":"40"}]}`, first, second))
	s.settle(t, a, workload.Plan{})
	if got, left := s.value("/spec/nodeSets"), s.ledger(t, a); !path.Equal(got, `[{"name":"a","count":"9"}]`) || len(left) > 0 {
		t.Errorf("given back %s, left %+v; want the second original", got, left)
	}
}

// TestOneThatHasLostItsNameIsNotTakenForAnother: an element that was at the value by itself, and has got another name since, is nobody's.
func TestOneThatHasLostItsNameIsNotTakenForAnother(t *testing.T) {
	a := compiled(t, elasticYAML, Keys{})
	for _, doc := range []string{`{"nodeSets":[{"name":"a","count":2},{"count":1}]}`, `{"nodeSets":[{"name":"a","count":2},{"name":"z","count":1}]}`} {
		s := newServer(object(doc))
		s.settle(t, a, sleep())
		s.set("/spec/nodeSets", `[{"name":"y","count":1}]`)
		r := s.settle(t, a, workload.Plan{})
		if left := s.ledger(t, a); s.value("/spec/nodeSets/0/count") != "1" || len(left) != 1 || r.Failure == "" {
			t.Errorf("%s: given back %s, left %+v, failure %q; want an entry and a failure", doc, s.value("/spec/nodeSets"), left, r.Failure)
		}
	}
}

// TestANamesakeThatWasThere: where the one that Flyball had set was changed, another one of its name, which had the value by itself, is not taken for it.
func TestANamesakeThatWasThere(t *testing.T) {
	a := compiled(t, elasticYAML, Keys{})
	e := entry("/spec/nodeSets/0/count", "2", "1")
	e.Element, e.Beside = "a", `["a"]`
	s := newServer(withLedger(t, `{"nodeSets":[{"name":"a","count":4},{"name":"a","count":1}]}`, e))
	r := s.settle(t, a, workload.Plan{})
	if left := s.ledger(t, a); s.value("/spec/nodeSets/1/count") != "1" || len(left) != 1 || r.Failure == "" {
		t.Errorf("given back %s, left %+v, failure %q; want an entry and a failure", s.value("/spec/nodeSets"), left, r.Failure)
	}
}

// TestBystandersAreOfTheList: another field of an element, and an element of another list, stand beside nobody, so that a plain renaming is seen.
func TestBystandersAreOfTheList(t *testing.T) {
	const kind = `
target: {group: example.com, kind: Any, versions: [v1]}
scale:
- {name: h, each: '.spec.hot[*]', nameFrom: .name, replicas: .n, minimum: 1}
- {name: c, each: '.spec.cold[*]', nameFrom: .name, replicas: .n, minimum: 1}
resources:
- {each: '.spec.hot[*]', nameFrom: .name, requests: {cpu: {path: .cpu, default: 0}}}
`
	a := compiled(t, kind, Keys{Amounts: true})
	s := newServer(object(`{"hot":[{"name":"a","n":3,"cpu":1}],"cold":[{"name":"z","n":1}]}`))
	s.settle(t, a, sleep())
	for _, e := range s.ledger(t, a) {
		if e.Beside != "" {
			t.Errorf("beside %s stands %s", e.Pointer, e.Beside)
		}
	}
	s.set("/spec/hot/0/name", `"y"`)
	if r := s.settle(t, a, workload.Plan{}); r.Failure != "" || s.value("/spec/hot/0/n") != "3" {
		t.Errorf("given back %s, failure %q", s.spec(), r.Failure)
	}
}

// TestAnAdoptedCountAmongNamesakes: of two elements of a name, of which its owner has set one, the one that is left may be either.
func TestAnAdoptedCountAmongNamesakes(t *testing.T) {
	a := compiled(t, namesakesYAML, Keys{})
	s := newServer(object(`{"pools":[{"name":"a","role":"head","n":3},{"name":"a","role":"worker","n":5}]}`))
	s.settle(t, a, sleep())
	s.set("/spec/pools/0/n", "0")
	plan := sleep()
	plan.Size.Enforce = false
	s.settle(t, a, plan)
	if r := rendered(t, a, s.doc, plan); r.Failure != "" || r.Patch != nil {
		t.Errorf("set by its owner: %q, %v", r.Failure, r.Patch)
	}
	s.set("/spec/pools", `[{"name":"a","role":"head","n":0}]`)
	r := s.settle(t, a, workload.Plan{})
	if left := s.ledger(t, a); s.value("/spec/pools/0/n") != "0" || len(left) != 2 || r.Failure == "" {
		t.Errorf("given back %s, left %+v, failure %q; want two entries and a failure", s.spec(), left, r.Failure)
	}
}

// TestRenamedAmongOthers: an element that has got another name is found in its place, whatever others were set to, and whoever has got another one too.
func TestRenamedAmongOthers(t *testing.T) {
	a := compiled(t, elasticYAML, Keys{})
	for _, c := range []struct{ spec, edited, back string }{
		{`[{"name":"a","count":4},{"name":"b","count":2}]`, `[{"name":"a","count":2},{"name":"c","count":1}]`, `[{"name":"a","count":4},{"name":"c","count":2}]`},
		{`[{"name":"a","count":3},{"name":"z","count":1}]`, `[{"name":"x","count":2},{"name":"y","count":1}]`, `[{"name":"x","count":3},{"name":"y","count":1}]`},
		{`[{"name":"a","count":2},{"name":"z","count":1}]`, `[{"name":"x","count":1},{"name":"y","count":1}]`, `[{"name":"x","count":2},{"name":"y","count":1}]`},
	} {
		s := newServer(object(`{"nodeSets":` + c.spec + `}`))
		half := size(workload.SizePercent, 50)
		s.settle(t, a, half)
		s.set("/spec/nodeSets", c.edited)
		if r := s.settle(t, a, half); r.Failure != "" {
			t.Errorf("%s: asleep: %s", c.spec, r.Failure)
		}
		if s.settle(t, a, workload.Plan{}); !path.Equal(s.value("/spec/nodeSets"), c.back) || len(s.ledger(t, a)) > 0 {
			t.Errorf("%s: given back %s, want %s; left %+v", c.spec, s.value("/spec/nodeSets"), c.back, s.ledger(t, a))
		}
	}
}

// TestSidecars of a node set have its name, and `each` yields none of them: they are nobody's.
func TestSidecars(t *testing.T) {
	const kind = `
target: {group: example.com, kind: Any, versions: [v1]}
resources:
- {each: '.spec.nodeSets[*]', nameFrom: .name, requests: {memory: {path: '.containers[?(@.name=="db")].memory', default: 0}}}
`
	a := compiled(t, kind, Keys{Amounts: true})
	plan := workload.Plan{Amounts: map[workload.Amount]workload.Claim[int64]{}}
	for component, value := range map[string]int64{"hot": 1, "raised": 4} {
		key := workload.Amount{Kind: workload.AmountRequest, Component: component, Resource: workload.Memory}
		plan.Amounts[key] = workload.Claim[int64]{Since: monday, By: nights, Value: value}
	}
	for _, c := range []struct{ name, sets, edited, back string }{
		{"another set goes, which had the value by itself",
			`[{"name":"master","containers":[{"name":"db","memory":1}]},{"name":"hot","containers":[{"name":"log","memory":9},{"name":"db","memory":2}]}]`,
			`[{"name":"hot","containers":[{"name":"log","memory":9},{"name":"db","memory":"1"}]}]`,
			`[{"name":"hot","containers":[{"name":"log","memory":9},{"name":"db","memory":2}]}]`},
		{"a container goes, and one that has the value comes to the place",
			`[{"name":"hot","containers":[{"name":"log","memory":9},{"name":"db","memory":2},{"name":"metrics","memory":1}]}]`,
			`[{"name":"hot","containers":[{"name":"db","memory":"1"},{"name":"metrics","memory":1}]}]`,
			`[{"name":"hot","containers":[{"name":"db","memory":2},{"name":"metrics","memory":1}]}]`},
		{"applied in another order",
			`[{"name":"hot","containers":[{"name":"db","memory":2},{"name":"log","memory":9}]},{"name":"master","containers":[{"name":"db","memory":1},{"name":"log","memory":9}]}]`,
			`[{"name":"master","containers":[{"name":"db","memory":1},{"name":"log","memory":9}]},{"name":"hot","containers":[{"name":"db","memory":2},{"name":"log","memory":9}]}]`,
			`[{"name":"master","containers":[{"name":"db","memory":1},{"name":"log","memory":9}]},{"name":"hot","containers":[{"name":"db","memory":2},{"name":"log","memory":9}]}]`},
		{"the set goes",
			`[{"name":"hot","containers":[{"name":"db","memory":2},{"name":"log","memory":9}]},{"name":"master","containers":[{"name":"db","memory":1},{"name":"log","memory":9}]}]`,
			`[{"name":"master","containers":[{"name":"db","memory":1},{"name":"log","memory":9}]}]`,
			`[{"name":"master","containers":[{"name":"db","memory":1},{"name":"log","memory":9}]}]`},
		{"a container that has the value is applied before it",
			`[{"name":"hot","containers":[{"name":"db","memory":2}]}]`,
			`[{"name":"hot","containers":[{"name":"log","memory":1},{"name":"db","memory":2}]}]`,
			`[{"name":"hot","containers":[{"name":"log","memory":1},{"name":"db","memory":2}]}]`},
		{"applied without the set",
			`[{"name":"raised","containers":[{"name":"db","memory":1},{"name":"log","memory":9}]},{"name":"hot","containers":[{"name":"db","memory":2},{"name":"log","memory":9}]}]`,
			`[{"name":"raised","containers":[{"name":"db","memory":1},{"name":"log","memory":9}]}]`,
			`[{"name":"raised","containers":[{"name":"db","memory":1},{"name":"log","memory":9}]}]`},
	} {
		s := newServer(object(`{"nodeSets":` + c.sets + `}`))
		s.settle(t, a, plan)
		s.set("/spec/nodeSets", c.edited)
		if r := s.settle(t, a, plan); r.Failure != "" {
			t.Errorf("%s: set: %s", c.name, r.Failure)
		}
		if s.settle(t, a, workload.Plan{}); !path.Equal(s.value("/spec/nodeSets"), c.back) || len(s.ledger(t, a)) > 0 {
			t.Errorf("%s: given back %s, want %s; left %+v", c.name, s.value("/spec/nodeSets"), c.back, s.ledger(t, a))
		}
	}
}

// TestNamesThatTwoFiltersShare: the elements are told by their order, which stays where another one goes.
func TestNamesThatTwoFiltersShare(t *testing.T) {
	const kind = `
target: {group: example.com, kind: Any, versions: [v1]}
scale:
- {name: w, each: '.spec.pools[?(@.role=="worker")]', nameFrom: .name, replicas: .n}
- {name: h, each: '.spec.pools[?(@.role=="head")]', nameFrom: .name, replicas: .n}
`
	a := compiled(t, kind, Keys{})
	s := newServer(object(`{"pools":[{"name":"a","role":"worker","n":3},{"name":"a","role":"head","n":5},{"name":"x","role":"worker","n":9}]}`))
	s.settle(t, a, sleep())
	s.set("/spec/pools", `[{"name":"a","role":"head","n":0},{"name":"x","role":"worker","n":0}]`)
	if r := s.settle(t, a, workload.Plan{}); r.Failure == "" || s.value("/spec/pools/0/n") != "0" || len(s.ledger(t, a)) != 2 {
		t.Errorf("one of the two has gone: given back %s, failure %q, left %+v", s.spec(), r.Failure, s.ledger(t, a))
	}
	s = newServer(object(`{"pools":[{"name":"x","role":"worker","n":9},{"name":"a","role":"worker","n":3},{"name":"a","role":"head","n":5}]}`))
	s.settle(t, a, sleep())
	s.set("/spec/pools", `[{"name":"a","role":"worker","n":0},{"name":"a","role":"head","n":0}]`)
	s.settle(t, a, sleep())
	s.settle(t, a, workload.Plan{})
	want := `[{"name":"a","role":"worker","n":3},{"name":"a","role":"head","n":5}]`
	if got, left := s.value("/spec/pools"), s.ledger(t, a); !path.Equal(got, want) || len(left) > 0 {
		t.Errorf("given back %s, left %+v; want %s", got, left, want)
	}
}

// TestEditsOfNamesakes: two filters yield an element of one name each. Each row is one edit.
func TestEditsOfNamesakes(t *testing.T) {
	a := compiled(t, namesakesYAML, Keys{})
	for _, c := range []struct {
		name              string
		plan              workload.Plan
		spec, edited, end string
	}{
		{"applied again", sleep(), `[{"name":"a","role":"head","n":3},{"name":"a","role":"worker","n":1}]`,
			`[{"name":"a","role":"head","n":3},{"name":"a","role":"worker","n":1}]`, `[{"name":"a","role":"head","n":3},{"name":"a","role":"worker","n":1}]`},
		{"one leaves its filter", size(workload.SizeAtMost, 5), `[{"name":"a","role":"worker","n":9},{"name":"a","role":"head","n":3}]`,
			`[{"name":"a","role":"none","n":5},{"name":"a","role":"head","n":3}]`, `[{"name":"a","role":"none","n":9},{"name":"a","role":"head","n":3}]`},
		{"one leaves its filter, another one had the value by itself", sleep(), `[{"name":"a","role":"worker","n":3},{"name":"a","role":"head","n":0}]`,
			`[{"name":"a","role":"none","n":0},{"name":"a","role":"head","n":0}]`, `[{"name":"a","role":"none","n":3},{"name":"a","role":"head","n":0}]`},
		{"another one, which had the value by itself, gets a name of its own", sleep(), `[{"name":"a","role":"worker","n":3},{"name":"a","role":"head","n":1}]`,
			`[{"name":"a","role":"worker","n":0},{"name":"b","role":"head","n":1}]`, `[{"name":"a","role":"worker","n":3},{"name":"b","role":"head","n":1}]`},
		{"applied without the one that had the value by itself", sleep(), `[{"name":"a","role":"worker","n":3},{"name":"a","role":"head","n":0}]`,
			`[{"name":"a","role":"worker","n":3}]`, `[{"name":"a","role":"worker","n":3}]`},
		{"the other one has gone", sleep(), `[{"name":"a","role":"worker","n":5},{"name":"a","role":"head","n":3}]`,
			`[{"name":"a","role":"worker","n":0}]`, `[{"name":"a","role":"worker","n":5}]`},
	} {
		s := newServer(object(`{"pools":` + c.spec + `}`))
		s.settle(t, a, c.plan)
		s.settle(t, a, c.plan)
		s.set("/spec/pools", c.edited)
		if r := rendered(t, a, s.doc, c.plan); r.Failure != "" {
			t.Errorf("%s: failure %q", c.name, r.Failure)
		}
		s.settle(t, a, workload.Plan{})
		if got, left := s.value("/spec/pools"), s.ledger(t, a); !path.Equal(got, c.end) || len(left) > 0 {
			t.Errorf("%s: given back %s, want %s; left %+v", c.name, got, c.end, left)
		}
	}
}

// TestNamesakesThatCannotBeTold: after one edit, the element that is left may be either of two. The originals are kept and nothing is given back.
func TestNamesakesThatCannotBeTold(t *testing.T) {
	alike := compiled(t, strings.ReplaceAll(namesakesYAML, "minimum: 1", "minimum: 0"), Keys{})
	other := compiled(t, namesakesYAML, Keys{})
	for _, c := range []struct {
		name         string
		adapter      *Adapter
		spec, edited string
		entries      int
	}{
		{"one has gone, and a third, which had the value by itself, is where the other one was", alike,
			`[{"name":"a","role":"worker","n":3},{"name":"a","role":"head","n":5},{"name":"x","role":"worker","n":0}]`,
			`[{"name":"a","role":"head","n":0},{"name":"x","role":"worker","n":0}]`, 2},
		{"one has gone, and a third, which no filter fits, is where the other one was", alike,
			`[{"name":"a","role":"worker","n":3},{"name":"a","role":"head","n":5},{"name":"x","role":"none","n":0}]`,
			`[{"name":"a","role":"head","n":0},{"name":"x","role":"none","n":0}]`, 2},
		{"the other one had the value by itself", alike,
			`[{"name":"a","role":"worker","n":3},{"name":"a","role":"head","n":0}]`, `[{"name":"a","role":"head","n":0}]`, 1},
		{"applied without the second, whose value was that of the first", other,
			`[{"name":"a","role":"worker","n":1},{"name":"a","role":"head","n":3}]`, `[{"name":"a","role":"worker","n":1}]`, 2},
		{"applied without the first, whose value was that of the second", other,
			`[{"name":"a","role":"head","n":3},{"name":"a","role":"worker","n":1}]`, `[{"name":"a","role":"worker","n":1}]`, 2},
	} {
		s := newServer(object(`{"pools":` + c.spec + `}`))
		s.settle(t, c.adapter, sleep())
		s.settle(t, c.adapter, sleep())
		s.set("/spec/pools", c.edited)
		s.settle(t, c.adapter, sleep())
		r := s.settle(t, c.adapter, workload.Plan{})
		if got, left := s.value("/spec/pools"), s.ledger(t, c.adapter); !path.Equal(got, c.edited) || len(left) != c.entries || r.Failure == "" {
			t.Errorf("%s: given back %s, failure %q, left %+v; want %d entries", c.name, got, r.Failure, left, c.entries)
		}
	}
}

// TestANameThatIsTakenAway: the list is as long as it was, so that the element is in its place, this night and whenever it is looked at.
func TestANameThatIsTakenAway(t *testing.T) {
	a := compiled(t, elasticYAML, Keys{})
	s := newServer(object(`{"nodeSets":[{"name":"hot","count":3},{"name":"warm","count":4}]}`))
	s.settle(t, a, sleep())
	s.set("/spec/nodeSets/0", `{"count":1}`)
	for range 3 {
		if r := s.settle(t, a, sleep()); r.Failure != "" {
			t.Errorf("failure %q", r.Failure)
		}
	}
	s.settle(t, a, workload.Plan{})
	if got, left := s.value("/spec/nodeSets"), s.ledger(t, a); !path.Equal(got, `[{"count":3},{"name":"warm","count":4}]`) || len(left) > 0 {
		t.Errorf("given back %s, left %+v", got, left)
	}
}

// TestAppliedAgain: who applies a manifest writes his own counts again, and whatever else is new has nothing to do with them.
func TestAppliedAgain(t *testing.T) {
	a := compiled(t, elasticYAML, Keys{})
	s := newServer(object(`{"nodeSets":[{"name":"hot","count":3}]}`))
	s.settle(t, a, sleep())
	s.set("/spec/nodeSets", `[{"name":"master","count":1},{"name":"hot","count":3}]`)
	if r := rendered(t, a, s.doc, sleep()); r.Failure != "" {
		t.Errorf("failure %q", r.Failure)
	}
	s.settle(t, a, workload.Plan{})
	if got, left := s.value("/spec/nodeSets"), s.ledger(t, a); !path.Equal(got, `[{"name":"master","count":1},{"name":"hot","count":3}]`) || len(left) > 0 {
		t.Errorf("given back %s, left %+v", got, left)
	}
}

// TestALedgerThatNamesAnElementBesideItself was written by an earlier version, for another field of the element: it is given back as ever.
func TestALedgerThatNamesAnElementBesideItself(t *testing.T) {
	a := compiled(t, elasticYAML, Keys{})
	e := entry("/spec/nodeSets/0/count", "3", "1")
	e.Element, e.Beside = "hot", `["hot"]`
	for _, edited := range []string{`[{"name":"hot","count":1}]`, `[{"name":"new","count":2},{"name":"hot","count":1}]`} {
		s := newServer(withLedger(t, `{"nodeSets":`+edited+`}`, e))
		if r := s.settle(t, a, workload.Plan{}); r.Failure != "" || !strings.Contains(s.spec(), `{"count":3,"name":"hot"}`) || len(s.ledger(t, a)) > 0 {
			t.Errorf("%s: given back %s, left %+v, failure %q", edited, s.spec(), s.ledger(t, a), r.Failure)
		}
	}
}
