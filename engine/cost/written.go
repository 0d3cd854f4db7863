package cost

import (
	"maps"
	"slices"
	"sync"
	"time"

	"flyball.dev/flyball/engine/fleet"
)

const (
	// tries is how often one cost is set on one pod within patience before it is left to whoever removes it.
	tries    = 3
	patience = 10 * time.Minute
)

// written remembers what was written until the watch has brought it, where it keeps being removed, and where it was refused.
type written struct {
	mu   sync.Mutex
	pods map[string]*writtenPod
	// refused are the last writes that were refused, by the UID of the pod.
	refused map[string]refusal
	// swept is when what is old was dropped last.
	swept time.Time
}

type refusal struct {
	at  time.Time
	why string
}

type writtenPod struct {
	// version is the resourceVersion of the pod that the cost was written upon; empty where the write has changed nothing. times is how
	// often it was written since first.
	version string
	cost    int32
	times   int
	first   time.Time
}

func newWritten() *written {
	return &written{pods: map[string]*writtenPod{}, refused: map[string]refusal{}}
}

// add remembers a cost that was set.
func (w *written) add(c fleet.Change, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.podOf(c, now)
	p.version = c.Pod.Version
	p.times++
}

// addUndone remembers a cost that was dropped as it was set: that is not tried again soon.
func (w *written) addUndone(c fleet.Change, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.podOf(c, now)
	p.version, p.times = "", tries
}

// podOf is what is remembered of a pod for a cost. It begins anew for another cost, and when the patience is over.
func (w *written) podOf(c fleet.Change, now time.Time) *writtenPod {
	p := w.pods[c.Pod.UID]
	if p == nil || p.cost != c.Cost || now.Sub(p.first) > patience {
		p = &writtenPod{cost: c.Cost, first: now}
		w.pods[c.Pod.UID] = p
	}
	return p
}

// setCostsIn edits a fleet: pods that are as they were before their cost was set get it. It also forgets what is old.
func (w *written) setCostsIn(f *fleet.Fleet, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pod := range f.Pods {
		if p := w.pods[pod.UID]; p != nil && p.version == pod.Version {
			pod.Cost, pod.Writer = p.cost, f.Own
		}
	}
	w.sweep(now)
}

// sweep forgets what is older than the patience, as often. The lock is held.
func (w *written) sweep(now time.Time) {
	if now.Sub(w.swept) <= patience {
		return
	}
	maps.DeleteFunc(w.pods, func(_ string, p *writtenPod) bool { return now.Sub(p.first) > patience })
	maps.DeleteFunc(w.refused, func(_ string, r refusal) bool { return now.Sub(r.at) > patience })
	w.swept = now
}

// isUndone says whether a change was made so often that somebody must be removing it.
func (w *written) isUndone(c fleet.Change, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pods[c.Pod.UID]
	return p != nil && p.cost == c.Cost && p.times >= tries && now.Sub(p.first) <= patience
}

// refuse remembers that a write to a pod was refused.
func (w *written) refuse(pod *fleet.Pod, now time.Time, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused[pod.UID] = refusal{now, err.Error()}
}

// refusalOf says why writes to one of some pods were refused; empty: they were not, lately.
func (w *written) refusalOf(pods []*fleet.Pod) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pod := range pods {
		if r, refused := w.refused[pod.UID]; refused {
			return r.why
		}
	}
	return ""
}

// sortRefusedIn puts those changes last that were refused a while ago, the longest ago first: they must not keep the others from being made.
func (w *written) sortRefusedIn(changes []fleet.Change, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := func(c fleet.Change) time.Time {
		if r := w.refused[c.Pod.UID]; now.Sub(r.at) <= patience {
			return r.at
		}
		return time.Time{}
	}
	slices.SortStableFunc(changes, func(a, b fleet.Change) int { return at(a).Compare(at(b)) })
}
