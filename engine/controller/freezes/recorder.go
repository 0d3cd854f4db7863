package freezes

import (
	"context"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	freezeadmission "flyball.dev/flyball/engine/admission/freeze"
	"flyball.dev/flyball/engine/admission/rights"
	"flyball.dev/flyball/engine/policy/freeze"

	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

const (
	// writeInterval is the interval of writing counts to status.
	writeInterval = 500 * time.Millisecond
	// creatorKept is the time for which the creator of an exception is kept in memory while the exception is not seen.
	// The API server may have refused the exception after the webhook allowed it.
	creatorKept = time.Minute
	// writesAtOnce is the maximum number of writes in flight. Slow writes do not count.
	writesAtOnce = 8
)

// Recorder records verdicts. It records metrics at once. Counts in the status of policies, and events, follow a
// moment later, with several requests in one write. Every replica has its own counts and adds them to the status.
type Recorder struct {
	client  client.Client
	metrics *Metrics
	world   *world.World
	now     func() time.Time
	log     logr.Logger

	mu        sync.Mutex
	denials   map[workload.Policy]*denied
	queue     []announcement
	creators  map[types.UID]creator
	occasions map[occasion]*occasionEvents
	signal    chan struct{}
	crew      *workers.Crew
	// appeared receives a value when the world has an exception whose creator is not written yet.
	appeared chan struct{}

	// wall returns the time of this machine's clock. It is used to limit events. instance is the name of this manager in
	// events.
	wall     func() time.Time
	instance string

	// announced is called with each event about a policy, before the event is sent. It must not wait.
	announced func(id workload.Policy, reason, action, text string)
	// mark begins the texts of events about changes.
	mark string
}

// denied has the counts that are not yet added to the status of a policy.
type denied struct {
	counts v1alpha1.DeniedCounts
	last   v1alpha1.LastDenial
}

type creator struct {
	exception workload.Policy
	user      string
	at        time.Time
}

// NewRecorder returns a Recorder. The client must read from a cache. The metrics of a policy are removed when the
// policy leaves the world. mark begins the texts of events about changes; empty: none.
func NewRecorder(cached client.Client, m *Metrics, w *world.World, now func() time.Time,
	announced func(id workload.Policy, reason, action, text string), mark string, log logr.Logger) *Recorder {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	n := &Recorder{client: cached, metrics: m, world: w, now: now, announced: announced, wall: time.Now, instance: reporter + "-" + host,
		log: log, mark: mark,
		denials: map[workload.Policy]*denied{}, creators: map[types.UID]creator{}, occasions: map[occasion]*occasionEvents{},
		crew: workers.NewCrew(writesAtOnce), signal: make(chan struct{}, 1), appeared: make(chan struct{}, 1)}
	w.Observe(n)
	return n
}

// AfterPublish implements world.Observer.
func (n *Recorder) AfterPublish(_ *world.Snapshot, c *world.Change) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range c.Policies {
		if p.New == nil {
			n.metrics.forgetPolicy(p.ID)
			continue
		}
		if _, waiting := n.creators[p.New.Object.GetUID()]; waiting {
			workers.Poke(n.appeared)
		}
	}
}

// Judged records a request.
func (n *Recorder) Judged(j freezeadmission.Judgement) {
	n.metrics.seconds.Observe(j.Took.Seconds())
	n.metrics.requests.WithLabelValues(verdictOf(&j), j.Request.Kind.String()).Inc()
	if j.Err != nil {
		n.metrics.errors.Inc()
	}
	if len(j.Verdict.Denials)+len(j.Verdict.Lifts)+len(j.Escaped) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.metrics.judged(&j.Verdict, n.world.Snapshot())
	for _, d := range j.Verdict.Denials {
		n.count(&j, d)
	}
	for _, a := range n.judgedEvents(&j) {
		n.announce(a)
	}
	workers.Poke(n.signal)
}

func nameOf(r *freeze.UserChange) string {
	return workload.Ref{GroupKind: r.Kind, Namespace: r.Namespace, Name: r.Name}.String()
}

// verdictOf returns the verdict in one word.
func verdictOf(j *freezeadmission.Judgement) string {
	switch {
	case j.Err != nil:
		return "error"
	case j.Overridden:
		return "overridden"
	case !j.Verdict.Allowed:
		return "denied"
	case j.Verdict.Enforcement == v1alpha1.EnforcementWarn:
		return "warned"
	case j.Verdict.Enforcement == v1alpha1.EnforcementAudit:
		return "audited"
	case len(j.Verdict.Lifts) > 0:
		return "lifted"
	default:
		return "allowed"
	}
}

// count adds a denial to the counts for the policy's status.
func (n *Recorder) count(j *freezeadmission.Judgement, d freeze.Denial) {
	entry := n.denials[d.Policy]
	if entry == nil {
		entry = &denied{}
		n.denials[d.Policy] = entry
	}
	add(&entry.counts, d.Actions)
	entry.last = v1alpha1.LastDenial{
		Time: metav1.NewTime(j.Request.Now.Truncate(time.Second)), User: j.Request.User,
		Kind: j.Request.Kind.String(), Namespace: j.Request.Namespace, Name: j.Request.Name,
	}
	for _, a := range d.Actions.Names() {
		entry.last.Actions = append(entry.last.Actions, v1alpha1.Action(a))
	}
}

func add(c *v1alpha1.DeniedCounts, actions workload.Change) {
	for _, one := range []struct {
		action workload.Change
		count  *int64
	}{
		{workload.ChangeCreate, &c.Create}, {workload.ChangeDelete, &c.Delete}, {workload.ChangeRollOut, &c.RollOut},
		{workload.ChangeScale, &c.Scale},
	} {
		if actions.Has(one.action) {
			*one.count++
		}
	}
}

// Guarded records the use of a right.
func (n *Recorder) Guarded(g rights.Guarded) {
	verdict, reason, action, text := "overridden", "Overridden", "Overrule", g.What+" by "+g.User
	if g.Verb == rights.VerbExcept {
		verdict, reason, action, text = "excepted", "ExceptionMade", "Except", g.What+"d by "+g.User
	}
	n.metrics.requests.WithLabelValues(verdict, g.Policy.Kind+"."+v1alpha1.GroupVersion.Group).Inc()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.announce(announcement{policy: g.Policy, kind: corev1.EventTypeWarning, reason: reason, action: action, text: text, same: text,
		until: g.At.Add(creatorKept), gone: g.Verb == rights.VerbOverride})
	if g.Verb == rights.VerbExcept && g.What == "create" {
		n.creators[types.UID(g.UID)] = creator{exception: g.Policy, user: g.User, at: g.At}
	}
	workers.Poke(n.signal)
}

// NeedLeaderElection returns false, because every replica keeps its own records.
func (n *Recorder) NeedLeaderElection() bool { return false }

// Start writes records until the context ends. Then it writes the remaining records once. The error is always nil.
func (n *Recorder) Start(ctx context.Context) error {
	var creators sync.WaitGroup
	creators.Go(func() { n.followCreators(ctx) })
	for {
		select {
		case <-ctx.Done():
			creators.Wait()
			n.crew.Wait()
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			n.flush(last)
			n.crew.Wait()
			return nil
		case <-n.signal:
		}
		n.flush(ctx)
		select {
		case <-ctx.Done():
		case <-time.After(writeInterval):
		}
	}
}

// flush writes all records. A write without an answer does not delay other writes.
func (n *Recorder) flush(ctx context.Context) {
	n.mu.Lock()
	n.queueRest()
	denials, queue := n.denials, n.queue
	n.denials, n.queue = map[workload.Policy]*denied{}, nil
	n.mu.Unlock()
	for _, r := range queue {
		n.crew.Do(func() {
			if !n.deliver(ctx, r) && n.now().Before(r.until) {
				n.mu.Lock()
				n.queue = append(n.queue, r)
				n.mu.Unlock()
				n.again()
			}
		})
	}
	for id, d := range denials {
		n.crew.Do(func() {
			if err := n.addDenials(ctx, id, d); err != nil {
				n.log.V(1).Info("Failed to write the counts; will retry", "policy", id.String(), "reason", err.Error())
				n.putBack(id, d)
				n.again()
			}
		})
	}
	n.recordCreators(ctx)
	n.crew.Settle()
}

// again triggers another flush.
func (n *Recorder) again() {
	time.AfterFunc(writeInterval, func() { workers.Poke(n.signal) })
}

// followCreators writes the creator of an exception as soon as the exception is seen. Until then only this replica
// knows the creator.
func (n *Recorder) followCreators(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-n.appeared:
			n.recordCreators(ctx)
		}
	}
}

// recordCreators writes the creators of exceptions.
func (n *Recorder) recordCreators(ctx context.Context) {
	n.mu.Lock()
	creators := maps.Clone(n.creators)
	n.mu.Unlock()
	for uid, c := range creators {
		n.crew.Do(func() {
			there, err := n.recordCreator(ctx, uid, c)
			if err != nil {
				n.log.V(1).Info("Failed to write the creator of the exception; will retry", "exception", c.exception.String(), "reason", err.Error())
			}
			if there && err == nil || !there && n.now().Sub(c.at) > creatorKept {
				n.mu.Lock()
				delete(n.creators, uid)
				n.mu.Unlock()
				return
			}
			n.again()
		})
	}
}

// putBack merges unwritten counts with newer ones.
func (n *Recorder) putBack(id workload.Policy, d *denied) {
	n.mu.Lock()
	defer n.mu.Unlock()
	newer := n.denials[id]
	if newer == nil {
		n.denials[id] = d
		return
	}
	newer.counts.Create += d.counts.Create
	newer.counts.Delete += d.counts.Delete
	newer.counts.RollOut += d.counts.RollOut
	newer.counts.Scale += d.counts.Scale
}
