package target

import "github.com/prometheus/client_golang/prometheus"

// Metrics are those of the work on targets.
type Metrics struct {
	writes   *prometheus.CounterVec
	decision prometheus.Histogram
	panics   prometheus.Counter
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flyball_writes_total",
			Help: "Writes to targets by adapter, direction (down, up, ledger, template) and result (applied, unchanged, stale, gone, refused, failed)."},
			[]string{"adapter", "verb", "result"}),
		decision: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "flyball_decision_seconds",
			Help:    "Time to decide for one target under all its policies, writing not included.",
			Buckets: prometheus.ExponentialBuckets(1e-6, 4, 10)}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{Name: "flyball_panics_total",
			Help: "Targets that could not be worked on because of a fault in Flyball. The log has the stack."}),
	}
	for _, c := range []prometheus.Collector{m.writes, m.decision, m.panics} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// TemplateWritten counts a write of an object that a template asks for.
func (m *Metrics) TemplateWritten(adapter, result string) {
	m.writes.WithLabelValues(adapter, "template", result).Inc()
}

// ForgetAdapter removes every series of an adapter that is gone.
func (m *Metrics) ForgetAdapter(name string) {
	m.writes.DeletePartialMatch(prometheus.Labels{"adapter": name})
}
