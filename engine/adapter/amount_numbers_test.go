package adapter

import (
	"math"
	"testing"

	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/podplan"
	"flyball.dev/flyball/engine/workload"
)

var (
	cores       = amount{kind: workload.AmountRequest, resource: workload.CPU}
	bytesOf     = amount{kind: workload.AmountRequest, resource: workload.Memory}
	wholeCores  = amount{kind: workload.AmountRequest, resource: workload.CPU, whole: true}
	wholeBytes  = amount{kind: workload.AmountRequest, resource: workload.Memory, whole: true}
	share       = amount{kind: workload.AmountUtilisation, resource: workload.CPU}
	shareText   = amount{kind: workload.AmountUtilisation, resource: workload.CPU, text: true}
	withDefault = amount{kind: workload.AmountRequest, resource: workload.CPU, absent: `"2"`}
)

// TestReadAmounts checks that amounts are read in each encoding of a kind, as thousandths of a core, bytes or percent.
func TestReadAmounts(t *testing.T) {
	for _, tc := range []struct {
		of   *amount
		raw  string
		want int64
		ok   bool
	}{
		{&cores, `"250m"`, 250, true}, {&cores, `"1"`, 1000, true}, {&cores, `1.5`, 1500, true}, {&cores, `"0"`, 0, true},
		{&cores, `"-1"`, 0, false}, {&cores, ``, 0, false},
		{&cores, `"x"`, 0, false}, {&cores, `9007199254740992`, 1000 << 53, true}, {&cores, `9007199254740993`, 0, false},
		{&withDefault, ``, 2000, true}, {&withDefault, `"3"`, 3000, true},
		{&bytesOf, `"1Ki"`, 1024, true}, {&bytesOf, `7`, 7, true}, {&bytesOf, `"1500m"`, 2, true},
		{&share, `70`, 70, true}, {&share, `"70"`, 0, false}, {&shareText, `"70"`, 70, true}, {&shareText, `70`, 0, false},
	} {
		if got, ok := tc.of.read(tc.raw); got != tc.want || ok != tc.ok {
			t.Errorf("%s of %+v is %d, %t; want %d, %t", tc.raw, *tc.of, got, ok, tc.want, tc.ok)
		}
	}
}

// TestSpellAmounts checks that an amount is written in the encoding of the kind, and in a known spelling if one has the
// same meaning. Whole cores are rounded up.
func TestSpellAmounts(t *testing.T) {
	for _, tc := range []struct {
		of    *amount
		n     int64
		known []string
		want  string
	}{
		{&cores, 250, nil, `"250m"`}, {&cores, 1000, nil, `"1"`}, {&cores, 1000, []string{`"2"`, `"1000m"`}, `"1000m"`},
		{&cores, 1000, []string{``, `"x"`}, `"1"`},
		{&withDefault, 2000, []string{``}, `"2"`},
		{&bytesOf, 1 << 30, nil, `"1Gi"`}, {&wholeBytes, 1 << 30, nil, `1073741824`},
		{&wholeCores, 2000, nil, `2`}, {&wholeCores, 2001, nil, `3`}, {&wholeCores, 2999, nil, `3`}, {&wholeCores, 0, nil, `0`},
		{&share, 70, nil, `70`}, {&shareText, 70, nil, `"70"`},
	} {
		if got := tc.of.spell(tc.n, tc.known...); got != tc.want {
			t.Errorf("%d of %+v is %s, want %s", tc.n, *tc.of, got, tc.want)
		}
	}
}

// TestLimitsFollowTheirRequests checks that limits keep the owner's ratio to requests. Rounding never puts a limit above
// this ratio or below its request.
func TestLimitsFollowTheirRequests(t *testing.T) {
	for _, tc := range []struct{ request, ownRequest, ownLimit, want int64 }{
		{100, 200, 400, 200}, {100, 200, 200, 100}, {100, 3, 4, 133}, {99, 3, 4, 132}, {100, 200, 100, 100}, {100, 0, 400, 400},
		{500, 0, 400, 500},
		{math.MaxInt64, 1, 2, math.MaxInt64}, {math.MaxInt64, 2, 4, math.MaxInt64}, {1 << 62, 1, 1, 1 << 62},
		{math.MaxInt64, 1, 1, math.MaxInt64}, {math.MaxInt64 - 1, 1, 1, math.MaxInt64 - 1},
		{1 << 62, 1, 4, math.MaxInt64},              // 2 to the 64, which no 64 bits hold
		{145295143558111, 2, 253921, math.MaxInt64}, // half of 2 to the 65 minus 1
	} {
		if got := podplan.LimitFor(tc.request, tc.ownRequest, tc.ownLimit); got != tc.want {
			t.Errorf("%d where the owner has %d to %d: %d, want %d", tc.request, tc.ownRequest, tc.ownLimit, got, tc.want)
		}
	}
}

// TestDirections: only a growing number or quantity goes up.
func TestDirections(t *testing.T) {
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

// TestWhichElementsAreAmounts checks that the components between the counts and the ends of ranges are amounts.
func TestWhichElementsAreAmounts(t *testing.T) {
	for component, want := range map[uint8]bool{0: false, amountElements - 1: false, amountElements: true, lowEnds - 1: true, lowEnds: false,
		highEnds: false} {
		if got := isAmount(&workload.Element{Component: component}); got != want {
			t.Errorf("component %d: %t", component, got)
		}
	}
}

// TestPointersThatCouldMatch checks that a pointer fits a path with as many steps and the same names and indexes.
func TestPointersThatCouldMatch(t *testing.T) {
	p := path.MustParse(".spec.pools[2].name")
	for pointer, want := range map[string]bool{"/spec/pools/2/name": true, "/spec/pools/3/name": false, "/spec/sets/2/name": false,
		"/spec/pools/2": false, "/spec/pools/2/name/x": false} {
		if got := fits(p.Steps(), path.Pointer(pointer).Tokens()); got != want {
			t.Errorf("%s: %t", pointer, got)
		}
	}
}
