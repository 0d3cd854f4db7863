package wakes

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"flyball.dev/flyball/engine/admit/limits"
)

const help = "Requests of the wake API by verb (wake, sleep), place (target, namespace, policy) and outcome (done; refused: a right is " +
	"missing, or a freeze or spec.wake is against it; failed). The event on the place has the user and the reason."

// Metrics counts requests.
type Metrics struct{ wakes *prometheus.CounterVec }

// NewMetrics registers the metrics.
func NewMetrics(r prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flyball_wakes_total",
		Help: help},
		[]string{"verb", "place", "outcome"})}
	return m, r.Register(m.wakes)
}

// count counts a request with its error.
func (m *Metrics) count(r *Request, err error) {
	verb, place, outcome := "wake", "namespace", "done"
	if r.end.IsZero() {
		verb = "sleep"
	}
	switch {
	case r.Target != nil:
		place = "target"
	case r.Policy != nil:
		place = "policy"
	}
	switch code := limits.CodeOf(err); {
	case err == nil:
	case code == http.StatusForbidden || code == http.StatusUnprocessableEntity:
		outcome = "refused"
	default:
		outcome = "failed"
	}
	m.wakes.WithLabelValues(verb, place, outcome).Inc()
}
