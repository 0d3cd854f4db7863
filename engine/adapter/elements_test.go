package adapter

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

func TestElementsMatchByNameAndFilter(t *testing.T) {
	hot := entry("/spec/nodeSets/0/count", "3", "1")
	hot.Element = "hot"
	cold := entry("/spec/nodeSets/1/count", "", "1")
	tests := []struct {
		name    string
		doc     []byte
		plan    workload.Plan
		body    string // of the first patch
		spec    string
		message string
	}{
		{"each to its minimum, by name", object(`{"nodeSets":[{"name":"hot","count":3},{"name":"cold","count":1},{"name":"warm"}]}`), sleep(),
			`[{"op":"test","path":"/metadata/resourceVersion","value":"8"},` +
				`{"op":"test","path":"/spec/nodeSets/0/name","value":"hot"},` +
				`{"op":"replace","path":"/spec/nodeSets/0/count","value":1},` +
				`{"op":"add","path":"/metadata/annotations","value":{}},` +
				`{"op":"add","path":"/metadata/annotations/flyball.dev~1ledger","value":"{\"/spec/nodeSets/0/count\":{\"was\":3,\"set\":1,` +
				`\"by\":\"Schedule/shop/nights\",\"since\":\"2026-03-02T20:00:00Z\",\"element\":\"hot\"},\"of\":\"Elasticsearch/web\"}"}]`,
			`{"nodeSets":[{"name":"hot","count":1},{"name":"cold","count":1},{"name":"warm"}]}`, "hot count 3 -> 1"},
		{"an absent count is added", object(`{"nodeSets":[{"name":"hot"}]}`, "a", "b"), size(workload.SizeExactly, 2),
			`[{"op":"test","path":"/metadata/resourceVersion","value":"8"},` +
				`{"op":"test","path":"/spec/nodeSets/0/name","value":"hot"},` +
				`{"op":"add","path":"/spec/nodeSets/0/count","value":2},` +
				`{"op":"add","path":"/metadata/annotations/flyball.dev~1ledger","value":"{\"/spec/nodeSets/0/count\":{\"set\":2,` +
				`\"by\":\"Schedule/shop/nights\",\"since\":\"2026-03-02T20:00:00Z\",\"element\":\"hot\"},\"of\":\"Elasticsearch/web\"}"}]`,
			`{"nodeSets":[{"name":"hot","count":2}]}`, "hot count absent -> 2"},
		{"moved: given back where it is now", withLedger(t, `{"nodeSets":[{"name":"new","count":1},{"name":"hot","count":1}]}`, hot),
			workload.Plan{},
			`[{"op":"test","path":"/metadata/resourceVersion","value":"8"},` +
				`{"op":"test","path":"/spec/nodeSets/1/name","value":"hot"},` +
				`{"op":"replace","path":"/spec/nodeSets/1/count","value":3},` +
				`{"op":"remove","path":"/metadata/annotations/flyball.dev~1ledger"}]`,
			`{"nodeSets":[{"name":"new","count":1},{"name":"hot","count":3}]}`, "hot count 1 -> 3"},
		{"moved: the ledger follows, by a merge patch", withLedger(t, `{"nodeSets":[{"name":"new","count":1},{"name":"hot","count":1}]}`, hot),
			sleep(),
			`{"metadata":{"annotations":{"flyball.dev/ledger":"{\"/spec/nodeSets/1/count\":{\"was\":3,\"set\":1,\"by\":\"Schedule/shop/nights\",` +
				`\"since\":\"2026-03-02T20:00:00Z\",\"element\":\"hot\"},\"of\":\"Elasticsearch/web\"}"},"resourceVersion":"8"}}`,
			`{"nodeSets":[{"name":"new","count":1},{"name":"hot","count":1}]}`, ""},
		{"gone: the entry goes", withLedger(t, `{"nodeSets":[{"name":"new","count":2}]}`, hot), workload.Plan{},
			`{"metadata":{"annotations":{"flyball.dev/ledger":null},"resourceVersion":"8"}}`, `{"nodeSets":[{"name":"new","count":2}]}`, ""},
		{"two of one name: nothing is changed", object(`{"nodeSets":[{"name":"a","count":3},{"name":"a","count":4},{"name":"b","count":2}]}`),
			sleep(),
			``, `{"nodeSets":[{"name":"a","count":3},{"name":"a","count":4},{"name":"b","count":2}]}`, "two elements of the list have the name a"},
		{"no object among them: nothing is changed", object(`{"nodeSets":[{"name":"b","count":2},7]}`), sleep(),
			``, `{"nodeSets":[{"name":"b","count":2},7]}`, "[1] has no place for a count at /spec/nodeSets/1/count"},
		{"no number among them: nothing is changed", object(`{"nodeSets":[{"name":"b","count":2},{"name":"c","count":"all"}]}`), sleep(),
			``, `{"nodeSets":[{"name":"b","count":2},{"name":"c","count":"all"}]}`,
			`the count of c is "all", which is no whole number of 0 or more`},
		{"without a name: by its place", object(`{"nodeSets":[{"count":3}]}`), sleep(),
			`[{"op":"test","path":"/metadata/resourceVersion","value":"8"},` +
				`{"op":"replace","path":"/spec/nodeSets/0/count","value":1},` +
				`{"op":"add","path":"/metadata/annotations","value":{}},` +
				`{"op":"add","path":"/metadata/annotations/flyball.dev~1ledger","value":"{\"/spec/nodeSets/0/count\":{\"was\":3,\"set\":1,` +
				`\"by\":\"Schedule/shop/nights\",\"since\":\"2026-03-02T20:00:00Z\",\"place\":\"1 of 1\"},\"of\":\"Elasticsearch/web\"}"}]`,
			`{"nodeSets":[{"count":1}]}`, "[0] count 3 -> 1"},
		{"an absent count given back is removed", withLedger(t, `{"nodeSets":[{"name":"hot","count":3},{"name":"cold","count":1}]}`,
			func() workload.Entry {
				cold.Element = "cold"
				return cold
			}()), workload.Plan{},
			`[{"op":"test","path":"/metadata/resourceVersion","value":"8"},` +
				`{"op":"test","path":"/spec/nodeSets/1/name","value":"cold"},` +
				`{"op":"remove","path":"/spec/nodeSets/1/count"},` +
				`{"op":"remove","path":"/metadata/annotations/flyball.dev~1ledger"}]`,
			`{"nodeSets":[{"name":"hot","count":3},{"name":"cold"}]}`, "cold count 1 -> absent"},
		{"no elements", object(`{"nodeSets":[]}`), sleep(), ``, `{"nodeSets":[]}`, "nothing on this object can be set that way"},
	}
	a := mustCompile(t, elasticYAML, Keys{})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(test.doc)
			first := rendered(t, a, s.doc, test.plan)
			body := ""
			if first.Patch != nil {
				body = string(first.Patch.Body)
			}
			if diff := cmp.Diff(test.body, body); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
			if first.Message != test.message {
				t.Errorf("want message %q, got %q", test.message, first.Message)
			}
			if s.settle(t, a, test.plan); !path.Equal(test.spec, s.spec()) {
				t.Errorf("want %s, got %s", test.spec, s.spec())
			}
		})
	}
}

// TestAStaleElement checks that the server refuses a patch of an element if the list has changed since.
func TestAStaleElement(t *testing.T) {
	a := mustCompile(t, elasticYAML, Keys{})
	s := newServer(object(`{"nodeSets":[{"name":"hot","count":3}]}`))
	stale := rendered(t, a, s.doc, sleep())
	s.set("/spec/nodeSets/0/name", `"cold"`)
	if err := s.apply(stale.Patch); err == nil {
		t.Error("a patch of another element was applied")
	}
}

const pathsThroughLists = `
target: {group: example.com, kind: Listed, versions: [v1]}
scale:
- {name: pools, each: '.spec.groups[?(@.kind=="worker")].pools[*]', nameFrom: .meta.name, replicas: .scaling.size.replicas, default: 4}
- {name: head, replicas: ".spec.groups[0].head.replicas", default: 1}
hold: [{set: [{path: ".spec.groups[1].flags.paused", value: true}, {path: .spec.flags.a.b, value: [1]}]}]
`

func TestPathsThroughLists(t *testing.T) {
	a := mustCompile(t, pathsThroughLists, Keys{})
	doc := object(`{"groups":[{"kind":"head","head":{},"pools":[{"meta":{"name":"h"}}]},` +
		`{"kind":"worker","pools":[{"meta":{"name":"a"},"scaling":{"size":{}}},{"meta":{"name":"b"},"scaling":{"size":{"replicas":2}}},{"meta":{"name":"d"}}]}]}`)
	obs := a.Observe(projected(t, a, doc))
	want := []workload.Component{{Name: "pools/a", Replicas: 4}, {Name: "pools/b", Replicas: 2}, {Name: "head", Replicas: 1}}
	if diff := cmp.Diff(want, obs.Components); diff != "" {
		t.Fatalf("components (-want +got):\n%s", diff)
	}
	s := newServer(doc)
	before := s.spec()
	plan := sleep()
	plan.Hold = holding().Hold
	s.settle(t, a, plan)
	const asleep = `{"groups":[{"kind":"head","head":{"replicas":0},"pools":[{"meta":{"name":"h"}}]},` +
		`{"kind":"worker","flags":{"paused":true},"pools":[{"meta":{"name":"a"},"scaling":{"size":{"replicas":0}}},` +
		`{"meta":{"name":"b"},"scaling":{"size":{"replicas":0}}},{"meta":{"name":"d"}}]}],"flags":{"a":{"b":[1]}}}`
	if !path.Equal(asleep, s.spec()) || s.writes != 1 {
		t.Errorf("want %s in one write, got %s in %d", asleep, s.spec(), s.writes)
	}
	s.settle(t, a, workload.Plan{})
	if !path.Equal(before, s.spec()) {
		t.Errorf("given back: want %s, got %s", before, s.spec())
	}
	// A list that is too short cannot be written by position.
	if a.Observe(projected(t, a, object(`{"groups":[{}]}`))).CanHold {
		t.Error("held in an element that does not exist")
	}
}

// TestEditedLists edits lists while they sleep. Each case has the counts after the end of the claim, and whether a
// person must resolve an entry. An original that is not restored stays in the ledger.
func TestEditedLists(t *testing.T) {
	const kind = `
target: {group: example.com, kind: Any, versions: [v1]}
scale:
- {name: w, each: '.spec.pools[?(@.role=="worker")]', nameFrom: .name, replicas: .n}
- {name: h, each: '.spec.pools[?(@.role=="head")]', nameFrom: .name, replicas: .n}
- {name: p, each: '.spec.places[*]', replicas: .n}
- {name: m, each: '.spec.map[*]', replicas: .n}
- {name: q, each: '.spec.queues[?(@.role=="worker")]', nameFrom: .name, replicas: .n}
- {name: r, each: '.spec.rows[?(@.role=="worker")]', replicas: .n}
`
	a := mustCompile(t, kind, Keys{})
	const pools = `{"pools":[{"name":"a","role":"worker","n":3},{"name":"b","role":"head","n":5},{"name":"c","role":"worker","n":7}]}`
	const asleep = `{"pools":[{"name":"a","role":"worker","n":0},{"name":"b","role":"head","n":0},{"name":"c","role":"worker","n":0}]}`
	for _, c := range []struct {
		name, spec, edited, back string
		unclear                  bool
	}{
		{"nothing", pools, asleep, pools, false},
		{"one renamed", pools,
			`{"pools":[{"name":"x","role":"worker","n":0},{"name":"b","role":"head","n":0},{"name":"c","role":"worker","n":0}]}`,
			`{"pools":[{"name":"x","role":"worker","n":0},{"name":"b","role":"head","n":5},{"name":"c","role":"worker","n":7}]}`, true},
		{"all renamed", pools,
			`{"pools":[{"name":"x","role":"worker","n":0},{"name":"y","role":"head","n":0},{"name":"z","role":"worker","n":0}]}`,
			`{"pools":[{"name":"x","role":"worker","n":0},{"name":"y","role":"head","n":0},{"name":"z","role":"worker","n":0}]}`, true},
		{"renamed and sized", pools,
			`{"pools":[{"name":"x","role":"worker","n":2},{"name":"b","role":"head","n":0},{"name":"c","role":"worker","n":0}]}`,
			`{"pools":[{"name":"x","role":"worker","n":2},{"name":"b","role":"head","n":5},{"name":"c","role":"worker","n":7}]}`, false},
		{"renamed and moved", pools,
			`{"pools":[{"name":"b","role":"head","n":0},{"name":"x","role":"worker","n":0},{"name":"c","role":"worker","n":0}]}`,
			`{"pools":[{"name":"b","role":"head","n":5},{"name":"x","role":"worker","n":0},{"name":"c","role":"worker","n":7}]}`, true},
		{"one removed, another renamed", pools, `{"pools":[{"name":"b","role":"head","n":0},{"name":"x","role":"worker","n":0}]}`,
			`{"pools":[{"name":"b","role":"head","n":5},{"name":"x","role":"worker","n":0}]}`, true},
		{"one of another role", pools,
			`{"pools":[{"name":"a","role":"none","n":0},{"name":"b","role":"worker","n":0},{"name":"c","role":"head","n":0}]}`,
			`{"pools":[{"name":"a","role":"none","n":3},{"name":"b","role":"worker","n":5},{"name":"c","role":"head","n":7}]}`, false},
		{"one of another role, moved", pools,
			`{"pools":[{"name":"b","role":"head","n":0},{"name":"c","role":"worker","n":0},{"name":"a","role":"none","n":0}]}`,
			`{"pools":[{"name":"b","role":"head","n":5},{"name":"c","role":"worker","n":7},{"name":"a","role":"none","n":3}]}`, false},
		{"one of another role, moved, and a new one in its place", `{"pools":[{"name":"a","role":"worker","n":3}]}`,
			`{"pools":[{"name":"x","role":"worker","n":0},{"name":"a","role":"none","n":0}]}`,
			`{"pools":[{"name":"x","role":"worker","n":0},{"name":"a","role":"none","n":3}]}`, false},
		{"one of another role, in a second list", `{"queues":[{"name":"a","role":"worker","n":3}]}`,
			`{"queues":[{"name":"a","role":"none","n":0}]}`,
			`{"queues":[{"name":"a","role":"none","n":3}]}`, false},
		{"one removed, and in its place one that is not asked for",
			`{"pools":[{"name":"a","role":"worker","n":3},{"name":"z","role":"none","n":0}]}`,
			`{"pools":[{"name":"z","role":"none","n":0}]}`, `{"pools":[{"name":"z","role":"none","n":0}]}`, true},
		{"a name given to another one", pools,
			`{"pools":[{"name":"x","role":"worker","n":0},{"name":"b","role":"head","n":0},{"name":"c","role":"worker","n":0},{"name":"a","role":"worker","n":6}]}`,
			`{"pools":[{"name":"x","role":"worker","n":0},{"name":"b","role":"head","n":5},{"name":"c","role":"worker","n":7},{"name":"a","role":"worker","n":6}]}`, false},
		{"sized by its owner, and one that sleeps in its place", pools,
			`{"pools":[{"name":"c","role":"worker","n":0},{"name":"b","role":"head","n":0},{"name":"a","role":"worker","n":6}]}`,
			`{"pools":[{"name":"c","role":"worker","n":7},{"name":"b","role":"head","n":5},{"name":"a","role":"worker","n":6}]}`, false},
		{"two of a name, one sized", pools, `{"pools":[{"name":"a","role":"worker","n":4},{"name":"a","role":"worker","n":0}]}`,
			`{"pools":[{"name":"a","role":"worker","n":4},{"name":"a","role":"worker","n":0}]}`, true},
		{"two of a name, both at 0 and moved", pools,
			`{"pools":[{"name":"b","role":"head","n":0},{"name":"a","role":"worker","n":0},{"name":"a","role":"worker","n":0}]}`,
			`{"pools":[{"name":"b","role":"head","n":5},{"name":"a","role":"worker","n":0},{"name":"a","role":"worker","n":0}]}`, true},
		{"two of a name, both sized", pools, `{"pools":[{"name":"a","role":"worker","n":4},{"name":"a","role":"worker","n":6}]}`,
			`{"pools":[{"name":"a","role":"worker","n":4},{"name":"a","role":"worker","n":6}]}`, false},
		{"without the list", pools, `{}`, `{}`, false},
		{"the list is no list any more", pools, `{"pools":"none"}`, `{"pools":"none"}`, false},
		{"an element that had the value of its own stays, another goes",
			`{"pools":[{"name":"z","role":"worker","n":0},{"name":"a","role":"worker","n":3}]}`,
			`{"pools":[{"name":"z","role":"worker","n":0}]}`, `{"pools":[{"name":"z","role":"worker","n":0}]}`, true},
		{"one that had the value stays behind another without a name",
			`{"pools":[{"name":"a","role":"worker","n":3},{"role":"worker","n":0},{"name":"z","role":"worker","n":0}]}`,
			`{"pools":[{"name":"z","role":"worker","n":0}]}`, `{"pools":[{"name":"z","role":"worker","n":0}]}`, true},
		{"a count in another spelling", pools,
			`{"pools":[{"name":"a","role":"worker","n":"0"},{"name":"b","role":"head","n":0.0},{"name":"c","role":"worker","n":0}]}`, pools, false},
		{"a count that is gone", pools,
			`{"pools":[{"name":"a","role":"worker"},{"name":"b","role":"head","n":0},{"name":"c","role":"worker","n":0}]}`,
			`{"pools":[{"name":"a","role":"worker"},{"name":"b","role":"head","n":5},{"name":"c","role":"worker","n":7}]}`, false},
		{"quantities", `{"pools":[{"name":"a","role":"worker","n":"40Gi"},{"name":"b","role":"worker","n":"1.5"}]}`,
			`{"pools":[{"name":"b","role":"worker","n":0},{"name":"a","role":"worker","n":"0"}]}`,
			`{"pools":[{"name":"b","role":"worker","n":"1.5"},{"name":"a","role":"worker","n":"40Gi"}]}`, false},
		{"places, the same", `{"places":[{"n":3},{"n":5}]}`, `{"places":[{"n":0,"x":1},{"n":0}]}`, `{"places":[{"n":3,"x":1},{"n":5}]}`, false},
		{"places, one sized", `{"places":[{"n":3},{"n":5}]}`, `{"places":[{"n":0},{"n":2}]}`, `{"places":[{"n":3},{"n":2}]}`, false},
		{"places, one named and sized", `{"places":[{"n":3},{"n":5}]}`, `{"places":[{"name":"x","n":2},{"n":0}]}`,
			`{"places":[{"name":"x","n":2},{"n":5}]}`, false},
		{"places, one more", `{"places":[{"n":3},{"n":5}]}`, `{"places":[{"n":0},{"n":0},{"n":1}]}`, `{"places":[{"n":0},{"n":0},{"n":1}]}`,
			true},
		{"places, one less", `{"places":[{"n":3},{"n":5}]}`, `{"places":[{"n":0}]}`, `{"places":[{"n":0}]}`, true},
		{"places, none", `{"places":[{"n":3},{"n":5}]}`, `{"places":[]}`, `{"places":[]}`, false},
		{"places, and one that is not asked for moves", `{"rows":[{"role":"worker","n":3},{"n":5},{"role":"worker","n":7}]}`,
			`{"rows":[{"n":5},{"role":"worker","n":0},{"role":"worker","n":0}]}`,
			`{"rows":[{"n":5},{"role":"worker","n":3},{"role":"worker","n":7}]}`, false},
		{"places, and one that is not asked for comes", `{"rows":[{"role":"worker","n":3},{"role":"worker","n":7}]}`,
			`{"rows":[{"n":5},{"role":"worker","n":0},{"role":"worker","n":0}]}`,
			`{"rows":[{"n":5},{"role":"worker","n":3},{"role":"worker","n":7}]}`, false},
		{"places, and one that is not asked for goes", `{"rows":[{"n":5},{"role":"worker","n":3},{"role":"worker","n":7}]}`,
			`{"rows":[{"role":"worker","n":0},{"role":"worker","n":0}]}`,
			`{"rows":[{"role":"worker","n":3},{"role":"worker","n":7}]}`, false},
		{"places, and one that is not asked for stays", `{"rows":[{"n":5},{"role":"worker","n":3},{"role":"worker","n":7}]}`,
			`{"rows":[{"n":6},{"role":"worker","n":0},{"role":"worker","n":2}]}`,
			`{"rows":[{"n":6},{"role":"worker","n":3},{"role":"worker","n":2}]}`, false},
		{"a map, one removed and one more", `{"map":{"x":{"n":3},"y":{"n":5}}}`, `{"map":{"z":{"n":2},"y":{"n":0}}}`,
			`{"map":{"z":{"n":2},"y":{"n":5}}}`, false},
		{"a map with numbers as keys, one removed", `{"map":{"0":{"n":3},"1":{"n":5},"2":{"n":7}}}`, `{"map":{"0":{"n":0},"2":{"n":0}}}`,
			`{"map":{"0":{"n":3},"2":{"n":7}}}`, false},
		{"a map with numbers as keys, one more", `{"map":{"0":{"n":3}}}`, `{"map":{"1":{"n":0},"0":{"n":0}}}`,
			`{"map":{"1":{"n":0},"0":{"n":3}}}`, false},
		{"a map, one under another key", `{"map":{"x":{"n":3},"y":{"n":5}}}`, `{"map":{"z":{"n":0},"y":{"n":0}}}`,
			`{"map":{"z":{"n":0},"y":{"n":5}}}`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(object(c.spec))
			s.settle(t, a, sleep())
			before := s.ledger(t, a)
			s.set("/spec", c.edited)
			if asleep := rendered(t, a, s.doc, sleep()); (asleep.Failure != "") != c.unclear {
				t.Errorf("asleep: %q", asleep.Failure)
			}
			s.settle(t, a, workload.Plan{Keep: map[workload.Policy]bool{nights: true}})
			s.settle(t, a, workload.Plan{})
			if !path.Equal(s.spec(), c.back) {
				t.Errorf("given back:\n%s, want\n%s", s.spec(), c.back)
			}
			left := s.ledger(t, a)
			if (len(left) > 0) != c.unclear {
				t.Fatalf("left in the ledger: %+v", left)
			}
			for _, e := range left {
				if was := before.Find(e.Pointer); was == nil || was.Was != e.Was {
					t.Errorf("the ledger has %+v, had %+v", e, was)
				}
			}
			if c.unclear {
				s.settle(t, a, workload.Plan{Orphan: map[workload.Policy]bool{nights: true}})
			}
			if left := s.ledger(t, a); len(left) > 0 {
				t.Errorf("orphaned, and still in the ledger: %+v", left)
			}
		})
	}
}

// TestUnclearEntriesNameTheCommandThatDropsThem checks the sentence about an original whose field cannot be found.
func TestUnclearEntriesNameTheCommandThatDropsThem(t *testing.T) {
	a := mustCompile(t, `
target: {group: example.com, kind: Any, versions: [v1]}
scale: [{name: w, each: '.spec.pools[*]', nameFrom: .name, replicas: .n}, {name: p, each: '.spec.places[*]', replicas: .n}]
`, Keys{})
	const kept = ", so its original is kept: it was 3 before it was set to 0. Put it back as it was, or set the value yourself and run: "
	const drop = "kubectl annotate any.example.com web -n shop flyball.dev/ledger-"
	const other = `[{"x":0},{"name":"a","n":0},{"name":"a","n":0}]`
	for _, c := range []struct{ name, spec, pointer, edited, want string }{
		{"by name", `{"pools":[{"name":"a","n":3}]}`, "/spec/pools", other,
			"the list of /spec/pools/0/n does not have exactly one element a any more" + kept + drop},
		{"by place", `{"places":[{"n":3}]}`, "/spec/places", other,
			"the list of /spec/places/0/n has another length: the element was 1 of 1" + kept + drop},
		{"beside another entry", `{"pools":[{"name":"a","n":3},{"name":"b","n":5}]}`, "/spec/pools", `[{"name":"x","n":0},{"name":"b","n":0}]`,
			"the list of /spec/pools/0/n does not have exactly one element a any more" + kept +
				`kubectl annotate --overwrite any.example.com web -n shop flyball.dev/ledger='{"/spec/pools/1/n":{"was":5,"set":0,` +
				`"by":"Schedule/shop/nights","since":"2026-03-02T20:00:00Z","element":"b"},"of":"Any/web"}'`},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newServer(object(c.spec))
			s.settle(t, a, sleep())
			s.set(c.pointer, c.edited)
			if r := rendered(t, a, s.doc, sleep()); r.Failure != c.want {
				t.Errorf("got  %s\nwant %s", r.Failure, c.want)
			}
		})
	}
	for was, e := range map[string]workload.Entry{"5": entry("/spec/gone", "5", "7"), "null": wasNull(entry("/spec/gone", "", "7"))} {
		want := "/spec/gone is not in the object any more, so its original is kept: it was " + was +
			" before it was set to 7. Put it back as it was, " +
			"or set the value yourself and run: " + drop
		if r := rendered(t, a, withLedger(t, `{}`, e), workload.Plan{}); r.Failure != want {
			t.Errorf("a field: %s", r.Failure)
		}
	}
	if r := rendered(t, a, withLedger(t, `{"gone":null}`, wasNull(entry("/spec/gone", "", "7"))), workload.Plan{}); r.Failure != "" {
		t.Errorf("a field that its owner has given its null back: %s", r.Failure)
	}
}

// twoFiltersYAML is a kind with two filters on one list. An element of each filter may have the same name.
const twoFiltersYAML = `
target: {group: example.com, kind: Any, versions: [v1]}
scale:
- {name: w, each: '.spec.pools[?(@.role=="worker")]', nameFrom: .name, replicas: .n}
- {name: h, each: '.spec.pools[?(@.role=="head")]', nameFrom: .name, replicas: .n, minimum: 1}
`

// TestOneNameUnderTwoFiltersIsRefused checks that a value is not set if its element could not be identified later for
// the restore.
func TestOneNameUnderTwoFiltersIsRefused(t *testing.T) {
	a := mustCompile(t, twoFiltersYAML, Keys{})
	doc := object(`{"pools":[{"name":"a","role":"worker","n":3},{"name":"a","role":"head","n":5}]}`)
	if r := rendered(t, a, doc, sleep()); r.Patch != nil || r.State != workload.StateUnable ||
		r.Message != "two elements of the list have the name a" {
		t.Errorf("%s, %q, %v", r.State, r.Message, r.Patch)
	}
}

// TestSidecarsAreNotTheElementOfTheirName checks that only the database container of a node set is changed and
// restored.
// The other containers have the same element name, but `each` does not yield them.
func TestSidecarsAreNotTheElementOfTheirName(t *testing.T) {
	const kind = `
target: {group: example.com, kind: Any, versions: [v1]}
resources:
- {each: '.spec.nodeSets[*]', nameFrom: .name, requests: {memory: {path: '.containers[?(@.name=="db")].memory', default: 0}}}
`
	a := mustCompile(t, kind, Keys{Amounts: true})
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
		{"a container that has the value is applied before it",
			`[{"name":"hot","containers":[{"name":"db","memory":2}]}]`,
			`[{"name":"hot","containers":[{"name":"log","memory":1},{"name":"db","memory":2}]}]`,
			`[{"name":"hot","containers":[{"name":"log","memory":1},{"name":"db","memory":2}]}]`},
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

// TestAnAppliedManifestWithANewElementLeavesNothing applies a manifest with the owner's counts and a new element. No
// entry is left afterwards, and the new element is unchanged.
func TestAnAppliedManifestWithANewElementLeavesNothing(t *testing.T) {
	a := mustCompile(t, elasticYAML, Keys{})
	s := newServer(object(`{"nodeSets":[{"name":"hot","count":3}]}`))
	s.settle(t, a, sleep())
	s.set("/spec/nodeSets", `[{"name":"master","count":1},{"name":"hot","count":3}]`)
	if r := rendered(t, a, s.doc, sleep()); r.Failure != "" {
		t.Errorf("failure %q", r.Failure)
	}
	s.settle(t, a, workload.Plan{})
	if got, left := s.value("/spec/nodeSets"), s.ledger(t, a); !path.Equal(got, `[{"name":"master","count":1},{"name":"hot","count":3}]`) ||
		len(left) > 0 {
		t.Errorf("given back %s, left %+v", got, left)
	}
}
