package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// These annotations of a pod say how much each of its containers uses. KWOK, behind the real metrics server, reads the
// same ones and has the same defaults.
const (
	annotationCPU    = "kwok.x-k8s.io/usage-cpu"
	annotationMemory = "kwok.x-k8s.io/usage-memory"
)

// metricsAPI is the name of the APIService of the metrics API.
const metricsAPI = "v1beta1.metrics.k8s.io"

// Usage serves the metrics API (metrics.k8s.io) from this process, behind the API server's aggregation layer. Each answer
// is a new measurement of the pods that are ready, so no test waits for the resolution of a metrics server. The usage is
// that of the pods' annotations.
type Usage struct {
	env    *Env
	server *httptest.Server
	// before is the port of the metrics server.
	before int
}

// ServeUsage makes the cluster use a new Usage instead of its metrics server. The cluster needs local.LevelMetrics.
func (e *Env) ServeUsage(ctx context.Context) (*Usage, error) {
	u := &Usage{env: e}
	u.server = httptest.NewTLSServer(u)
	port, err := strconv.Atoi(u.server.URL[strings.LastIndex(u.server.URL, ":")+1:])
	if err != nil {
		return nil, fmt.Errorf("read the port of the metrics API: %w", err)
	}
	if u.before, err = e.leadMetricsTo(ctx, port); err != nil {
		u.server.Close()
		return nil, err
	}
	return u, nil
}

// Close ends the server.
func (u *Usage) Close() { u.server.Close() }

// Real makes the cluster use its metrics server, until the returned function is called.
func (u *Usage) Real(ctx context.Context) (back func() error, err error) {
	own, err := u.env.leadMetricsTo(ctx, u.before)
	if err != nil {
		return nil, err
	}
	return func() error { _, err := u.env.leadMetricsTo(ctx, own); return err }, nil
}

// leadMetricsTo makes the API server read the metrics API at a port of this machine. It returns the port before.
func (e *Env) leadMetricsTo(ctx context.Context, port int) (before int, err error) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "metrics-server"}}
	if err := e.Client.Get(ctx, client.ObjectKeyFromObject(service), service); err != nil {
		return 0, fmt.Errorf("read the service of the metrics API: %w", err)
	}
	before = int(service.Spec.Ports[0].Port)
	if err := e.Patch(ctx, service, fmt.Sprintf(`{"spec":{"ports":[{"name":"https","port":%d}]}}`, port)); err != nil {
		return 0, fmt.Errorf("lead the service of the metrics API to port %d: %w", port, err)
	}
	api := &unstructured.Unstructured{}
	api.SetAPIVersion("apiregistration.k8s.io/v1")
	api.SetKind("APIService")
	api.SetName(metricsAPI)
	if err := e.Patch(ctx, api, fmt.Sprintf(`{"spec":{"service":{"port":%d}}}`, port)); err != nil {
		return 0, fmt.Errorf("lead the metrics API to port %d: %w", port, err)
	}
	return before, Poll(ctx, Patience, func() error {
		all := &unstructured.UnstructuredList{}
		all.SetAPIVersion("metrics.k8s.io/v1beta1")
		all.SetKind("PodMetricsList")
		return e.Client.List(ctx, all, client.InNamespace(Namespace))
	})
}

// ServeHTTP implements http.Handler. Paths are those of the API server.
func (u *Usage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, found := strings.CutPrefix(r.URL.Path, "/apis/metrics.k8s.io/v1beta1")
	if !found {
		http.NotFound(w, r) // such as the aggregated discovery, without which the API server asks for that of the group
		return
	}
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case path == "" || path == "/":
		answer(w, discovery)
	case path == "/pods":
		u.list(w, r, "")
	case len(parts) == 3 && parts[0] == "namespaces" && parts[2] == "pods":
		u.list(w, r, parts[1])
	default:
		http.NotFound(w, r)
	}
}

var discovery = map[string]any{
	"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "metrics.k8s.io/v1beta1",
	"resources": []any{map[string]any{"name": "pods", "singularName": "", "namespaced": true, "kind": "PodMetrics",
		"verbs": []string{"get", "list"}}},
}

func answer(w http.ResponseWriter, body any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(body) // an error means that the client has gone
}

// list answers with the usage of the pods of a namespace, or of all namespaces.
func (u *Usage) list(w http.ResponseWriter, r *http.Request, namespace string) {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var pods corev1.PodList
	selected := client.MatchingLabelsSelector{Selector: selector}
	if err := u.env.Client.List(r.Context(), &pods, client.InNamespace(namespace), selected); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	items, now := make([]any, 0, len(pods.Items)), time.Now().UTC()
	for i := range pods.Items {
		if p := &pods.Items[i]; isReady(p) {
			items = append(items, usageOf(p, now))
		}
	}
	answer(w, map[string]any{"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": map[string]any{}, "items": items})
}

func isReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue && p.DeletionTimestamp == nil
		}
	}
	return false
}

// usageOf returns the PodMetrics of a pod.
func usageOf(p *corev1.Pod, now time.Time) map[string]any {
	used := map[string]string{"cpu": "1m", "memory": "1Mi"}
	for annotation, of := range map[string]string{annotationCPU: "cpu", annotationMemory: "memory"} {
		if amount, found := p.Annotations[annotation]; found {
			used[of] = amount
		}
	}
	containers := make([]any, 0, len(p.Spec.Containers)+len(p.Spec.InitContainers))
	for _, c := range p.Spec.Containers {
		containers = append(containers, map[string]any{"name": c.Name, "usage": used})
	}
	for _, c := range p.Spec.InitContainers {
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			containers = append(containers, map[string]any{"name": c.Name, "usage": used})
		}
	}
	return map[string]any{
		"metadata":  map[string]any{"namespace": p.Namespace, "name": p.Name, "labels": p.Labels},
		"timestamp": now.Format(time.RFC3339Nano), "window": "1s", "containers": containers,
	}
}

// LeadingClock is the machine's clock with a lead, which a test can enlarge.
type LeadingClock struct{ lead atomic.Int64 }

// NewLeadingClock returns a clock with a lead.
func NewLeadingClock(lead time.Duration) *LeadingClock {
	c := &LeadingClock{}
	c.Step(lead)
	return c
}

// Step enlarges the lead.
func (c *LeadingClock) Step(d time.Duration) { c.lead.Add(int64(d)) }

// Now implements clock.PassiveClock.
func (c *LeadingClock) Now() time.Time { return time.Now().Add(time.Duration(c.lead.Load())) }

// Since implements clock.PassiveClock.
func (c *LeadingClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }
