package adapter

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

func TestElements(t *testing.T) {
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
		{"moved: given back where it is now", withLedger(t, `{"nodeSets":[{"name":"new","count":1},{"name":"hot","count":1}]}`, hot), workload.Plan{},
			`[{"op":"test","path":"/metadata/resourceVersion","value":"8"},` +
				`{"op":"test","path":"/spec/nodeSets/1/name","value":"hot"},` +
				`{"op":"replace","path":"/spec/nodeSets/1/count","value":3},` +
				`{"op":"remove","path":"/metadata/annotations/flyball.dev~1ledger"}]`,
			`{"nodeSets":[{"name":"new","count":1},{"name":"hot","count":3}]}`, "hot count 1 -> 3"},
		{"moved: the ledger follows, by a merge patch", withLedger(t, `{"nodeSets":[{"name":"new","count":1},{"name":"hot","count":1}]}`, hot), sleep(),
			`{"metadata":{"annotations":{"flyball.dev/ledger":"{\"/spec/nodeSets/1/count\":{\"was\":3,\"set\":1,\"by\":\"Schedule/shop/nights\",` +
				`\"since\":\"2026-03-02T20:00:00Z\",\"element\":\"hot\"},\"of\":\"Elasticsearch/web\"}"},"resourceVersion":"8"}}`,
			`{"nodeSets":[{"name":"new","count":1},{"name":"hot","count":1}]}`, ""},
		{"gone: the entry goes", withLedger(t, `{"nodeSets":[{"name":"new","count":1}]}`, hot), workload.Plan{},
			`{"metadata":{"annotations":{"flyball.dev/ledger":null},"resourceVersion":"8"}}`, `{"nodeSets":[{"name":"new","count":1}]}`, ""},
		{"without a name, or with another's: left alone", object(`{"nodeSets":[{"count":3},{"name":"a","count":3},{"name":"a","count":4},{"name":"b","count":2},7]}`), sleep(),
			`[{"op":"test","path":"/metadata/resourceVersion","value":"8"},` +
				`{"op":"test","path":"/spec/nodeSets/3/name","value":"b"},` +
				`{"op":"replace","path":"/spec/nodeSets/3/count","value":1},` +
				`{"op":"add","path":"/metadata/annotations","value":{}},` +
				`{"op":"add","path":"/metadata/annotations/flyball.dev~1ledger","value":"{\"/spec/nodeSets/3/count\":{\"was\":2,\"set\":1,` +
				`\"by\":\"Schedule/shop/nights\",\"since\":\"2026-03-02T20:00:00Z\",\"element\":\"b\"},\"of\":\"Elasticsearch/web\"}"}]`,
			`{"nodeSets":[{"count":3},{"name":"a","count":3},{"name":"a","count":4},{"name":"b","count":1},7]}`, "b count 2 -> 1"},
		{"an absent count given back is removed", withLedger(t, `{"nodeSets":[{"name":"hot","count":3},{"name":"cold","count":1}]}`, func() workload.Entry {
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
	a := compiled(t, elasticYAML, Keys{})
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

// TestAStaleElement is refused by the server when the list has changed meanwhile.
func TestAStaleElement(t *testing.T) {
	a := compiled(t, elasticYAML, Keys{})
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
	a := compiled(t, pathsThroughLists, Keys{})
	doc := object(`{"groups":[{"kind":"head","head":{},"pools":[{"meta":{"name":"h"}}]},` +
		`{"kind":"worker","pools":[{"meta":{"name":"a"},"scaling":{"size":{}}},{"meta":{"name":"b"},"scaling":{"size":{"replicas":2}}},{"meta":{"name":"c"},"scaling":3},{"meta":{"name":"d"}}]}]}`)
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
		`{"meta":{"name":"b"},"scaling":{"size":{"replicas":0}}},{"meta":{"name":"c"},"scaling":3},{"meta":{"name":"d"}}]}],"flags":{"a":{"b":[1]}}}`
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
