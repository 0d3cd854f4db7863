// Package resize gives the pods of targets the requests of the merged plan.
//
//   - Running pods are changed in place, and restored to their template once no policy claims requests any more. Workers take
//     targets from a queue. For each target a worker decides anew, plans, and writes within a budget, with one write for each
//     pod. All state is on the pods: the managedFields of the resize subresource show Flyball's changes (loop.go).
//   - Created pods start with the requests recommended for their owner. The webhook denies nothing, sends no requests, and has no
//     effect besides its answer. A pod with an unknown owner, or an unreadable pod, passes unchanged (newpods_webhook.go).
//
// Decisions (docs/decisions): 0035, 0036.
package resize

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/pods"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/reconcile/gate"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/tuning/rollout"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// ResizablePods returns the pods of targets.
type ResizablePods interface {
	pods.Index
	// Resized returns the owners, at any distance, of pods that Flyball has changed in place. ResizedPods returns the
	// changed pods with the given direct owner.
	Resized() []workload.Ref
	ResizedPods(ref workload.Ref) []*workload.Pod
}

// Turns limits how many targets of a policy restart pods at the same time.
type Turns interface {
	// TakeRestart asks whether a target may restart pods by changes in place now. waits is the reason to wait, or "". A
	// waiting target is decided again once it may go on.
	TakeRestart(ctx context.Context, ref workload.Ref, id workload.Policy, need rollout.Need) (waits string)
	// NoteRestart records the progress of a target; it is called before TakeRestart. settled is true if no pod of the
	// target is being restarted or has still to be restarted.
	NoteRestart(ref workload.Ref, settled bool)
}

// Options configure an Actuator.
type Options struct {
	// Clock is the clock of decisions. Default: the machine's.
	Clock clock.PassiveClock
	// Server returns the abilities of the API server.
	Server func() (podsize.ResizeOptions, error)
	Turns  Turns
	// Requeue queues a target again under its policies. Fault counts a panic on a target, a fault in Flyball.
	Requeue func(refs ...workload.Ref)
	Fault   func()
	// Kept reports that a pod keeps requests that no policy asks for any more, with the reason.
	Kept func(pod *workload.Pod, why string)
	Log  logr.Logger
}

const (
	// calm is the delay after a change of a target's pods, so changes at the same time are planned together.
	calm = 250 * time.Millisecond
	// writesPerSecond limits the pods changed in a second, over all targets, and so paces the work of nodes.
	writesPerSecond = 20
	// restartRetry is the time until the next check whether a pod may be restarted. Other pods that become ready
	// trigger an earlier check.
	restartRetry = time.Minute
)

// Actuator changes pods in place.
type Actuator struct {
	base    *pods.Skeleton
	opts    Options
	world   *world.World
	members ResizablePods
	keeper  gate.Protector
	metrics *Metrics
	budget  *workers.Budget
	queue   workqueue.TypedRateLimitingInterface[workload.Ref]
	// watch is the clock that paces writes.
	watch clock.PassiveClock

	mu sync.Mutex
	// running is true while this replica leads. Only the leader counts changes of policies.
	running bool
	// claimed are the targets with pods to change; notes has their progress.
	claimed map[workload.Ref]struct{}
	notes   map[workload.Ref]Note
	// failures has the reasons why pods could not be restored, by their owner.
	failures map[workload.Ref]string
	// refused has the permanently refused changes. The first key is a target, or an owner of pods to restore. The
	// second key is the UID of the pod.
	refused map[workload.Ref]map[string]refusal
	// keeping has the pods that cannot be restored, by their owner and UID.
	keeping map[workload.Ref]map[string]keeping
}

// Note is the progress of the pods of a target that are changed in place.
type Note struct {
	Policy workload.Policy
	workload.Resizing
	// Failure is the error. Frozen is the freeze that changes wait for. Turn is the reason for which restarts wait.
	// Empty: none.
	Failure, Frozen, Turn string
}

// Stuck reports whether some pod cannot be changed in place.
func (n *Note) Stuck() bool { return n.Infeasible > 0 }

// Waits returns the reason for which changes wait, or "".
func (n *Note) Waits() string {
	var parts []string
	for _, p := range []struct {
		count int
		what  string
	}{{n.Waiting, "to be changed in place"}, {n.InProgress, "being changed by the node"}, {n.Deferred, "deferred by the node"},
		{n.Infeasible, "that cannot be changed in place"}} {
		if p.count > 0 {
			parts = append(parts, workload.Count(p.count, "pod")+" "+p.what)
		}
	}
	text := strings.Join(parts, ", ")
	for _, why := range []string{n.Frozen, n.Turn, n.Message} {
		if text != "" && why != "" {
			text += ": " + why
		}
	}
	return text
}

// New returns an Actuator. It observes the world from now on, and works once it runs.
func New(w *world.World, m ResizablePods, writer pods.Writer, k gate.Protector, metrics *Metrics, opts Options) *Actuator {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	base := pods.NewSkeleton(m, writer, calm)
	l := &Actuator{
		base: base, opts: opts, world: w, members: m, keeper: k, metrics: metrics, budget: workers.NewBudget(writesPerSecond), queue: base.Queue,
		watch: clock.RealClock{}, claimed: map[workload.Ref]struct{}{}, notes: map[workload.Ref]Note{}, failures: map[workload.Ref]string{},
		refused: map[workload.Ref]map[string]refusal{}, keeping: map[workload.Ref]map[string]keeping{},
	}
	m.Observe(l)
	w.Observe(l)
	return l
}

// Run works until the context ends.
func (l *Actuator) Run(ctx context.Context) {
	l.mu.Lock()
	l.running = true
	l.mu.Unlock()
	for p := range l.world.Snapshot().Policies {
		l.begin(p)
	}
	l.base.Run(ctx, l.process, l.fault, l.opts.Log)
}

// Decided implements reconcile.Actuator.
func (l *Actuator) Decided(ref workload.Ref, v *decide.Verdict) {
	_, claimed := claimOf(v.Plan)
	l.mu.Lock()
	_, was := l.claimed[ref]
	if claimed {
		l.claimed[ref] = struct{}{}
	} else {
		delete(l.claimed, ref)
	}
	l.mu.Unlock()
	if was || claimed || len(l.members.Groups(ref)) > 0 {
		l.queue.Add(ref)
	}
}

// claimOf returns a claim for changes in place, or false.
func claimOf(p workload.Plan) (workload.Claim[int64], bool) {
	for key, claim := range p.Amounts {
		if key.Kind == workload.AmountInPlace {
			return claim, true
		}
	}
	return workload.Claim[int64]{}, false
}

// MembersChanged implements pods.Listener.
func (l *Actuator) MembersChanged(refs []workload.Ref) { l.base.Calm(refs...) }

// MembersSettled implements pods.Listener.
func (l *Actuator) MembersSettled() { l.queueAll() }

// AfterPublish implements world.Observer: a freeze may have begun or ended, and the claims of policies with it.
func (l *Actuator) AfterPublish(_ *world.Snapshot, c *world.Change) {
	for _, p := range c.Policies {
		if p.New == nil {
			l.metrics.forget(p.ID)
		} else {
			l.begin(p.New)
		}
	}
	if c.MovesClaims() {
		l.queueAll()
	}
}

// begin starts counting changes in place for a policy that may ask for some.
func (l *Actuator) begin(p *world.Policy) {
	l.mu.Lock()
	running := l.running
	l.mu.Unlock()
	if running && p.Tuner != nil {
		l.metrics.begin(p.ID)
	}
}

func (l *Actuator) queueAll() {
	l.mu.Lock()
	refs := make([]workload.Ref, 0, len(l.claimed))
	for ref := range l.claimed {
		refs = append(refs, ref)
	}
	l.mu.Unlock()
	l.base.Add(append(refs, l.members.Resized()...)...)
}

// fault records a panic.
func (l *Actuator) fault(ref workload.Ref, err error) {
	l.opts.Fault()
	l.mu.Lock()
	n, noted := l.notes[ref]
	l.mu.Unlock()
	if n.Failure = "a fault in Flyball, please report it: " + err.Error(); noted {
		l.setNote(ref, n)
	}
}

// Note returns the progress of a target's pods.
func (l *Actuator) Note(ref workload.Ref) Note {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.notes[ref]
}

// setNote stores a note, and reports it if it is new.
func (l *Actuator) setNote(ref workload.Ref, n Note) {
	l.mu.Lock()
	before, had := l.notes[ref]
	l.notes[ref] = n
	l.mu.Unlock()
	if !had || before != n {
		l.opts.Requeue(ref)
	}
}

// Mark implements reconcile.Actuator. It adds the state of a target's pods to the result of the policy that changes them in
// place.
func (l *Actuator) Mark(ref workload.Ref, _ []decide.Opinion, results []status.TargetResult) {
	n := l.Note(ref)
	for i := range results {
		r := &results[i]
		if r.Policy != n.Policy || r.State != status.Set {
			continue
		}
		switch waits := n.Waits(); {
		case n.Failure != "":
			r.State, r.Failure = status.Failed, n.Failure
		case waits != "":
			r.State, r.Waiting = status.Pending, waits
		}
	}
}

// Report implements reconcile.Actuator. The report of tuning has the progress of changes in place.
func (l *Actuator) Report(*world.Policy, policy.Object) (reason, message string) { return "", "" }

// isSettled reports whether neither a plan nor an earlier change restarts a pod of a target.
func isSettled(f *workload.Fleet, plan podsize.ResizePlan) bool {
	return plan.Restarts == 0 && !podsize.IsRestarting(f)
}

// forget drops the note of a target without a claim, also after a start, when the claim may not be known yet. The
// target keeps its turn while an earlier change may still restart its pods.
func (l *Actuator) forget(ref workload.Ref, f *workload.Fleet) {
	l.mu.Lock()
	_, had := l.notes[ref]
	delete(l.notes, ref)
	l.mu.Unlock()
	l.opts.Turns.NoteRestart(ref, isSettled(f, podsize.ResizePlan{}))
	if had {
		l.opts.Requeue(ref)
	}
}

// process brings the pods of a target to its merged plan. It returns an error if another try is needed.
func (l *Actuator) process(ctx context.Context, ref workload.Ref) error {
	f, known := l.members.Fleet(ref)
	if !known {
		return nil // MembersSettled queues the target again
	}
	v := decide.Target(l.world.Snapshot(), ref, l.opts.Clock.Now(), nil)
	if hasBoosted(f) && asksOfRequests(v.Plan) {
		if wrote, err := l.endBoosts(ctx, ref, f); wrote || err != nil {
			return err
		}
	}
	claim, claimed := claimOf(v.Plan)
	if !claimed {
		l.forget(ref, f)
		return l.giveBack(ctx, ref)
	}
	own := v.Kind.Adapter.Observe(v.Object).Allocations
	want := wantOf(podsize.InPlace(v.Plan.Amounts, own))
	n := Note{Policy: claim.By}
	server, err := l.opts.Server()
	if err != nil {
		n.Failure = err.Error()
		l.setNote(ref, n)
		return err
	}
	plan := podsize.PlanResizes(f, want, server, l.refusals(ref))
	n.Resizing = plan.Resizing
	l.opts.Turns.NoteRestart(ref, isSettled(f, plan))
	if len(plan.Changes) == 0 {
		l.setNote(ref, n)
		return nil
	}
	if closed, again := l.frozen(l.above(ref)); closed != "" {
		n.Frozen = closed
		l.setNote(ref, n)
		l.queue.AddAfter(ref, again)
		return nil
	}
	if n.Turn = l.takeTurn(ctx, ref, claim, &plan); n.Turn != "" {
		plan.Changes = slices.DeleteFunc(plan.Changes, restarts)
	}
	if len(plan.Changes) > 0 {
		if err = l.keeper.PutFinalizer(ctx, v.Kind); err == nil {
			err = l.carryOut(ctx, ref, &n, plan.Changes, func() podsize.ResizePlan { return podsize.PlanResizes(f, want, server, l.refusals(ref)) })
		}
	}
	if err != nil {
		n.Failure = err.Error()
	}
	l.setNote(ref, n)
	return err
}

// carryOut writes changes of a target's pods and records their progress. again is called for a new plan after a
// refusal.
func (l *Actuator) carryOut(ctx context.Context, ref workload.Ref, n *Note, changes []podsize.ResizeChange,
	again func() podsize.ResizePlan) error {
	done, refused, err := l.writeAll(ctx, ref, n.Policy, changes)
	if refused > 0 {
		n.Resizing = again().Resizing
		l.queue.AddAfter(ref, calm) // other changes may have waited for the refused changes
	}
	n.Waiting -= done
	n.InProgress += done // they count as in progress until the node reports another state
	return err
}

func restarts(c podsize.ResizeChange) bool { return c.Restarts }

// takeTurn asks whether the restarting changes of a plan may be made now. It returns the reason to wait. It returns ""
// if the changes may be made, or if the plan has no such changes.
func (l *Actuator) takeTurn(ctx context.Context, ref workload.Ref, claim workload.Claim[int64], plan *podsize.ResizePlan) (waits string) {
	if !slices.ContainsFunc(plan.Changes, restarts) {
		return ""
	}
	return l.opts.Turns.TakeRestart(ctx, ref, claim.By, rollout.Need{Since: claim.Since, Memory: plan.MoreMemory})
}

func wantOf(all map[string]workload.Allocation) podsize.Sizes {
	w := podsize.Sizes{}
	for name, a := range all {
		w[name] = resourcesOf(a)
	}
	return w
}

func resourcesOf(a workload.Allocation) workload.Resources {
	return workload.Resources{CPU: a.Requests.MilliCPU, Memory: a.Requests.MemoryBytes, CPULimit: a.Limits.MilliCPU,
		MemoryLimit: a.Limits.MemoryBytes}
}
