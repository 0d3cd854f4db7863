// Package idle asks a Prometheus server for the demand for the targets of policies, one query a policy and interval, and gives the
// resulting knowledge of their use to the world. Only the leader asks. Nothing is stored: after a start, and after each lost
// answer, the server's history gives the knowledge back.
package idle

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	promapi "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/demand"
	"flyball.dev/flyball/engine/prometheus"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Server is a Prometheus server.
type Server interface {
	// Now returns the values of a query at present, by the server's clock if the instant is zero.
	Now(ctx context.Context, query string, at time.Time) (found model.Vector, warnings []string, err error)
	// Range returns the values of a query over time.
	Range(ctx context.Context, query string, r promapi.Range) (found model.Matrix, warnings, remarks []string, err error)
	// Failed returns the error of a query with the name of the server.
	Failed(name, query string, err error) error
}

// Servers are clients of one Prometheus server. Tenants is for the policies with a namespace: their authors may query what they
// like, so its limit of an answer is smaller.
type Servers struct{ All, Tenants Server }

// maxBytes and maxTenantBytes are the largest sizes of an answer. In memory an answer takes about eight times its size.
const maxBytes, maxTenantBytes = 16 << 20, 4 << 20

// Connect returns the clients of a server. It sends no request yet. An address that is no URL is an error.
func Connect(o prometheus.Options) (*Servers, error) {
	o.MaxBytes = maxBytes
	all, err := prometheus.New(o)
	if err != nil {
		return nil, err
	}
	o.MaxBytes = maxTenantBytes
	tenants, err := prometheus.New(o)
	return &Servers{all, tenants}, err
}

// Of returns the client for the queries of a rule.
func (s *Servers) Of(r *demand.Rule) Server {
	if r.Namespace != "" {
		return s.Tenants
	}
	return s.All
}

// Options configure a Monitor.
type Options struct {
	World *world.World
	// Servers answer; nil: there are none.
	*Servers
	// TenantLabel is the label by which the demand of a policy with a namespace is restricted to this namespace. Empty: such
	// policies do not ask.
	TenantLabel string
	// Requeue queues targets for a new decision. Dirty queues the status of a policy. Fault counts a panic.
	Requeue func(...workload.Ref)
	Dirty   func(workload.Policy)
	Fault   func()
	Metrics *Metrics
	Clock   clock.PassiveClock
	Log     logr.Logger
}

// Monitor asks for the demand of all policies.
type Monitor struct {
	opts Options
	// news receives a value when a policy with a demand was added, changed or removed.
	news chan struct{}
	// turns holds one value for each query under way, and tenants the same of policies with a namespace.
	turns, tenants chan struct{}

	mu sync.Mutex
	// own holds, by namespace, one value while a query of its policies is under way or waits for its turn.
	own map[string]chan struct{}
	// faults are the reasons why policies know nothing of the use of their targets.
	faults map[workload.Policy]fault
}

// fault is the reason and the message of a condition. The zero fault is none.
type fault struct{ reason, message string }

// mostQueries is the largest number of queries at once. Policies with a namespace have their own, so that they delay no others. Of
// each namespace one is under way, so a namespace with many policies delays others as one with a single policy does.
const mostQueries = 4

// New returns a Monitor. It asks once it runs.
func New(o Options) *Monitor {
	l := &Monitor{opts: o, news: make(chan struct{}, 1), turns: make(chan struct{}, mostQueries),
		tenants: make(chan struct{}, mostQueries), own: map[string]chan struct{}{}, faults: map[workload.Policy]fault{}}
	o.World.Observe(l)
	return l
}

// AfterPublish implements world.Observer.
func (l *Monitor) AfterPublish(_ *world.Snapshot, c *world.Change) {
	for _, p := range c.Policies {
		if p.New != nil && p.New.Idle != nil || p.Old != nil && p.Old.Idle != nil {
			workers.Poke(l.news)
			return
		}
	}
}

// asking is a policy that is being asked for.
type asking struct {
	rule demand.Rule
	end  func()
}

// Run asks until the context ends.
func (l *Monitor) Run(ctx context.Context) {
	all := map[workload.Policy]asking{}
	for {
		l.follow(ctx, all)
		select {
		case <-ctx.Done():
			for _, a := range all {
				a.end()
			}
			return
		case <-l.news:
		}
	}
}

// follow begins to ask for new and changed policies, and ends it for the others.
func (l *Monitor) follow(ctx context.Context, all map[workload.Policy]asking) {
	s := l.opts.World.Snapshot()
	for id, a := range all {
		if p := s.Find(id); !asks(p) || *p.Idle != a.rule {
			a.end()
			delete(all, id)
			l.opts.World.ForgetUses(id)
			l.setFault(id, fault{})
			l.opts.Metrics.forget(id)
		}
	}
	for p := range s.Policies {
		if _, known := all[p.ID]; !known && asks(p) {
			all[p.ID] = l.begin(ctx, p.ID, *p.Idle)
		}
	}
}

func asks(p *world.Policy) bool { return p != nil && p.Idle != nil && !p.Deleting && !p.IsBroken() }

// begin begins to ask for a policy.
func (l *Monitor) begin(ctx context.Context, id workload.Policy, rule demand.Rule) asking {
	w, f := l.watch(id, &rule)
	if w == nil {
		l.setFault(id, f)
		return asking{rule, func() {}}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.run(ctx)
	}()
	return asking{rule, func() {
		cancel()
		<-done
	}}
}

// watch returns the watcher of a policy, or the reason why there is none.
func (l *Monitor) watch(id workload.Policy, rule *demand.Rule) (*watcher, fault) {
	query, err := rule.Ask(l.opts.TenantLabel)
	switch {
	case l.opts.Servers == nil:
		return nil, fault{"NoPrometheus", "spec.idle needs a Prometheus server, and the manager was started without (--prometheus)"}
	case errors.Is(err, demand.ErrUnbound):
		return nil, fault{"DemandNotAllowed", err.Error()}
	case err != nil:
		return nil, fault{"DemandFailed", err.Error()}
	}
	return &watcher{Monitor: l, id: id, rule: rule, query: query, server: l.opts.Of(rule)}, fault{}
}

// Once asks once for the present demand of all policies, and for its history if needed. It returns the messages of faults.
func (l *Monitor) Once(ctx context.Context, history bool) (faults []string) {
	for p := range l.opts.World.Snapshot().Policies {
		if !asks(p) {
			continue
		}
		w, f := l.watch(p.ID, p.Idle)
		for more := w != nil; more && ctx.Err() == nil; more = history && f.reason == "" && w.end.After(w.begin) {
			w.round(ctx)
			f = l.faultOf(p.ID)
		}
		if f != (fault{}) {
			faults = append(faults, p.ID.String()+": "+f.message)
		}
	}
	return faults
}

// setFault stores the fault of a policy, and queues its status if the fault is new.
func (l *Monitor) setFault(id workload.Policy, f fault) {
	l.opts.Metrics.show(id, f == fault{})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.faults[id] == f {
		return
	}
	l.faults[id] = f
	if f == (fault{}) {
		delete(l.faults, id)
	}
	l.opts.Dirty(id)
}

func (l *Monitor) faultOf(id workload.Policy) fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.faults[id]
}

// Decided implements reconcile.Actuator. Each answer concerns all targets, whatever was decided.
func (l *Monitor) Decided(workload.Ref, *decide.Verdict) {}

// Mark implements reconcile.Actuator. A target that stays awake because its use is unknown is counted as unable to sleep.
func (l *Monitor) Mark(ref workload.Ref, opinions []decide.Opinion, results []status.TargetResult) {
	for i := range results {
		r, o := &results[i], &opinions[i]
		if o.Policy.Idle == nil || o.Class != workload.ClassKeep || r.State != status.Awake {
			continue
		}
		if u := l.opts.World.Snapshot().Use(r.Policy, ref); u != nil && u.Doubt != "" {
			r.State, r.Unable = status.Unable, u.Doubt+": it stays as it is"
		}
	}
}

// Report implements reconcile.Actuator. The fault is that of the demand.
func (l *Monitor) Report(p *world.Policy, _ policy.Object) (reason, message string) {
	f := l.faultOf(p.ID)
	return f.reason, f.message
}

// ChangedOn implements reconcile.Actuator: no pod is changed.
func (l *Monitor) ChangedOn(schema.GroupKind) (int, string) { return 0, "" }

// Leftover implements reconcile.Actuator: no pod is changed.
func (l *Monitor) Leftover(*world.Policy) string { return "" }
