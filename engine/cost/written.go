package cost

import (
	"sync"
	"time"

	"flyball.dev/flyball/engine/fleet"
)

const (
	// tries is how often one cost is set on one pod within patience before it is left to whoever removes it.
	tries    = 3
	patience = 10 * time.Minute
)

// written remembers what was written until the watch has brought it, and where it keeps being removed.
type written struct {
	mu   sync.Mutex
	pods map[string]*writtenPod
	// swept is when what is old was dropped last.
	swept time.Time
}

type writtenPod struct {
	// version is the one that the cost was written upon.
	version string
	cost    int32
	times   int
	first   time.Time
}

func newWritten() *written { return &written{pods: map[string]*writtenPod{}} }

// add remembers a cost that was set.
func (w *written) add(c fleet.Change, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pods[c.Pod.UID]
	if p == nil || p.cost != c.Cost || now.Sub(p.first) > patience {
		p = &writtenPod{cost: c.Cost, first: now}
		w.pods[c.Pod.UID] = p
	}
	p.version = c.Pod.Version
	p.times++
}

// overlay edits a fleet: pods that are as they were before their cost was set get it.
func (w *written) overlay(f *fleet.Fleet, now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pod := range f.Pods {
		if p := w.pods[pod.UID]; p != nil && p.version == pod.Version {
			pod.Cost, pod.Writer = p.cost, f.Own
		}
	}
	if now.Sub(w.swept) > patience {
		for uid, p := range w.pods {
			if now.Sub(p.first) > patience {
				delete(w.pods, uid)
			}
		}
		w.swept = now
	}
}

// isUndone says whether a change was made so often that somebody must be removing it.
func (w *written) isUndone(c fleet.Change, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.pods[c.Pod.UID]
	return p != nil && p.cost == c.Cost && p.times >= tries && now.Sub(p.first) <= patience
}
