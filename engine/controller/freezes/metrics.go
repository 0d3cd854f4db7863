package freezes

import (
	"github.com/prometheus/client_golang/prometheus"

	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Metrics are the metrics of judging. A process must create them only once. Every replica judges and has its own
// metrics.
type Metrics struct {
	requests, denials, exceptions *prometheus.CounterVec
	errors                        prometheus.Counter
	seconds                       prometheus.Histogram
}

// NewMetrics creates and registers the metrics. A metric that is registered already is an error.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flyball_admission_requests_total",
			Help: "Requests judged against freezes by verdict (allowed, denied, warned, audited, lifted, error; overridden and excepted count " +
				"uses of these rights) and kind. Dry runs do not count."},
			[]string{"verdict", "kind"}),
		denials: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flyball_freeze_denials_total",
			Help: "Denials by freezes and maintenance windows, by policy, action (Create, Delete, RollOut, Scale) and enforcement (Deny, Warn, " +
				"Audit). A change with several actions counts under each."},
			[]string{"policy_kind", "policy", "action", "enforcement"}),
		exceptions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flyball_freeze_exceptions_total",
			Help: "Denials of freezes and maintenance windows lifted by exceptions, by policy and action."},
			[]string{"policy_kind", "policy", "action"}),
		errors: prometheus.NewCounter(prometheus.CounterOpts{Name: "flyball_admission_errors_total",
			Help: "Requests refused because they could not be judged."}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "flyball_admission_seconds",
			Help:    "Time from an admission request's arrival to its answer.",
			Buckets: prometheus.ExponentialBuckets(50e-6, 2, 16)}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.denials, m.exceptions, m.errors, m.seconds} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// judged counts a verdict under the policies involved. A policy deleted in the meantime is left out, because its series
// would never be removed.
func (m *Metrics) judged(v *freeze.Verdict, s *world.Snapshot) {
	for _, d := range v.Denials {
		if s.Find(d.Policy) == nil {
			continue
		}
		for _, action := range d.Actions.Names() {
			m.denials.WithLabelValues(d.Policy.Kind, d.Policy.Label(), action, string(d.Enforcement)).Inc()
		}
	}
	for _, l := range v.Lifts {
		if s.Find(l.Policy) == nil {
			continue
		}
		for _, action := range l.Actions.Names() {
			m.exceptions.WithLabelValues(l.Policy.Kind, l.Policy.Label(), action).Inc()
		}
	}
}

// forgetPolicy removes every series of a deleted policy.
func (m *Metrics) forgetPolicy(id workload.Policy) {
	labels := prometheus.Labels{"policy_kind": id.Kind, "policy": id.Label()}
	m.denials.DeletePartialMatch(labels)
	m.exceptions.DeletePartialMatch(labels)
}
