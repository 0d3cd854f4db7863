package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// startMetrics starts the resource metrics API and the VPA recommender. It returns when the API answers; metrics-server
// needs two samples of a pod, ten seconds apart, to know its usage.
func (c *Cluster) startMetrics(ctx context.Context) error {
	port, err := c.ports.take()
	if err != nil {
		return err
	}
	server, err := c.startMetricsServer(port)
	if err != nil {
		return err
	}
	if err := c.registerMetricsAPI(ctx, port); err != nil {
		return err
	}
	recommender, err := c.startRecommender(ctx)
	if err != nil {
		return err
	}
	return await(ctx, "the metrics API to answer", func(ctx context.Context) error {
		return c.client.get(ctx, "/apis/metrics.k8s.io/v1beta1", nil)
	}, server, recommender)
}

func (c *Cluster) startMetricsServer(port int) (*process, error) {
	// metrics-server delegates authentication and authorization, which an administrator may do.
	kubeconfig, err := c.componentKubeconfig(binMetricsServer, binMetricsServer)
	if err != nil {
		return nil, err
	}
	serving, err := c.ca.server("metrics-server-serving", "metrics-server.kube-system.svc")
	if err != nil {
		return nil, err
	}
	return c.run(binMetricsServer, []string{
		"--kubeconfig", kubeconfig, "--authentication-kubeconfig", kubeconfig, "--authorization-kubeconfig", kubeconfig,
		"--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(port),
		"--tls-cert-file", serving.certFile, "--tls-private-key-file", serving.keyFile,
		"--kubelet-insecure-tls", "--kubelet-use-node-status-port", "--kubelet-preferred-address-types", "InternalIP",
		"--metric-resolution", "10s", "--kubelet-request-timeout", "5s",
	})
}

// registerMetricsAPI makes the aggregation layer use metrics-server. The Service is a name for loopback, because no pod
// network leads to a process of this machine.
func (c *Cluster) registerMetricsAPI(ctx context.Context, port int) error {
	service := map[string]any{
		"apiVersion": "v1",
		"kind":       "Service",
		"metadata":   map[string]string{"name": "metrics-server", "namespace": "kube-system"},
		"spec": map[string]any{
			"type":         "ExternalName",
			"externalName": "localhost",
			"ports":        []any{map[string]any{"name": "https", "port": port}},
		},
	}
	apiService := map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1",
		"kind":       "APIService",
		"metadata":   map[string]string{"name": "v1beta1.metrics.k8s.io"},
		"spec": map[string]any{
			"group": "metrics.k8s.io", "version": "v1beta1",
			"groupPriorityMinimum": 100, "versionPriority": 100,
			"insecureSkipTLSVerify": true,
			"service":               map[string]any{"name": "metrics-server", "namespace": "kube-system", "port": port},
		},
	}
	if err := c.createJSON(ctx, "/api/v1/namespaces/kube-system/services", service); err != nil {
		return fmt.Errorf("create the service of metrics-server: %w", err)
	}
	if err := c.createJSON(ctx, "/apis/apiregistration.k8s.io/v1/apiservices", apiService); err != nil {
		return fmt.Errorf("register the metrics API: %w", err)
	}
	return nil
}

func (c *Cluster) createJSON(ctx context.Context, path string, object any) error {
	raw, err := json.Marshal(object)
	if err != nil {
		return err
	}
	return c.client.create(ctx, path, raw)
}

// startRecommender creates the custom resources of the vertical pod autoscaler and starts its recommender. No pod is
// evicted.
func (c *Cluster) startRecommender(ctx context.Context) (*process, error) {
	crds, err := os.ReadFile(filepath.Join(c.bin.share, assetVPACRDs))
	if err != nil {
		return nil, fmt.Errorf("read the VPA's definitions: %w", err)
	}
	for doc := range strings.SplitSeq(string(crds), "\n---\n") {
		if !strings.Contains(doc, "kind: CustomResourceDefinition") {
			continue
		}
		if err := c.client.create(ctx, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", []byte(doc)); err != nil {
			return nil, fmt.Errorf("create the VPA's definitions: %w", err)
		}
	}
	served := func(ctx context.Context) error {
		return c.client.get(ctx, "/apis/autoscaling.k8s.io/v1/verticalpodautoscalers", nil)
	}
	if err := await(ctx, "the VPA's definitions to be served", served); err != nil {
		return nil, err
	}
	kubeconfig, err := c.componentKubeconfig(binVPARecommender, binVPARecommender)
	if err != nil {
		return nil, err
	}
	port, err := c.ports.take()
	if err != nil {
		return nil, err
	}
	return c.run(binVPARecommender, []string{
		"--kubeconfig", kubeconfig, "--address", loopback(port),
		// Short intervals make a recommendation trustworthy within a test.
		"--recommender-interval", "5s", "--confidence-interval-cpu", "1m", "--confidence-interval-memory", "1m",
	})
}
