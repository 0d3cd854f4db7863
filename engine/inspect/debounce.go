package inspect

import (
	"maps"
	"slices"
	"time"
)

// debouncer collects events by group: a group is due a fixed time after its first event, so that a stream of events
// neither floods nor starves, and once more after a longer time without events.
type debouncer struct {
	wait, echo time.Duration
	pending    map[string]time.Time
	echoes     map[string]time.Time
}

// add notes an event.
func (d *debouncer) add(group string, now time.Time) {
	if d.pending == nil {
		d.pending, d.echoes = map[string]time.Time{}, map[string]time.Time{}
	}
	if _, waiting := d.pending[group]; !waiting {
		d.pending[group] = now.Add(d.wait)
	}
	delete(d.echoes, group)
}

// take removes the groups that are due and returns them in order.
func (d *debouncer) take(now time.Time) []string {
	var due []string
	for group, at := range d.pending {
		if !at.After(now) {
			delete(d.pending, group)
			d.echoes[group] = now.Add(d.echo)
			due = append(due, group)
		}
	}
	for group, at := range d.echoes {
		if !at.After(now) {
			delete(d.echoes, group)
			due = append(due, group)
		}
	}
	slices.Sort(due)
	return slices.Compact(due)
}

// next is a channel that receives once the earliest group is due; nil, which never does, if there is none.
func (d *debouncer) next(now time.Time) <-chan time.Time {
	times := slices.AppendSeq(slices.Collect(maps.Values(d.pending)), maps.Values(d.echoes))
	if len(times) == 0 {
		return nil
	}
	return time.After(slices.MinFunc(times, time.Time.Compare).Sub(now))
}
