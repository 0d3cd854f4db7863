package reconcile

import (
	"github.com/prometheus/client_golang/prometheus"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// Metrics are the engine's metrics; make them once a process and register them with a Prometheus registry.
type Metrics struct{ *metrics }

type metrics struct {
	writes   *prometheus.CounterVec
	decision prometheus.Histogram
	edgeLag  prometheus.Histogram
	targets  *prometheus.GaugeVec
	next     *prometheus.GaugeVec
	conflict *prometheus.GaugeVec
	ready    *prometheus.GaugeVec
	objects  *cacheCollector
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &metrics{
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flyball_writes_total",
			Help: "Writes to targets by adapter, direction (down, up, ledger, template) and result (applied, stale, gone, refused, failed)."},
			[]string{"adapter", "verb", "result"}),
		decision: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "flyball_decision_seconds",
			Help:    "Time to decide for one target under all its policies, writing not included.",
			Buckets: prometheus.ExponentialBuckets(1e-6, 4, 10)}),
		edgeLag: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "flyball_edge_lag_seconds",
			Help:    "Time from a policy's transition to the last write that followed from it.",
			Buckets: prometheus.ExponentialBuckets(0.05, 2, 16)}),
		targets: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "flyball_targets",
			Help: "Targets of a policy by state."}, []string{"policy_kind", "policy", "state"}),
		next: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "flyball_next_transition_timestamp_seconds",
			Help: "When a policy's state changes next, in seconds since 1970; absent when it never does."}, []string{"policy_kind", "policy"}),
		conflict: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "flyball_conflicts",
			Help: "Targets on which another policy asks for something else."}, []string{"policy_kind", "policy"}),
		ready: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "flyball_adapter_ready",
			Help: "1 when an adapter is ready for use, else 0."}, []string{"adapter"}),
		objects: newCacheCollector(),
	}
	for _, c := range []prometheus.Collector{m.writes, m.decision, m.edgeLag, m.targets, m.next, m.conflict, m.ready, m.objects} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return &Metrics{m}, nil
}

// observe has the engine's caches counted.
func (m *metrics) observe(e *Engine) { m.objects.engine = e }

// policyLabel is namespace/name, or the name alone of a cluster-scoped policy.
func policyLabel(p workload.Policy) string {
	if p.Namespace == "" {
		return p.Name
	}
	return p.Namespace + "/" + p.Name
}

func (m *metrics) policy(en *entry, id workload.Policy, state policy.State) {
	name := policyLabel(id)
	en.tally.mu.Lock()
	counts, conflicts := en.tally.counts, len(en.tally.conflicts)
	en.tally.mu.Unlock()
	for s := statusAwake; s < statusCount; s++ {
		m.targets.WithLabelValues(id.Kind, name, statusNames[s]).Set(float64(counts[s]))
	}
	m.conflict.WithLabelValues(id.Kind, name).Set(float64(conflicts))
	if state.Next.IsZero() {
		m.next.DeleteLabelValues(id.Kind, name)
		return
	}
	m.next.WithLabelValues(id.Kind, name).Set(float64(state.Next.Unix()))
}

// forgetPolicy removes every series of a policy that is gone.
func (m *metrics) forgetPolicy(id workload.Policy) {
	labels := prometheus.Labels{"policy_kind": id.Kind, "policy": policyLabel(id)}
	m.targets.DeletePartialMatch(labels)
	m.next.DeletePartialMatch(labels)
	m.conflict.DeletePartialMatch(labels)
}

// forgetAdapter removes every series of an adapter that is gone.
func (m *metrics) forgetAdapter(name string) {
	m.ready.DeleteLabelValues(name)
	m.writes.DeletePartialMatch(prometheus.Labels{"adapter": name})
}

// cacheCollector counts the objects in the watches when it is scraped.
type cacheCollector struct {
	desc   *prometheus.Desc
	engine *Engine
}

func newCacheCollector() *cacheCollector {
	return &cacheCollector{desc: prometheus.NewDesc("flyball_cache_objects", "Objects watched for an adapter.", []string{"adapter"}, nil)}
}

// Describe implements prometheus.Collector.
func (c *cacheCollector) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect implements prometheus.Collector.
func (c *cacheCollector) Collect(ch chan<- prometheus.Metric) {
	if c.engine == nil {
		return
	}
	c.engine.mu.RLock()
	defer c.engine.mu.RUnlock()
	for _, k := range c.engine.kinds {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(k.watch.Len()), k.name)
	}
}
