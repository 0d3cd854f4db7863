package tuning

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/resource"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// Metrics are those of what is tuned.
type Metrics struct {
	request, bound, phase, loss, saved *prometheus.GaugeVec
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	target := []string{"kind", "namespace", "name"}
	m := &Metrics{
		request: gauge("flyball_tuned_request", "Requests of tuned targets, in cores or bytes: those of the owner, those proposed, and those applied.",
			append(target, "container", "resource", "of")...),
		bound: gauge("flyball_tuned_autoscaler", "Minimum, maximum and target utilisation (percent) for autoscalers of tuned targets: those of the owner, those proposed, and those applied.",
			append(target, "number", "of")...),
		phase: gauge("flyball_tuned_targets", "Targets of a policy by phase.", "policy_kind", "policy", "phase"),
		loss:  gauge("flyball_tuned_forecast_loss", "How far the forecast of a target's demand misses: the mean pinball loss of logarithms.", target...),
		saved: gauge("flyball_tuned_saved", "What targets of a policy request less by what is proposed, in cores or bytes.", "policy_kind", "policy", "resource"),
	}
	for _, c := range []prometheus.Collector{m.request, m.bound, m.phase, m.loss, m.saved} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// publish makes all series anew: those of targets and policies that have gone go with them.
func (m *Metrics) publish(b *book, subjects map[workload.Ref]*subject) {
	for _, v := range []*prometheus.GaugeVec{m.request, m.bound, m.phase, m.loss, m.saved} {
		v.Reset()
	}
	b.mu.Lock()
	for id, s := range b.sums {
		for name, n := range s.Phases {
			m.phase.WithLabelValues(id.Kind, id.Label(), name).Set(float64(n))
		}
		m.saved.WithLabelValues(id.Kind, id.Label(), "cpu").Set(float64(s.Saved.MilliCPU) / 1000)
		m.saved.WithLabelValues(id.Kind, id.Label(), "memory").Set(float64(s.Saved.MemoryBytes))
	}
	b.mu.Unlock()
	for ref, x := range subjects {
		m.publishTarget(ref, &x.found.Report)
	}
}

func (m *Metrics) publishTarget(ref workload.Ref, st *v1alpha1.RecommendationStatus) {
	target := []string{ref.GroupKind.String(), ref.Namespace, ref.Name}
	for i := range st.Containers {
		c := &st.Containers[i]
		for name, r := range map[string]*v1alpha1.RecommendedRequest{"cpu": c.CPU, "memory": c.Memory} {
			if r == nil {
				continue
			}
			put := func(of string, q *resource.Quantity) {
				if q != nil {
					m.request.WithLabelValues(append(target, c.Name, name, of)...).Set(q.AsApproximateFloat64())
				}
			}
			put("owner", r.Own)
			put("proposed", &r.Recommended)
			if r.Applied {
				put("applied", &r.Recommended)
			}
		}
	}
	if a := st.Autoscaler; a != nil && a.Name != "" {
		for name, n := range map[string]*v1alpha1.RecommendedNumber{"min": &a.Min, "max": &a.Max, "utilisation": a.Utilisation} {
			if n == nil {
				continue
			}
			if n.Own != nil {
				m.bound.WithLabelValues(append(target, name, "owner")...).Set(float64(*n.Own))
			}
			m.bound.WithLabelValues(append(target, name, "proposed")...).Set(float64(n.Recommended))
			if n.Applied {
				m.bound.WithLabelValues(append(target, name, "applied")...).Set(float64(n.Recommended))
			}
		}
	}
	if st.Demand != nil {
		m.loss.WithLabelValues(target...).Set(float64(st.Demand.Loss) / 1000)
	}
}
