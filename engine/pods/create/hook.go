package create

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

	"flyball.dev/flyball/engine/admit/registration"
)

const (
	// hookRetry is the pause after a failed write of the configuration.
	hookRetry = time.Second
	// hookCheck is the time between two comparisons of the configuration with the server's certificate. They are made
	// in memory. The certificate is renewed long before it expires.
	hookCheck = 10 * time.Second
)

// Hook keeps the webhook configuration of pods in step with the recommendations. It runs on the leader, which writes
// the recommendations; without a leader pods are created unchanged.
type Hook struct {
	Index  *Index
	Hook   registration.PodsHook
	Server registration.Server
	// Exempt are namespaces without calls of the webhook.
	Exempt []string
	// Owner returns the owner of the configuration; nil: none.
	Owner func(ctx context.Context) (*metav1.OwnerReference, error)
	Log   logr.Logger

	// kept is the last known configuration. sure is true if kept is what the API server has.
	kept *admissionregistrationv1.MutatingWebhookConfiguration
	sure bool
}

// Start keeps the configuration until the context ends. Afterwards the configuration stays.
func (h *Hook) Start(ctx context.Context) error {
	edited := make(chan struct{}, 1)
	if err := registration.WatchNamed(ctx, h.Hook.Client, registration.PodsConfigurationName,
		&admissionregistrationv1.MutatingWebhookConfiguration{}, h.Log, edited); err != nil {
		return fmt.Errorf("watch the webhook configuration of pods: %w", err)
	}
	ticker := time.NewTicker(hookCheck)
	defer ticker.Stop()
	for {
		var again <-chan time.Time
		if err := h.keep(ctx); err != nil && ctx.Err() == nil {
			h.Log.V(1).Info("Failed to write the webhook configuration of pods; will retry", "reason", err.Error())
			again = time.After(hookRetry)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-edited:
			h.sure = false
		case <-again:
		case <-h.Index.changed:
		case <-ticker.C:
		}
	}
}

func (h *Hook) keep(ctx context.Context) error {
	namespaces, known := h.Index.Namespaces()
	if !known {
		return nil // the Index sends to changed once they are known
	}
	namespaces = slices.DeleteFunc(namespaces, func(ns string) bool { return slices.Contains(h.Exempt, ns) })
	var want *admissionregistrationv1.MutatingWebhookConfiguration
	if len(namespaces) > 0 {
		if len(h.Server.CABundle()) == 0 {
			return fmt.Errorf("keep the webhook configuration of pods: the server has no certificate yet")
		}
		var owner *metav1.OwnerReference
		if h.Owner != nil {
			var err error
			if owner, err = h.Owner(ctx); err != nil {
				return err
			}
		}
		want = registration.PodsConfiguration(h.Server.Client(registration.PodsPath), namespaces, h.Exempt, owner)
	}
	if h.sure && equality.Semantic.DeepEqual(h.kept, want) {
		return nil
	}
	wrote, err := h.Hook.Keep(ctx, want)
	h.kept, h.sure = want, err == nil
	if wrote {
		h.Log.Info("Updated the webhook configuration of pods for the recommendations", "namespaces", len(namespaces))
	}
	return err
}

// NewNote returns a function that counts the results for pods in a registry. Call it once per process.
func NewNote(r prometheus.Registerer) (func(Result), error) {
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
