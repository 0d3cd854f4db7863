package tune

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// TestMarshalledUsageIsRestoredUnchanged checks that points, histograms and kills are the same after a restart.
func TestMarshalledUsageIsRestoredUnchanged(t *testing.T) {
	kept := &Usage{}
	for i := range 40 {
		s := sample(monday.Add(time.Duration(i)*7*time.Minute), float64(100+10*i), 2)
		s.OOMKills, s.MemoryLimit = i/39, 900*mebi
		kept.Add(s)
	}
	read, err := Unmarshal(kept.Marshal())
	if err != nil {
		t.Fatal(err)
	}
	for n := stepOf(monday) - 1; n <= stepOf(kept.Newest())+1; n++ {
		if got, want := read.Demand("app").At(n), kept.Demand("app").At(n); got != want {
			t.Errorf("step %d is %+v, was %+v", n, got, want)
		}
	}
	if got, want := *read.containers[0], *kept.containers[0]; got.kill != want.kill || got.kill.wanted == 0 || got.memory != want.memory {
		t.Error("something was lost")
	}
	if read.first != kept.first || read.last != kept.last || read.Demand("app").Latest() != kept.Demand("app").Latest() {
		t.Error("an instant, or the latest demand, was lost")
	}
}

// TestACutHistoryIsRefused cuts a history off at each byte.
func TestACutHistoryIsRefused(t *testing.T) {
	target := &Usage{}
	target.Add(sample(monday, 100, 3))
	for _, data := range [][]byte{target.Marshal(), (&Usage{}).Marshal()} {
		for n := range data {
			if _, err := Unmarshal(data[:n]); err == nil {
				t.Errorf("%d of %d bytes are read", n, len(data))
			}
		}
		if _, err := Unmarshal(append(data, 0)); err == nil {
			t.Error("a byte too many is read")
		}
		if _, err := Unmarshal(data); err != nil && len(data) > 4 {
			t.Error(err)
		}
	}
}

func TestTheNumberOfContainers(t *testing.T) {
	target := &Usage{}
	names := func(n int) *Usage {
		for i := len(target.names); i < n; i++ {
			target.names, target.containers = append(target.names, fmt.Sprint(i)), append(target.containers, &container{})
		}
		return target
	}
	for _, tc := range []struct {
		n  int
		ok bool
	}{{0, true}, {1, true}, {MaxContainers, true}, {MaxContainers + 1, false}} {
		if _, err := Unmarshal(names(tc.n).Marshal()); (err == nil) != tc.ok {
			t.Errorf("%d containers: %v", tc.n, err)
		}
	}
	unnamed := &Usage{names: []string{""}, containers: []*container{{}}}
	if _, err := Unmarshal(unnamed.Marshal()); err != nil {
		t.Errorf("a container without a name: %v", err)
	}
	twice := &Usage{names: []string{"a", "a"}, containers: []*container{{}, {}}}
	if _, err := Unmarshal(twice.Marshal()); err == nil {
		t.Error("two containers have one name")
	}
	if _, err := Unmarshal([]byte{version, 0, 0, 1}); err == nil {
		t.Error("there are minus one containers")
	}
}

func TestHistogramsAreChecked(t *testing.T) {
	all := Histogram{since: 5}
	for i := range all.weights {
		all.weights[i] = float32(i + 1)
	}
	if got, err := UnmarshalHistogram(all.Marshal()); err != nil || got != all {
		t.Errorf("one with a weight in every bucket: %v", err)
	}
	one := Histogram{since: 5}
	one.weights[7] = 1
	for name, edit := range map[string]func(data []byte) []byte{
		"cut off":                func(data []byte) []byte { return data[:len(data)-1] },
		"too long":               func(data []byte) []byte { return append(data, 0) },
		"a bucket too high":      func(data []byte) []byte { data[2] = buckets; return data },
		"a weight of zero":       func(data []byte) []byte { return append(data[:3], 0, 0, 0, 0) },
		"a negative weight":      func(data []byte) []byte { data[6] |= 0x80; return data },
		"an infinite weight":     func(data []byte) []byte { return append(data[:3], 0, 0, 0x80, 0x7f) },
		"more than all":          func([]byte) []byte { var w writer; w.int(5, buckets+1); return w },
		"less than none":         func([]byte) []byte { var w writer; w.int(5, -1); return w },
		"nothing":                func([]byte) []byte { return nil },
		"an instant and no more": func(data []byte) []byte { return data[:1] },
	} {
		if _, err := UnmarshalHistogram(edit(one.Marshal())); err == nil {
			t.Errorf("%s: it is read", name)
		}
	}
	if got, err := UnmarshalHistogram(one.Marshal()); err != nil || got != one {
		t.Errorf("as it was: %v", err)
	}
}

// TestSeriesAreChecked checks that a run of unknown points is not empty and ends at the newest step or earlier.
func TestSeriesAreChecked(t *testing.T) {
	const long, short = int64(Points) + 9, int64(5)
	for _, tc := range []struct {
		reason      string
		last, count int64
		codes       []uint16
		ok          bool
	}{
		{"nothing was seen", 0, 0, nil, true},
		{"all are unknown", long, 1, []uint16{0, uint16(Points)}, true},
		{"a run that is too long", long, 1, []uint16{0, uint16(Points) + 1}, false},
		{"the newest is known", long, 1, []uint16{0, uint16(Points) - 1, 7}, true},
		{"a run behind the newest", long, 1, []uint16{0, uint16(Points) - 1, 7, 0, 1}, false},
		{"two runs", long, 1, []uint16{0, 10, 7, 0, uint16(Points) - 11}, true},
		{"the second run is too long", long, 1, []uint16{0, 10, 7, 0, uint16(Points) - 10}, false},
		{"an empty run", long, 1, []uint16{0, 0, 0, uint16(Points)}, false},
		{"cut off", long, 1, []uint16{0, uint16(Points) - 1}, false},
		{"the first steps of all", short, 1, []uint16{7, 0, 4}, true},
		{"before all steps", short, 1, []uint16{0, 6}, false},
		{"the last step that there is", mostSteps, 1, []uint16{0, uint16(Points)}, true},
		{"a step behind it", mostSteps + 1, 1, []uint16{0, uint16(Points)}, false},
		{"a newest step that is negative", -1, 0, nil, false},
		{"a count that is negative", long, -1, []uint16{0, uint16(Points)}, false},
		{"no count", long, 0, []uint16{0, uint16(Points)}, true},
	} {
		var w writer
		w.int(tc.last, tc.count)
		for range 2 {
			w.float(0)
		}
		for _, code := range tc.codes {
			w = append(w, byte(code), byte(code>>8))
		}
		r, s := &reader{data: w}, &Series{}
		if r.series(s); (r.bad || len(r.data) > 0) == tc.ok {
			t.Errorf("%s: it is damaged: %t, %d bytes are left", tc.reason, r.bad, len(r.data))
		}
	}
}

// TestANewestStepWithoutSamples checks a case that only a manipulated history has. The value of the step then comes
// from
// the ring, and not from a division by zero samples.
func TestANewestStepWithoutSamples(t *testing.T) {
	s := &Series{last: stepOf(monday)}
	if got := s.At(s.last); got != (Point{}) {
		t.Errorf("without a point it is %+v", got)
	}
	s.newest[s.last%steps] = pack(100)
	if got := s.At(s.last); !got.Known || !near(got.Mean, 100, 1e-3) {
		t.Errorf("with a point it is %+v", got)
	}
}

func TestNumbersAreChecked(t *testing.T) {
	for v, ok := range map[float64]bool{0: true, 1.5: true, -1: false, math.Inf(1): false} {
		var w writer
		w.float(v)
		r := &reader{data: w}
		if got := r.float(); r.bad == ok || ok && got != v {
			t.Errorf("%v is refused: %t", v, r.bad)
		}
	}
	var w writer
	w.float(math.NaN())
	r := &reader{data: w}
	if r.float(); !r.bad {
		t.Error("what is no number is read")
	}
}
