// Package measure has the sources of measurements: the metrics API (Metrics), a Prometheus server with present and past usage
// (Prometheus), and the recommendations of VerticalPodAutoscalers (Verticals).
package measure

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/engine/workload"
)

// Pod is the usage of the containers of a pod.
type Pod struct {
	// Stamp is the time of the measurement in the server's words. A different stamp means a different measurement.
	Stamp      string
	Containers []Container
}

// Container is the usage of a container.
type Container struct {
	Name string
	// MilliCPU is the mean over the window of the measurement, in thousandths of a core. Negative: unknown.
	MilliCPU float64
	// MemoryBytes is the working set. Negative: unknown.
	MemoryBytes float64
}

// Metrics reads the usage of all pods' containers from the metrics API (metrics.k8s.io). It is the only part of Flyball that
// polls, because the API has no watch. One request reads all namespaces.
type Metrics struct {
	client rest.Interface
	// timeout is the longest time of one request.
	timeout time.Duration
}

// metricsGroup is the API group of the metrics API.
var metricsGroup = schema.GroupVersion{Group: "metrics.k8s.io", Version: "v1beta1"}

// NewMetrics returns Metrics with a timeout for each request. A rest.Config without a usable API server is an error.
func NewMetrics(config *rest.Config, timeout time.Duration) (*Metrics, error) {
	client, err := clientOf(config, metricsGroup)
	if err != nil {
		return nil, fmt.Errorf("make the client of the metrics API: %w", err)
	}
	return &Metrics{client: client, timeout: timeout}, nil
}

// clientOf returns a JSON client of one group and version, which needs no Go types.
func clientOf(config *rest.Config, group schema.GroupVersion) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &group, "/apis"
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	config.AcceptContentTypes, config.ContentType = "application/json", "application/json"
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("make a client of %s: %w", group, err)
	}
	return client, nil
}

// metricsList has the read fields of the API's answer.
type metricsList struct {
	Items []struct {
		Metadata struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
		} `json:"metadata"`
		Timestamp  string `json:"timestamp"`
		Containers []struct {
			Name  string  `json:"name"`
			Usage amounts `json:"usage"`
		} `json:"containers"`
	} `json:"items"`
}

// amounts are decoded leniently: an invalid amount is unknown. A fault in a container must not hide the usage of all
// others.
type amounts map[string]json.RawMessage

// UnmarshalJSON implements json.Unmarshaler.
func (a *amounts) UnmarshalJSON(raw []byte) error {
	all := map[string]json.RawMessage{}
	if json.Unmarshal(raw, &all) == nil {
		*a = all
	}
	return nil
}

// quantity returns the amount of a resource; false: it is missing or invalid.
func (a amounts) quantity(of string) (resource.Quantity, bool) {
	return workload.ParseQuantity(strings.Trim(string(a[of]), `"`))
}

// Read returns the usage of all pods. Pods without a measurement are left out. Its error names the metrics API.
func (r *Metrics) Read(ctx context.Context) (map[types.NamespacedName]Pod, error) {
	raw, err := rawOf(r.client.Get().Resource("pods").Timeout(r.timeout).Do(ctx))
	if err != nil {
		return nil, fmt.Errorf("read the metrics API (%s), which a metrics server serves: %w", metricsGroup, err)
	}
	return parse(raw)
}

// mostWords is the number of bytes kept of an answer that is not an API object.
const mostWords = 512

// rawOf returns the body of an answer. Its error has the text of the server even if that is plain text, for example
// from the API server's aggregator while the metrics server is away. The error of Result.Raw has only the status code.
func rawOf(answer rest.Result) ([]byte, error) {
	err := answer.Error()
	if err == nil {
		return answer.Raw()
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, c := range status.Status().Details.Causes {
			if words := workload.OneLine(c.Message, mostWords); c.Type == metav1.CauseTypeUnexpectedServerResponse && words != "unknown" &&
				!strings.Contains(err.Error(), words) {
				err = fmt.Errorf("%w: %s", err, words)
			}
		}
	}
	return nil, err
}

func parse(raw []byte) (map[types.NamespacedName]Pod, error) {
	var all metricsList
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, fmt.Errorf("read the answer of the metrics API (%s): %w", metricsGroup, err)
	}
	pods := make(map[types.NamespacedName]Pod, len(all.Items))
	for i := range all.Items {
		item := &all.Items[i]
		pod := Pod{Stamp: item.Timestamp, Containers: make([]Container, 0, len(item.Containers))}
		for _, c := range item.Containers {
			pod.Containers = append(pod.Containers, Container{Name: c.Name, MilliCPU: amount(c.Usage, "cpu", 1000),
				MemoryBytes: amount(c.Usage, "memory", 1)})
		}
		pods[types.NamespacedName{Namespace: item.Metadata.Namespace, Name: item.Metadata.Name}] = pod
	}
	return pods, nil
}

// amount returns a resource in a unit. units is the number of such units in a core or a byte. It returns -1 if the resource is
// missing or invalid.
func amount(used amounts, of string, units float64) float64 {
	q, said := used.quantity(of)
	if n := q.AsApproximateFloat64(); said && n >= 0 && !math.IsInf(n, 0) {
		return units * n
	}
	return -1
}
