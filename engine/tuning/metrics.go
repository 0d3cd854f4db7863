package tuning

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
)

// Metrics are the metrics of tuning.
type Metrics struct {
	// making is locked while series are rebuilt.
	making                                                        sync.Mutex
	request, bound, phase, loss, saved, rollouts, blind, readable *prometheus.GaugeVec
	ready                                                         *prometheus.HistogramVec
	// timed are the policies whose targets' start times are counted.
	timed map[workload.Policy]bool
}

// NewMetrics returns the metrics, registered. A metric that is registered already is an error.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	// The labels namespace and container are in use already: a scrape adds them for the manager.
	target := []string{"kind", "target_namespace", "name"}
	m := &Metrics{
		request: gauge("flyball_tuned_request",
			"Requests of tuned targets, in cores or bytes: of the owner, actual (the mean of the pods), proposed, and applied once all pods "+
				"have them.",
			append(target, "component", "resource", "of")...),
		bound: gauge("flyball_tuned_autoscaler",
			"Minimum, maximum and target utilisation (percent) for autoscalers of tuned targets: of the owner, actual, proposed, and applied.",
			append(target, "number", "of")...),
		phase: gauge("flyball_tuned_targets", "Targets of a policy by phase.", "policy_kind", "policy", "phase"),
		loss: gauge("flyball_tuned_forecast_loss",
			"By how much the peaks of hours of a target's demand differ from those of the days before: the mean pinball loss of logarithms.",
			target...),
		rollouts: gauge("flyball_tuned_rollouts",
			"Targets of a policy whose pods are restarted by changes of requests (running), that wait for others (waiting), that "+
				"PodDisruptionBudgets, LimitRanges or ResourceQuotas keep from it (constrained), that take too long (late), and whose "+
				"last roll-out was taken back (taken_back).",
			"policy_kind", "policy", "state"),
		ready: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "flyball_tuned_ready_seconds",
			Help:    "Time from the creation of a pod of a tuned target until it was ready.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 12)}, []string{"policy_kind", "policy"}),
		timed: map[workload.Policy]bool{},
		saved: gauge("flyball_tuned_saved",
			"Difference between the owners' requests and the pods' current requests, per policy, in cores or bytes; with mode Off, to the "+
				"proposed requests.", "policy_kind", "policy", "resource"),
		blind: gauge("flyball_tuned_autoscaler_blind", "1 while the autoscaler of a target cannot read its metrics, else 0.", target...),
		readable: gauge("flyball_usage_readable", "1 while usage is read from a source, 0 while it is unreadable; absent without a Tortoise.",
			"source"),
	}
	for _, c := range []prometheus.Collector{m.request, m.bound, m.phase, m.loss, m.saved, m.rollouts, m.blind, m.readable, m.ready} {
		if err := r.Register(atomicCollector{&m.making, c}); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// started counts the start times of the pods of a policy's targets.
func (m *Metrics) started(id workload.Policy, took []time.Duration) {
	for _, d := range took {
		m.timed[id] = true
		m.ready.WithLabelValues(id.Kind, id.Label()).Observe(d.Seconds())
	}
}

// atomicCollector collects series only while they are not being rebuilt, so no scrape sees half of them.
type atomicCollector struct {
	making *sync.Mutex
	prometheus.Collector
}

// Collect implements prometheus.Collector.
func (w atomicCollector) Collect(out chan<- prometheus.Metric) {
	w.making.Lock()
	defer w.making.Unlock()
	w.Collector.Collect(out)
}

// publish rebuilds all series, so the series of removed targets and policies disappear. rollouts returns three numbers
// of a policy's targets: targets that roll out, targets that wait, and targets that are late.
func (m *Metrics) publish(b *book, subjects map[workload.Ref]*subject, rollouts func(workload.Policy) (running, waiting, late int)) {
	m.making.Lock()
	defer m.making.Unlock()
	for _, v := range []*prometheus.GaugeVec{m.request, m.bound, m.phase, m.loss, m.saved, m.rollouts, m.blind, m.readable} {
		v.Reset()
	}
	b.mu.Lock()
	for id := range m.timed {
		if b.sums[id] == nil {
			delete(m.timed, id)
			m.ready.DeleteLabelValues(id.Kind, id.Label())
		}
	}
	constrained, back := map[workload.Policy]int{}, map[workload.Policy]int{}
	for _, x := range subjects {
		if !x.constraint.since.IsZero() {
			constrained[x.policy]++
		}
		if x.found.Report.TakenBack != nil {
			back[x.policy]++
		}
	}
	for id, s := range b.sums {
		running, waiting, late := rollouts(id)
		for state, n := range map[string]int{"running": running, "waiting": waiting, "constrained": constrained[id], "late": late,
			"taken_back": back[id]} {
			m.rollouts.WithLabelValues(id.Kind, id.Label(), state).Set(float64(n))
		}
		for name, n := range s.Phases {
			m.phase.WithLabelValues(id.Kind, id.Label(), name).Set(float64(n))
		}
		m.saved.WithLabelValues(id.Kind, id.Label(), "cpu").Set(float64(s.Saved.MilliCPU) / 1000)
		m.saved.WithLabelValues(id.Kind, id.Label(), "memory").Set(float64(s.Saved.MemoryBytes))
	}
	for source, ok := range b.readable {
		m.readable.WithLabelValues(source).Set(number(ok))
	}
	b.mu.Unlock()
	for ref, x := range subjects {
		m.publishTarget(ref, x)
	}
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func (m *Metrics) publishTarget(ref workload.Ref, x *subject) {
	st := &x.found.Report
	target := []string{ref.GroupKind.String(), ref.Namespace, ref.Name}
	for i := range st.Containers {
		c := &st.Containers[i]
		for _, r := range podsize.RecommendedIn(c) {
			put := func(of string, amount float64) {
				if r.Of == workload.CPU {
					amount /= 1000
				}
				m.request.WithLabelValues(append(target, c.Name, string(r.Of), of)...).Set(amount)
			}
			if r.Own != nil {
				put("owner", float64(r.OwnAmount()))
			}
			if mean, known := x.has.Mean(c.Name, r.Of); known {
				put("actual", mean)
			}
			proposed := float64(r.Amount())
			put("proposed", proposed)
			if r.Applied {
				put("applied", proposed)
			}
		}
	}
	if a := st.Autoscaler; a != nil && a.Name != "" {
		m.blind.WithLabelValues(target...).Set(number(x.blind))
		m.publishAutoscaler(target, a, &x.has)
	}
	if st.Demand != nil {
		m.loss.WithLabelValues(target...).Set(float64(st.Demand.Loss) / 1000)
	}
}

func (m *Metrics) publishAutoscaler(target []string, a *v1alpha1.RecommendedAutoscaler, h *podsize.Numbers) {
	for name, n := range map[string]*v1alpha1.RecommendedNumber{"min": &a.Min, "max": &a.Max, "utilisation": a.Utilisation} {
		if n == nil {
			continue
		}
		put := func(of string, value float64) { m.bound.WithLabelValues(append(target, name, of)...).Set(value) }
		if n.Own != nil {
			put("owner", float64(*n.Own))
		}
		if n, known := h.Numbers[name]; known {
			put("actual", float64(n))
		}
		put("proposed", float64(n.Recommended))
		if n.Applied {
			put("applied", float64(n.Recommended))
		}
	}
}
