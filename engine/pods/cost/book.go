package cost

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
)

// PodStatus is the state of a target's pods under the winning policy. Empty texts do not apply.
type PodStatus struct {
	Policy workload.Policy
	// Failure is the error. Waiting is the obstacle of costs. Foreign has the foreign writers of costs. Yields is the
	// reason why another mechanism orders the pods.
	Failure, Waiting, Foreign, Yields string
	// Undone is the number of pods with a cost removed again and again by a different writer.
	Undone int
}

// Contested returns the foreign writers as text; empty: none.
func (n PodStatus) Contested() string {
	parts := []string{}
	if n.Foreign != "" {
		parts = append(parts, n.Foreign)
	}
	if n.Undone > 0 {
		parts = append(parts, "another writer keeps removing the deletion cost of "+workload.Count(n.Undone, "pod"))
	}
	return strings.Join(parts, "; ")
}

// foreignIn returns the foreign writers of costs in a fleet.
func foreignIn(f *workload.Fleet) string {
	count := countForeign(f)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(count)) {
		parts = append(parts, fmt.Sprintf("the deletion cost of %s is set by %s", workload.Count(count[name], "pod"), name))
	}
	return strings.Join(parts, ", ")
}

func countForeign(f *workload.Fleet) map[string]int {
	count := map[string]int{}
	for _, p := range f.Pods {
		if f.IsForeign(p) {
			count[p.Writer]++
		}
	}
	return count
}

// stats are the published numbers about a target's pods.
type stats struct {
	// pods is the number of pods; spread is the difference between the fullest and the emptiest domain, now and after
	// half of the pods are deleted.
	pods, spread, spreadAtHalf int
	// foreign counts the pods with a cost of a different writer, by writer.
	foreign map[string]int
}

// statsOf returns the numbers of a fleet with the values of a node label as domains.
func statsOf(f *workload.Fleet, label string, now time.Time) stats {
	return stats{
		pods: len(f.Pods), spread: f.Spread(label, nil), spreadAtHalf: f.Spread(label, f.ScaledDown(len(f.Pods)/2, now.Unix())),
		foreign: countForeign(f),
	}
}

// book holds the published state of targets and policies.
type book struct {
	mu     sync.Mutex
	claims map[workload.Ref]struct{}
	// lost has the time when a target under deletion lost its claim. An entry stays until the target's costs may be removed.
	lost    map[workload.Ref]time.Time
	notes   map[workload.Ref]PodStatus
	stats   map[workload.Policy]map[workload.Ref]stats
	budgets map[workload.Policy]*workers.Budget
	hours   map[workload.Policy]*hour
}

func newBook() *book {
	return &book{
		claims: map[workload.Ref]struct{}{}, lost: map[workload.Ref]time.Time{}, notes: map[workload.Ref]PodStatus{},
		stats:   map[workload.Policy]map[workload.Ref]stats{},
		budgets: map[workload.Policy]*workers.Budget{}, hours: map[workload.Policy]*hour{},
	}
}

// claim records whether the pods of a target are to get costs, and reports whether this has changed. If a target loses
// its claim because it is being deleted (going), the time is kept: its pods will be deleted too.
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

// lingering is the time for which the costs of a target being deleted stay: its pods are deleted a moment later.
const lingering = 3 * time.Second

// gracePeriod returns how long the costs of a target must still stay; 0: no longer.
func (b *book) gracePeriod(ref workload.Ref, now time.Time) time.Duration {
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

// setStatus records a note and reports whether it is new. before is the target's former policy, if any.
func (b *book) setStatus(ref workload.Ref, n PodStatus) (before workload.Policy, news bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	old, had := b.notes[ref]
	b.notes[ref] = n
	if old.Policy != n.Policy {
		delete(b.stats[old.Policy], ref)
	}
	return old.Policy, !had || old != n
}

func (b *book) statusOf(ref workload.Ref) PodStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notes[ref]
}

// setStats records the numbers of a target under a policy.
func (b *book) setStats(ref workload.Ref, id workload.Policy, s stats) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stats[id] == nil {
		b.stats[id] = map[workload.Ref]stats{}
	}
	b.stats[id][ref] = s
}

// drop removes a target and returns its policy.
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

// summary adds up the numbers of a policy's targets, with the greatest spread. It remembers the returned
// number of writes.
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
		h.published = s.Writes
	}
	return s
}

// wrote counts a write and reports whether a policy has to publish it.
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

// resume takes over the number of writes of the last hour from a status, as if all were made at the last write.
func (b *book) resume(id workload.Policy, writes int, last time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if writes > 0 && b.hours[id] == nil {
		b.hours[id] = &hour{}
		b.hours[id].add(last, writes)
	}
}

// aged returns the policies with fewer writes in the last hour than last published.
func (b *book) aged(now time.Time) []workload.Policy {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []workload.Policy
	for id, h := range b.hours {
		if h.sum(now) != h.published {
			ids = append(ids, id)
		}
	}
	return ids
}

// partOfHour is the length of one part of an hour.
const partOfHour = 10 * time.Minute

// hour counts the writes of the last hour, in parts.
type hour struct {
	// parts are the counts. at is the number of the part since 1970. n is the number of writes in the part.
	parts [6]struct {
		at int64
		n  int
	}
	// published is the last published sum; last is the time of the last write.
	published int
	last      time.Time
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
