package notify

import (
	"hash/fnv"
	"iter"
	"slices"
	"strconv"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
)

const (
	// gatherFor is the time for which events of one policy are gathered for one message.
	gatherFor = 5 * time.Second
	// quietFor is the least time between two messages about events of one kind of one policy.
	quietFor = 10 * time.Minute
	// maxSaid is the maximum number of messages remembered for quietFor.
	maxSaid = 500
	// maxDetails is the maximum number of events that a message lists.
	maxDetails = 10
)

// Message is one message: one event of a policy, or several of the same kind.
type Message struct {
	// ID is unique, and the same for each attempt to send the message.
	ID     string
	Event  v1alpha1.NotificationEvent
	Policy workload.Policy
	// Details are the texts of at most ten events. Count is the number of events.
	Details []string
	Count   int
	// At is the instant of the last event, or the instant of a transition ahead.
	At time.Time
	// Command is as in Announcement.
	Command string
}

// key groups events into messages.
type key struct {
	event  v1alpha1.NotificationEvent
	policy string
}

// gathered are the events of a message that is not due yet.
type gathered struct {
	Message
	// since is the time of the first event.
	since time.Time
}

// said is the last message with a key.
type said struct {
	at time.Time
	// hashes are the hashes of its details.
	hash string
}

// Gatherer makes messages from announcements: a transition is one message at once, and all other events of one kind of one policy
// are gathered. A message with the same details as the last is dropped within quietFor. The zero Gatherer is not usable.
type Gatherer struct {
	waiting map[key]*gathered
	said    map[key]said
}

// NewGatherer returns a Gatherer that knows the messages sent by an earlier process, from the status of a Notification.
func NewGatherer(recent []v1alpha1.NotificationSent) *Gatherer {
	g := &Gatherer{waiting: map[key]*gathered{}, said: map[key]said{}}
	for _, m := range recent {
		k := key{m.Event, m.Policy}
		if old, ok := g.said[k]; !ok || old.at.Before(m.Time.Time) {
			g.said[k] = said{m.Time.Time, m.Text}
		}
	}
	return g
}

// Add adds an announcement. It returns a message that is due at once; nil: none.
func (g *Gatherer) Add(a Announcement, now time.Time) *Message {
	m := Message{Event: a.Event, Policy: a.Policy, Details: []string{a.Text}, Count: 1, At: a.At, Command: a.Command}
	if IsTransition(a.Event) {
		return &m
	}
	k := key{a.Event, a.Policy.String()}
	w := g.waiting[k]
	if w == nil {
		g.waiting[k] = &gathered{m, now}
		return nil
	}
	w.Count, w.At = w.Count+1, a.At
	if len(w.Details) < maxDetails && !slices.Contains(w.Details, a.Text) {
		w.Details = append(w.Details, a.Text)
	}
	return nil
}

// Due returns the messages that are due, and the instant of the next; zero: never.
func (g *Gatherer) Due(now time.Time) (due []Message, next time.Time) {
	for k, last := range g.said {
		if now.Sub(last.at) >= quietFor && g.waiting[k] == nil {
			delete(g.said, k)
		}
	}
	for k, w := range g.waiting {
		last, hash := g.said[k], HashOf(&w.Message)
		quiet := now.Sub(last.at) < quietFor && now.Sub(last.at) >= 0
		at := w.since.Add(gatherFor)
		if quiet && last.hash != hash {
			at = last.at.Add(quietFor)
		}
		if at.After(now) {
			next = timeline.Earliest(next, at)
			continue
		}
		delete(g.waiting, k)
		if quiet && last.hash == hash {
			continue // the same was said a moment ago, perhaps by an earlier process
		}
		g.remember(k, said{now, hash})
		due = append(due, w.Message)
	}
	slices.SortFunc(due, func(a, b Message) int { return a.Policy.Compare(b.Policy) })
	return due, next
}

// remember remembers a due message, and forgets the oldest of too many.
func (g *Gatherer) remember(k key, s said) {
	if _, ok := g.said[k]; !ok && len(g.said) >= maxSaid {
		oldest := key{}
		for other, last := range g.said {
			if oldest == (key{}) || last.at.Before(g.said[oldest].at) {
				oldest = other
			}
		}
		delete(g.said, oldest)
	}
	g.said[k] = s
}

// Waiting returns the policies of the messages not yet due, in any order.
func (g *Gatherer) Waiting() iter.Seq[workload.Policy] {
	return func(yield func(workload.Policy) bool) {
		for _, w := range g.waiting {
			if !yield(w.Policy) {
				return
			}
		}
	}
}

// Len returns the number of messages not yet due.
func (g *Gatherer) Len() int { return len(g.waiting) }

// Drop drops the oldest message not yet due about a policy of a namespace.
func (g *Gatherer) Drop(namespace string) {
	oldest := key{}
	for k, w := range g.waiting {
		if w.Policy.Namespace == namespace && (oldest == (key{}) || w.since.Before(g.waiting[oldest].since)) {
			oldest = k
		}
	}
	delete(g.waiting, oldest)
}

// HashOf returns a short hash of the details of a message.
func HashOf(m *Message) string {
	h := fnv.New64a()
	for _, d := range m.Details {
		_, _ = h.Write(append([]byte(d), 0))
	}
	return strconv.FormatUint(h.Sum64(), 36)
}
