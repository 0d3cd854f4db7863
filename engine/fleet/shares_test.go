package fleet

import (
	"slices"
	"testing"
)

// TestShares has the sizes that the Deployment controller gives ReplicaSets in one step.
func TestShares(t *testing.T) {
	for _, tc := range []struct {
		sizes []int
		n     int
		want  []int
	}{
		{[]int{20, 10}, 29, []int{19, 10}},
		{[]int{10, 20}, 29, []int{10, 19}},
		{[]int{10, 10}, 19, []int{9, 10}},    // of two that are as large the older one loses a pod
		{[]int{20, 10}, 15, []int{10, 5}},    // half of each
		{[]int{20, 10}, 7, []int{5, 2}},      // 4.67 and 2.33
		{[]int{7, 7, 7}, 20, []int{6, 7, 7}}, // each rounds to what it has, and the largest takes the rest
		{[]int{3, 3}, 1, []int{0, 1}},        // half a pod each, rounded up, and the older one pays for that
		{[]int{5}, 2, []int{2}},
		{[]int{20, 10}, 0, []int{0, 0}},
		{[]int{4, 2}, 9, []int{4, 2}},
		{nil, 0, nil},
	} {
		if got := Shares(tc.sizes, tc.n); !slices.Equal(got, tc.want) {
			t.Errorf("%v scaled to %d: %v, want %v", tc.sizes, tc.n, got, tc.want)
		}
	}
}
