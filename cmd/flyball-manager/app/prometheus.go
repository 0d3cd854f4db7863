package app

import (
	"fmt"

	"github.com/spf13/pflag"

	"flyball.dev/flyball/engine/idle"
	"flyball.dev/flyball/engine/prometheus"
	"flyball.dev/flyball/engine/reconcile"
	"flyball.dev/flyball/engine/tuning"
	"flyball.dev/flyball/engine/tuning/measure"
)

// PrometheusOptions configure the server that has the history of pod usage and the demand for targets. Only the
// installation sets them: the manager sends no request to an address from an object.
type PrometheusOptions struct {
	// Address is the URL of the server; empty means no server. TokenFile is a file with a bearer token; empty means no
	// token.
	Address, TokenFile string
	// Queries have the form NAME=PROMQL and replace the default queries.
	Queries []string
	// TenantLabel is the label with the namespace of a series. The demand of a namespaced Schedule reads only series in which
	// it has the Schedule's namespace. Empty: namespaced Schedules have no demand.
	TenantLabel string
}

func (o *PrometheusOptions) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.Address, "prometheus", "",
		"URL of a Prometheus server with a history of pod usage, for policies that ask for it, and with the demand of schedules with idle. "+
			"Empty: none.")
	fs.StringVar(&o.TokenFile, "prometheus-token-file", "", "File with the bearer token for --prometheus, read for each request.")
	fs.StringArrayVar(&o.Queries, "prometheus-query", nil, "NAME=PROMQL: a query for --prometheus that replaces the default query.")
	fs.StringVar(&o.TenantLabel, "prometheus-tenant-label", "",
		"Label with the namespace of a series. Each selector of the demand of a namespaced Schedule is restricted to its own namespace by it. "+
			"Empty: only ClusterSchedules may have spec.idle.")
}

// connect returns a client of the server, or nil if no address is set.
func connect[T any](o PrometheusOptions, with func(prometheus.Options) (*T, error)) (*T, error) {
	if o.Address == "" {
		return nil, nil
	}
	client, err := with(prometheus.Options{Address: o.Address, TokenFile: o.TokenFile})
	if err != nil {
		return nil, fmt.Errorf("--prometheus: %w", err)
	}
	return client, nil
}

// recorder returns the server as a source of pod usage, or nil if no address is set.
func (o PrometheusOptions) recorder() (tuning.Recorder, error) {
	queries, err := measure.ParseQueries(o.Queries, measure.CheckQuery)
	if err != nil {
		return nil, fmt.Errorf("--prometheus-query: %w", err)
	}
	server, err := connect(o, prometheus.New)
	if server == nil || err != nil {
		return nil, err
	}
	return measure.NewPrometheus(server, queries)
}

// idle returns the component that asks for the demand of schedules.
func (b base) idle(queue *reconcile.Queue) (*idle.Monitor, error) {
	servers, err := connect(b.opts.Prometheus, idle.Connect)
	if err != nil {
		return nil, err
	}
	return idle.New(idle.Options{World: b.world, Servers: servers, TenantLabel: b.opts.Prometheus.TenantLabel, Requeue: queue.Add,
		Dirty: b.tracker.Dirty,
		Fault: b.metrics.target.CountFault, Metrics: b.metrics.idle, Clock: b.opts.Clock, Log: b.log}), nil
}
