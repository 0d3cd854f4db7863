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
)

// report writes figures and remarks.
type report struct {
	out, log io.Writer
	// remark is appended to every figure of a partial run.
	remark string
	// values are the figures so far, by name.
	values map[string]float64
}

// figure prints and keeps one figure.
func (r *report) figure(name string, value float64, unit string) {
	if r.values == nil {
		r.values = map[string]float64{}
	}
	r.values[name] = value
	line := []string{"figure", name, strconv.FormatFloat(value, 'f', decimals(value, unit), 64), unit}
	if r.remark != "" {
		line = append(line, r.remark)
	}
	_, _ = fmt.Fprintln(r.out, strings.Join(line, " "))
}

// complete returns an error that names the figures without a value.
func (r *report) complete(figures []string) error {
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

// rounds reports the spread of the rounds behind a figure.
func (r *report) rounds(name string, values []float64) {
	r.say("%s: median %.3f, min %.3f, max %.3f of %d rounds: %.3f", name, median(values), slices.Min(values), slices.Max(values), len(values),
		values)
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
