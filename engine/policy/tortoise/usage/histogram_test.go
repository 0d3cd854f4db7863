package usage

import (
	"math"
	"testing"
	"time"
)

// place gives the value at a place on the scale of buckets: 1.12^40 = 93, 1.12^41 = 104, 1.12^60 = 898 and 1.12^61 = 1005.
func place(p float64) float64 { return math.Pow(1.12, p) }

func exactly(got, want float64) bool { return near(got, want, 1e-6) }

func TestBucketsOfValues(t *testing.T) {
	for v, want := range map[float64]int{-1: 0, 0: 0, 0.5: 0, 1: 0, 1.11: 0, 1.13: 1, 93: 39, 94: 40, 1000: 60, 1e300: 119, math.Inf(1): 119} {
		if got := bucket(v); got != want {
			t.Errorf("%v is in bucket %d, want %d", v, got, want)
		}
	}
}

// TestQuantilesAtEdges: two samples of 100 and two of 1000, in the buckets 40 and 60.
func TestQuantilesAtEdges(t *testing.T) {
	h := &Histogram{}
	for _, v := range []float64{100, 100, 1000, 1000} {
		h.Add(v, 1, monday, halfLife)
	}
	for q, want := range map[float64]float64{
		0: place(40), 0.25: place(40.5), 0.5: place(41), 0.75: place(60.5), 1: place(61), 1.5: place(61),
	} {
		if got := h.Quantile(q); !exactly(got, want) {
			t.Errorf("the quantile %v is %v, want %v", q, got, want)
		}
	}
}

func TestWeightHalvesInHours(t *testing.T) {
	h := &Histogram{}
	h.Add(100, 8, monday, 2*time.Hour)
	for _, step := range []struct {
		after time.Duration
		want  float64
	}{
		{59 * time.Minute, 8},
		{2*time.Hour - time.Second, 8 / math.Sqrt2},
		{2 * time.Hour, 4},
		{4 * time.Hour, 2},
		{3 * time.Hour, 2},
	} {
		h.decay(monday.Add(step.after), 2*time.Hour)
		if got := h.Total(); !exactly(got, step.want) {
			t.Errorf("after %s the weight is %v, want %v", step.after, got, step.want)
		}
	}
}

// TestMergeBringsBothToOneInstant: 100 samples that are a half-life old weigh 50 beside 60 new ones, whichever is merged into which.
func TestMergeBringsBothToOneInstant(t *testing.T) {
	older, newer := Histogram{}, Histogram{}
	older.Add(1000, 100, monday, halfLife)
	newer.Add(100, 60, monday.Add(halfLife), halfLife)
	into, back := newer, older
	into.merge(&older)
	back.merge(&newer)
	for name, h := range map[string]Histogram{"the newer one": into, "the older one": back} {
		if h.weights[40] != 60 || h.weights[60] != 50 || !exactly(h.Total(), 110) || h.since != newer.since {
			t.Errorf("merged into %s, 100 weighs %v and 1000 %v", name, h.weights[40], h.weights[60])
		}
	}
	if older.weights[60] != 100 {
		t.Error("a merge changed what was merged")
	}
	same, none := older, Histogram{}
	if same.merge(&none); same != older {
		t.Error("nothing, merged, changed a histogram")
	}
	if none.merge(&older); none != older {
		t.Error("merged into nothing it is another one")
	}
}

func TestTheWeekOfASlot(t *testing.T) {
	for seconds, want := range map[int64]uint16{100*weekSeconds - 1: 99, 100 * weekSeconds: 100} {
		s := slot{}
		if s.add(100, time.Unix(seconds, 0)); s.week != want || s.n != 1 || s.buckets[0] != 40 || s.weights[0] != unit {
			t.Errorf("second %d is in week %d: %+v", seconds, want, s)
		}
	}
}

// TestWeightInASlotHalvesEveryTwoWeeks; what is less than one is dropped, and the buckets behind it move up.
func TestWeightInASlotHalvesEveryTwoWeeks(t *testing.T) {
	for week, want := range map[uint16][]uint16{99: {3, 128, 3}, 100: {3, 128, 3}, 101: {2, 90, 2}, 102: {1, 64, 1}, 104: {32}, 116: {}} {
		s := slot{week: 100, n: 3, buckets: [maxCells]uint8{4, 40, 80}, weights: [maxCells]uint16{3, 128, 3}}
		s.decay(week)
		if int(s.n) != len(want) || s.week != max(week, 100) {
			t.Errorf("in week %d the slot is %+v", week, s)
			continue
		}
		for i, w := range want {
			if s.weights[i] != w {
				t.Errorf("in week %d the weights are %v, want %v", week, s.weights[:s.n], want)
			}
		}
		if len(want) == 1 && s.buckets[0] != 40 {
			t.Errorf("in week %d bucket %d is left", week, s.buckets[0])
		}
	}
}

func TestMergeOfSlots(t *testing.T) {
	older := slot{week: 100, n: 1, buckets: [maxCells]uint8{40}, weights: [maxCells]uint16{128}}
	newer := slot{week: 102, n: 1, buckets: [maxCells]uint8{60}, weights: [maxCells]uint16{10}}
	want := slot{week: 102, n: 2, buckets: [maxCells]uint8{40, 60}, weights: [maxCells]uint16{64, 10}}
	a, b := older, newer
	a.merge(&newer)
	b.merge(&older)
	if a != want || b != want {
		t.Errorf("they are %+v and %+v", a, b)
	}
}

// full is a slot whose twelve buckets are 5, 10 ... 60, all of weight 200 but for some.
func full(but map[int]uint16) slot {
	s := slot{n: maxCells}
	for i := range s.buckets {
		s.buckets[i], s.weights[i] = uint8(5*(i+1)), 200
	}
	for at, w := range but {
		s.weights[at/5-1] = w
	}
	return s
}

// TestTheLightestGoesUp: where a slot is full, the lightest of all but the highest goes into the next above; the new one itself if it
// is no heavier.
func TestTheLightestGoesUp(t *testing.T) {
	for _, tc := range []struct {
		reason  string
		lighter map[int]uint16
		b       uint8
		weight  uint16
		// changed are the buckets whose weight is another one afterwards; zero says that the bucket is gone.
		changed map[int]uint16
	}{
		{"a bucket that is there", nil, 20, 100, map[int]uint16{20: 300}},
		{"a bucket that overflows", nil, 20, 65_500, map[int]uint16{20: 65_535}},
		{"the new one is the lightest", map[int]uint16{30: 150}, 12, 128, map[int]uint16{15: 328}},
		{"the new one is as light", map[int]uint16{30: 150}, 12, 150, map[int]uint16{15: 350}},
		{"another one is lighter, above", map[int]uint16{30: 150}, 12, 151, map[int]uint16{12: 151, 30: 0, 35: 350}},
		{"another one is lighter, below", map[int]uint16{30: 150}, 42, 300, map[int]uint16{30: 0, 35: 350, 42: 300}},
		{"the new one lies right above the lightest", map[int]uint16{30: 150}, 32, 151, map[int]uint16{30: 0, 32: 301}},
		{"the new one is the highest, and light", map[int]uint16{30: 150}, 61, 128, map[int]uint16{30: 0, 35: 350, 61: 128}},
		{"the lowest of those that are as light", nil, 12, 201, map[int]uint16{5: 0, 10: 400, 12: 201}},
		{"the highest never goes up", map[int]uint16{60: 1}, 12, 201, map[int]uint16{5: 0, 10: 400, 12: 201}},
		{"the last but one may go up", map[int]uint16{55: 1}, 12, 128, map[int]uint16{12: 128, 55: 0, 60: 201}},
	} {
		s := full(tc.lighter)
		var want [buckets]float64
		s.addTo(&want)
		for b, w := range tc.changed {
			want[b] = float64(w)
		}
		s.put(tc.b, tc.weight)
		var got [buckets]float64
		s.addTo(&got)
		if got != want {
			t.Errorf("%s: %v at %v", tc.reason, s.weights, s.buckets)
		}
		for i := 1; i < int(s.n); i++ {
			if s.buckets[i] <= s.buckets[i-1] {
				t.Errorf("%s: the buckets do not ascend: %v", tc.reason, s.buckets)
			}
		}
	}
}
