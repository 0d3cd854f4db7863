package target

import (
	"hash/fnv"
	"io"
	"maps"
	"sync"
	"time"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/workload"
)

// drift slows down where another writer keeps undoing what a policy enforces: the first correction is made at once, the
// next ones after longer and longer pauses, at last one a minute.
type drift struct {
	mu       sync.Mutex
	contests map[workload.Ref]*contest
	// wrote has the last write to each target for as long as another one that says the same would be a correction; it is
	// looked through for older ones now and then.
	wrote map[workload.Ref]written
	swept time.Time
}

// written is a write by what it said.
type written struct {
	sum uint64
	at  time.Time
}

// contest is over a target on which another writer keeps undoing what a policy enforces.
type contest struct {
	rounds int
	last   time.Time
	writer string
}

// pauses before the second and later corrections; the last goes on for ever.
var pauses = []time.Duration{2 * time.Second, 15 * time.Second, time.Minute}

const (
	// contestedAfter is the number of corrections after which a target counts as contested.
	contestedAfter = 2
	// contestTimeout is how long nobody may undo anything for a contest to be over.
	contestTimeout = 10 * time.Minute
)

func newDrift() *drift {
	return &drift{contests: map[workload.Ref]*contest{}, wrote: map[workload.Ref]written{}}
}

// digest tells writes apart, by who makes them and by what they change from what into what.
func digest(r adapter.Result) uint64 {
	h := fnv.New64a()
	for _, text := range append([]string{r.By.String(), r.Message}, r.Changed...) {
		_, _ = io.WriteString(h, text+"\x00") // a hash takes anything
	}
	return h.Sum64()
}

// Repeated says whether a write says what the last one did: somebody has undone that one, and the ledger with it, so that
// the object itself does not tell.
func (c *drift) Repeated(ref workload.Ref, sum uint64, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, ok := c.wrote[ref]
	return ok && last.sum == sum && now.Sub(last.at) <= contestTimeout
}

// Wrote remembers a write.
func (c *drift) Wrote(ref workload.Ref, sum uint64, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wrote[ref] = written{sum, now}
	if now.Sub(c.swept) > contestTimeout {
		c.swept = now
		maps.DeleteFunc(c.wrote, func(_ workload.Ref, w written) bool { return now.Sub(w.at) > contestTimeout })
	}
}

// NotBefore says when a write may be made that is a correction, or is none; zero: now. What is no correction never waits.
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

// Unnamed says whether the next correction makes the target contested, and the other writer has still to be named. It has to
// be looked up before the correction, which takes the field from them.
func (c *drift) Unnamed(ref workload.Ref, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.contests[ref]
	return f != nil && now.Sub(f.last) <= contestTimeout && f.rounds+1 >= contestedAfter && f.writer == ""
}

// Corrected counts one more round; writer names the other writer where that is known.
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

// admissionWebhook is named as the other writer where a write went through and changed nothing.
const admissionWebhook = "an admission webhook"

// Undone counts a write that went through and changed nothing, which makes the target contested at once.
func (c *drift) Undone(ref workload.Ref, now time.Time) {
	c.Corrected(ref, now, admissionWebhook)
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.contests[ref]
	f.rounds = max(f.rounds, contestedAfter)
}

// Calm ends a contest in which nothing has been undone for a while, and else says when to look again.
func (c *drift) Calm(ref workload.Ref, now time.Time) (again time.Time) {
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

// Writer names the other writer of a contested target; empty if there is no contest.
func (c *drift) Writer(ref workload.Ref) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if f := c.contests[ref]; f != nil && f.rounds >= contestedAfter {
		return f.writer
	}
	return ""
}

// Forget drops a target that is gone.
func (c *drift) Forget(ref workload.Ref) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.contests, ref)
	delete(c.wrote, ref)
}
