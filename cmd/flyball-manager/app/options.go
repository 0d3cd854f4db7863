// Package app wires the manager: it makes what the engine needs from a configuration and a set of options, and runs it until
// its context ends. The binary and the demo run the same code.
package app

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"flyball.dev/flyball/engine/tuning"
	"flyball.dev/flyball/engine/usage/recorded"
)

// Options say how the manager runs. AddFlags gives them their defaults.
type Options struct {
	// MetricsAddress is where Prometheus scrapes; "0" serves none.
	MetricsAddress string
	// HealthAddress is where /healthz and /readyz are; "0" serves none.
	HealthAddress string
	// LeaderElection lets one of several replicas work at a time.
	LeaderElection bool
	// Namespace is where Flyball runs: its lease, its certificates; selectors do not reach it.
	Namespace string
	// Pod is the Pod that the manager runs in, in Namespace: what controls it is never a target. Empty: it runs outside the cluster.
	Pod string
	// Adapters names the Adapters that the installation brings.
	Adapters []string
	// Workers is the number of targets worked on at once.
	Workers int
	// QPS and Burst limit requests to the API server; a QPS below zero leaves that to the server's priority and fairness.
	QPS   float32
	Burst int
	// UsageResolution is the pause between two measurements of what pods use, while a policy learns from that.
	UsageResolution time.Duration
	// Prometheus says which server has a history of what pods use.
	Prometheus PrometheusOptions
	// ShutdownTimeout is how long a write in flight may take once the manager is told to stop.
	ShutdownTimeout time.Duration
	// Webhook says how admission requests are served.
	Webhook WebhookOptions

	// Log takes structured lines.
	Log logr.Logger
	// Clock is the clock by which policies are decided. It is no flag: nil means the machine's.
	Clock clock.WithTicker
	// Registry takes the metrics. It is no flag: nil means that of controller-runtime, which the metrics address serves.
	Registry prometheus.Registerer
}

// setDefaults fills in what no flag sets.
func (o *Options) setDefaults() {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Webhook.Evaluate.Rate == 0 {
		o.Webhook.Evaluate.Rate = evaluateRate
	}
	if o.UsageResolution == 0 {
		o.UsageResolution = defaultResolution
	}
	if o.Registry == nil {
		o.Registry = metrics.Registry
	}
}

// WebhookOptions say how admission requests are served.
type WebhookOptions struct {
	// Enabled serves admission requests.
	Enabled bool
	// Port to listen on.
	Port int
	// Host to listen on; empty: every address.
	Host string
	// CertDir holds tls.crt, tls.key and ca.crt made by somebody else (cert-manager); empty: the manager makes and rotates its own.
	CertDir string
	// ClientCA is a file with the authorities of the API servers' client certificates; empty: clients need none. ClientNames are the
	// common names that count; none: all do.
	ClientCA    string
	ClientNames []string
	// Service is the name of the Service in Namespace that leads to the webhook.
	Service string
	// ServicePort is the port of that Service; 0: 443.
	ServicePort int32
	// URL is how the API server reaches the webhook when it runs outside the cluster; it replaces Service.
	URL string
	// Secret holds the certificates that the manager makes, and the secret part of the webhook's path.
	Secret string
	// Owner is the name of a ClusterRole with which the webhook configuration of freezes goes, so that nothing is left that
	// blocks when Flyball is removed. Empty: it goes with the CRD of ClusterChangeFreeze.
	Owner string
	// Pods changes pods as they are created, so that they start with what is recommended for them.
	Pods bool
	// Evaluate says how the evaluate API is served, on the same port.
	Evaluate EvaluateOptions
	// Drain is how long the manager works on, not ready any more, once it is told to stop, so that no admission request is lost.
	Drain time.Duration
}

// EvaluateOptions say how pipelines are answered whether freezes let them make a change.
type EvaluateOptions struct {
	// Enabled answers them.
	Enabled bool
	// Rate is how many answers a second a user gets; a burst has ten times as many. 0: 5.
	Rate float64
	// Audiences are those of which a token has to be for one; none: those of the API server.
	Audiences []string
}

// PrometheusOptions say which server has a history of what pods use. Only who installs Flyball says that: the manager sends no request to
// an address that an object names.
type PrometheusOptions struct {
	// Address is the URL of the server; empty: there is none. TokenFile has a bearer token; empty: none is sent.
	Address, TokenFile string
	// Queries are NAME=PROMQL, in place of the default ones.
	Queries []string
}

// server gives the server; nil: there is none.
func (o PrometheusOptions) server() (tuning.Recorder, error) {
	queries, err := recorded.ParseQueries(o.Queries, recorded.CheckQuery)
	if err != nil {
		return nil, fmt.Errorf("--prometheus-query: %w", err)
	}
	if o.Address == "" {
		return nil, nil
	}
	server, err := recorded.New(recorded.Options{Address: o.Address, TokenFile: o.TokenFile, Queries: queries})
	if err != nil {
		return nil, fmt.Errorf("--prometheus: %w", err)
	}
	return server, nil
}

// AddFlags registers the options as flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8080", "Address to serve Prometheus metrics on; 0 serves none.")
	fs.StringVar(&o.HealthAddress, "health-probe-bind-address", ":8081", "Address to serve /healthz and /readyz on; 0 serves none.")
	fs.BoolVar(&o.LeaderElection, "leader-elect", true, "Let one of several replicas work at a time.")
	fs.StringVar(&o.Namespace, "namespace", cmp.Or(os.Getenv("POD_NAMESPACE"), "flyball-system"), "Namespace that Flyball runs in. No selector reaches it unless it names it.")
	fs.StringVar(&o.Pod, "pod", os.Getenv("POD_NAME"), "Pod that Flyball runs in. No policy acts on what controls it. Empty: Flyball runs outside the cluster.")
	fs.StringSliceVar(&o.Adapters, "adapters", nil, "Names of the Adapters that the installation brings. One that is being deleted when the manager starts is made again once it is gone.")
	fs.IntVar(&o.Workers, "workers", 16, "Number of targets worked on at once.")
	fs.Float32Var(&o.QPS, "kube-api-qps", -1, "Requests a second to the API server; below zero there is no limit on this side and the server's priority and fairness decides.")
	fs.IntVar(&o.Burst, "kube-api-burst", 100, "Requests in one burst, where --kube-api-qps is set.")
	fs.DurationVar(&o.UsageResolution, "usage-resolution", defaultResolution, "Pause between two measurements of what pods use (metrics.k8s.io), while a policy learns from that.")
	fs.StringVar(&o.Prometheus.Address, "prometheus", "", "URL of a Prometheus server that has a history of what pods use, for policies that ask for it. Empty: there is none.")
	fs.StringVar(&o.Prometheus.TokenFile, "prometheus-token-file", "", "File with the bearer token for --prometheus, read anew for each request.")
	fs.StringArrayVar(&o.Prometheus.Queries, "prometheus-query", nil, "NAME=PROMQL: a query for --prometheus to put in place of the default one.")
	fs.DurationVar(&o.ShutdownTimeout, "shutdown-timeout", 20*time.Second, "How long a write in flight may take once the manager is told to stop.")
	fs.BoolVar(&o.Webhook.Enabled, "webhook", true, "Serve admission requests: Flyball's own objects are checked where their schema cannot.")
	fs.IntVar(&o.Webhook.Port, "webhook-port", 9443, "Port to serve admission requests on.")
	fs.StringVar(&o.Webhook.Host, "webhook-host", "", "Address to serve admission requests on; empty is every address.")
	fs.StringVar(&o.Webhook.CertDir, "webhook-cert-dir", "", "Directory with tls.crt, tls.key and ca.crt, for example from cert-manager. Empty: Flyball makes and rotates its own certificates.")
	fs.StringVar(&o.Webhook.ClientCA, "webhook-client-ca", "", "File with the authorities of the client certificates that API servers present to webhooks (AdmissionConfiguration, kubeConfigFile). Who presents none is not let in. Empty: no certificate is asked for.")
	fs.StringSliceVar(&o.Webhook.ClientNames, "webhook-client-names", nil, "Common names of those certificates that count; empty: all do.")
	fs.StringVar(&o.Webhook.Service, "webhook-service", "flyball-webhook", "Service through which the API server reaches the webhook.")
	fs.Int32Var(&o.Webhook.ServicePort, "webhook-service-port", 443, "Port of that Service.")
	fs.StringVar(&o.Webhook.URL, "webhook-url", "", "URL at which the API server reaches the webhook, for a manager outside the cluster; replaces --webhook-service.")
	fs.StringVar(&o.Webhook.Secret, "webhook-secret", "flyball-webhook-cert", "Secret that holds the certificates Flyball makes, and the secret part of the webhook's path.")
	fs.DurationVar(&o.Webhook.Drain, "webhook-drain", 10*time.Second, "How long the manager works on, not ready any more, once it is told to stop: API servers have to turn to another replica.")
	fs.BoolVar(&o.Webhook.Pods, "webhook-pods", true, "Change pods as they are created, where a policy tunes what they request.")
	fs.BoolVar(&o.Webhook.Evaluate.Enabled, "evaluate", false, "Answer pipelines, at POST /v1alpha1/freezereviews on the webhook's port, whether freezes let them make a change.")
	fs.Float64Var(&o.Webhook.Evaluate.Rate, "evaluate-rate", evaluateRate, "How many such answers a second a user gets; a burst has ten times as many.")
	fs.StringSliceVar(&o.Webhook.Evaluate.Audiences, "evaluate-audiences", nil, "Audiences of which the tokens of pipelines have to be for one; empty: those of the API server.")
	fs.StringVar(&o.Webhook.Owner, "webhook-owner", "", "ClusterRole with which the webhook configuration of freezes, the lease and the Secret are removed. Empty: the CRD of ClusterChangeFreeze, with the first alone.")
}

func (o *Options) validate() error {
	var errs []error
	if o.Namespace == "" {
		errs = append(errs, errors.New("--namespace must not be empty"))
	}
	if o.Workers < 1 {
		errs = append(errs, fmt.Errorf("--workers must be at least 1, is %d", o.Workers))
	}
	if o.UsageResolution < 0 {
		errs = append(errs, fmt.Errorf("--usage-resolution must be above 0, is %s", o.UsageResolution))
	}
	if _, err := o.Prometheus.server(); err != nil {
		errs = append(errs, err)
	}
	if o.Webhook.Enabled && (o.Webhook.Port < 1 || o.Webhook.Port > 65535) {
		errs = append(errs, fmt.Errorf("--webhook-port must be from 1 to 65535, is %d", o.Webhook.Port))
	}
	if e := o.Webhook.Evaluate; e.Enabled && !o.Webhook.Enabled {
		errs = append(errs, errors.New("--evaluate needs --webhook, on whose port it is"))
	} else if e.Enabled && e.Rate < 0 {
		errs = append(errs, fmt.Errorf("--evaluate-rate must be above 0, is %g", e.Rate))
	}
	return errors.Join(errs...)
}

// defaultResolution is the pause between two measurements unless somebody says otherwise.
const defaultResolution = time.Minute

// evaluateRate is how many answers a second a user gets from the evaluate API unless somebody says otherwise.
const evaluateRate = 5
