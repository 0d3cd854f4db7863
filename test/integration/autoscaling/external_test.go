package autoscaling

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// external serves the external metrics API through the aggregation layer of the API server. It returns the same number
// for every metric. With an external metric, an autoscaler may have a minimum of zero and scale to it.
type external struct {
	value  atomic.Int64
	server *httptest.Server
}

const externalGroup = "external.metrics.k8s.io"

// serveExternal starts the server, and makes the API server pass requests on to it.
func serveExternal() *external {
	GinkgoHelper()
	e := &external{}
	e.server = httptest.NewTLSServer(e)
	DeferCleanup(e.server.Close)
	port := e.server.Listener.Addr().(*net.TCPAddr).Port
	Expect(env.Apply(ctx, fmt.Appendf(nil, `
apiVersion: v1
kind: Service
metadata: {name: external-metrics, namespace: kube-system}
spec: {type: ExternalName, externalName: localhost, ports: [{name: https, port: %[1]d}]}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.%[2]s}
spec:
  group: %[2]s
  version: v1beta1
  groupPriorityMinimum: 100
  versionPriority: 100
  insecureSkipTLSVerify: true
  service: {name: external-metrics, namespace: kube-system, port: %[1]d}
`, port, externalGroup))).To(Succeed())
	Eventually(func(g Gomega) {
		service := &unstructured.Unstructured{}
		service.SetAPIVersion("apiregistration.k8s.io/v1")
		service.SetKind("APIService")
		service.SetName("v1beta1." + externalGroup)
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(service), service)).To(Succeed())
		conditions, _, _ := unstructured.NestedSlice(service.Object, "status", "conditions")
		g.Expect(conditions).To(ContainElement(And(HaveKeyWithValue("type", "Available"), HaveKeyWithValue("status", "True"))))
	}).Should(Succeed())
	return e
}

// set changes the number.
func (e *external) set(n int64) { e.value.Store(n) }

// ServeHTTP answers discovery and reads of a metric.
func (e *external) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	answer := map[string]any{}
	switch path := strings.Trim(strings.TrimPrefix(r.URL.Path, "/apis/"+externalGroup+"/v1beta1"), "/"); {
	case path == "":
		answer = map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": externalGroup + "/v1beta1", "resources": []any{}}
	case strings.HasPrefix(path, "namespaces/"):
		answer = map[string]any{"kind": "ExternalMetricValueList", "apiVersion": externalGroup + "/v1beta1", "metadata": map[string]any{},
			"items": []any{map[string]any{
				"metricName": path[strings.LastIndex(path, "/")+1:], "metricLabels": map[string]string{},
				"timestamp": time.Now().UTC().Format(time.RFC3339), "value": fmt.Sprint(e.value.Load()),
			}}}
	default:
		w.WriteHeader(http.StatusNotFound)
	}
	// A client that has gone away hears nothing.
	_ = json.NewEncoder(w).Encode(answer)
}
