package status

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"flyball.dev/flyball/engine/workload"
)

// Rate is the worth of an hour of a requested core and of a requested GiB, in a unit.
type Rate struct {
	CPU, Memory float64
	// Unit is a currency, or g for CO2. Empty: a currency without a name.
	Unit string
}

// Of returns the worth of core hours and GiB hours.
func (r *Rate) Of(coreHours, gibHours float64) float64 { return r.CPU*coreHours + r.Memory*gibHours }

// Rates are the rates that are known; nil: not known.
type Rates struct {
	Price, CO2 *Rate
}

// Worth is the worth of a saving. A field is absent if its rate is not known.
type Worth struct {
	Cost     *float64 `json:"cost,omitempty"`
	Currency string   `json:"currency,omitempty"`
	CO2Grams *float64 `json:"co2Grams,omitempty"`
}

// Of returns the worth of core hours and GiB hours.
func (r Rates) Of(coreHours, gibHours float64) Worth {
	var w Worth
	if r.Price != nil {
		cost := r.Price.Of(coreHours, gibHours)
		w.Cost, w.Currency = &cost, r.Price.Unit
	}
	if r.CO2 != nil {
		grams := r.CO2.Of(coreHours, gibHours)
		w.CO2Grams = &grams
	}
	return w
}

// Heads returns the names of Worth.Cells: Cost with its currency, and CO2 in grams.
func (r Rates) Heads() []string {
	var heads []string
	if r.Price != nil {
		heads = append(heads, strings.TrimSpace("Cost "+r.Price.Unit))
	}
	if r.CO2 != nil {
		heads = append(heads, "CO2 g")
	}
	return heads
}

// Cells returns the known numbers as texts: the cost with two digits, and the CO2 in whole grams.
func (w Worth) Cells() []string {
	var cells []string
	if w.Cost != nil {
		cells = append(cells, strconv.FormatFloat(*w.Cost, 'f', 2, 64))
	}
	if w.CO2Grams != nil {
		cells = append(cells, strconv.FormatFloat(*w.CO2Grams, 'f', 0, 64))
	}
	return cells
}

// Grams is the unit of CO2.
const Grams = "g"

// ParseRates returns the rates of two texts: a price such as cpu=0.031,memory=0.004,currency=EUR, and CO2 in grams such as
// cpu=4.6,memory=0.4. An empty text is no rate. Any other text is an error.
func ParseRates(price, co2 string) (r Rates, err error) {
	if r.Price, err = parse(price, "currency"); err != nil {
		return Rates{}, fmt.Errorf("read the price %q: %w", price, err)
	}
	if r.CO2, err = parse(co2); err != nil {
		return Rates{}, fmt.Errorf("read the CO2 %q: %w", co2, err)
	}
	if r.CO2 != nil {
		r.CO2.Unit = Grams
	}
	return r, nil
}

// parse returns the rate of a text with the keys cpu and memory. unit has the other allowed key, for the unit. It
// returns nil for an empty text.
func parse(text string, unit ...string) (*Rate, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	keys := append([]string{"cpu", "memory"}, unit...)
	r := &Rate{}
	numbers, seen := 0, map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		switch {
		case !ok || !slices.Contains(keys, key):
			return nil, fmt.Errorf("%q is none of %s=VALUE%s", part, strings.Join(keys, "=VALUE, "), workload.Hint(key, keys))
		case seen[key]:
			return nil, fmt.Errorf("%s is given twice", key)
		}
		seen[key] = true
		if slices.Contains(unit, key) {
			if !isCurrency(value) {
				return nil, fmt.Errorf("the %s %q is no code or sign of at most %d characters, such as EUR", key, value, maxCurrency)
			}
			r.Unit = value
			continue
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) {
			return nil, fmt.Errorf("%s=%s is no number of 0 or more for an hour", key, value)
		}
		numbers++
		if key == "cpu" {
			r.CPU = n
		} else {
			r.Memory = n
		}
	}
	if numbers == 0 {
		return nil, fmt.Errorf("give the rate of an hour of a CPU core, cpu=VALUE, or of a GiB of memory, memory=VALUE")
	}
	return r, nil
}

const maxCurrency = 8

// isCurrency reports whether a text is short and has only letters and signs of currencies.
func isCurrency(text string) bool {
	other := func(c rune) bool { return !unicode.IsLetter(c) && !unicode.Is(unicode.Sc, c) }
	return text != "" && utf8.RuneCountInString(text) <= maxCurrency && !strings.ContainsFunc(text, other)
}
