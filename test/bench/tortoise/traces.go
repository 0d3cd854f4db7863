package tortoise

import (
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// traceMean is the mean demand to which a series is scaled, in milli-CPU. held is the number of minutes for which a
// value holds at least. After a longer gap the demand is unknown.
const traceMean, held = 10_000.0, 10

// trace is a recorded load. Each row has the demand, in any unit, at a minute since 1970. The rows are in order.
type trace []row

type row struct {
	minute int
	value  float64
}

// readTraces reads every *.csv.gz of a directory as a world.
func readTraces(dir string, length int) ([]*world, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.csv.gz"))
	if err != nil {
		return nil, fmt.Errorf("list the series in %s: %w", dir, err)
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("there is no *.csv.gz in %s", dir)
	}
	var all []*world
	for _, name := range names {
		s, err := readTrace(name)
		if err != nil {
			return nil, fmt.Errorf("read the series %s: %w", name, err)
		}
		all = append(all, s.world(strings.TrimSuffix(filepath.Base(name), ".csv.gz"), length))
	}
	return all, nil
}

func readTrace(name string) (s trace, err error) {
	file, err := os.Open(name)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	plain, err := gzip.NewReader(file)
	if err != nil {
		return s, err
	}
	return parseTrace(plain)
}

// parseTrace reads CSV with the columns minute and cores, in any order. If two rows have the same minute, the later row
// counts.
func parseTrace(in io.Reader) (s trace, err error) {
	rows, err := csv.NewReader(in).ReadAll()
	if err != nil {
		return s, err
	}
	if len(rows) < 2 || !slices.Equal(rows[0], []string{"minute", "cores"}) {
		return s, errors.New("there must be a header minute,cores and at least one row")
	}
	for i := len(rows) - 1; i > 0; i-- {
		minute, badMinute := strconv.Atoi(rows[i][0])
		value, badValue := strconv.ParseFloat(rows[i][1], 64)
		if err := errors.Join(badMinute, badValue); err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
		if !(value >= 0) || math.IsInf(value, 1) {
			return nil, fmt.Errorf("row %d: %v is no demand", i+1, value)
		}
		s = append(s, row{minute, value})
	}
	slices.SortStableFunc(s, func(a, b row) int { return cmp.Compare(a.minute, b.minute) })
	return slices.CompactFunc(s, func(a, b row) bool { return a.minute == b.minute }), nil
}

// world makes a world from a series. Each value holds until the next row, but at most for ten minutes, or for the usual
// distance of two rows if that is longer. The first week is for learning, or the first third if that is shorter.
func (s trace) world(name string, length int) *world {
	n := len(s)
	gaps := make([]int, 0, n)
	for i := range n - 1 {
		gaps = append(gaps, s[i+1].minute-s[i].minute)
	}
	hold := held
	if len(gaps) > 0 {
		slices.Sort(gaps)
		hold = max(hold, gaps[len(gaps)/2])
	}
	minutes := s[n-1].minute - s[0].minute + 1
	if length > 0 {
		minutes = min(minutes, length*24*60)
	}
	ticks := minutes * ticksPerMin
	w := &world{
		name: name, seed: 1, sidecar: 0.03, memoryBase: 300, memoryPerMilli: 0.2, start: time.Unix(int64(s[0].minute)*60, 0).UTC(),
		ready: 2, node: 3, lag: 1, spread: 0.1, owner: ownSetting(), teach: min(teachDays*ticksPerDay, ticks/3),
		demand: make([]float64, ticks), unknown: make([]bool, ticks),
	}
	sum, known, at := 0.0, 0, 0
	for t := range w.demand {
		minute := s[0].minute + t/ticksPerMin
		for at+1 < n && s[at+1].minute <= minute {
			at++
		}
		w.demand[t], w.unknown[t] = s[at].value, minute-s[at].minute >= hold
		if !w.unknown[t] {
			sum, known = sum+s[at].value, known+1
		}
	}
	if sum > 0 {
		w.scale(0, ticks, traceMean*float64(known)/sum)
	}
	w.blind = w.unknown
	return w
}
