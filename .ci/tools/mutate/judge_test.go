package main

import (
	"os"
	"path/filepath"
	"testing"
)

const example = `package p

type t struct{}

func (t *t) less(a, b, c int) bool {
	return a < b && b < c
}

func less(a, b int) bool { return a < b }
`

// TestMutantsAreComparedWithEquivalents runs the report of a file of three mutants past lists of equivalents.
// Columns come unsorted, as gremlins
// writes them.
func TestMutantsAreComparedWithEquivalents(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "engine/path"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "engine/path/p.go"), []byte(example), 0o644); err != nil {
		t.Fatal(err)
	}
	first := "engine/path/p.go t.less B\n\treturn a < b && b < c\n\t-- first\n"
	second := "engine/path/p.go t.less B#2\n\treturn a < b && b < c\n\t-- second\n"
	other := "engine/path/p.go less B\n\tfunc less(a, b int) bool { return a < b }\n\t-- other\n"
	elsewhere := "engine/other/p.go less B\n\tfunc less(a, b int) bool { return a < b }\n\t-- another package\n"
	tests := []struct {
		name, equivalents string
		lived, stale      int
		efficacy          float64
		passes            bool
	}{
		{"nothing is listed", "# a comment\n", 2, 0, 100.0 / 3, false},
		{"one of two on a line", second + "\n" + elsewhere, 1, 0, 50, false},
		{"all that lived", second + "\n" + other, 0, 0, 100, true},
		{"one was killed", first + "\n" + second + "\n" + other, 0, 1, 100, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var report gremlinsReport
			report.Files = append(report.Files, struct {
				Name      string     `json:"file_name"`
				Mutations []mutation `json:"mutations"`
			}{"p.go", []mutation{{"B", lived, 9, 37}, {"B", lived, 6, 20}, {"B", killed, 6, 11}}})
			equivalents, err := parseEquivalents(test.equivalents)
			if err != nil {
				t.Fatal(err)
			}
			r, err := judge(root, "engine/path", 95, report, equivalents)
			if err != nil {
				t.Fatal(err)
			}
			if r.count(lived) != test.lived || len(r.stale) != test.stale || r.efficacy() != test.efficacy ||
				r.passes() != test.passes {
				t.Errorf("lived %d, stale %v, efficacy %v, passes %v", r.count(lived), r.stale, r.efficacy(), r.passes())
			}
			if again, err := parseEquivalents(r.survivors()); err != nil || len(again) != test.lived {
				t.Errorf("the list of survivors reads back as %v, %v", again, err)
			}
		})
	}
}

func TestParseEquivalentsRefuses(t *testing.T) {
	for _, bad := range []string{"a f K\n\tx", "a f\n\tx\n\t-- y", "a f K\n\tx\n\ty", "a f K\n\tx\n\t-- ", "a f K#1\n\tx\n\t-- y",
		"a f K\n\tx\n\t-- y\na f K\n\tx\n\t-- y"} {
		if _, err := parseEquivalents(bad); err == nil {
			t.Errorf("no error for %q", bad)
		}
	}
}
