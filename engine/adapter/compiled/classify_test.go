package compiled

import (
	"strconv"
	"testing"
)

// TestTheFirstOfRepeatedKeysCounts, however many members there are.
func TestTheFirstOfRepeatedKeysCounts(t *testing.T) {
	for _, n := range []int{3, few, few + 1, 500} {
		m := members{list: []pair{{key: "z", value: "first"}}}
		for i := range n - 1 {
			m.list = append(m.list, pair{key: "kz"[i%2 : i%2+1], value: strconv.Itoa(i)})
		}
		for key, want := range map[string]string{"z": "first", "k": "0"} {
			if got, ok := m.find(key, n); !ok || got != want {
				t.Errorf("of %d members, %s is %q, want %q", n, key, got, want)
			}
		}
		if got, ok := m.find("none", n); ok {
			t.Errorf("of %d members, none is %q", n, got)
		}
	}
}
