package cost

import (
	"maps"
	"slices"
	"sync"
	"time"

	"flyball.dev/flyball/engine/workload"
)

const (
	// tries is the number of times that one cost is set on a pod within patience, before Flyball gives in to a writer
	// that removes it.
	tries    = 3
	patience = 10 * time.Minute
)

// written records writes not yet delivered by the watch, costs that are removed repeatedly, and refused writes.
type written struct {
	mu   sync.Mutex
	pods map[string]*writtenPod
	// refused are the last refused writes, by the UID of the pod.
	refused map[string]refusal
	// swept is the time of the last removal of old records.
	swept time.Time
}

type refusal struct {
	at  time.Time
	why string
}

type writtenPod struct {
	// version is the resourceVersion of the pod before the write; empty if the write had no effect. times is the number
	// of writes since first.
	version string
	cost    int32
	times   int
	first   time.Time
}

func newWritten() *written {
	return &written{pods: map[string]*writtenPod{}, refused: map[string]refusal{}}
}

// add records a written cost.
func (w *written) add(c workload.CostChange, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.podOf(c, now)
	p.version = c.Pod.Version
	p.times++
}

// addUndone records a cost that the write itself dropped. Such a cost is not retried soon.
func (w *written) addUndone(c workload.CostChange, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.podOf(c, now)
	p.version, p.times = "", tries
}

// podOf returns the record of a pod for a cost. It starts again for another cost, and after patience.
func (w *written) podOf(c workload.CostChange, now time.Time) *writtenPod {
	p := w.pods[c.Pod.UID]
	if p == nil || p.cost != c.Cost || now.Sub(p.first) > patience {
		p = &writtenPod{cost: c.Cost, first: now}
		w.pods[c.Pod.UID] = p
	}
	return p
}

// setCostsIn edits a fleet: a pod that is still in the form from before a write gets the written cost. It also removes
// old records.
func (w *written) setCostsIn(f *workload.Fleet, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pod := range f.Pods {
		if p := w.pods[pod.UID]; p != nil && p.version == pod.Version {
			pod.Cost, pod.Writer = p.cost, f.Own
		}
	}
	w.sweep(now)
}

// sweep removes records older than patience, and does so at most once within patience. The caller holds the lock.
func (w *written) sweep(now time.Time) {
	if now.Sub(w.swept) <= patience {
		return
	}
	maps.DeleteFunc(w.pods, func(_ string, p *writtenPod) bool { return now.Sub(p.first) > patience })
	maps.DeleteFunc(w.refused, func(_ string, r refusal) bool { return now.Sub(r.at) > patience })
	w.swept = now
}

// isUndone reports whether a change was repeated so often that a different writer must be at work.
func (w *written) isUndone(c workload.CostChange, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pods[c.Pod.UID]
	return p != nil && p.cost == c.Cost && p.times >= tries && now.Sub(p.first) <= patience
}

// refuse records a refused write to a pod.
func (w *written) refuse(pod *workload.Pod, now time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused[pod.UID] = refusal{now, err.Error()}
}

// refusalOf returns the reason of a recent refused write to one of the pods; empty: none.
func (w *written) refusalOf(pods []*workload.Pod) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pod := range pods {
		if r, refused := w.refused[pod.UID]; refused {
			return r.why
		}
	}
	return ""
}

// sortRefusedIn moves recently refused changes to the end, the oldest refusal first, so they do not block
// the others.
func (w *written) sortRefusedIn(changes []workload.CostChange, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := func(c workload.CostChange) time.Time {
		if r := w.refused[c.Pod.UID]; now.Sub(r.at) <= patience {
			return r.at
		}
		return time.Time{}
	}
	slices.SortStableFunc(changes, func(a, b workload.CostChange) int { return at(a).Compare(at(b)) })
}
