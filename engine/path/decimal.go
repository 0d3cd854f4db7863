package path

import (
	"bytes"
	"math"
	"strconv"
	"strings"
)

// decimal is the exact value of a JSON number: ±digits × 10^exponent, with digits that neither start nor end with a
// zero. Zero has no digits, no sign and exponent 0, so equal numbers have equal decimals.
type decimal struct {
	negative bool
	digits   string
	exponent int64
}

// maxExponent bounds the computed exponents. No API has numbers beyond; the bound keeps sums of exponents far
// from overflow.
const maxExponent = math.MaxInt32

// parseDecimal reads a number by the JSON grammar (RFC 8259, section 6). It refuses exponents beyond maxExponent.
func parseDecimal(text string) (decimal, bool) {
	end, ok := scanNumber([]byte(text), 0)
	if !ok || end != len(text) {
		return decimal{}, false
	}
	var d decimal
	text, d.negative = strings.CutPrefix(text, "-")
	mantissa, exponent, scaled := strings.Cut(strings.ToLower(text), "e")
	if scaled {
		n, err := strconv.ParseInt(exponent, 10, 64)
		if err != nil || n > maxExponent || n < -maxExponent {
			return decimal{}, false
		}
		d.exponent = n
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	d.exponent -= int64(len(fraction))
	digits := strings.TrimLeft(whole+fraction, "0")
	d.digits = strings.TrimRight(digits, "0")
	d.exponent += int64(len(digits) - len(d.digits))
	if d.digits == "" {
		return decimal{}, true
	}
	return d, true
}

// String returns canonical JSON text of the number: short numbers without an exponent, such as 0.05 or 1200, and all
// others as an integer with an exponent, such as 12e30.
func (d decimal) String() string {
	if d.digits == "" {
		return "0"
	}
	const plain = 25 // longest run of digits written without an exponent
	sign := ""
	if d.negative {
		sign = "-"
	}
	n := int64(len(d.digits))
	switch {
	case d.exponent >= 0 && n+d.exponent <= plain:
		return sign + d.digits + strings.Repeat("0", int(d.exponent))
	case d.exponent < 0 && -d.exponent < n:
		return sign + d.digits[:n+d.exponent] + "." + d.digits[n+d.exponent:]
	case d.exponent < 0 && -d.exponent <= plain:
		return sign + "0." + strings.Repeat("0", int(-d.exponent-n)) + d.digits
	default:
		return sign + d.digits + "e" + strconv.FormatInt(d.exponent, 10)
	}
}

// int64 returns the value; false: no integer, or too large.
func (d decimal) int64() (int64, bool) {
	const digits = 19 // of the largest int64
	if d.exponent < 0 || int64(len(d.digits))+d.exponent > digits {
		return 0, false
	}
	text := "0" + d.digits + strings.Repeat("0", int(d.exponent))
	if d.negative {
		text = "-" + text
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil
}

// equalNumbers compares two JSON numbers by exact value.
func equalNumbers(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	x, okX := parseDecimal(string(a))
	y, okY := parseDecimal(string(b))
	return okX && okY && x == y
}
