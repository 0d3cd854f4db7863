package main

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestExceptionsAndLengthsEqualACalculation compares the product's occurrences of random files with a calculation from the days of
// their rules.
func TestExceptionsAndLengthsEqualACalculation(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 0))
	for range 300 {
		s, err := draw(r)
		if err != nil {
			t.Fatal(err)
		}
		if s == nil {
			continue
		}
		starts, err := s.starts()
		if err != nil {
			t.Fatal(err)
		}
		if s.rule == "" {
			starts = []time.Time{s.start}
		}
		starts = slices.DeleteFunc(append(starts, s.again...), func(at time.Time) bool { return slices.Contains(s.left, at) })
		got, err := occurrences(s)
		if want := s.spans(starts); err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v, want %v:\n%s", err, got, want, s.file())
		}
	}
}

func TestExplanationsAreOfKnownKinds(t *testing.T) {
	rows, err := read(filepath.Join("../..", table))
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	r := rand.New(rand.NewPCG(3, 0))
	for range 2000 {
		s, err := draw(r)
		if err != nil {
			t.Fatal(err)
		}
		if s == nil {
			continue
		}
		for _, kind := range s.kinds() {
			known[kind] = true
		}
	}
	for _, row := range rows {
		for _, kind := range row.kinds {
			if !known[kind] {
				t.Errorf("no random file is of the kind %s", kind)
			}
		}
	}
}
