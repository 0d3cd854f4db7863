// Package app wires the manager. It builds the engine from a configuration and options, and runs it until the context
// ends. The binary and the demo run the same code.
package app

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/controller/notifications"
	"flyball.dev/flyball/engine/status"
)

// Options configure the manager. AddFlags sets their defaults.
type Options struct {
	// MetricsAddress is the address of the Prometheus metrics. "0" disables them.
	MetricsAddress string
	// HealthAddress is the address of /healthz and /readyz. "0" disables them.
	HealthAddress string
	// LeaderElection lets only the leader among several replicas work on targets.
	LeaderElection bool
	// Namespace is the namespace that Flyball runs in. It holds the lease and the certificates, and selectors do not
	// reach it.
	Namespace string
	// Pod is the name of the manager's Pod in Namespace. The objects that control the Pod are never targets. Empty
	// means the manager runs outside the cluster.
	Pod string
	// DryRun writes nothing to targets, pods, owners and objects of templates, and refuses no change. Statuses, metrics and events are
	// as if it did, and marked.
	DryRun bool
	// Workers is the number of targets worked on at the same time.
	Workers int
	// QPS and Burst limit requests to the API server. With a QPS below zero only the server's priority and fairness
	// limits them.
	QPS   float32
	Burst int
	// UsageResolution is the pause between two measurements of pod usage, while a policy learns from usage.
	UsageResolution time.Duration
	// Prometheus configures the server that has the history of pod usage and the demand for targets.
	Prometheus PrometheusOptions
	// Savings has the rates by which savings are counted as money and CO2.
	Savings SavingsOptions
	// Notifications configures the messages of Notifications.
	Notifications NotificationOptions
	// ShutdownTimeout is the time that writes in flight get after the manager was asked to stop.
	ShutdownTimeout time.Duration
	// Webhook configures the admission webhook.
	Webhook WebhookOptions

	// Log receives structured log lines.
	Log logr.Logger
	// Clock is the clock by which policies are decided. No flag sets it; nil means the machine's clock.
	Clock clock.WithTicker
	// PodClock is the clock by which a tuning policy counts the age of pods. No flag sets it; nil means the machine's clock,
	// which is the cluster's.
	PodClock clock.PassiveClock
	// Registry receives the metrics. No flag sets it; nil means the registry of controller-runtime, served at
	// MetricsAddress.
	Registry prometheus.Registerer
}

// setDefaults sets the defaults of fields without a flag.
func (o *Options) setDefaults() {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.PodClock == nil {
		o.PodClock = clock.RealClock{}
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

// dryRun returns the keeper of writes in a dry run, or nil if writes are sent.
func (o *Options) dryRun(config *rest.Config) (*apply.DryRun, error) {
	if !o.DryRun {
		return nil, nil
	}
	o.Log.Info("Dry run: nothing is written to targets, pods, owners and objects of templates, and no change is refused")
	return apply.NewDryRun(config)
}

// mark returns the begin of the texts of events.
func (o *Options) mark() string {
	if o.DryRun {
		return status.DryRunMark
	}
	return ""
}

// WebhookOptions configure the admission webhook.
type WebhookOptions struct {
	// Enabled turns the webhook on.
	Enabled bool
	// Port is the port to listen on.
	Port int
	// Host is the address to listen on. Empty means every address.
	Host string
	// CertDir is a directory with tls.crt, tls.key and ca.crt from another issuer, for example cert-manager. Empty
	// means the manager issues and rotates its own certificates.
	CertDir string
	// ClientCA is a file with the authorities of the API servers' client certificates. Empty means that clients need no
	// certificate. ClientNames are the accepted common names; without any, every name is accepted.
	ClientCA    string
	ClientNames []string
	// Service is the name of the webhook's Service in Namespace.
	Service string
	// ServicePort is the port of the Service. 0 means 443.
	ServicePort int32
	// URL is the address of the webhook when it runs outside the cluster. It replaces Service.
	URL string
	// Secret is the name of the Secret with the certificates that the manager issues.
	Secret string
	// Owner is the name of the ClusterRole that owns the webhook configuration of freezes. So an uninstallation of
	// Flyball leaves no configuration that blocks changes. Empty means that the CRD of ClusterChangeFreeze is the
	// owner.
	Owner string
	// Pods sets the recommended requests of pods as they are created.
	Pods bool
	// Evaluate configures the evaluate API, served on the same port.
	Evaluate APIOptions
	// Drain is the time for which the manager goes on serving after it was asked to stop. It reports itself as not
	// ready meanwhile, so no admission request is lost.
	Drain time.Duration
}

// APIOptions configure the evaluate API, by which pipelines ask whether freezes allow a change.
type APIOptions struct {
	// Enabled turns the API on.
	Enabled bool
	// Rate is the number of requests per second and user. The burst is ten times the rate. 0 means 5.
	Rate float64
	// Audiences are the accepted audiences of tokens. Without any, the audiences of the API server are accepted.
	Audiences []string
}

// check returns an error if the API of a flag cannot be served.
func (o APIOptions) check(flag string, webhook bool) error {
	switch {
	case o.Enabled && !webhook:
		return fmt.Errorf("%s needs --webhook, on whose port it is", flag)
	case o.Enabled && o.Rate < 0:
		return fmt.Errorf("%s-rate must be above 0, is %g", flag, o.Rate)
	}
	return nil
}

// NotificationOptions configure the messages of Notifications.
type NotificationOptions struct {
	// Enabled sends messages. Otherwise the statuses of Notifications say that none are sent.
	Enabled bool
	// Secrets are the names of the Secrets with addresses and keys. No other Secret is read for messages.
	Secrets []string
	// AllowedHosts are the networks, hosts and globs of hosts to which messages may go besides public addresses.
	AllowedHosts []string
	// PerNamespace is the number of Notifications of a namespace with messages.
	PerNamespace int
	// Page is the URL by which people reach the pages in the cluster; empty: messages have no link.
	Page string
}

// SavingsOptions are the rates of money and CO2, in the form of status.ParseRates. Empty: not counted.
type SavingsOptions struct {
	Price, CO2 string
}

func (o SavingsOptions) rates() (status.Rates, error) {
	rates, err := status.ParseRates(o.Price, o.CO2)
	if err != nil {
		return status.Rates{}, fmt.Errorf("--savings-price and --savings-co2: %w", err)
	}
	return rates, nil
}

// AddFlags registers the options as flags.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8080", "Address to serve Prometheus metrics on; 0 serves none.")
	fs.StringVar(&o.HealthAddress, "health-probe-bind-address", ":8081", "Address to serve /healthz and /readyz on; 0 serves none.")
	fs.BoolVar(&o.LeaderElection, "leader-elect", true, "Let one of several replicas work at a time.")
	fs.StringVar(&o.Namespace, "namespace", cmp.Or(os.Getenv("POD_NAMESPACE"), "flyball-system"),
		"Namespace that Flyball runs in. No selector reaches it unless it names it.")
	fs.StringVar(&o.Pod, "pod", os.Getenv("POD_NAME"),
		"Pod that Flyball runs in. Policies do not act on the objects that control it. Empty: Flyball runs outside the cluster.")
	fs.BoolVar(&o.DryRun, "dry-run", false,
		"Write nothing to targets, pods, owners and objects of templates, and refuse no change. Statuses, metrics and events say what would be.")
	fs.IntVar(&o.Workers, "workers", 16, "Number of targets worked on at once.")
	fs.Float32Var(&o.QPS, "kube-api-qps", -1,
		"Requests a second to the API server; below zero there is no limit on this side and the server's priority and fairness decides.")
	fs.IntVar(&o.Burst, "kube-api-burst", 100, "Requests in one burst, where --kube-api-qps is set.")
	fs.DurationVar(&o.UsageResolution, "usage-resolution", defaultResolution,
		"Pause between two measurements of pod usage (metrics.k8s.io), while a policy learns from usage.")
	o.Prometheus.addFlags(fs)
	fs.StringVar(&o.Savings.Price, "savings-price", "",
		"Price of a CPU core hour and of a GiB hour of memory, such as cpu=0.031,memory=0.004,currency=EUR, by which flyball_saved_cost_total "+
			"counts. Empty: no such metric.")
	fs.StringVar(&o.Savings.CO2, "savings-co2", "",
		"Grams of CO2 of a CPU core hour and of a GiB hour of memory, such as cpu=4.6,memory=0.4, by which flyball_saved_co2_grams_total "+
			"counts. Empty: no such metric.")
	fs.BoolVar(&o.Notifications.Enabled, "notifications", false,
		"Send the messages of Notifications and ClusterNotifications. It takes the right to read their Secrets.")
	fs.StringSliceVar(&o.Notifications.Secrets, "notification-secrets", []string{"flyball-notifications"},
		"Names of the Secrets with addresses and keys of messages. No other Secret is read for them.")
	fs.StringSliceVar(&o.Notifications.AllowedHosts, "notification-allowed-hosts", nil,
		"Networks (10.1.0.0/16), hosts and globs of hosts (*.corp.example) to which messages may go besides public addresses.")
	fs.IntVar(&o.Notifications.PerNamespace, "notifications-per-namespace", 20,
		"Number of Notifications of a namespace that send messages: the oldest. More are refused.")
	fs.StringVar(&o.Notifications.Page, "ui-url", "",
		"URL by which people reach the pages in the cluster, such as https://flyball.corp.example. Messages ahead of a night name it.")
	fs.DurationVar(&o.ShutdownTimeout, "shutdown-timeout", 20*time.Second,
		"Time limit for writes in flight after the manager was asked to stop.")
	o.Webhook.addFlags(fs)
}

// addFlags registers the options as flags.
func (o *WebhookOptions) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.Enabled, "webhook", true,
		"Serve admission requests, to validate Flyball's own objects beyond their schemas and to enforce freezes.")
	fs.IntVar(&o.Port, "webhook-port", 9443, "Port to serve admission requests on.")
	fs.StringVar(&o.Host, "webhook-host", "", "Address to serve admission requests on; empty: every address.")
	fs.StringVar(&o.CertDir, "webhook-cert-dir", "",
		"Directory with tls.crt, tls.key and ca.crt, for example from cert-manager. Empty: Flyball makes and rotates its own certificates.")
	fs.StringVar(&o.ClientCA, "webhook-client-ca", "",
		"File with the authorities of the client certificates that API servers present to webhooks (AdmissionConfiguration, "+
			"kubeConfigFile). Clients without such a certificate are refused. Empty: clients need no certificate.")
	fs.StringSliceVar(&o.ClientNames, "webhook-client-names", nil, "Accepted common names of these certificates; empty: all.")
	fs.StringVar(&o.Service, "webhook-service", "flyball-webhook", "Service through which the API server reaches the webhook.")
	fs.Int32Var(&o.ServicePort, "webhook-service-port", 443, "Port of that Service.")
	fs.StringVar(&o.URL, "webhook-url", "",
		"URL at which the API server reaches the webhook, for a manager outside the cluster; replaces --webhook-service.")
	fs.StringVar(&o.Secret, "webhook-secret", "flyball-webhook-cert", "Secret with the certificates that Flyball issues.")
	fs.DurationVar(&o.Drain, "webhook-drain", 10*time.Second,
		"How long the manager, no longer ready, goes on serving after it was asked to stop, until API servers use another replica.")
	fs.BoolVar(&o.Pods, "webhook-pods", true, "Set the requests of new pods if a policy tunes them.")
	fs.BoolVar(&o.Evaluate.Enabled, "evaluate", false,
		"Serve POST /v1alpha1/freezereviews on the webhook's port, which answers pipelines whether freezes allow a change.")
	fs.Float64Var(&o.Evaluate.Rate, "evaluate-rate", evaluateRate,
		"Number of these answers per second and user; the burst is ten times as large.")
	fs.StringSliceVar(&o.Evaluate.Audiences, "evaluate-audiences", nil,
		"Accepted audiences of the tokens of pipelines; empty: those of the API server.")
	fs.StringVar(&o.Owner, "webhook-owner", "",
		"ClusterRole that owns the webhook configurations, so that they are removed with it. Empty: the CRD of ClusterChangeFreeze owns them.")
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
	if _, err := o.Prometheus.recorder(); err != nil {
		errs = append(errs, err)
	}
	if _, err := o.Savings.rates(); err != nil {
		errs = append(errs, err)
	}
	if _, err := notifications.NewDialer(o.Notifications.AllowedHosts); err != nil {
		errs = append(errs, fmt.Errorf("--notification-allowed-hosts: %w", err))
	}
	if o.Notifications.Enabled && o.Notifications.PerNamespace < 1 {
		errs = append(errs, fmt.Errorf("--notifications-per-namespace must be at least 1, is %d", o.Notifications.PerNamespace))
	}
	if u, err := url.Parse(o.Notifications.Page); err != nil || o.Notifications.Page != "" && (u.Scheme != "https" || u.Host == "") {
		errs = append(errs, fmt.Errorf("--ui-url must be a URL such as https://flyball.corp.example, is %q", o.Notifications.Page))
	}
	if o.Webhook.Enabled && (o.Webhook.Port < 1 || o.Webhook.Port > 65535) {
		errs = append(errs, fmt.Errorf("--webhook-port must be from 1 to 65535, is %d", o.Webhook.Port))
	}
	errs = append(errs, o.Webhook.Evaluate.check("--evaluate", o.Webhook.Enabled))
	return errors.Join(errs...)
}

// defaultResolution is the default pause between two measurements.
const defaultResolution = time.Minute

// evaluateRate is the default number of requests of the evaluate API per second and user.
const evaluateRate = 5
