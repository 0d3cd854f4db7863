package status

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// Metrics are the metrics of policies.
type Metrics struct {
	transitionLag prometheus.Histogram
	batches       *prometheus.CounterVec
	// All of them have the labels policy_kind and policy. Some have a third label.
	targets, state, ready, condition, next, conflict, took, trigger, frozen, enforced *prometheus.GaugeVec
	// shown has the state of each policy (workload.Policy to shownState) that has series. To search for the series of a
	// policy, prometheus would look through the series of all policies.
	shown sync.Map
}

// shownState is the third label of the series of a policy's state.
type shownState struct{ state, active string }

// NewMetrics creates and registers the metrics. A metric that is registered already is an error.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	gauge := func(name, help string, more ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, append([]string{"policy_kind", "policy"}, more...))
	}
	m := &Metrics{
		transitionLag: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "flyball_transition_lag_seconds",
			Help:    "Time from a policy's transition to the last write that followed from it.",
			Buckets: prometheus.ExponentialBuckets(0.05, 2, 16)}),
		batches: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flyball_batches_total",
			Help: "Opened batches of policies with a rate limit, by direction (down, up)."}, []string{"policy_kind", "policy", "verb"}),
		targets:   gauge("flyball_targets", "Targets of a policy by state.", "state"),
		state:     gauge("flyball_policy_state", "1 for the current state of a policy.", "state"),
		ready:     gauge("flyball_policy_ready", "1 when a policy is valid and none of its targets has failed, else 0."),
		condition: gauge("flyball_policy_condition", "1 while a condition in a policy's status is True, else 0.", "condition"),
		next: gauge("flyball_next_transition_timestamp_seconds",
			"Time of a policy's next transition, in seconds since 1970; absent if there is none."),
		conflict: gauge("flyball_conflicts", "Targets on which another policy asks for something else, and no priority decides."),
		took: gauge("flyball_last_transition_duration_seconds",
			"Time from a policy's last transition to the last write that followed from it."),
		trigger: gauge("flyball_active_trigger", "1 for the trigger in force of a policy.", "trigger"),
		enforced: gauge("flyball_freeze_enforced",
			"1 while it is seen that changes are judged by a freeze, 0 while they may pass; absent while that is not known."),
		frozen: gauge("flyball_freeze_active", "1 while a freeze or a maintenance window denies changes, else 0."),
	}
	for _, c := range []prometheus.Collector{m.transitionLag, m.batches, m.targets, m.state, m.ready, m.condition, m.next, m.conflict, m.took,
		m.trigger, m.frozen, m.enforced} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// labelsOf returns the labels that select every series of a policy.
func labelsOf(id workload.Policy) prometheus.Labels {
	return prometheus.Labels{"policy_kind": id.Kind, "policy": id.Label()}
}

// policy updates the series of a policy from its view and its conditions.
func (m *Metrics) policy(v *view, conditions []metav1.Condition) {
	p, t, state := v.policy.Policy.Policy, &v.counts, v.state
	id, name := p.ID, p.ID.Label()
	switch {
	case !v.judges || !v.known || v.policy.Deleting:
		m.enforced.DeleteLabelValues(id.Kind, name)
	default:
		m.enforced.WithLabelValues(id.Kind, name).Set(oneIf(v.unenforced == ""))
	}
	for s := Awake; s < stateCount; s++ {
		m.targets.WithLabelValues(id.Kind, name, stateNames[s]).Set(float64(t.counts[s]))
	}
	m.conflict.WithLabelValues(id.Kind, name).Set(float64(len(t.conflicts)))
	m.ready.WithLabelValues(id.Kind, name).Set(oneIf(meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady)))
	for _, c := range conditions {
		m.condition.WithLabelValues(id.Kind, name, c.Type).Set(oneIf(c.Status == metav1.ConditionTrue))
	}
	m.showState(p, state)
	if state.Next.IsZero() {
		m.next.DeleteLabelValues(id.Kind, name)
		return
	}
	m.next.WithLabelValues(id.Kind, name).Set(float64(state.Next.Unix()))
}

// showState updates the series for the state and the active part of a policy.
func (m *Metrics) showState(p *policy.Policy, state policy.Summary) {
	kind, name, now := p.ID.Kind, p.ID.Label(), shownState{state.Name, state.Active}
	if before, ok := m.shown.Swap(p.ID, now); ok && before != now {
		m.state.DeleteLabelValues(kind, name, before.(shownState).state)
		m.trigger.DeleteLabelValues(kind, name, before.(shownState).active)
	}
	m.state.WithLabelValues(kind, name, state.Name).Set(1)
	switch {
	case p.Denies():
		m.frozen.WithLabelValues(kind, name).Set(oneIf(state.Active != ""))
	case state.Active != "":
		m.trigger.WithLabelValues(kind, name, state.Active).Set(1)
	}
}

// transitionDone observes the length of a transition.
func (m *Metrics) transitionDone(id workload.Policy, lag time.Duration) {
	m.transitionLag.Observe(lag.Seconds())
	m.took.WithLabelValues(id.Kind, id.Label()).Set(lag.Seconds())
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// forgetPolicy removes every series of a deleted policy.
func (m *Metrics) forgetPolicy(id workload.Policy) {
	m.shown.Delete(id)
	m.batches.DeletePartialMatch(labelsOf(id))
	for _, vec := range []*prometheus.GaugeVec{m.targets, m.state, m.ready, m.condition, m.next, m.conflict, m.took, m.trigger, m.frozen,
		m.enforced} {
		vec.DeletePartialMatch(labelsOf(id))
	}
}
