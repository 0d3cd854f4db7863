package workload

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"flyball.dev/flyball/engine/path"
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

// QuantityOf parses a JSON number, or a Kubernetes quantity in a JSON string such as "40Gi".
func QuantityOf(raw string) (resource.Quantity, bool) {
	if raw == "" {
		return resource.Quantity{}, false
	}
	text, err := path.NewValue(raw, "").Text()
	if err != nil {
		text = raw
	}
	if !strings.ContainsAny(text[:min(len(text), 1)], "+-.0123456789") {
		return resource.Quantity{}, false // saves the cost of an error
	}
	return ParseQuantity(text)
}

// SameNumber compares two JSON texts. A number and a string with the same quantity are equal, because a writer that
// reads an object and writes it back may turn 0 into "0". Two strings are not compared as quantities, because "1.10" can
// be a version.
func SameNumber(a, b string) bool { return SameValue(a, b, false) }

// SameValue compares two JSON texts as the API server does: amounts by their quantity, others like SameNumber.
func SameValue(a, b string, amount bool) bool {
	if path.Same(a, b) {
		return true
	}
	if !amount && (a == "" || b == "" || (a[0] == '"') == (b[0] == '"')) {
		return false
	}
	x, okX := QuantityOf(a)
	y, okY := QuantityOf(b)
	return okX && okY && x.Cmp(y) == 0
}
