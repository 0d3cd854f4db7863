package tune

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// version is the first byte of Marshal's result. A history with another version is refused and begins anew.
const version = 4

// MaxBytes is the maximum size of Marshal's result for a target of two containers.
const MaxBytes = 64 << 10

// Marshal returns the encoded usage: the version, the instants, and then each container. Only buckets with a weight are
// encoded. A series is encoded point by point, and a run of unknown points by its length.
func (t *Usage) Marshal() []byte {
	w := writer{version}
	w.int(t.first, t.last, int64(len(t.names)))
	for i, name := range t.names {
		w.int(int64(len(name)))
		w = append(w, name...)
		c := t.containers[i]
		w.histogram(&c.memory)
		w.series(&c.demand)
		w.int(c.kill.at, c.line.hour)
		for _, v := range []float64{c.kill.wanted, c.line.n, c.line.x, c.line.y, c.line.xx, c.line.xy} {
			w.float(v)
		}
	}
	return w
}

type writer []byte

func (w *writer) int(values ...int64) {
	for _, v := range values {
		*w = binary.AppendVarint(*w, v)
	}
}

func (w *writer) float(v float64) { *w = binary.LittleEndian.AppendUint64(*w, math.Float64bits(v)) }

func (w *writer) histogram(h *Histogram) {
	n := 0
	for _, weight := range h.weights {
		if weight > 0 {
			n++
		}
	}
	w.int(h.since, int64(n))
	for i, weight := range h.weights {
		if weight > 0 {
			*w = append(*w, byte(i))
			*w = binary.LittleEndian.AppendUint32(*w, math.Float32bits(weight))
		}
	}
}

// series writes the known points from the oldest to the newest. A known point is never zero. So a zero marks a run of
// unknown points, and the length of the run follows it.
func (w *writer) series(s *Series) {
	w.int(s.last, int64(s.count))
	w.float(s.sum)
	w.float(s.latest)
	if s.last == 0 {
		return
	}
	gap := int64(0)
	for n := oldest(s.last); n <= s.last; n++ {
		p := s.code(n)
		if p == 0 {
			gap++
			continue
		}
		w.gap(gap)
		gap = 0
		*w = binary.LittleEndian.AppendUint16(*w, uint16(p))
	}
	w.gap(gap)
}

func (w *writer) gap(n int64) {
	if n > 0 {
		*w = binary.LittleEndian.AppendUint16(*w, 0)
		*w = binary.LittleEndian.AppendUint16(*w, uint16(n))
	}
}

// mostSteps is the largest accepted number of a step. It is far from overflow.
const mostSteps = 1 << 40

var errShort = errors.New("it is cut off or damaged")

// Marshal returns the encoded histogram.
func (h *Histogram) Marshal() []byte {
	var w writer
	w.histogram(h)
	return w
}

// UnmarshalHistogram decodes the result of Histogram.Marshal. Data of another form is an error.
func UnmarshalHistogram(data []byte) (Histogram, error) {
	r, h := &reader{data: data}, Histogram{}
	r.histogram(&h)
	if r.bad || len(r.data) > 0 {
		return Histogram{}, fmt.Errorf("read a histogram: %w", errShort)
	}
	return h, nil
}

// Unmarshal decodes the result of Marshal. Data of another form is an error.
func Unmarshal(data []byte) (*Usage, error) {
	if len(data) == 0 || data[0] != version {
		return nil, fmt.Errorf("read the history: it is not of version %d", version)
	}
	r := &reader{data: data[1:]}
	t := &Usage{first: r.int(), last: r.int()}
	count := r.int()
	if count < 0 || count > MaxContainers {
		return nil, fmt.Errorf("read the history: %w", errShort)
	}
	for range count {
		name := string(r.take(int(r.int())))
		c := &container{}
		r.histogram(&c.memory)
		r.series(&c.demand)
		c.kill.at, c.line.hour = r.int(), r.int()
		for _, v := range []*float64{&c.kill.wanted, &c.line.n, &c.line.x, &c.line.y, &c.line.xx, &c.line.xy} {
			*v = r.float()
		}
		if t.named(name, false) != nil {
			r.bad = true
		}
		t.names, t.containers = append(t.names, name), append(t.containers, c)
	}
	if r.bad || len(r.data) > 0 {
		return nil, fmt.Errorf("read the history: %w", errShort)
	}
	return t, nil
}

type reader struct {
	data []byte
	bad  bool
}

func (r *reader) take(n int) []byte {
	if r.bad || n < 0 || n > len(r.data) {
		r.bad = true
		return nil
	}
	taken := r.data[:n]
	r.data = r.data[n:]
	return taken
}

func (r *reader) int() int64 {
	v, n := binary.Varint(r.data)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *reader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.LittleEndian.Uint16(b)
	}
	return 0
}

// float reads a finite number that is not negative.
func (r *reader) float() float64 {
	b := r.take(8)
	if b == nil {
		return 0
	}
	v := math.Float64frombits(binary.LittleEndian.Uint64(b))
	if !(v >= 0) || math.IsInf(v, 0) {
		r.bad = true
		return 0
	}
	return v
}

func (r *reader) histogram(h *Histogram) {
	h.since = r.int()
	n := r.int()
	if n < 0 || n > buckets {
		r.bad = true
	}
	for i := int64(0); i < n && !r.bad; i++ {
		at, b := r.byte(), r.take(4)
		if b == nil || at >= buckets {
			r.bad = true
			return
		}
		v := math.Float32frombits(binary.LittleEndian.Uint32(b))
		if !(v > 0) || math.IsInf(float64(v), 0) {
			r.bad = true
			return
		}
		h.weights[at] = v
	}
}

func (r *reader) series(s *Series) {
	last := r.int()
	s.count = int(r.int())
	s.sum, s.latest = r.float(), r.float()
	if last < 0 || last > mostSteps || s.count < 0 {
		r.bad = true
	}
	if last == 0 || r.bad {
		return
	}
	for n := oldest(last); n <= last && !r.bad; n++ {
		p := packed(r.uint16())
		if p == 0 {
			gap := int64(r.uint16())
			if gap == 0 || n+gap-1 > last {
				r.bad = true
			}
			n += gap - 1
			continue
		}
		s.advance(n)
		s.newest[n%steps] = p
	}
	s.advance(last)
}
