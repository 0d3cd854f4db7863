package compiled

import (
	"testing"

	"flyball.dev/flyball/engine/workload"
)

var (
	cores       = Amount{Kind: workload.AmountRequest, Resource: workload.CPU}
	bytesOf     = Amount{Kind: workload.AmountRequest, Resource: workload.Memory}
	wholeCores  = Amount{Kind: workload.AmountRequest, Resource: workload.CPU, whole: true}
	wholeBytes  = Amount{Kind: workload.AmountRequest, Resource: workload.Memory, whole: true}
	share       = Amount{Kind: workload.AmountUtilisation, Resource: workload.CPU}
	shareText   = Amount{Kind: workload.AmountUtilisation, Resource: workload.CPU, text: true}
	withDefault = Amount{Kind: workload.AmountRequest, Resource: workload.CPU, Absent: `"2"`}
)

// TestReadAmounts checks that amounts are read in each encoding of a kind, as thousandths of a core, bytes or percent.
func TestReadAmounts(t *testing.T) {
	for _, tc := range []struct {
		of   *Amount
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
		if got, ok := tc.of.Read(tc.raw); got != tc.want || ok != tc.ok {
			t.Errorf("%s of %+v is %d, %t; want %d, %t", tc.raw, *tc.of, got, ok, tc.want, tc.ok)
		}
	}
}

// TestSpellAmounts checks that an amount is written in the encoding of the kind, and in a known spelling if one has the
// same meaning. Whole cores are rounded up.
func TestSpellAmounts(t *testing.T) {
	for _, tc := range []struct {
		of    *Amount
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
		if got := tc.of.Spell(tc.n, tc.known...); got != tc.want {
			t.Errorf("%d of %+v is %s, want %s", tc.n, *tc.of, got, tc.want)
		}
	}
}
