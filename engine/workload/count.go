package workload

import (
	"fmt"
	"strings"
)

// Count returns a number with its noun in the right form: no pods, 1 pod, 2 pods; 1 policy, 2 policies; 1 day, 2 days.
func Count[N ~int | ~int32 | ~int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	plural := noun + "s"
	if stem, ok := strings.CutSuffix(noun, "y"); ok && !strings.HasSuffix(stem, "a") {
		plural = stem + "ies"
	}
	if n == 0 {
		return "no " + plural
	}
	return fmt.Sprintf("%d %s", n, plural)
}
