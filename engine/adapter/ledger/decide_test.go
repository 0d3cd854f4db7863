package ledger

import (
	"testing"

	"flyball.dev/flyball/engine/workload"
)

// TestCreatedParentsAreRecorded checks the Made of a new entry: the number of tokens of the outermost missing
// parent, or 0 if all parents
// exist.
func TestCreatedParentsAreRecorded(t *testing.T) {
	earlier := func(pointer string, made uint8) []workload.Entry {
		return []workload.Entry{{Pointer: "/spec/other"}, {Pointer: pointer, Made: made}}
	}
	for _, c := range []struct {
		name    string
		pointer string
		depth   uint8
		entries []workload.Entry
		want    uint8
	}{
		{"all there", "/spec/a/b/c", 3, nil, 0},
		{"one missing", "/spec/a/b/c", 2, nil, 3},
		{"all missing", "/spec/a/b/c", 0, nil, 1},
		{"made by an earlier entry", "/spec/a/b/c", 3, earlier("/spec/a/b/d", 2), 2},
		{"made by an earlier entry, the last parent", "/spec/a/b/c", 3, earlier("/spec/a/b/d", 3), 3},
		{"made by the field's own earlier entry", "/spec/a/b/c", 3, earlier("/spec/a/b/c", 2), 2},
		{"an earlier entry that made something else", "/spec/a/b/c", 3, earlier("/spec/x/y/z", 2), 0},
		{"an earlier entry that made a neighbour of the parent", "/spec/a/b/c", 3, earlier("/spec/a/x/d", 3), 0},
		{"an earlier entry that made less", "/spec/a/b/c", 1, earlier("/spec/a/b/d", 3), 2},
		{"an earlier entry that made more", "/spec/a/b/c", 2, earlier("/spec/a/b/d", 2), 2},
		{"an earlier entry that is deeper than the field", "/spec/a/b", 2, earlier("/spec/a/b/d", 3), 0},
	} {
		v := &View{Object: &workload.Object{}}
		for _, e := range c.entries {
			v.Entries = append(v.Entries, TrackedField{Entry: e})
		}
		if got := v.outermostMade(c.pointer, workload.Field{Depth: c.depth}); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// TestOnlyAGrowingNumberOrQuantityGoesUp: only a growing number or quantity goes up.
func TestOnlyAGrowingNumberOrQuantityGoesUp(t *testing.T) {
	for _, tc := range []struct {
		from, to string
		want     workload.Direction
	}{
		{`1`, `2`, workload.DirectionUp}, {`2`, `2`, workload.DirectionDown}, {`3`, `2`, workload.DirectionDown},
		{`"1Gi"`, `"2Gi"`, workload.DirectionUp}, {`"1Gi"`, `"1Gi"`, workload.DirectionDown},
		{`"1Gi"`, `"1024Mi"`, workload.DirectionDown}, {`"a"`, `"b"`, workload.DirectionDown}, {`false`, `true`, workload.DirectionDown},
		{``, `1`, workload.DirectionDown},
	} {
		if got := towards(tc.from, tc.to); got != tc.want {
			t.Errorf("from %s to %s it goes %s", tc.from, tc.to, got)
		}
	}
}
