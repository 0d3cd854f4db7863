package target

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// obstacle is what keeps writes on one kind in one namespace from passing, whatever it is.
type obstacle struct {
	kind      schema.GroupKind
	namespace string
	// reason is what kind of answer the API server gives, or that it gives none. It is empty for writes that have met no obstacle: a lane.
	reason string
}

const (
	// probesPerSecond bounds how often it is tried, over all obstacles, whether they are gone.
	probesPerSecond = 10
	// fewWrites and manyWrites are how many writes of a lane are on the way at once: few at first, and twice as many after each that passes.
	fewWrites, manyWrites = 4, 16
	// enoughFailures is how many writes of a lane may fail, and none pass, before targets that were not tried yet wait as well.
	enoughFailures = 50
	// untriedPause is the longest pause between two tries of targets that were not tried yet: each says something that is not known.
	untriedPause = time.Second
)

// obstacles lets writes through so that those which fail, or hang, hurt no others: a target that waits holds no worker. The targets of one kind
// in one namespace are a lane, with few writes on the way at a time until some have passed. Targets that failed for one reason share one probe:
// one of them is tried after growing pauses. When it passes, the others are in the lane again.
type obstacles struct {
	shortest, longest time.Duration
	// queueAfter has a target worked on after a pause.
	queueAfter func(workload.Ref, time.Duration)
	limiter    *rate.Limiter

	mu      sync.Mutex
	groups  map[obstacle]*group
	targets map[workload.Ref]*member
}

// group are the targets that meet one obstacle, or those of a lane.
type group struct {
	obstacle
	// size is the number of targets, and trying how many of them are let through and not back yet. The others wait, the next one first; some in
	// the list may have left.
	size, trying int
	waiting      []*member
	// width is how many of a lane may be let through at once, and credit how many more may fail before only a probe is.
	width, credit int
	// probe is the target that is tried after the last pause.
	probe *member
	pause time.Duration
	// failures is how many writes failed since one passed, why what was answered to the last, and logged that this was logged.
	failures int
	why      string
	logged   bool
}

// member is a target of a group.
type member struct {
	ref   workload.Ref
	group *group
	// sum tells apart what is to be written. Another change may be accepted.
	sum uint64
	// failures is how often the target failed in a row, and why what was answered.
	failures int
	why      string
	// let says that the target is let through, told that it counts as failed, left that it has nothing to do with the group any more.
	let, told, left bool
}

func newObstacles(shortest, longest time.Duration, queueAfter func(workload.Ref, time.Duration)) *obstacles {
	return &obstacles{
		shortest: shortest, longest: longest, queueAfter: queueAfter, limiter: rate.NewLimiter(probesPerSecond, probesPerSecond),
		groups: map[obstacle]*group{}, targets: map[workload.Ref]*member{},
	}
}

// Enter says whether a target may be written now, and else what it waits for; failed says that this counts as a failure. A target that may be
// written is let through until Passed, Failed or Leave.
func (o *obstacles) Enter(ref workload.Ref, sum uint64) (why string, failed, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.targets[ref]
	if m != nil && m.sum != sum { // another change: it may be accepted
		o.leave(m)
		m = nil
	}
	if m == nil {
		m = o.enter(ref, sum)
	}
	g := m.group
	switch {
	case m.let:
		return "", false, true
	case m.why != "":
		return m.answer(), m.told, false
	case g.credit > 0 && !m.told:
		return fmt.Sprintf("waits for other writes on its kind in its namespace: %d are not answered yet", g.trying), false, false
	}
	m.told = true
	return fmt.Sprintf("not tried yet, since %d others failed: %s", g.failures, g.why), true, false
}

// answer is what is told of a target that failed.
func (m *member) answer() string {
	if m.told {
		return m.why
	}
	return "to be tried again: " + m.why
}

// enter adds a target to its lane. It is let through at once where there is room.
func (o *obstacles) enter(ref workload.Ref, sum uint64) *member {
	lane := o.groupOf(obstacle{kind: ref.GroupKind, namespace: ref.Namespace})
	m := &member{ref: ref, group: lane, sum: sum}
	o.targets[ref] = m
	lane.size++
	if lane.hasRoom() {
		lane.trying++
		m.let = true
	} else {
		lane.waiting = append(lane.waiting, m)
	}
	return m
}

// Failed takes note of a write that failed, and sees to it that it is tried again. told says that the failure counts: it is a refusal, or not the
// first one of the target or of the obstacle; first that it is the first that counts of the obstacle. answer is what is to be told.
func (o *obstacles) Failed(ref workload.Ref, reason string, sum uint64, why string, refusal bool) (answer string, told, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m, to := o.targets[ref], o.groupOf(obstacle{ref.GroupKind, ref.Namespace, reason})
	if m == nil { // its kind was forgotten meanwhile
		m = &member{ref: ref, group: to, sum: sum}
		o.targets[ref] = m
		to.size++
	}
	from := m.group
	from.failures, from.why = from.failures+1, why
	if from.width, from.credit = 1, max(from.credit-1, 0); from.reason == "" && from.credit == 0 {
		o.tellWaiting(from)
	}
	if to != from {
		to.failures, to.why = to.failures+1, why
	}
	m.failures, m.why = m.failures+1, why
	o.move(m, to)
	o.next(from)
	o.next(to)
	m.told = m.told || refusal || m.failures > 1 || to.failures > 1
	first = m.told && !to.logged
	to.logged = to.logged || m.told
	return m.answer(), m.told, first
}

// tellWaiting has the targets of a lane looked at that wait and do not count as failed yet.
func (o *obstacles) tellWaiting(lane *group) {
	for _, m := range lane.waiting {
		if !m.left && !m.told {
			o.queueAfter(m.ref, 0)
		}
	}
}

// Passed takes note of a write that did not fail. The obstacle that the target met before may be gone for others, too.
func (o *obstacles) Passed(ref workload.Ref) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.targets[ref]
	if m == nil {
		return
	}
	from, lane := m.group, o.groupOf(obstacle{kind: ref.GroupKind, namespace: ref.Namespace})
	if from != lane && lane.size == 0 {
		lane.width, lane.credit = 1, 1
	}
	lane.width, lane.credit = min(2*lane.width, manyWrites), min(2*max(lane.credit, 1), enoughFailures)
	lane.failures, lane.pause = 0, 0
	if from != lane {
		for _, other := range from.waiting {
			if !other.left {
				o.move(other, lane)
			}
		}
		from.waiting = nil
		o.hurry(from.obstacle)
	}
	o.leave(m)
	o.next(lane)
}

// hurry has two others try at once that met the same obstacle elsewhere: it may be gone there, too.
func (o *obstacles) hurry(gone obstacle) {
	n := 2
	for _, g := range o.groups {
		if n == 0 {
			return
		}
		if g.kind == gone.kind && g.reason == gone.reason && g.namespace != gone.namespace && g.probe != nil && g.probe.let {
			o.queueAfter(g.probe.ref, 0)
			g.probe = nil
			n--
		}
	}
}

// Leave drops a target that has nothing to be written, or is not there any more.
func (o *obstacles) Leave(ref workload.Ref) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m := o.targets[ref]; m != nil {
		o.leave(m)
	}
}

// ForgetKind drops every target of a kind.
func (o *obstacles) ForgetKind(gk schema.GroupKind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.groups, func(at obstacle, _ *group) bool { return at.kind == gk })
	maps.DeleteFunc(o.targets, func(ref workload.Ref, _ *member) bool { return ref.GroupKind == gk })
}

func (o *obstacles) groupOf(at obstacle) *group {
	g := o.groups[at]
	if g == nil {
		g = &group{obstacle: at, width: fewWrites, credit: enoughFailures}
		o.groups[at] = g
	}
	return g
}

// hasRoom says whether another target of a lane may be let through without a pause.
func (g *group) hasRoom() bool { return g.reason == "" && g.trying < min(g.width, g.credit) }

// move has a target wait in a group, and no longer in the one that it was in.
func (o *obstacles) move(m *member, to *group) {
	m.group.size--
	if m.let {
		m.group.trying--
	}
	m.group, m.let = to, false
	to.size++
	to.waiting = append(to.waiting, m)
}

// leave drops a target. Its turn passes on, if it had one.
func (o *obstacles) leave(m *member) {
	delete(o.targets, m.ref)
	m.left = true
	m.group.size--
	if m.let {
		m.group.trying--
	}
	o.next(m.group)
}

// next lets through the next targets of a group: as many of a lane as there is room for, and else one after a pause. A group that is empty goes.
func (o *obstacles) next(g *group) {
	if g.size == 0 {
		delete(o.groups, g.obstacle)
		return
	}
	for g.hasRoom() && g.hasNext() {
		o.let(g.take(), 0)
	}
	if g.trying > 0 || !g.hasNext() {
		return
	}
	longest := o.longest
	if g.reason == "" {
		longest = min(longest, untriedPause)
	}
	g.pause = min(max(2*g.pause, o.shortest), longest)
	pause := g.pause - rand.N(g.pause/5+1)
	if turn := o.limiter.Reserve(); turn.OK() {
		pause = max(pause, turn.Delay())
	}
	g.probe = g.take()
	o.let(g.probe, pause)
}

// hasNext says whether a target waits.
func (g *group) hasNext() bool {
	for len(g.waiting) > 0 && g.waiting[0].left {
		g.waiting = g.waiting[1:]
	}
	return len(g.waiting) > 0
}

// take takes the next target out of those that wait. There must be one.
func (g *group) take() *member {
	m := g.waiting[0]
	g.waiting = g.waiting[1:]
	return m
}

// let lets a target through after a pause.
func (o *obstacles) let(m *member, pause time.Duration) {
	m.let = true
	m.group.trying++
	o.queueAfter(m.ref, pause)
}
