package resize

import (
	"github.com/prometheus/client_golang/prometheus"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/workload"
)

// Metrics are the metrics of changes in place.
type Metrics struct {
	writes *prometheus.CounterVec
}

// NewMetrics creates and registers the metrics. A metric that is registered already is an error.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{writes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flyball_resize_writes_total",
		Help: "Pods changed in place by result; without a policy: pods restored to their template."},
		[]string{"policy_kind", "policy", "result"})}
	return m, r.Register(m.writes)
}

// begin creates the series of a policy with zero, because an increase shows only against an earlier value.
func (m *Metrics) begin(id workload.Policy) {
	for _, o := range apply.Outcomes() {
		m.writes.WithLabelValues(id.Kind, id.Label(), string(o))
	}
}

func (m *Metrics) wrote(id workload.Policy, result string) {
	m.writes.WithLabelValues(id.Kind, id.Label(), result).Inc()
}

// forget removes every series of a policy that is gone.
func (m *Metrics) forget(id workload.Policy) {
	m.writes.DeletePartialMatch(prometheus.Labels{"policy_kind": id.Kind, "policy": id.Label()})
}
