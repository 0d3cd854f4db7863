package cost

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"flyball.dev/flyball/engine/fleet"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
)

// Note is what has become of the pods of a target under the policy that has its way. A text is empty where there is nothing to say.
type Note struct {
	Policy workload.Policy
	// Failure says what went wrong, Waiting what costs wait for, Foreign who else has set costs, Yields why something else orders the pods.
	Failure, Waiting, Foreign, Yields string
	// Undone is on how many pods somebody keeps removing the cost.
	Undone int
}

// Contested says in words who else writes; empty: nobody does.
func (n Note) Contested() string {
	parts := []string{}
	if n.Foreign != "" {
		parts = append(parts, n.Foreign)
	}
	if n.Undone > 0 {
		parts = append(parts, "somebody keeps removing the deletion cost of "+workload.Count(n.Undone, "pod"))
	}
	return strings.Join(parts, "; ")
}

// foreignIn says who else has set costs in a fleet.
func foreignIn(f *fleet.Fleet) string {
	count := countForeign(f)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("the deletion cost of %s is set by %s", workload.Count(count[name], "pod"), name))
	}
	return strings.Join(parts, ", ")
}

func countForeign(f *fleet.Fleet) map[string]int {
	count := map[string]int{}
	for _, p := range f.Pods {
		if f.IsForeign(p) {
			count[p.Writer]++
		}
	}
	return count
}

// stats are the numbers that are told of a target's pods.
type stats struct {
	// pods is how many there are; spread, how many more the fullest domain has than the emptiest, now and once half of the pods have gone.
	pods, spread, spreadAtHalf int
	// foreign is how many pods have a cost by somebody else, by that writer.
	foreign map[string]int
}

// statsOf gives the numbers of a fleet whose domains are the values of a label of nodes.
func statsOf(f *fleet.Fleet, label string, now time.Time) stats {
	return stats{
		pods: len(f.Pods), spread: f.Spread(label, nil), spreadAtHalf: f.Spread(label, f.ScaledDown(len(f.Pods)/2, now.Unix())), foreign: countForeign(f),
	}
}

// book remembers what is told of targets and policies.
type book struct {
	mu     sync.Mutex
	claims map[workload.Ref]struct{}
	// lost is when targets that are going have lost their claim, of those that did so a moment ago.
	lost    map[workload.Ref]time.Time
	notes   map[workload.Ref]Note
	stats   map[workload.Policy]map[workload.Ref]stats
	budgets map[workload.Policy]*workers.Budget
	hours   map[workload.Policy]*hour
}

func newBook() *book {
	return &book{
		claims: map[workload.Ref]struct{}{}, lost: map[workload.Ref]time.Time{}, notes: map[workload.Ref]Note{}, stats: map[workload.Policy]map[workload.Ref]stats{},
		budgets: map[workload.Policy]*workers.Budget{}, hours: map[workload.Policy]*hour{},
	}
}

// claim takes note of whether the pods of a target are to get costs, and says whether that is news. A target that is going itself takes its pods with
// it.
func (b *book) claim(ref workload.Ref, claimed, going bool, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, was := b.claims[ref]
	switch {
	case claimed:
		b.claims[ref] = struct{}{}
		delete(b.lost, ref)
	case was:
		delete(b.claims, ref)
		if going {
			b.lost[ref] = now
		}
	}
	return was != claimed
}

// lingering is how long the costs of a target stay that is going: its pods go a moment later.
const lingering = 3 * time.Second

// lingers says how long the costs of a target have to stay yet; 0: no longer.
func (b *book) lingers(ref workload.Ref, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	since, lately := b.lost[ref]
	if wait := since.Add(lingering).Sub(now); lately && wait > 0 {
		return wait
	}
	delete(b.lost, ref)
	return 0
}

func (b *book) claimed() []workload.Ref {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Keys(b.claims))
}

// setNote remembers a note, and says whether it is news. before is the policy that the target was of, if any.
func (b *book) setNote(ref workload.Ref, n Note) (before workload.Policy, news bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old, had := b.notes[ref]
	b.notes[ref] = n
	if old.Policy != n.Policy {
		delete(b.stats[old.Policy], ref)
	}
	return old.Policy, !had || old != n
}

func (b *book) noteOf(ref workload.Ref) Note {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notes[ref]
}

// setStats remembers the numbers of a target under a policy.
func (b *book) setStats(ref workload.Ref, id workload.Policy, s stats) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stats[id] == nil {
		b.stats[id] = map[workload.Ref]stats{}
	}
	b.stats[id][ref] = s
}

// drop forgets a target and gives the policy that it was of.
func (b *book) drop(ref workload.Ref) (id workload.Policy, was bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n, was := b.notes[ref]
	delete(b.notes, ref)
	delete(b.stats[n.Policy], ref)
	return n.Policy, was
}

func (b *book) forgetPolicy(id workload.Policy) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.stats, id)
	delete(b.budgets, id)
	delete(b.hours, id)
}

// summary adds up the numbers of the targets of a policy; of spreads it gives the greatest. It remembers how many writes it has told of.
func (b *book) summary(id workload.Policy, now time.Time) policy.PodSummary {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := policy.PodSummary{Foreign: map[string]int{}}
	for _, t := range b.stats[id] {
		s.Pods += t.pods
		s.Spread, s.SpreadAtHalf = max(s.Spread, t.spread), max(s.SpreadAtHalf, t.spreadAtHalf)
		for name, n := range t.foreign {
			s.Foreign[name] += n
		}
	}
	if h := b.hours[id]; h != nil {
		s.Writes, s.LastWrite = h.sum(now), h.last
		h.told = s.Writes
	}
	return s
}

// wrote counts a write, and says whether there is a policy to be told of it.
func (b *book) wrote(id workload.Policy, now time.Time) bool {
	if id == (workload.Policy{}) {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.hours[id] == nil {
		b.hours[id] = &hour{}
	}
	b.hours[id].add(now, 1)
	return true
}

// resume takes over how many writes a status tells of. They count from the last of them.
func (b *book) resume(id workload.Policy, writes int, last time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if writes > 0 && b.hours[id] == nil {
		b.hours[id] = &hour{}
		b.hours[id].add(last, writes)
	}
}

// aged lists the policies whose writes in the last hour have become fewer since they were told.
func (b *book) aged(now time.Time) []workload.Policy {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []workload.Policy
	for id, h := range b.hours {
		if h.sum(now) != h.told {
			ids = append(ids, id)
		}
	}
	return ids
}

// partOfHour is the length of one part of an hour.
const partOfHour = 10 * time.Minute

// hour counts the writes of the last hour, in parts.
type hour struct {
	// parts are the counts: at is which part since 1970, n how many there were in it.
	parts [6]struct {
		at int64
		n  int
	}
	// told is the sum that was told last, and last the last write.
	told int
	last time.Time
}

func (h *hour) add(now time.Time, writes int) {
	at := now.UnixNano() / int64(partOfHour)
	p := &h.parts[at%int64(len(h.parts))]
	if p.at != at {
		p.at, p.n = at, 0
	}
	p.n += writes
	h.last = now
}

func (h *hour) sum(now time.Time) int {
	at, n := now.UnixNano()/int64(partOfHour), 0
	for _, p := range h.parts {
		if p.at > at-int64(len(h.parts)) {
			n += p.n
		}
	}
	return n
}
