package analysis

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// These are columns of a file with the demand of all pods of a workload together, in cores.
const (
	minuteColumn = "minute" // minutes of Unix time
	coresColumn  = "cores"
)

// totals are all columns that a file with the demand of all pods may have.
var totals = []string{TimeColumn, CPUColumn, MemoryColumn, minuteColumn, coresColumn}

// ReadDemand reads the demand of a workload from files. The path - means standard input. A CSV file without a column
// container has the demand of all pods together. Any other file has samples of containers, which are added up.
func ReadDemand(paths []string, stdin io.Reader, format string, progress func(string)) ([]Reading, error) {
	var all []Reading
	var samples []sample
	var faults []error
	for _, path := range paths {
		r := reader{file: path, any: true, all: samples, progress: progress}
		in, done, err := open(path, stdin)
		if err != nil {
			r.fault(0, err)
		} else {
			progress("reading " + path)
			if formatOf(path, format) == CSV && isTotal(in) {
				all = append(all, r.readTotals(in)...)
			} else {
				r.readFrom(in, format)
			}
		}
		done()
		samples, faults = r.all, append(faults, r.faults...)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	found, err := ordered(samples)
	return append(all, DemandOf(found)...), err
}

// DemandOf adds up the samples of containers at each instant, in order of time. It skips samples without ready pods or
// without a known CPU usage.
func DemandOf(samples []workload.Sample) []Reading {
	var all []Reading
	for _, s := range samples {
		if s.Replicas == 0 || s.CPU < 0 {
			continue
		}
		cores := s.CPU * float64(s.Replicas) / 1000
		if n := len(all); n > 0 && all[n-1].At.Equal(s.At) {
			all[n-1].Cores += cores
		} else {
			all = append(all, Reading{At: s.At, Cores: cores})
		}
	}
	return all
}

// isTotal reports whether the header of a file has no column container. Each line of such a file is the demand of all
// pods. The function only peeks into the file.
func isTotal(in *bufio.Reader) bool {
	start, _ := in.Peek(in.Size())
	for line := range strings.Lines(string(start)) {
		if strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "" {
			continue
		}
		return !strings.Contains(line, ContainerColumn)
	}
	return false
}

// readTotals reads the columns minute and cores, or time and cpu. It ignores a column memory.
func (r *reader) readTotals(in io.Reader) []Reading {
	c := csv.NewReader(in)
	c.TrimLeadingSpace, c.Comment, c.ReuseRecord = true, '#', true
	var all []Reading
	var head []string
	for !r.full() {
		record, err := c.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var at *csv.ParseError
		if errors.As(err, &at) {
			r.fault(at.Line, at.Err)
			return nil
		}
		if err != nil {
			r.fault(0, err)
			return nil
		}
		line, _ := c.FieldPos(0)
		if head == nil {
			head = slices.Clone(record)
			if err := totalHead(head); err != nil {
				r.fault(line, err)
				return nil
			}
			continue
		}
		reading, err := readTotal(head, record)
		if err != nil {
			r.fault(line, err)
			continue
		}
		if all = append(all, reading); len(all) > MostInstants*tune.MaxContainers {
			r.over = true
			r.fault(line, fmt.Errorf("there are more than %d readings", MostInstants*tune.MaxContainers))
		}
	}
	if len(r.faults) == 0 && len(all) == 0 {
		r.fault(0, errors.New("there are no samples in it"))
	}
	return all
}

// totalHead checks the header of a file with the demand of all pods. It also trims the names of the columns.
func totalHead(head []string) error {
	var faults []error
	for i := range head {
		head[i] = strings.TrimSpace(strings.TrimPrefix(head[i], "\ufeff"))
		if !slices.Contains(totals, head[i]) {
			faults = append(faults, fmt.Errorf("there is no field %q of the demand of all pods together%s", head[i], workload.Hint(head[i], totals)))
		} else if slices.Contains(head[:i], head[i]) {
			faults = append(faults, fmt.Errorf("the column %s is there twice", head[i]))
		}
	}
	has := func(name string) bool { return slices.Contains(head, name) }
	isComplete := has(TimeColumn) && has(CPUColumn) || has(minuteColumn) && has(coresColumn)
	if has(TimeColumn) && has(minuteColumn) || has(CPUColumn) && has(coresColumn) {
		faults = append(faults, errors.New("there are two columns for the same: give time and cpu, or minute and cores"))
	} else if !isComplete {
		faults = append(faults,
			errors.New("give the columns time and cpu, or minute and cores, of all pods together; or time, container, replicas and cpu"))
	}
	return errors.Join(faults...)
}

// readTotal reads one line of a file with the demand of all pods. The parameter head has the names of the columns.
func readTotal(head, record []string) (r Reading, err error) {
	for i, name := range head {
		text := strings.TrimSpace(record[i])
		var wrong error
		switch name {
		case TimeColumn:
			r.At, wrong = instantOf(text)
		case minuteColumn:
			var n int64
			if n, wrong = strconv.ParseInt(text, 10, 64); wrong != nil || n <= 0 || n > 1e9 {
				wrong = fmt.Errorf("%q is no minute of Unix time", text)
			}
			r.At = time.Unix(n*60, 0).UTC()
		case CPUColumn, coresColumn:
			r.Cores, wrong = amount(text)
		}
		if wrong != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, wrong))
		}
	}
	return r, err
}
