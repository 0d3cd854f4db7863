package status

import (
	"github.com/prometheus/client_golang/prometheus"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// Metrics are those of policies.
type Metrics struct {
	edgeLag  prometheus.Histogram
	targets  *prometheus.GaugeVec
	next     *prometheus.GaugeVec
	conflict *prometheus.GaugeVec
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		edgeLag: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "flyball_edge_lag_seconds",
			Help:    "Time from a policy's transition to the last write that followed from it.",
			Buckets: prometheus.ExponentialBuckets(0.05, 2, 16)}),
		targets: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "flyball_targets",
			Help: "Targets of a policy by state."}, []string{"policy_kind", "policy", "state"}),
		next: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "flyball_next_transition_timestamp_seconds",
			Help: "When a policy's state changes next, in seconds since 1970; absent when it never does."}, []string{"policy_kind", "policy"}),
		conflict: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "flyball_conflicts",
			Help: "Targets on which another policy asks for something else."}, []string{"policy_kind", "policy"}),
	}
	for _, c := range []prometheus.Collector{m.edgeLag, m.targets, m.next, m.conflict} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// policyLabel is namespace/name, or the name alone of a cluster-scoped policy.
func policyLabel(p workload.Policy) string {
	if p.Namespace == "" {
		return p.Name
	}
	return p.Namespace + "/" + p.Name
}

func (m *Metrics) policy(id workload.Policy, t *tally, state policy.State) {
	name := policyLabel(id)
	for s := Awake; s < stateCount; s++ {
		m.targets.WithLabelValues(id.Kind, name, stateNames[s]).Set(float64(t.counts[s]))
	}
	m.conflict.WithLabelValues(id.Kind, name).Set(float64(len(t.conflicts)))
	if state.Next.IsZero() {
		m.next.DeleteLabelValues(id.Kind, name)
		return
	}
	m.next.WithLabelValues(id.Kind, name).Set(float64(state.Next.Unix()))
}

// forgetPolicy removes every series of a policy that is gone.
func (m *Metrics) forgetPolicy(id workload.Policy) {
	labels := prometheus.Labels{"policy_kind": id.Kind, "policy": policyLabel(id)}
	m.targets.DeletePartialMatch(labels)
	m.next.DeletePartialMatch(labels)
	m.conflict.DeletePartialMatch(labels)
}
