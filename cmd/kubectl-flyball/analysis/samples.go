package analysis

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/tuning/measure"
	"flyball.dev/flyball/engine/workload"
)

// These are the names of the fields of a sample. They are the columns of CSV, the keys of JSON lines, and the names of
// queries.
const (
	TimeColumn      = "time"
	ContainerColumn = "container"
	CPUColumn       = measure.CPU
	MemoryColumn    = measure.Memory
	ReplicasColumn  = measure.Replicas
	ThrottledColumn = measure.Throttled
	// A sample with kills must also have the limit.
	OOMKillsColumn    = measure.OOMKills
	MemoryLimitColumn = measure.MemoryLimit
)

// Columns are the names of all fields of a sample, in the order in which documents show them.
var Columns = []string{TimeColumn, ContainerColumn, CPUColumn, MemoryColumn, ReplicasColumn, ThrottledColumn, OOMKillsColumn,
	MemoryLimitColumn}

// needed are the fields that every sample must have.
var neededColumns = []string{TimeColumn, ContainerColumn, ReplicasColumn}

// sample is one sample with its file and line.
type sample struct {
	workload.Sample
	file string
	line int
}

// knownField returns an error about an unknown field, with the field that was probably meant.
func knownField(name string) error {
	if slices.Contains(Columns, name) {
		return nil
	}
	return fmt.Errorf("there is no field %q%s", name, workload.Hint(name, Columns))
}

// parse returns the sample with the given texts of fields. An empty text means that the value is not known.
func parse(texts map[string]string) (workload.Sample, error) {
	s := workload.Sample{CPU: -1, Memory: -1, Container: texts[ContainerColumn]}
	var faults []error
	for _, name := range neededColumns {
		if texts[name] == "" {
			faults = append(faults, fmt.Errorf("%s is missing", name))
		}
	}
	if texts[CPUColumn] == "" && texts[MemoryColumn] == "" && texts[OOMKillsColumn] == "" {
		faults = append(faults, fmt.Errorf("%s, %s and %s are all missing", CPUColumn, MemoryColumn, OOMKillsColumn))
	}
	for _, name := range Columns {
		if text := texts[name]; text != "" {
			if err := set(&s, name, text); err != nil {
				faults = append(faults, fmt.Errorf("%s: %w", name, err))
			}
		}
	}
	if s.OOMKills > 0 && s.MemoryLimit == 0 {
		faults = append(faults, fmt.Errorf("%s needs %s", OOMKillsColumn, MemoryLimitColumn))
	}
	return s, errors.Join(faults...)
}

// set sets one field of a sample from its text.
func set(s *workload.Sample, name, text string) (err error) {
	n := 0.0
	switch name {
	case ContainerColumn:
	case TimeColumn:
		s.At, err = instantOf(text)
	case CPUColumn:
		n, err = amount(text)
		s.CPU = n * 1000
	case MemoryColumn:
		s.Memory, err = amount(text)
	case MemoryLimitColumn:
		s.MemoryLimit, err = amount(text)
	case ReplicasColumn:
		s.Replicas, err = count(text)
	case OOMKillsColumn:
		s.OOMKills, err = count(text)
	case ThrottledColumn:
		if s.Throttled, err = strconv.ParseFloat(text, 64); err != nil || !(s.Throttled >= 0 && s.Throttled <= 1) {
			err = fmt.Errorf("%q is no share from 0 to 1", text)
		}
	}
	return err
}

// instantOf parses an instant in the format of RFC 3339, or in seconds of Unix time.
func instantOf(text string) (time.Time, error) {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at.UTC(), nil
	}
	if n, err := strconv.ParseFloat(text, 64); err == nil && n > 0 && n < 1e11 {
		return time.UnixMilli(int64(math.Round(n * 1000))).UTC(), nil
	}
	return time.Time{}, fmt.Errorf("%q is no instant: give RFC 3339 (2037-05-11T18:00:00Z) or seconds of Unix time", text)
}

// amount parses a number or a Kubernetes quantity. A negative value is an error.
func amount(text string) (float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		q, ok := workload.ParseQuantity(text)
		if !ok {
			return 0, fmt.Errorf("%q is no number and no quantity such as 250m or 256Mi", text)
		}
		n = q.AsApproximateFloat64()
	}
	if !(n >= 0 && n < 1e15) { // this refuses NaN too
		return 0, fmt.Errorf("%q is negative, or too large", text)
	}
	return n, nil
}

func count(text string) (int, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= 1e6) || n != math.Trunc(n) {
		return 0, fmt.Errorf("%q is no whole number from 0 to 1000000", text)
	}
	return int(n), nil
}

// ordered sorts samples by time. Two samples of the same container and instant are an error.
func ordered(all []sample) ([]workload.Sample, error) {
	slices.SortStableFunc(all, func(a, b sample) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Container, b.Container)) })
	samples := make([]workload.Sample, len(all))
	var faults []error
	for i, s := range all {
		if i > 0 && s.At.Equal(all[i-1].At) && s.Container == all[i-1].Container {
			faults = append(faults, &source.FileError{File: s.file, Line: s.line,
				Message: fmt.Sprintf("container %s has a sample of %s in %s:%d too", s.Container, s.At.Format(time.RFC3339), all[i-1].file,
					all[i-1].line)})
		}
		samples[i] = s.Sample
	}
	return samples, errors.Join(faults...)
}
