// Package spelling finds what somebody probably meant by a name that does not exist.
package spelling

import (
	"cmp"
	"strings"
)

// Nearest finds the candidate closest to a name that was probably mistyped; empty if none is close: a third of the
// letters may differ, and at least one. Of a name of one or two letters some may be missing and none may be wrong: abbreviations of other
// things look like that.
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

// Meant is what to say after a name that does not exist: which was probably meant; empty if none is close.
func Meant(name string, candidates []string) string {
	if near := Nearest(name, candidates); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// Hint is what to say after a name that does not exist: which was probably meant, or which there are.
func Hint(name string, candidates []string) string {
	return cmp.Or(Meant(name, candidates), "; there are "+strings.Join(candidates, ", "))
}

// distance is the optimal string alignment distance: insertions, deletions, replacements and swaps of neighbours count
// one each (Damerau 1964, restricted form).
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
