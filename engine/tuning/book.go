package tuning

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Note is what is to be said of a target that policies tune.
type Note struct {
	// Policy is the one that tunes it. Failure says what is wrong; empty: nothing.
	Policy  workload.Policy
	Failure string
}

// book remembers what is told of targets and policies.
type book struct {
	mu sync.Mutex
	// trouble says why nothing is measured, lost why what is recorded cannot be read; empty: all is well.
	trouble, lost string
	// readable says of each source that is asked whether it answers.
	readable map[string]bool
	// unread says why VerticalPodAutoscalers cannot be read; empty: they can. Unserved says that the cluster does not have the kind.
	unread   string
	unserved bool
	notes    map[workload.Ref]Note
	// sums are those of the last round that was ended, next those of the one that goes on: nobody is told of half a round.
	sums, next map[workload.Policy]*policy.TunedSummary
	told       map[workload.Policy]string
	// targets counts those that each policy tunes.
	targets map[workload.Policy]int
}

func newBook() *book {
	return &book{notes: map[workload.Ref]Note{}, sums: map[workload.Policy]*policy.TunedSummary{}, told: map[workload.Policy]string{}}
}

// begin begins a round: notes of targets that are not tuned any more go, and sums are made anew.
func (b *book) begin(tuned map[workload.Ref]*world.Policy, s *world.Snapshot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ref := range b.notes {
		if tuned[ref] == nil {
			delete(b.notes, ref)
		}
	}
	b.targets = map[workload.Policy]int{}
	for _, p := range tuned {
		b.targets[p.ID]++
	}
	b.next, b.readable = map[workload.Policy]*policy.TunedSummary{}, nil
	for p := range s.Policies {
		if p.Tuner() != nil {
			b.next[p.ID] = &policy.TunedSummary{Phases: map[string]int{}}
		}
	}
	for id := range b.told {
		if b.next[id] == nil {
			delete(b.told, id)
		}
	}
}

// setTrouble remembers what is wrong with what is measured and with what is recorded, and gives the policies to be told of it if that is news.
func (b *book) setTrouble(why, lost string) (news []workload.Policy) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.trouble == why && b.lost == lost {
		return nil
	}
	b.trouble, b.lost = why, lost
	for id := range b.next {
		news = append(news, id)
	}
	return news
}

// setReadable remembers which sources answer.
func (b *book) setReadable(sources map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.readable = sources
}

// setVerticals remembers what is wrong with VerticalPodAutoscalers, and gives the policies to be told of it if that is news.
func (b *book) setVerticals(unread string, unserved bool) (news []workload.Policy) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.unread == unread && b.unserved == unserved {
		return nil
	}
	b.unread, b.unserved = unread, unserved
	for id := range b.next {
		news = append(news, id)
	}
	return news
}

// note remembers what is wrong with a target, and says whether that is news.
func (b *book) note(ref workload.Ref, n Note) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.notes[ref]
	b.notes[ref] = n
	return before != n
}

// phase counts a target with what was last found for it.
func (b *book) phase(id workload.Policy, x *subject) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.next[id]
	if s == nil {
		return
	}
	if name := x.found.Report.Phase; name != "" {
		s.Phases[name]++
	}
	s.Saved.MilliCPU += x.found.Saved.MilliCPU
	s.Saved.MemoryBytes += x.found.Saved.MemoryBytes
	s.Next = timeline.Earliest(s.Next, x.found.Next)
	s.Pods.Add(x.pods)
}

// end ends a round, and gives the policies of which something is to be told.
func (b *book) end() (news []workload.Policy) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sums = b.next
	for id, s := range b.sums {
		if now := fmt.Sprintf("%v %v %s %v", s.Phases, s.Saved, s.Next.Format(time.RFC3339), s.Pods); b.told[id] != now {
			b.told[id] = now
			news = append(news, id)
		}
	}
	return news
}

func (b *book) summary(id workload.Policy) policy.TunedSummary {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.sums[id]
	if s == nil {
		return policy.TunedSummary{Phases: map[string]int{}}
	}
	out := *s
	out.Phases = maps.Clone(s.Phases)
	return out
}

// Note is what is to be said of a target.
func (l *Loop) Note(ref workload.Ref) Note {
	l.book.mu.Lock()
	defer l.book.mu.Unlock()
	return l.book.notes[ref]
}

// Targets is how many targets a policy tunes.
func (l *Loop) Targets(id workload.Policy) int {
	l.book.mu.Lock()
	defer l.book.mu.Unlock()
	return l.book.targets[id]
}

// Summary is what has been found for all targets of a policy.
func (l *Loop) Summary(id workload.Policy) policy.TunedSummary { return l.book.summary(id) }

// Unmeasured says what is wrong with what a policy learns from: a reason of a condition and a message; empty: nothing is.
func (l *Loop) Unmeasured(p *policy.Policy) (reason, message string) {
	l.book.mu.Lock()
	defer l.book.mu.Unlock()
	switch recorded := p.Tuner().Source().Recorded; {
	case recorded && l.book.lost != "" && l.book.trouble != "":
		return noMetrics, l.book.lost + ", but: " + l.book.trouble
	case recorded && l.book.lost != "":
		return noPrometheus, l.book.lost
	case l.book.trouble != "":
		return noMetrics, l.book.trouble
	case l.book.unread != "":
		return noVerticals, l.book.unread
	case p.Tuner().Source().Vertical && l.book.unserved:
		return noVerticals, "spec.history.source is VerticalPodAutoscaler, and the cluster does not have that kind (autoscaling.k8s.io/v1)"
	}
	return "", ""
}

const (
	// noMetrics: the metrics API cannot be read, or pods are not known.
	noMetrics = "NoMetrics"
	// noPrometheus: the server that keeps a history cannot be read.
	noPrometheus = "NoPrometheus"
	// noVerticals: VerticalPodAutoscalers cannot be read, or the cluster does not have them and the policy needs them.
	noVerticals = "NoVerticalPodAutoscalers"
)
