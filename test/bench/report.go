package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// report writes figures and remarks.
type report struct {
	out, log io.Writer
	// mu guards the fields below, because a part that does not end at its limit goes on beside the others.
	mu sync.Mutex
	// part are the figures of the part under way.
	part []string
	// remark is appended to every figure of a partial run.
	remark string
	// values are the figures so far, by name. held are the lines of the part under way.
	values map[string]float64
	held   []line
	// noisy has the timings whose spread stayed a tenth or more.
	noisy map[string]bool
}

// line is a figure of the part under way.
type line struct{ name, text string }

// begin starts the part with these figures.
func (r *report) begin(figures []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.part = figures
}

// figure keeps one figure of the part under way. It is printed when the part ends within its limit. A figure of another part is dropped.
func (r *report) figure(name string, value float64, unit string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Contains(r.part, name) {
		return
	}
	if r.values == nil {
		r.values = map[string]float64{}
	}
	r.values[name] = value
	words := []string{"figure", name, strconv.FormatFloat(value, 'f', decimals(value, unit), 64), unit}
	if r.noisy[name] {
		words = append(words, "(noisy)")
	}
	if r.remark != "" {
		words = append(words, r.remark)
	}
	r.held = append(r.held, line{name, strings.Join(words, " ")})
}

// end prints the figures of the part under way, or drops them if the part failed.
func (r *report) end(failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.held {
		if failed {
			delete(r.values, l.name)
			continue
		}
		_, _ = fmt.Fprintln(r.out, l.text)
	}
	r.held, r.part = nil, nil
}

// complete returns an error that names the figures without a value.
func (r *report) complete(figures []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var missing []string
	for _, name := range figures {
		if v, ok := r.values[name]; !ok || math.IsNaN(v) || math.IsInf(v, 0) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("no value for %s", strings.Join(missing, ", "))
	}
	return nil
}

// decimals returns the number of significant decimals of a measurement.
func decimals(value float64, unit string) int {
	if unit == "ratio" || unit == "requests/change" {
		return 3
	}
	if value == float64(int64(value)) {
		return 0
	}
	return 1
}

// rounds reports the spread of the rounds behind a figure, and marks the figure if it is noisy.
func (r *report) rounds(name string, values []float64) {
	if isNoisy(values) {
		r.mark(name)
	}
	r.say("%s: median %.3f, min %.3f, max %.3f of %d rounds: %.3f", name, median(values), slices.Min(values), slices.Max(values), len(values),
		values)
}

// mark marks a figure as noisy.
func (r *report) mark(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.noisy == nil {
		r.noisy = map[string]bool{}
	}
	r.noisy[name] = true
}

func (r *report) say(format string, args ...any) {
	_, _ = fmt.Fprintf(r.log, "bench: "+format+"\n", args...)
}

// machine reports the machine and its load, because load reduces the value of a figure.
func (r *report) machine() {
	model := "unknown CPU"
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range bytes.Lines(text) {
			if key, value, ok := bytes.Cut(line, []byte(":")); ok && string(bytes.TrimSpace(key)) == "model name" {
				model = string(bytes.TrimSpace(value))
				break
			}
		}
	}
	load := "unknown"
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = strings.Join(strings.Fields(string(text))[:3], " ")
	}
	r.say("%d cores of %s, %s/%s, %s, load average %s", runtime.NumCPU(), model, runtime.GOOS, runtime.GOARCH, runtime.Version(), load)
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// percentile returns the p-th percentile.
func percentile(values []float64, p int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)*p/100]
}

// maxSpread is the spread from which a timing is noisy.
const maxSpread = 0.1

// isNoisy reports whether the spread of rounds is too large. The spread is the distance of the quartiles over the median, or, of fewer
// than four rounds, the distance of the extremes.
func isNoisy(values []float64) bool {
	if len(values) == 0 {
		return false
	}
	low, high := slices.Min(values), slices.Max(values)
	if len(values) >= 4 {
		low, high = percentile(values, 25), percentile(values, 75)
	}
	return high-low >= maxSpread*math.Abs(median(values)) && high > low
}

// again reports whether a timing needs another round: at first the wanted number, then up to three times as many while it is noisy, in the
// first half of the part's limit.
func (b *bench) again(wanted int, of ...[]float64) bool {
	rounds := 0
	for _, values := range of {
		rounds = max(rounds, len(values))
	}
	return rounds < wanted || rounds < 3*wanted && time.Now().UnixNano() < b.halfTime.Load() && slices.ContainsFunc(of, isNoisy)
}

// shares says how long each part took, and its share of the whole time.
func (r *report) shares(all []part, took []time.Duration) {
	var whole time.Duration
	for _, d := range took {
		whole += d
	}
	for i, p := range all {
		r.say("%5.1f %% of the time, %7s: %s", 100*took[i].Seconds()/max(whole.Seconds(), 1e-9), took[i].Round(100*time.Millisecond),
			strings.Join(p.figures, ", "))
	}
}
