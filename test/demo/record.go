package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"

	"flyball.dev/flyball/test/demo/simclock"
)

// state is the observed state of an object.
type state int

const (
	// awake means that the object is as its owner has set it.
	awake state = iota
	// reduced means that the object has less than its owner has set, but more than nothing.
	reduced
	// asleep means that the object consumes nothing, or is held while its own target sleeps.
	asleep
	// off means that its owner has set the object to consume nothing.
	off
	// frozen and open are the states of a freeze. Frozen means that changes are denied. Open means that they are not
	// denied.
	frozen
	open
)

func (s state) String() string {
	return [...]string{"awake", "reduced", "asleep", "off", "frozen", "open"}[s]
}

// change is one observed change of an object.
type change struct {
	at       time.Time // by the demo's clock
	state    state
	from, to string
}

// track has the observations of one target.
type track struct {
	target
	// original is the object before any policy, with the changes that were allowed since. own is the level of the
	// original.
	original *unstructured.Unstructured
	own      level
	latest   *unstructured.Unstructured
	level    level
	state    state
	history  []change
}

// recorder watches the targets and records every change of state. It does not poll, because an hour of the demo may be
// shorter than a polling interval.
type recorder struct {
	clock *simclock.Clock
	// seen is called after each change, without the lock held.
	seen func(track, change)

	mu     sync.Mutex
	tracks []*track
	// freeze is the track of the week's freeze, which is not a target. nil means no freeze.
	freeze *track
}

func newRecorder(clock *simclock.Clock, list []target) *recorder {
	r := &recorder{clock: clock, seen: func(track, change) {}}
	for _, t := range list {
		r.tracks = append(r.tracks, &track{target: t})
	}
	return r
}

// watch follows the targets until the context ends. It returns once every existing object was seen.
func (r *recorder) watch(ctx context.Context, client dynamic.Interface, namespace string) error {
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
	followed := map[schema.GroupVersionResource]bool{}
	list := r.tracks
	if r.freeze != nil {
		list = append(slices.Clip(list), r.freeze)
	}
	for _, t := range list {
		if followed[t.resource] {
			continue
		}
		followed[t.resource] = true
		see := func(obj any) { r.see(t.resource, obj) }
		_, err := factory.ForResource(t.resource).Informer().AddEventHandler(
			cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, obj any) { see(obj) }})
		if err != nil {
			return fmt.Errorf("watch %s: %w", t.resource.Resource, err)
		}
	}
	factory.Start(ctx.Done())
	for resource, ok := range factory.WaitForCacheSync(ctx.Done()) {
		if !ok {
			return fmt.Errorf("watch %s: %w", resource.Resource, context.Cause(ctx))
		}
	}
	return nil
}

// see records the current object.
func (r *recorder) see(resource schema.GroupVersionResource, obj any) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		return
	}
	r.mu.Lock()
	var changed *change
	var copied track
	for _, t := range r.tracks {
		if t.resource == resource && t.name == u.GetName() {
			changed = t.take(u, r.clock.Now())
			copied = *t
		}
	}
	if f := r.freeze; f != nil && f.resource == resource && f.name == u.GetName() {
		changed = f.takeFreeze(u, r.clock.Now())
		copied = *f
	}
	seen := r.seen
	r.mu.Unlock()
	if changed != nil {
		seen(copied, *changed)
	}
}

// take records the object and returns the change of state, if any.
func (t *track) take(obj *unstructured.Unstructured, now time.Time) *change {
	before := t.level
	t.latest, t.level = obj, t.read(obj)
	if t.original == nil {
		return nil
	}
	is := t.stateOf(t.level)
	if is == t.state {
		return nil
	}
	t.state = is
	c := change{at: now, state: is, from: before.text, to: t.level.text}
	t.history = append(t.history, c)
	return &c
}

// takeFreeze records the freeze and returns the change of state, if any. The initial state is open.
func (t *track) takeFreeze(obj *unstructured.Unstructured, now time.Time) *change {
	is := open
	if text(obj, "status", "state") == "Frozen" {
		is = frozen
	}
	before := t.level
	t.latest, t.level = obj, t.read(obj)
	if is == t.state {
		return nil
	}
	t.state = is
	c := change{at: now, state: is, from: before.text, to: t.level.text}
	t.history = append(t.history, c)
	return &c
}

func (t *track) stateOf(l level) state {
	switch {
	case l == t.own && l.size == 0:
		return off
	case l == t.own:
		return awake
	case l.size == 0:
		return asleep
	default:
		return reduced
	}
}

// begin records the current objects as originals.
func (r *recorder) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.tracks {
		t.original, t.own = t.latest.DeepCopy(), t.level
		t.state = t.stateOf(t.level)
	}
}

// permit changes an object's expected original, because the change was allowed.
func (r *recorder) permit(resource schema.GroupVersionResource, name string, edit func(*unstructured.Unstructured) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.tracks {
		if t.resource == resource && t.name == name {
			t.original = t.original.DeepCopy()
			return edit(t.original)
		}
	}
	return fmt.Errorf("%s %s is no target of the demo", resource.Resource, name)
}

// onChange sets the function to call after each change.
func (r *recorder) onChange(seen func(track, change)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = seen
}

// snapshot returns copies of the tracks. The objects in them are shared and immutable.
func (r *recorder) snapshot() []track {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]track, len(r.tracks))
	for i, t := range r.tracks {
		out[i] = *t
		out[i].history = slices.Clone(t.history)
	}
	return out
}

// freezeTrack returns a copy of the freeze's track, or nil if there is no freeze.
func (r *recorder) freezeTrack() *track {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.freeze == nil {
		return nil
	}
	out := *r.freeze
	out.history = slices.Clone(out.history)
	return &out
}

// unsettled returns the targets that do not exist yet or whose pods are not ready.
func (r *recorder) unsettled() []string {
	var out []string
	for _, t := range r.snapshot() {
		if t.latest == nil {
			out = append(out, t.String())
			continue
		}
		if ready, want, ok := t.pods(t.latest); ok && ready != want {
			out = append(out, fmt.Sprintf("%s (%d of %d pods)", t, ready, want))
		}
	}
	return out
}

// at returns the observed state of a target at an instant after the beginning.
func (t *track) at(instant time.Time) state {
	s := t.stateOf(t.own)
	for _, c := range t.history {
		if c.at.After(instant) {
			break
		}
		s = c.state
	}
	return s
}
