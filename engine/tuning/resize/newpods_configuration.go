package resize

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/engine/admission/register"
)

// hookRetry is the pause after a failed write of the configuration.
const hookRetry = time.Second

// ConfigurationWriter keeps the webhook configuration of pods in step with the recommendations. It runs on the leader, which writes
// the recommendations; without a leader pods are created unchanged.
type ConfigurationWriter struct {
	Index  *Index
	Keeper *register.Registrar
	Server register.Server
	// Exempt are namespaces without calls of the webhook.
	Exempt []string
	Log    logr.Logger

	// kept is the last known configuration. sure is true if kept is what the API server has.
	kept *admissionregistrationv1.MutatingWebhookConfiguration
	sure bool
}

// Start keeps the configuration until the context ends. Afterwards the configuration stays. A configuration that cannot
// be watched is an error.
func (w *ConfigurationWriter) Start(ctx context.Context) error {
	edited := make(chan struct{}, 1)
	if err := w.Keeper.Watch(ctx, edited, byName()); err != nil {
		return err
	}
	for {
		var again <-chan time.Time
		replaced := w.Server.Replaced()
		if err := w.keep(ctx); err != nil && ctx.Err() == nil {
			w.Log.V(1).Info("Failed to write the webhook configuration of pods; will retry", "reason", err.Error())
			again = time.After(hookRetry)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-edited:
			w.sure = false
		case <-again:
		case <-w.Index.changed:
		case <-replaced:
		}
	}
}

func (w *ConfigurationWriter) keep(ctx context.Context) error {
	namespaces, known := w.Index.Namespaces()
	if !known {
		return nil // the Index sends to changed once they are known
	}
	namespaces = slices.DeleteFunc(namespaces, func(ns string) bool { return slices.Contains(w.Exempt, ns) })
	var want *admissionregistrationv1.MutatingWebhookConfiguration
	if len(namespaces) > 0 {
		server := w.Server.Client(register.PodsPath)
		if len(server.CABundle) == 0 {
			return fmt.Errorf("keep the webhook configuration of pods: the server has no certificate yet")
		}
		want = register.PodsConfiguration(server, namespaces, w.Exempt)
	}
	if w.sure && equality.Semantic.DeepEqual(w.kept, want) {
		return nil
	}
	wrote, err := w.write(ctx, want)
	w.kept, w.sure = want, err == nil
	if wrote {
		w.Log.Info("Updated the webhook configuration of pods for the recommendations", "namespaces", len(namespaces))
	}
	return err
}

// write creates, corrects or, if want is nil, deletes the configuration.
func (w *ConfigurationWriter) write(ctx context.Context,
	want *admissionregistrationv1.MutatingWebhookConfiguration) (wrote bool, err error) {
	if want == nil {
		return w.Keeper.Delete(ctx, byName())
	}
	return w.Keeper.Keep(ctx, want)
}

// byName returns the configuration with only its name.
func byName() *admissionregistrationv1.MutatingWebhookConfiguration {
	return &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: register.PodsConfigurationName}}
}

// NewCounter returns a function that counts the results for pods in a registry. Call it once per process. A metric that is
// registered already is an error.
func NewCounter(r prometheus.Registerer) (func(Result), error) {
	pods := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flyball_new_pods_total",
		Help: "Pods looked at as they were created, by result (tuned, right, untuned, unfit, unknown, unreadable). Only tuned pods were " +
			"changed. Dry runs do not count."}, []string{"result"})
	if err := r.Register(pods); err != nil {
		return nil, err
	}
	for _, result := range Results() { // an increase shows only against an earlier value
		pods.WithLabelValues(string(result))
	}
	return func(result Result) { pods.WithLabelValues(string(result)).Inc() }, nil
}
