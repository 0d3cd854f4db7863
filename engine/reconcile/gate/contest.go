package gate

import (
	"context"
	"hash/fnv"
	"io"
	"maps"
	"sync"
	"time"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
)

// Contest slows down corrections of a target that another writer keeps changing back. The first correction is
// immediate. Later corrections wait longer and longer, up to one minute each. Only corrections wait.
type Contest struct {
	mu       sync.Mutex
	contests map[workload.Ref]*contested
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

// contested is the record of a target that a different writer keeps changing back.
type contested struct {
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

// NewContest returns a Contest without a contested target.
func NewContest() *Contest {
	return &Contest{contests: map[workload.Ref]*contested{}, wrote: map[workload.Ref]written{}}
}

// Enter implements Gate. A correction enters after the pause since the last correction.
func (c *Contest) Enter(_ context.Context, w *Write) *Wait {
	w.corrects = w.Verdict.Result.Corrected || c.repeated(w.Ref, w.sum, w.Now)
	again := c.notBefore(w.Ref, w.Now, w.corrects)
	if again.IsZero() {
		return nil
	}
	return &Wait{Outcome: status.Outcome{Waiting: "another writer keeps changing it", Contested: c.Writer(w.Ref)}, Until: again}
}

// FindWriter reads the name of the other writer, if it is needed and unknown. find returns this name, or "". The name is read
// before the write, because the write takes over the field.
func (c *Contest) FindWriter(w *Write, find func() string) {
	if w.corrects && c.needsWriterName(w.Ref, w.Now) {
		w.other = find()
	}
}

// Leave implements Gate. A write that succeeded without effect brings no watch event, so it is repeated after the pauses
// of a contest.
func (c *Contest) Leave(w *Write, end End) *Wait {
	if !end.isAccepted() {
		return nil
	}
	c.setWritten(w.Ref, w.sum, w.Now)
	if end.Outcome == apply.Applied {
		if w.corrects {
			c.setCorrected(w.Ref, w.Now, w.other)
		}
		return nil
	}
	c.setReverted(w.Ref, w.Now)
	return &Wait{Outcome: status.Outcome{Waiting: "an admission webhook undoes the change", Contested: c.Writer(w.Ref)},
		Until: c.notBefore(w.Ref, w.Now, true)}
}

// Withdraw implements Gate. A contest goes on while nothing is to be written.
func (*Contest) Withdraw(workload.Ref) {}

// digest identifies a write by its policy, its changed fields and their old and new values.
func digest(r adapter.Result) uint64 {
	h := fnv.New64a()
	for _, text := range append([]string{r.By.String(), r.Message}, r.Changed...) {
		_, _ = io.WriteString(h, text+"\x00") // a hash never fails
	}
	return h.Sum64()
}

// repeated reports whether a write equals the last write to the target. In this case another writer has undone the
// last write together with its ledger, so the object itself does not show that the write is a correction.
func (c *Contest) repeated(ref workload.Ref, sum uint64, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.wrote[ref]
	return ok && last.sum == sum && now.Sub(last.at) <= contestTimeout
}

// setWritten records a write.
func (c *Contest) setWritten(ref workload.Ref, sum uint64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrote[ref] = written{sum, now}
	if now.Sub(c.swept) > contestTimeout {
		c.swept = now
		maps.DeleteFunc(c.wrote, func(_ workload.Ref, w written) bool { return now.Sub(w.at) > contestTimeout })
	}
}

// notBefore returns the earliest time when a correction may be written. The zero time means now. Other
// writes never wait.
func (c *Contest) notBefore(ref workload.Ref, now time.Time, correction bool) time.Time {
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

// needsWriterName reports whether the next correction makes the target contested and the name of the other writer is
// still unknown. The name must be looked up before the correction, because the correction takes over the field.
func (c *Contest) needsWriterName(ref workload.Ref, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.contests[ref]
	return f != nil && now.Sub(f.last) <= contestTimeout && f.rounds+1 >= contestedAfter && f.writer == ""
}

// setCorrected counts a correction. writer is the name of the other writer, or empty if unknown.
func (c *Contest) setCorrected(ref workload.Ref, now time.Time, writer string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.contests[ref]
	if f == nil || now.Sub(f.last) > contestTimeout {
		f = &contested{}
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

// setReverted counts a write that succeeded without effect. The target becomes contested at once.
func (c *Contest) setReverted(ref workload.Ref, now time.Time) {
	c.setCorrected(ref, now, admissionWebhook)
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.contests[ref]
	f.rounds = max(f.rounds, contestedAfter)
}

// Until ends a contest that had no overwrite for contestTimeout. Otherwise it returns the time for another
// look.
func (c *Contest) Until(ref workload.Ref, now time.Time) (again time.Time) {
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
func (c *Contest) Writer(ref workload.Ref) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.contests[ref]; f != nil && f.rounds >= contestedAfter {
		return f.writer
	}
	return ""
}

// Forget drops a deleted target.
func (c *Contest) Forget(ref workload.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.contests, ref)
	delete(c.wrote, ref)
}
