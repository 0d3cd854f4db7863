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

// Note is the reported state of a tuned target.
type Note struct {
	// Policy is the policy that tunes the target. Failure is the error; empty: none.
	Policy  workload.Policy
	Failure string
}

// book has the reported states of targets and policies.
type book struct {
	mu sync.Mutex
	// trouble is the reason why nothing is measured; empty: usage is measured. lost is the reason why the recorded
	// history cannot be read; empty: it can be read.
	trouble, lost string
	// readable reports, by source in use, whether the source answers.
	readable map[string]bool
	// unread is the reason why VerticalPodAutoscalers cannot be read; empty: none. unserved reports that the cluster
	// does not have the kind.
	unread   string
	unserved bool
	notes    map[workload.Ref]Note
	// sums are the totals of the last complete round. next are the totals of the present round, which no reader sees.
	sums, next map[workload.Policy]*policy.TunedSummary
	told       map[workload.Policy]string
}

func newBook() *book {
	return &book{notes: map[workload.Ref]Note{}, sums: map[workload.Policy]*policy.TunedSummary{}, told: map[workload.Policy]string{}}
}

// begin begins a round: it drops the notes of targets that are no longer tuned and resets the totals.
func (b *book) begin(tuned map[workload.Ref]*world.Policy, s *world.Snapshot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for ref := range b.notes {
		if tuned[ref] == nil {
			delete(b.notes, ref)
		}
	}
	b.next, b.readable = map[workload.Policy]*policy.TunedSummary{}, nil
	for p := range s.Policies {
		if p.Tuner != nil {
			b.next[p.ID] = &policy.TunedSummary{Phases: map[string]int{}}
		}
	}
	for id := range b.told {
		if b.next[id] == nil {
			delete(b.told, id)
		}
	}
}

// setTrouble stores the faults of the metrics API and of the recorded history. It returns the policies to report to if
// a fault is new.
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

// setReadable stores whether each source answers.
func (b *book) setReadable(sources map[string]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.readable = sources
}

// setVerticals stores the fault of VerticalPodAutoscalers. It returns the policies to report to if the fault is new.
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

// note stores the state of a target, and reports whether it is new.
func (b *book) note(ref workload.Ref, n Note) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.notes[ref]
	b.notes[ref] = n
	return before != n
}

// phase counts a target with its last result.
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

// end ends a round and returns the policies with changed totals.
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

// noteOf returns the reported state of a target.
func (b *book) noteOf(ref workload.Ref) Note {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.notes[ref]
}

// unmeasured returns the reason and the message of a condition if the source of a policy's samples fails, or "".
func (b *book) unmeasured(p *policy.Policy) (reason, message string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch recorded := p.Tuner.Source().Recorded; {
	case recorded && b.lost != "" && b.trouble != "":
		return noMetrics, b.lost + ", but: " + b.trouble
	case recorded && b.lost != "":
		return noPrometheus, b.lost
	case b.trouble != "":
		return noMetrics, b.trouble
	case b.unread != "":
		return noVerticals, b.unread
	case p.Tuner.Source().Vertical && b.unserved:
		return noVerticals, "spec.history.source is VerticalPodAutoscaler, and the cluster does not have that kind (autoscaling.k8s.io/v1)"
	}
	return "", ""
}

const (
	// noMetrics: the metrics API cannot be read, or pods are unknown.
	noMetrics = "NoMetrics"
	// noPrometheus: the Prometheus server cannot be read.
	noPrometheus = "NoPrometheus"
	// noVerticals: VerticalPodAutoscalers cannot be read, or the policy needs them and the cluster does not have the
	// kind.
	noVerticals = "NoVerticalPodAutoscalers"
)
