package gate

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// obstacle is a reason why writes of a kind in a namespace fail.
type obstacle struct {
	kind      schema.GroupKind
	namespace string
	// reason is the kind of the API server's error, or "no answer". It is empty for a lane, whose targets have met no
	// obstacle.
	reason string
}

const (
	// probesPerSecond is the maximum rate of probes, summed over all obstacles.
	probesPerSecond = 10
	// fewWrites is the initial limit of a lane's writes in flight. The limit doubles with each success up to manyWrites.
	fewWrites, manyWrites = 4, 16
	// enoughFailures is the number of failed writes of a lane, without a success, after which its untried targets wait
	// too.
	enoughFailures = 50
	// untriedPause is the longest pause between two tries of untried targets. It is short, because each try may show
	// another answer.
	untriedPause = time.Second
)

// Obstacle lets a write through unless writes of its kind in its namespace fail or hang. So they do not delay others. A
// waiting target blocks no worker. The targets of a kind in a namespace form a lane, which has few writes in flight until some succeed.
// Targets that failed for the same reason form a group with one probe: only one of them is tried, after growing
// pauses. When the probe succeeds, the other targets return to the lane.
type Obstacle struct {
	shortest, longest time.Duration
	// queueAfter queues a target after a pause.
	queueAfter func(workload.Ref, time.Duration)
	limiter    *rate.Limiter
	// failing is called for a target that begins to count as failed.
	failing func(workload.Ref)
	// Log receives the first failure of each obstacle.
	Log logr.Logger

	mu      sync.Mutex
	groups  map[obstacle]*group
	targets map[workload.Ref]*member
}

// group has the targets that meet one obstacle, or the targets of a lane.
type group struct {
	obstacle
	// size is the number of targets. trying is the number of targets in flight. waiting has the other targets, in order,
	// and may still have targets that have left the group.
	size, trying int
	waiting      []*member
	// width is the limit of a lane's writes in flight. credit is the number of failures after which the lane allows only
	// a probe.
	width, credit int
	// probe is the target that was let through after the last pause.
	probe *member
	pause time.Duration
	// failures is the number of failed writes since the last success. why is the last error. logged is true if a failure
	// was logged.
	failures int
	why      string
	logged   bool
}

// member is a target of a group.
type member struct {
	ref   workload.Ref
	group *group
	// sum identifies the change to be written. A different change may be accepted.
	sum uint64
	// failures is the number of the target's consecutive failures. why is the last error.
	failures int
	why      string
	// let is true while the target is in flight. counted is true if the target counts as failed. left is true if the
	// target has left the group.
	let, counted, left bool
}

// NewObstacle returns the gate of the obstacles. The pauses before another try are between shortest and longest. queueAfter
// queues a target after a pause. failing is called for a target that begins to count as failed.
func NewObstacle(shortest, longest time.Duration, queueAfter func(workload.Ref, time.Duration), failing func(workload.Ref)) *Obstacle {
	return &Obstacle{
		shortest: shortest, longest: longest, queueAfter: queueAfter, limiter: rate.NewLimiter(probesPerSecond, probesPerSecond),
		groups: map[obstacle]*group{}, targets: map[workload.Ref]*member{}, failing: failing, Log: logr.Discard(),
	}
}

// ask reports whether a target may be written now. If it may not, why is the obstacle, and failed is true if the
// target counts as failed. A target that may be written counts as in flight until a call of passed, failed or drop.
func (o *Obstacle) ask(ref workload.Ref, sum uint64) (why string, failed, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m := o.targets[ref]
	if m != nil && m.sum != sum { // a different change may be accepted
		o.leave(m)
		m = nil
	}
	if m == nil {
		m = o.join(ref, sum)
	}
	g := m.group
	switch {
	case m.let:
		return "", false, true
	case m.why != "":
		return m.answer(), m.counted, false
	case g.credit > 0 && !m.counted:
		return fmt.Sprintf("waits for other writes on its kind in its namespace: %d are not answered yet", g.trying), false, false
	}
	m.counted = true
	return fmt.Sprintf("not tried yet, because %d others failed: %s", g.failures, g.why), true, false
}

// Failing reports whether a target counts as failed, and returns the last error.
func (o *Obstacle) Failing(ref workload.Ref) (why string, failing bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m := o.targets[ref]; m != nil && m.counted {
		return m.why, true
	}
	return "", false
}

// answer returns the message for users about a target whose write has failed.
func (m *member) answer() string {
	if m.counted {
		return m.why
	}
	return "to be tried again: " + m.why
}

// join adds a target to its lane. If the lane has room, the target is in flight at once.
func (o *Obstacle) join(ref workload.Ref, sum uint64) *member {
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

// failed records a failed write and schedules the retry. counted is true if the target now counts as failed: after a
// refusal, after its second failure, or after the second failure of the obstacle. first is true for the first counted
// failure of the obstacle. answer is the message for users.
func (o *Obstacle) failed(ref workload.Ref, reason string, sum uint64, why string, refusal bool) (answer string, counted, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m, to := o.targets[ref], o.groupOf(obstacle{ref.GroupKind, ref.Namespace, reason})
	if m == nil { // the kind was forgotten meanwhile
		m = &member{ref: ref, group: to, sum: sum}
		o.targets[ref] = m
		to.size++
	}
	from := m.group
	from.failures, from.why = from.failures+1, why
	if from.width, from.credit = 1, max(from.credit-1, 0); from.reason == "" && from.credit == 0 {
		o.queueUncounted(from)
	}
	if to != from {
		to.failures, to.why = to.failures+1, why
	}
	m.failures, m.why = m.failures+1, why
	o.move(m, to)
	o.next(from)
	o.next(to)
	m.counted = m.counted || refusal || m.failures > 1 || to.failures > 1
	first = m.counted && !to.logged
	to.logged = to.logged || m.counted
	return m.answer(), m.counted, first
}

// queueUncounted queues the waiting targets of a lane that do not count as failed yet.
func (o *Obstacle) queueUncounted(lane *group) {
	for _, m := range lane.waiting {
		if !m.left && !m.counted {
			o.queueAfter(m.ref, 0)
		}
	}
}

// passed records a write that did not fail. The other targets of its former obstacle return to the lane, because the
// obstacle may be gone.
func (o *Obstacle) passed(ref workload.Ref) {
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

// hurry probes at once two groups with the same obstacle in other namespaces, because it may be gone there too.
func (o *Obstacle) hurry(gone obstacle) {
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

// drop drops a target that was deleted or needs no write.
func (o *Obstacle) drop(ref workload.Ref) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m := o.targets[ref]; m != nil {
		o.leave(m)
	}
}

// ForgetKind drops every target of a kind.
func (o *Obstacle) ForgetKind(gk schema.GroupKind) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.groups, func(at obstacle, _ *group) bool { return at.kind == gk })
	maps.DeleteFunc(o.targets, func(ref workload.Ref, _ *member) bool { return ref.GroupKind == gk })
}

func (o *Obstacle) groupOf(at obstacle) *group {
	g := o.groups[at]
	if g == nil {
		g = &group{obstacle: at, width: fewWrites, credit: enoughFailures}
		o.groups[at] = g
	}
	return g
}

// hasRoom reports whether another target of a lane may be written without a pause.
func (g *group) hasRoom() bool { return g.reason == "" && g.trying < min(g.width, g.credit) }

// move moves a target from its group to the end of another group.
func (o *Obstacle) move(m *member, to *group) {
	m.group.size--
	if m.let {
		m.group.trying--
	}
	m.group, m.let = to, false
	to.size++
	to.waiting = append(to.waiting, m)
}

// leave drops a target. If it was in flight, the next target gets its turn.
func (o *Obstacle) leave(m *member) {
	delete(o.targets, m.ref)
	m.left = true
	m.group.size--
	if m.let {
		m.group.trying--
	}
	o.next(m.group)
}

// next lets waiting targets of a group through. A lane lets through as many targets as it has room for. Any other
// group, and a lane without room or targets in flight, lets one target through after a pause. An empty group is
// removed.
func (o *Obstacle) next(g *group) {
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

// hasNext reports whether a target waits. It removes targets that have left from the head of the list.
func (g *group) hasNext() bool {
	for len(g.waiting) > 0 && g.waiting[0].left {
		g.waiting = g.waiting[1:]
	}
	return len(g.waiting) > 0
}

// take removes and returns the next waiting target. The list must not be empty.
func (g *group) take() *member {
	m := g.waiting[0]
	g.waiting = g.waiting[1:]
	return m
}

// let marks a target as in flight and queues it after a pause.
func (o *Obstacle) let(m *member, pause time.Duration) {
	m.let = true
	m.group.trying++
	o.queueAfter(m.ref, pause)
}
