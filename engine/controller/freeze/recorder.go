package freeze

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admit"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

const (
	// writeInterval is how often counts are written to status.
	writeInterval = 500 * time.Millisecond
	// quietFor is how long a second event about one policy and one object is held back.
	quietFor = time.Minute
	// creatorKept is how long who made an exception is remembered while the exception is not seen: the API server may have
	// refused it after the webhook let it through.
	creatorKept = time.Minute
)

// Metrics are the metrics of judging; make them once a process.
type Metrics struct {
	requests *prometheus.CounterVec
	seconds  prometheus.Histogram
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flyball_admission_requests_total",
			Help: "Requests judged against freezes by verdict (allowed, denied, warned, audited, lifted, error; overridden and excepted count uses of these rights) and kind. Dry runs do not count."},
			[]string{"verdict", "kind"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "flyball_admission_seconds",
			Help:    "Time from an admission request's arrival to its answer.",
			Buckets: prometheus.ExponentialBuckets(50e-6, 2, 16)}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.seconds} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Recorder keeps what was judged: metrics at once, counts in the status of policies and events a moment later, several
// requests in one write. Every replica keeps its own part and adds it to what is there.
type Recorder struct {
	client   client.Client
	recorder events.EventRecorder
	metrics  *Metrics
	now      func() time.Time
	log      logr.Logger

	mu       sync.Mutex
	denials  map[workload.Policy]*denied
	queue    []announcement
	creators map[types.UID]creator
	// said is when the last event about a policy and an object was sent.
	said   map[string]time.Time
	swept  time.Time
	signal chan struct{}
}

// denied is what has not been added to the status of a policy yet.
type denied struct {
	counts v1alpha1.DeniedCounts
	last   v1alpha1.LastDenial
}

// announcement is an event to be sent.
type announcement struct {
	policy workload.Policy
	// object is what the event is about besides the policy; nil: nothing.
	object       *corev1.ObjectReference
	reason, text string
	kind         string
	// until is how long to wait for the policy to be there: an exception is told of before the API server has stored it.
	until time.Time
	// gone says that the policy may have been deleted by what is told of.
	gone bool
}

type creator struct {
	exception workload.Policy
	user      string
	at        time.Time
}

// NewRecorder makes Recorder that write with a client which reads from a cache.
func NewRecorder(cached client.Client, recorder events.EventRecorder, m *Metrics, now func() time.Time, log logr.Logger) *Recorder {
	return &Recorder{client: cached, recorder: recorder, metrics: m, now: now, log: log,
		denials: map[workload.Policy]*denied{}, creators: map[types.UID]creator{}, said: map[string]time.Time{}, signal: make(chan struct{}, 1)}
}

// Judged takes a note of a request.
func (n *Recorder) Judged(j admit.Judgement) {
	n.metrics.seconds.Observe(j.Took.Seconds())
	n.metrics.requests.WithLabelValues(verdictOf(&j), j.Request.Kind.String()).Inc()
	if len(j.Verdict.Denials)+len(j.Escaped) == 0 {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, d := range j.Verdict.Denials {
		n.count(&j, d)
		text := fmt.Sprintf("%s of %s by %s", strings.Join(d.Names(), " and "), nameOf(&j.Request), j.Request.User)
		n.queue = append(n.queue, announcement{policy: d.Policy, object: j.Object, kind: corev1.EventTypeWarning,
			reason: map[v1alpha1.Enforcement]string{v1alpha1.EnforcementDeny: "Denied", v1alpha1.EnforcementWarn: "Warned", v1alpha1.EnforcementAudit: "WouldDeny"}[d.Enforcement], text: text})
	}
	for _, p := range j.Escaped {
		where := "out of the freeze"
		if strings.HasSuffix(p.Kind, freeze.ExceptionKind) {
			where = "into the exception"
		}
		n.queue = append(n.queue, announcement{policy: p, object: j.Object, kind: corev1.EventTypeWarning, reason: "Relabelled",
			text: fmt.Sprintf("%s was taken %s by labels, by %s", nameOf(&j.Request), where, j.Request.User)})
	}
	n.poke()
}

func nameOf(r *freeze.Request) string {
	return workload.Ref{GroupKind: r.Kind, Namespace: r.Namespace, Name: r.Name}.String()
}

// verdictOf is the verdict in one word.
func verdictOf(j *admit.Judgement) string {
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

// count adds a denial to what the status of the policy has to be told.
func (n *Recorder) count(j *admit.Judgement, d freeze.Denial) {
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
		{workload.ChangeCreate, &c.Create}, {workload.ChangeDelete, &c.Delete}, {workload.ChangeRollOut, &c.RollOut}, {workload.ChangeScale, &c.Scale},
	} {
		if actions.Has(one.action) {
			*one.count++
		}
	}
}

// Guarded takes a note of a right that was used.
func (n *Recorder) Guarded(g admit.Guarded) {
	verdict, reason, text := "overridden", "Overridden", g.What+" by "+g.User
	if g.Verb == admit.VerbExcept {
		verdict, reason, text = "excepted", "ExceptionMade", g.What+"d by "+g.User
	}
	n.metrics.requests.WithLabelValues(verdict, g.Policy.Kind+"."+v1alpha1.GroupVersion.Group).Inc()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queue = append(n.queue, announcement{policy: g.Policy, kind: corev1.EventTypeWarning, reason: reason, text: text,
		until: g.At.Add(creatorKept), gone: g.Verb == admit.VerbOverride})
	if g.Verb == admit.VerbExcept && g.What == "create" {
		n.creators[types.UID(g.UID)] = creator{exception: g.Policy, user: g.User, at: g.At}
	}
	n.poke()
}

func (n *Recorder) poke() {
	select {
	case n.signal <- struct{}{}:
	default:
	}
}

// NeedLeaderElection says that every replica keeps its own notes.
func (n *Recorder) NeedLeaderElection() bool { return false }

// Start writes what was noted until the context ends, and once more what is left then.
func (n *Recorder) Start(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			n.flush(last)
			return nil
		case <-n.signal:
		}
		if n.flush(ctx) {
			time.AfterFunc(writeInterval, n.poke)
		}
		select {
		case <-ctx.Done():
		case <-time.After(writeInterval):
		}
	}
}

// flush writes everything noted and reports whether something is left to be tried again.
func (n *Recorder) flush(ctx context.Context) (left bool) {
	n.mu.Lock()
	denials, queue := n.denials, n.queue
	n.denials, n.queue = map[workload.Policy]*denied{}, nil
	creators := make(map[types.UID]creator, len(n.creators))
	for uid, c := range n.creators {
		creators[uid] = c
	}
	n.mu.Unlock()
	for _, r := range queue {
		if !n.tell(ctx, r) && n.now().Before(r.until) {
			n.mu.Lock()
			n.queue = append(n.queue, r)
			n.mu.Unlock()
			left = true
		}
	}
	for id, d := range denials {
		if err := n.addDenials(ctx, id, d); err != nil {
			n.log.V(1).Info("the counts will be written again", "policy", id.String(), "reason", err.Error())
			n.putBack(id, d)
			left = true
		}
	}
	for uid, c := range creators {
		done, err := n.recordCreator(ctx, uid, c)
		if err != nil {
			n.log.V(1).Info("who made the exception will be written again", "exception", c.exception.String(), "reason", err.Error())
		}
		if done || n.now().Sub(c.at) > creatorKept {
			n.mu.Lock()
			delete(n.creators, uid)
			n.mu.Unlock()
			continue
		}
		left = true
	}
	return left
}

// putBack keeps what could not be written, together with what has come since.
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

// tell sends an event on the policy and one on the object, unless the same was said a moment ago. It reports false where the
// policy is not there.
func (n *Recorder) tell(ctx context.Context, r announcement) bool {
	found, err := n.get(ctx, r.policy)
	if err != nil || found == nil && !r.gone {
		return false
	}
	if n.recorder == nil || !n.worthSaying(r) {
		return true
	}
	var obj runtime.Object = found
	if found == nil {
		obj = &corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: r.policy.Kind, Namespace: r.policy.Namespace, Name: r.policy.Name}
	}
	if r.object == nil {
		n.recorder.Eventf(obj, nil, r.kind, r.reason, "Judge", "%s", r.text)
		return true
	}
	n.recorder.Eventf(obj, r.object, r.kind, r.reason, "Judge", "%s", r.text)
	if r.object.UID != "" {
		n.recorder.Eventf(r.object, obj, r.kind, r.reason, "Judge", "%s: %s", r.policy, r.text)
	}
	return true
}

func (n *Recorder) worthSaying(r announcement) bool {
	key := r.policy.String() + " " + r.reason
	if r.object != nil {
		key += " " + r.object.Kind + "/" + r.object.Namespace + "/" + r.object.Name
	} else {
		key += " " + r.text
	}
	now := n.now()
	if now.Sub(n.swept) >= quietFor {
		n.swept = now
		maps.DeleteFunc(n.said, func(_ string, at time.Time) bool { return now.Sub(at) >= quietFor })
	}
	if at, ok := n.said[key]; ok && now.Sub(at) < quietFor {
		return false
	}
	n.said[key] = now
	return true
}
