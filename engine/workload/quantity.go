package workload

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// The longest text of a quantity that is read, in bytes, and the most digits of its exponent.
const (
	longestQuantity = 64
	longestExponent = 2
)

// ParseQuantity reads a quantity, and says whether it is one. Quantities are computed digit by digit, so that one such as 1e-999999999, which the
// schemas of most kinds let through, takes minutes to read or to compare. Those are none.
func ParseQuantity(text string) (resource.Quantity, bool) {
	if len(text) > longestQuantity {
		return resource.Quantity{}, false
	}
	if i := strings.IndexAny(text, "eE"); i >= 0 && len(strings.TrimLeft(text[i+1:], "+-")) > longestExponent {
		return resource.Quantity{}, false
	}
	q, err := resource.ParseQuantity(text)
	return q, err == nil
}
