// Package resize changes the pods of targets in place, so that what their containers request is what the policies agreed on, and gives
// them back what their template asks for once nobody asks for anything else. A loop of workers takes targets from a queue; for each it
// decides anew, plans, and writes within a budget, one write a pod. Nothing is remembered that is not on the pods: what Flyball has changed
// is what managedFields say of the resize subresource.
//
// Decisions (docs/decisions): 0035.
package resize

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/fleet"
	"flyball.dev/flyball/engine/fleet/inplace"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Members knows the pods of targets.
type Members interface {
	// Fleet gives the active pods of a target; false: not everything is known yet.
	Fleet(ref workload.Ref) (*fleet.Fleet, bool)
	// Resized lists what owns a pod that Flyball has changed in place, however far above it, and ResizedPods such pods that an object owns
	// directly. Groups lists what owns pods directly below a target, and Above what owns an object; it is sure where there can be no others.
	Resized() []workload.Ref
	ResizedPods(ref workload.Ref) []*fleet.Pod
	Groups(ref workload.Ref) []workload.Ref
	Above(ref workload.Ref) (refs []workload.Ref, sure bool)
	// Trouble says why not everything is known.
	Trouble() string
}

// Writer sends patches.
type Writer interface {
	Apply(ctx context.Context, resource schema.GroupVersionResource, obj *workload.Object, patch *workload.Patch) (apply.Outcome, error)
}

// Keeper keeps an adapter from being deleted.
type Keeper interface {
	// PutFinalizer sees to it that the adapter of a kind cannot go while something has to be given back through it.
	PutFinalizer(ctx context.Context, k *decide.Kind) error
}

// Turns lets restart pods at once the pods of so many targets of a policy as it permits.
type Turns interface {
	// TakeRestart asks whether a target may restart pods by changes in place now; waits says what that waits for; empty: it may. Who has to wait
	// is decided again once that may be over.
	TakeRestart(ctx context.Context, ref workload.Ref, id workload.Policy, need apply.Need) (waits string)
	// LookRestart takes note of how far a target is, before it asks: settled says that no pod of it is being restarted, or is to be.
	LookRestart(ref workload.Ref, settled bool)
}

// Options say how a Loop runs.
type Options struct {
	// Clock tells the time by which policies are decided. Default: the machine's.
	Clock clock.PassiveClock
	// Server asks what the API server can do.
	Server func() (inplace.Options, error)
	Turns  Turns
	// Requeue has a target told of anew under its policies. Fault counts a target that could not be worked on because of a fault in Flyball.
	Requeue func(refs ...workload.Ref)
	Fault   func()
	// Kept tells that a pod keeps the requests that it was given although nobody asks for them any more, and why.
	Kept func(pod *fleet.Pod, why string)
	Log  logr.Logger
}

const (
	// parallel is the number of targets worked on at once.
	parallel = 4
	// calm is how long a target waits after a change of its pods, so that changes that come together are planned together.
	calm = 250 * time.Millisecond
	// writesPerSecond is how many pods are changed in a second, over all targets; what nodes make of that is paced by them.
	writesPerSecond = 20
	// restartRetry is after how long it is looked again whether a pod may be restarted; that others are ready is heard of before.
	restartRetry = time.Minute
)

// Loop changes pods in place.
type Loop struct {
	opts    Options
	world   *world.World
	members Members
	writer  Writer
	keeper  Keeper
	metrics *Metrics
	budget  *workers.Budget
	queue   workqueue.TypedRateLimitingInterface[workload.Ref]
	// watch tells the time by which writes are paced.
	watch clock.PassiveClock

	mu sync.Mutex
	// running says that this replica leads, and so counts what policies have done.
	running bool
	// claimed are the targets whose pods are to be changed; notes is what has become of them.
	claimed map[workload.Ref]struct{}
	notes   map[workload.Ref]Note
	// failures are why pods could not be given back, by what owns them.
	failures map[workload.Ref]string
	// refused are the changes that were refused for good, by the UIDs of the pods: those of a target, and those of what owns pods that are given
	// back.
	refused map[workload.Ref]map[string]refusal
	// keeping are the pods that cannot be given back, by what owns them and by their UIDs.
	keeping map[workload.Ref]map[string]keeping
}

// Note is what has become of the pods of a target that are to be changed in place.
type Note struct {
	Policy workload.Policy
	fleet.Resizing
	// Failure says what went wrong, Frozen which freeze the changes wait for, and Turn what those wait for that restart pods; empty: nothing.
	Failure, Frozen, Turn string
}

// Stuck says whether some pod cannot be changed in place.
func (n *Note) Stuck() bool { return n.Infeasible > 0 }

// Waits says what the changes wait for; empty: for nothing.
func (n *Note) Waits() string {
	var parts []string
	for _, p := range []struct {
		count int
		what  string
	}{{n.Waiting, "to be changed in place"}, {n.InProgress, "being changed by the node"}, {n.Deferred, "deferred by the node"}, {n.Infeasible, "that cannot be changed in place"}} {
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

// New makes a Loop. It hears of changes of the world from now on, and works once it runs.
func New(w *world.World, m Members, writer Writer, k Keeper, metrics *Metrics, opts Options) *Loop {
	if opts.Clock == nil {
		opts.Clock = clock.RealClock{}
	}
	l := &Loop{
		opts: opts, world: w, members: m, writer: writer, keeper: k, metrics: metrics, budget: workers.NewBudget(writesPerSecond),
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[workload.Ref](time.Second, time.Minute)),
		watch: clock.RealClock{}, claimed: map[workload.Ref]struct{}{}, notes: map[workload.Ref]Note{}, failures: map[workload.Ref]string{},
		refused: map[workload.Ref]map[string]refusal{}, keeping: map[workload.Ref]map[string]keeping{},
	}
	w.Observe(l)
	return l
}

// Run works until the context ends.
func (l *Loop) Run(ctx context.Context) {
	l.mu.Lock()
	l.running = true
	l.mu.Unlock()
	for p := range l.world.Snapshot().Policies {
		l.begin(p)
	}
	workers.Loop{Queue: l.queue, Process: l.process, Fault: l.fault, Log: l.opts.Log}.Run(ctx, parallel)
}

// Decided takes note of a target that was decided.
func (l *Loop) Decided(ref workload.Ref, v *decide.Verdict) {
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

// claimOf is a claim by which the pods of a target are to be changed in place; false: there is none.
func claimOf(p workload.Plan) (workload.Claim[int64], bool) {
	for key, claim := range p.Amounts {
		if key.Kind == workload.AmountInPlace {
			return claim, true
		}
	}
	return workload.Claim[int64]{}, false
}

// MembersChanged implements members.Listener.
func (l *Loop) MembersChanged(refs []workload.Ref) {
	for _, ref := range refs {
		l.queue.AddAfter(ref, calm)
	}
}

// MembersSettled implements members.Listener.
func (l *Loop) MembersSettled() { l.queueAll() }

// Changed implements world.Observer: a freeze may have come or gone, and what policies asked for with it.
func (l *Loop) Changed(_ *world.Snapshot, c *world.Change) {
	for _, p := range c.Policies {
		if p.New == nil {
			l.metrics.forget(p.ID)
		} else {
			l.begin(p.New)
		}
	}
	if len(c.Policies) > 0 || len(c.Kinds) > 0 || c.Judging {
		l.queueAll()
	}
}

// begin has changes in place counted for a policy that may ask for some.
func (l *Loop) begin(p *world.Policy) {
	l.mu.Lock()
	running := l.running
	l.mu.Unlock()
	if running && p.Tuner() != nil {
		l.metrics.begin(p.ID)
	}
}

func (l *Loop) queueAll() {
	l.mu.Lock()
	refs := make([]workload.Ref, 0, len(l.claimed))
	for ref := range l.claimed {
		refs = append(refs, ref)
	}
	l.mu.Unlock()
	for _, ref := range append(refs, l.members.Resized()...) {
		l.queue.Add(ref)
	}
}

// fault takes note of a panic.
func (l *Loop) fault(ref workload.Ref, err error) {
	l.opts.Fault()
	l.mu.Lock()
	n, noted := l.notes[ref]
	l.mu.Unlock()
	if n.Failure = "a fault in Flyball, please report it: " + err.Error(); noted {
		l.setNote(ref, n)
	}
}

// Note is what has become of the pods of a target.
func (l *Loop) Note(ref workload.Ref) Note {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.notes[ref]
}

// setNote remembers a note, and has it told if it is news.
func (l *Loop) setNote(ref workload.Ref, n Note) {
	l.mu.Lock()
	before, had := l.notes[ref]
	l.notes[ref] = n
	l.mu.Unlock()
	if !had || before != n {
		l.opts.Requeue(ref)
	}
}

// IsRestarting says whether changes that were made may still restart pods of a target.
func (l *Loop) IsRestarting(ref workload.Ref) bool {
	f, known := l.members.Fleet(ref)
	return known && inplace.IsRestarting(f)
}

// isSettled says that a plan restarts no pod of a target, and that no change that was made is about to.
func isSettled(f *fleet.Fleet, plan inplace.Plan) bool {
	return plan.Restarts == 0 && !inplace.IsRestarting(f)
}

// forget drops the note of a target whose pods are not to be changed any more, or not yet: after a start nobody may have said so. It keeps its
// turn while a change that was made may still restart pods of it.
func (l *Loop) forget(ref workload.Ref, f *fleet.Fleet) {
	l.mu.Lock()
	_, had := l.notes[ref]
	delete(l.notes, ref)
	l.mu.Unlock()
	l.opts.Turns.LookRestart(ref, isSettled(f, inplace.Plan{}))
	if had {
		l.opts.Requeue(ref)
	}
}

// process brings the pods of one target to what its policies agree on. It returns an error when it has to be tried again.
func (l *Loop) process(ctx context.Context, ref workload.Ref) error {
	f, known := l.members.Fleet(ref)
	if !known {
		return nil // MembersSettled comes
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
	want := wantOf(adapter.InPlace(v.Plan.Amounts, own))
	n := Note{Policy: claim.By}
	server, err := l.opts.Server()
	if err != nil {
		n.Failure = err.Error()
		l.setNote(ref, n)
		return err
	}
	plan := inplace.For(f, want, server, l.refusals(ref))
	n.Resizing = plan.Resizing
	l.opts.Turns.LookRestart(ref, isSettled(f, plan))
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
			err = l.carryOut(ctx, ref, &n, plan.Changes, func() inplace.Plan { return inplace.For(f, want, server, l.refusals(ref)) })
		}
	}
	if err != nil {
		n.Failure = err.Error()
	}
	l.setNote(ref, n)
	return err
}

// carryOut writes changes of the pods of a target, and takes down what has become of them. again plans anew.
func (l *Loop) carryOut(ctx context.Context, ref workload.Ref, n *Note, changes []inplace.Change, again func() inplace.Plan) error {
	done, refused, err := l.writeAll(ctx, ref, n.Policy, changes)
	if refused > 0 {
		n.Resizing = again().Resizing
		l.queue.AddAfter(ref, calm) // who has waited for those
	}
	n.Waiting -= done
	n.InProgress += done // until its node says otherwise
	return err
}

func restarts(c inplace.Change) bool { return c.Restarts }

// takeTurn asks whether the changes of a plan that restart pods may be made now. It says what they wait for; empty: they may, or there are none.
func (l *Loop) takeTurn(ctx context.Context, ref workload.Ref, claim workload.Claim[int64], plan *inplace.Plan) (waits string) {
	if !slices.ContainsFunc(plan.Changes, restarts) {
		return ""
	}
	return l.opts.Turns.TakeRestart(ctx, ref, claim.By, apply.Need{Since: claim.Since, Memory: plan.MoreMemory})
}

func wantOf(all map[string]workload.Allocation) inplace.Want {
	w := inplace.Want{}
	for name, a := range all {
		w[name] = resourcesOf(a)
	}
	return w
}

func resourcesOf(a workload.Allocation) fleet.Resources {
	return fleet.Resources{CPU: a.Requests.MilliCPU, Memory: a.Requests.MemoryBytes, CPULimit: a.Limits.MilliCPU, MemoryLimit: a.Limits.MemoryBytes}
}
