package workload

import (
	"fmt"
	"strings"
)

// Count says how many there are of something, in the number that the noun then has: no pods, 1 pod, 2 pods; 1 policy, 2 policies.
func Count[N ~int | ~int32 | ~int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	plural := noun + "s"
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		plural = stem + "ies"
	}
	if n == 0 {
		return "no " + plural
	}
	return fmt.Sprintf("%d %s", n, plural)
}
