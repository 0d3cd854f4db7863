package reconcile

import (
	"hash/fnv"
	"io"
	"maps"
	"sync"
	"time"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/workload"
)

// drift slows down corrections of a target that another writer keeps changing back. The first correction is
// immediate. Later corrections wait longer and longer, up to one minute each.
type drift struct {
	mu       sync.Mutex
	contests map[workload.Ref]*contest
	// wrote has the last write to each target. An equal write within contestTimeout counts as a correction. Older
	// entries are removed now and then.
	wrote map[workload.Ref]written
	swept time.Time
}

// written is the digest and the time of a write.
type written struct {
	sum uint64
	at  time.Time
}

// contest is the record of a target that a different writer keeps changing back.
type contest struct {
	rounds int
	last   time.Time
	writer string
}

// pauses are the pauses before the second and later corrections. The last pause repeats.
var pauses = []time.Duration{2 * time.Second, 15 * time.Second, time.Minute}

const (
	// contestedAfter is the number of corrections after which a target counts as contested.
	contestedAfter = 2
	// contestTimeout is the time without another overwrite after which a contest is over.
	contestTimeout = 10 * time.Minute
)

func newDrift() *drift {
	return &drift{contests: map[workload.Ref]*contest{}, wrote: map[workload.Ref]written{}}
}

// digest identifies a write by its policy, its changed fields and their old and new values.
func digest(r adapter.Result) uint64 {
	h := fnv.New64a()
	for _, text := range append([]string{r.By.String(), r.Message}, r.Changed...) {
		_, _ = io.WriteString(h, text+"\x00") // a hash never fails
	}
	return h.Sum64()
}

// Repeated reports whether a write equals the last write to the target. In this case another writer has undone the
// last write together with its ledger, so the object itself does not show that the write is a correction.
func (c *drift) Repeated(ref workload.Ref, sum uint64, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.wrote[ref]
	return ok && last.sum == sum && now.Sub(last.at) <= contestTimeout
}

// Wrote records a write.
func (c *drift) Wrote(ref workload.Ref, sum uint64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrote[ref] = written{sum, now}
	if now.Sub(c.swept) > contestTimeout {
		c.swept = now
		maps.DeleteFunc(c.wrote, func(_ workload.Ref, w written) bool { return now.Sub(w.at) > contestTimeout })
	}
}

// NotBefore returns the earliest time when a correction may be written. The zero time means now. Other
// writes never wait.
func (c *drift) NotBefore(ref workload.Ref, now time.Time, correction bool) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.contests[ref]
	if !correction || f == nil {
		return time.Time{}
	}
	next := f.last.Add(pauses[min(f.rounds, len(pauses))-1])
	if now.Before(next) {
		return next
	}
	return time.Time{}
}

// NeedsWriterName reports whether the next correction makes the target contested and the name of the other writer is
// still unknown. The name must be looked up before the correction, because the correction takes over the field.
func (c *drift) NeedsWriterName(ref workload.Ref, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.contests[ref]
	return f != nil && now.Sub(f.last) <= contestTimeout && f.rounds+1 >= contestedAfter && f.writer == ""
}

// Corrected counts a correction. writer is the name of the other writer, or empty if unknown.
func (c *drift) Corrected(ref workload.Ref, now time.Time, writer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.contests[ref]
	if f == nil || now.Sub(f.last) > contestTimeout {
		f = &contest{}
		c.contests[ref] = f
	}
	f.rounds++
	f.last = now
	if writer != "" {
		f.writer = writer
	}
}

// admissionWebhook is used as the name of the other writer if a write succeeded without effect.
const admissionWebhook = "an admission webhook"

// RecordReverted counts a write that succeeded without effect. The target becomes contested at once.
func (c *drift) RecordReverted(ref workload.Ref, now time.Time) {
	c.Corrected(ref, now, admissionWebhook)
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.contests[ref]
	f.rounds = max(f.rounds, contestedAfter)
}

// ContestUntil ends a contest that had no overwrite for contestTimeout. Otherwise it returns the time for another
// look.
func (c *drift) ContestUntil(ref workload.Ref, now time.Time) (again time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.contests[ref]
	if f == nil {
		return time.Time{}
	}
	if over := f.last.Add(contestTimeout); now.Before(over) {
		return over
	}
	delete(c.contests, ref)
	return time.Time{}
}

// Writer returns the name of the other writer of a contested target, or "" without a contest.
func (c *drift) Writer(ref workload.Ref) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.contests[ref]; f != nil && f.rounds >= contestedAfter {
		return f.writer
	}
	return ""
}

// Forget drops a deleted target.
func (c *drift) Forget(ref workload.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.contests, ref)
	delete(c.wrote, ref)
}
