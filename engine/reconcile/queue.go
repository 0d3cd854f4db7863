package reconcile

import (
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/reconcile/gate"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// retryMin and retryMax are the limits of the pause before a failed write is retried, so every target is right within
// half a minute after an obstacle is gone.
const retryMin, retryMax = 250 * time.Millisecond, 10 * time.Second

// Queue has the targets to be decided, and the targets that wait: for an instant, for the retry of a failed write, or
// for their wave. It is the part of the Loop that others add targets to.
type Queue struct {
	world   *world.World
	tracker *status.Tracker
	queue   workqueue.TypedRateLimitingInterface[workload.Ref]
	timer   *timer
	// lagging gives the pauses after errBehind, while the watch has not delivered an object's current form.
	lagging workqueue.TypedRateLimiter[workload.Ref]
	// obstacle and wave are the gates that keep targets in an order.
	obstacle *gate.Obstacle
	wave     *gate.Wave
	// started becomes true when the Loop begins, after all targets were queued.
	started atomic.Bool
}

// NewQueue returns an empty Queue. clock is the clock for decisions.
func NewQueue(w *world.World, tracker *status.Tracker, clock clock.WithTicker) *Queue {
	q := &Queue{
		world: w, tracker: tracker, timer: newTimer(clock), wave: gate.NewWave(tracker.Dirty), lagging: newBackoff(behindMin, retryMax),
		queue: workqueue.NewTypedRateLimitingQueue(newBackoff(retryMin, retryMax)),
	}
	q.obstacle = gate.NewObstacle(retryMin, retryMax, q.queue.AddAfter, q.addRelatives)
	q.timer.setBack = q.decideAll
	return q
}

// Add queues targets.
func (q *Queue) Add(refs ...workload.Ref) {
	for _, ref := range refs {
		q.queue.Add(ref)
	}
}

// AddAfter queues a target after a pause.
func (q *Queue) AddAfter(ref workload.Ref, pause time.Duration) { q.queue.AddAfter(ref, pause) }

// SetDeadline queues a target at an instant, beside the instant of its own decision. A zero instant removes the
// deadline.
func (q *Queue) SetDeadline(ref workload.Ref, at time.Time) {
	q.timer.Set(key{target: ref, deadline: true}, at)
}

// addRelatives queues the autoscalers and the scale target of a target, because they may wait for its write.
func (q *Queue) addRelatives(ref workload.Ref) {
	for _, r := range gate.RelativesOf(q.world.Snapshot(), ref) {
		q.queue.Add(r.Ref)
	}
}

// Retry queues every object of a kind without the pauses of earlier failures, because the API server answers again.
func (q *Queue) Retry(k *world.LiveKind) {
	q.obstacle.ForgetKind(k.GroupKind)
	k.Live.Range(func(obj *workload.Object) bool {
		ref := k.Ref(obj)
		q.queue.Forget(ref)
		q.queue.Add(ref)
		return true
	})
}

// decideAll queues every object and marks every policy, because a clock that was set back makes all answers doubtful.
func (q *Queue) decideAll() {
	s := q.world.Snapshot()
	for _, k := range s.Kinds() {
		q.Retry(k)
	}
	for p := range s.Policies {
		q.tracker.Dirty(p.ID)
	}
}

// Arrived marks a new object as pending under the policies that select it.
func (q *Queue) Arrived(ref workload.Ref) {
	q.wave.Arrived(ref)
	s := q.world.Snapshot()
	k, obj := s.Kind(ref.GroupKind), s.Object(ref)
	if k == nil || obj == nil {
		return
	}
	decide.EachAsked(s, k, obj, func(p *decide.Policy) {
		q.tracker.Expect(p.ID, ref)
		q.tracker.Dirty(p.ID)
	})
}

// Started reports whether the workers run and all targets were queued.
func (q *Queue) Started() bool { return q.started.Load() }

// Stop shuts down a Queue whose Loop never runs.
func (q *Queue) Stop() { q.queue.ShutDown() }

// SetTransition implements status.Targets.
func (q *Queue) SetTransition(id workload.Policy, at time.Time) { q.timer.Set(key{policy: id}, at) }

// FireDue implements status.Targets.
func (q *Queue) FireDue() { q.timer.fireDue(q.fire) }

// Open implements status.Targets.
func (q *Queue) Open(id workload.Policy) ([]decide.Wave, int) { return q.wave.Open(id) }

// fire handles due instants. It first records the transitions that have begun, then marks the due targets as pending
// and queues them, and only then requests status writes. So no status counts a target as settled before the target is
// decided.
func (q *Queue) fire(due []key) {
	targets := make([]workload.Ref, 0, len(due))
	for _, k := range due {
		if k.policy == (workload.Policy{}) {
			targets = append(targets, k.target)
			continue
		}
		q.tracker.Began(k.policy)
	}
	q.tracker.Await(targets)
	q.Add(targets...)
	for _, k := range due {
		if k.policy != (workload.Policy{}) {
			q.tracker.Dirty(k.policy)
		}
	}
}
