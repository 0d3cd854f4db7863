package app

import (
	"crypto/x509"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/cmd/version"
	"flyball.dev/flyball/engine/admission/serve"
	"flyball.dev/flyball/engine/controller/adapters"
	"flyball.dev/flyball/engine/idle"
	"flyball.dev/flyball/engine/pods/cost"
	"flyball.dev/flyball/engine/reconcile"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/tuning"
	"flyball.dev/flyball/engine/tuning/resize"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Metrics are all metrics of the engine.
type Metrics struct {
	status  *status.Metrics
	target  *reconcile.Metrics
	adapter *adapters.Metrics
	savings *status.Savings
	cost    *cost.Metrics
	tuning  *tuning.Metrics
	resize  *resize.Metrics
	idle    *idle.Metrics
}

// NewMetrics creates and registers the metrics of an engine, including the listings. clock is the clock by which
// policies are decided. Money and CO2 are counted by their rates. dryRun is the value of flyball_dry_run.
func NewMetrics(r prometheus.Registerer, w *world.World, listings *status.Listings, clock clock.PassiveClock,
	rates status.Rates, dryRun bool) (*Metrics, error) {
	m := Metrics{savings: status.NewSavings(clock, rates, func(id workload.Policy) bool { return w.Snapshot().Find(id) != nil })}
	dry := prometheus.NewGauge(prometheus.GaugeOpts{Name: "flyball_dry_run",
		Help: "1 if the manager writes nothing to targets, so that all other metrics count what would be, else 0."})
	if dryRun {
		dry.Set(1)
	}
	for _, c := range []prometheus.Collector{version.Collector(), m.savings, listings, dry} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	var err error
	if m.status, err = status.NewMetrics(r); err != nil {
		return nil, err
	}
	if m.target, err = reconcile.NewMetrics(r); err != nil {
		return nil, err
	}
	if m.adapter, err = adapters.NewMetrics(r, w); err != nil {
		return nil, err
	}
	if m.cost, err = cost.NewMetrics(r); err != nil {
		return nil, err
	}
	if m.tuning, err = tuning.NewMetrics(r); err != nil {
		return nil, err
	}
	if m.resize, err = resize.NewMetrics(r); err != nil {
		return nil, err
	}
	if m.idle, err = idle.NewMetrics(r); err != nil {
		return nil, err
	}
	return &m, nil
}

// RegisterCertificate registers the metrics of an admission server's certificate.
func RegisterCertificate(r prometheus.Registerer, server *serve.Server) error {
	instant := func(name, help string, of func(*x509.Certificate) time.Time) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help + ", in seconds since 1970; 0 until there is one."},
			func() float64 {
				if c := server.Certificate(); c != nil {
					return float64(of(c).Unix())
				}
				return 0
			})
	}
	for _, c := range []prometheus.Collector{
		instant("flyball_webhook_certificate_begin_timestamp_seconds", "When the certificate that the webhook serves became valid",
			func(c *x509.Certificate) time.Time { return c.NotBefore }),
		instant("flyball_webhook_certificate_end_timestamp_seconds", "When the certificate that the webhook serves stops being valid",
			func(c *x509.Certificate) time.Time { return c.NotAfter }),
	} {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("register the metrics of the certificate: %w", err)
		}
	}
	return nil
}
