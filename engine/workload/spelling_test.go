package workload_test

import (
	"testing"

	"flyball.dev/flyball/engine/workload"
)

func TestNearestSuggestsASpelling(t *testing.T) {
	fields := []string{"replicas", "replica", "selector", "template", "paused", "app"}
	tests := []struct{ name, want string }{
		{"replcias", "replicas"},
		{"Replicas", "replicas"},
		{"replicaz", "replica"}, // as near as replicas: the first in the alphabet
		{"pause", "paused"},
		{"minReadySeconds", ""},
		{"x", ""},
		{"ap", "app"},
		{"repilcas", "replicas"}, // a swap is one mistake
	}
	for _, tt := range tests {
		if got := workload.Nearest(tt.name, fields); got != tt.want {
			t.Errorf("nearest(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
	for _, name := range []string{"cm", "ns"} { // names of other kinds, and not mistyped cj and ds
		if got := workload.Nearest(name, []string{"cj", "ds", "deploy"}); got != "" {
			t.Errorf("nearest(%q) = %q, want none", name, got)
		}
	}
	if got := workload.Nearest("anything", nil); got != "" {
		t.Errorf("nearest among none = %q", got)
	}
}

// TestHintsSuggestASpellingOrListTheCandidates: an error about an unknown name always leads to a known name.
func TestHintsSuggestASpellingOrListTheCandidates(t *testing.T) {
	fields := []string{"replicas", "selector"}
	for name, want := range map[string]string{
		"replcias": "; did you mean replicas?",
		"color":    "; there are replicas, selector",
	} {
		if got := workload.Hint(name, fields); got != want {
			t.Errorf("the hint about %q is %q, want %q", name, got, want)
		}
	}
}
