package adapter

import (
	"testing"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

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
		{"one removed", `[{"name":"a","count":1}]`, `[{"name":"a","count":2}]`, false},
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
