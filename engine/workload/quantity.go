package workload

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Limits of a quantity's length in bytes, and of the digits of its exponent.
const (
	longestQuantity = 64
	longestExponent = 2
)

// ParseQuantity parses a quantity; false: invalid. Quantities are computed digit by digit, so a value such as
// 1e-999999999, accepted by the schemas of most kinds, would take minutes to read or to compare. Such values
// count as invalid.
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
