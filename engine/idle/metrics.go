package idle

import (
	"github.com/prometheus/client_golang/prometheus"

	"flyball.dev/flyball/engine/workload"
)

// Metrics are the metrics of demands; nil: none.
type Metrics struct{ answered *prometheus.GaugeVec }

// NewMetrics returns the metrics, registered. A metric that is registered already is an error.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{answered: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "flyball_demand_answered",
		Help: "1 while the demand of a schedule with idle is answered, 0 while its targets stay as they are for want of an answer."},
		[]string{"policy_kind", "policy"})}
	return m, r.Register(m.answered)
}

func (m *Metrics) show(id workload.Policy, answered bool) {
	if m == nil {
		return
	}
	value := 0.0
	if answered {
		value = 1
	}
	m.answered.WithLabelValues(id.Kind, id.Label()).Set(value)
}

func (m *Metrics) forget(id workload.Policy) { m.answered.DeleteLabelValues(id.Kind, id.Label()) }
