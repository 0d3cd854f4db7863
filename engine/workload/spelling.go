package workload

import (
	"cmp"
	"slices"
	"strings"
)

// Nearest returns the candidate closest to a probably mistyped name; empty: none is close. A third of the letters may
// differ, and at least one. In a name of one or two letters, letters may be missing but not wrong: other short names
// would be too similar.
func Nearest(name string, candidates []string) string {
	best, bestDistance := "", max(1, len(name)/3)+1
	for _, c := range candidates {
		if len(name) <= 2 && len(c) <= len(name) && !strings.EqualFold(c, name) {
			continue
		}
		if d := distance(strings.ToLower(name), strings.ToLower(c)); d < bestDistance || d == bestDistance && best != "" && c < best {
			best, bestDistance = c, d
		}
	}
	return best
}

// NearestFirst returns the candidates in order of their distance from a name.
func NearestFirst(name string, candidates []string) []string {
	name = strings.ToLower(name)
	return slices.SortedStableFunc(slices.Values(candidates), func(a, b string) int {
		return cmp.Compare(distance(name, strings.ToLower(a)), distance(name, strings.ToLower(b)))
	})
}

// Meant returns a suggestion to append to an error about an unknown name; empty: no candidate is close.
func Meant(name string, candidates []string) string {
	if near := Nearest(name, candidates); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// Hint returns a text to append to an error about an unknown name: a suggestion, or the list of candidates.
func Hint(name string, candidates []string) string {
	return cmp.Or(Meant(name, candidates), "; there are "+strings.Join(candidates, ", "))
}

// distance returns the optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours
// count one each (Damerau 1964, restricted form).
func distance(a, b string) int {
	before, last, current := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		current[0] = i
		for j := 1; j <= len(b); j++ {
			replace := last[j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			current[j] = min(replace, last[j]+1, current[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				current[j] = min(current[j], before[j-2]+1)
			}
		}
		before, last, current = last, current, before
	}
	return last[len(b)]
}
