package reconcile

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// Metrics are the metrics of the Loop.
type Metrics struct {
	writes, operations *prometheus.CounterVec
	decision, sending  prometheus.Histogram
	panics             prometheus.Counter
}

// NewMetrics creates and registers the metrics. A metric that is registered already is an error.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flyball_writes_total",
			Help: "Writes to targets by adapter, direction (down, up, ledger, template) and result (applied, unchanged, stale, gone, refused, " +
				"failed)."},
			[]string{"adapter", "verb", "result"}),
		operations: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flyball_operations_total",
			Help: "Writes to targets by policy, policy kind, direction and result."},
			[]string{"policy_kind", "policy", "kind", "verb", "result"}),
		sending: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "flyball_write_seconds",
			Help:    "Time from sending a write to a target to the API server's answer.",
			Buckets: prometheus.ExponentialBuckets(1e-3, 2, 15)}),
		decision: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "flyball_decision_seconds",
			Help:    "Time to decide about a target under all its policies, without the write.",
			Buckets: prometheus.ExponentialBuckets(1e-6, 4, 10)}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{Name: "flyball_panics_total",
			Help: "Targets that could not be worked on because of a fault in Flyball. The log has the stack."}),
	}
	for _, c := range []prometheus.Collector{m.writes, m.operations, m.sending, m.decision, m.panics} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// CountFault counts a target that could not be worked on because of a fault in Flyball.
func (m *Metrics) CountFault() { m.panics.Inc() }

// wrote counts a write. known is false if the policy does not exist. It may have been deleted, or a user may have
// invented its name in a ledger. Such a policy gets no series, because no event would ever remove the series.
func (m *Metrics) wrote(v *decide.Verdict, known bool, result apply.Outcome, took time.Duration) {
	verb, by := v.Result.Direction.String(), v.Result.By
	m.sending.Observe(took.Seconds())
	m.writes.WithLabelValues(v.Kind.Adapter.Name(), verb, string(result)).Inc()
	if !known {
		return
	}
	m.operations.WithLabelValues(by.Kind, by.Label(), v.Kind.GroupKind.String(), verb, string(result)).Inc()
}

// forgetPolicy removes every series of a deleted policy.
func (m *Metrics) forgetPolicy(id workload.Policy) {
	m.operations.DeletePartialMatch(prometheus.Labels{"policy_kind": id.Kind, "policy": id.Label()})
}

// TemplateWritten counts a write of an object created from a template.
func (m *Metrics) TemplateWritten(adapter, result string) {
	m.writes.WithLabelValues(adapter, "template", result).Inc()
}

// ForgetAdapter removes every series of a deleted adapter.
func (m *Metrics) ForgetAdapter(name string) {
	m.writes.DeletePartialMatch(prometheus.Labels{"adapter": name})
}
