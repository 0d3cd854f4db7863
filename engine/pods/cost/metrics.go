package cost

import (
	"github.com/prometheus/client_golang/prometheus"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// Metrics are the metrics of deletion costs.
type Metrics struct {
	writes                *prometheus.CounterVec
	pods, spread, foreign *prometheus.GaugeVec
}

// NewMetrics creates and registers the metrics. A metric that is registered already is an error.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	labels := []string{"policy_kind", "policy"}
	m := &Metrics{
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flyball_deletion_cost_writes_total",
			Help: "Writes of deletion costs to pods, by result; without a policy, the cost was removed."}, append(labels, "result")),
		pods: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "flyball_deletion_cost_pods",
			Help: "Pods in the plans of a policy."}, labels),
		spread: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "flyball_deletion_cost_spread",
			Help: "Difference in pods between the fullest and the emptiest zone of the most uneven target, now and at half the pods."},
			append(labels, "at")),
		foreign: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "flyball_deletion_cost_foreign_pods",
			Help: "Pods of a policy's targets with a deletion cost set by another writer."}, labels),
	}
	for _, c := range []prometheus.Collector{m.writes, m.pods, m.spread, m.foreign} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Metrics) wrote(id workload.Policy, result string) {
	m.writes.WithLabelValues(id.Kind, id.Label(), result).Inc()
}

func (m *Metrics) publish(id workload.Policy, s policy.PodSummary) {
	foreign := 0
	for _, n := range s.Foreign {
		foreign += n
	}
	m.pods.WithLabelValues(id.Kind, id.Label()).Set(float64(s.Pods))
	m.spread.WithLabelValues(id.Kind, id.Label(), "now").Set(float64(s.Spread))
	m.spread.WithLabelValues(id.Kind, id.Label(), "half").Set(float64(s.SpreadAtHalf))
	m.foreign.WithLabelValues(id.Kind, id.Label()).Set(float64(foreign))
	for _, o := range apply.Outcomes() { // an increase shows only against an earlier value
		m.writes.WithLabelValues(id.Kind, id.Label(), string(o))
	}
}

// forget removes every series of a deleted policy.
func (m *Metrics) forget(id workload.Policy) {
	match := prometheus.Labels{"policy_kind": id.Kind, "policy": id.Label()}
	m.writes.DeletePartialMatch(match)
	m.pods.DeletePartialMatch(match)
	m.spread.DeletePartialMatch(match)
	m.foreign.DeletePartialMatch(match)
}
