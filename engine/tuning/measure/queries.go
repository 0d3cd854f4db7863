package measure

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/common/model"

	"flyball.dev/flyball/engine/workload"
)

// Names of queries. A query of a history returns one series per container, with the label container; only the query
// Replicas returns a single series. A query whose name begins with Now returns one value per container of a pod, with
// the labels namespace, pod and container.
const (
	// CPU is the mean usage of the ready pods in cores.
	CPU = "cpu"
	// Memory is the largest usage of a pod in bytes.
	Memory = "memory"
	// Replicas are the ready pods.
	Replicas = "replicas"
	// Throttled is the share of the CPU demand that was not served because of limits, from 0 to 1.
	Throttled = "throttled"
	// OOMKills are the kills for lack of memory since the previous sample. MemoryLimit is the limit in bytes at the
	// time of the kills.
	OOMKills    = "oom_kills"
	MemoryLimit = "memory_limit"
	// NowCPU is the present usage of a container in cores. NowMemory is its present usage in bytes. NowTime is the time
	// of the measurement in seconds since 1970, with one value per pod.
	NowCPU    = "now_cpu"
	NowMemory = "now_memory"
	NowTime   = "now_time"
)

// ofHistory are the queries of a history in their order. mustAnswer are the queries without which nothing can be
// learnt.
var (
	ofHistory  = []string{CPU, Memory, Replicas, Throttled, OOMKills, MemoryLimit}
	mustAnswer = []string{CPU, Memory, Replicas}
)

// Placeholders of queries.
const (
	namespacePlaceholder  = "$namespace"
	namespacesPlaceholder = "$namespaces"
	podsPlaceholder       = "$pods"
	stepPlaceholder       = "$step"
)

// DefaultQueries use the metrics of cadvisor (the kubelet) and of kube-state-metrics. In a query of a history,
// $namespace is the namespace, $pods is a regular expression for the names of the pods, and $step is the time between
// two samples. In other queries, $namespaces is a regular expression for namespaces.
var DefaultQueries = map[string]string{
	CPU:      `avg by (container) (rate(container_cpu_usage_seconds_total{namespace="$namespace",pod=~"$pods",container!="",container!="POD"}[5m]))`,
	Memory:   `max by (container) (container_memory_working_set_bytes{namespace="$namespace",pod=~"$pods",container!="",container!="POD"})`,
	Replicas: `sum(kube_pod_status_ready{namespace="$namespace",pod=~"$pods",condition="true"})`,
	Throttled: `sum by (container) (rate(container_cpu_cfs_throttled_seconds_total{namespace="$namespace",pod=~"$pods",container!="",container!="POD"}[5m]))` +
		` / (sum by (container) (rate(container_cpu_cfs_throttled_seconds_total{namespace="$namespace",pod=~"$pods",container!="",container!="POD"}[5m]))` +
		` + sum by (container) (rate(container_cpu_usage_seconds_total{namespace="$namespace",pod=~"$pods",container!="",container!="POD"}[5m])))`,
	OOMKills: `sum by (container) (clamp_min(kube_pod_container_status_restarts_total{namespace="$namespace",pod=~"$pods"}` +
		` - kube_pod_container_status_restarts_total{namespace="$namespace",pod=~"$pods"} offset $step, 0)` +
		` * on (namespace, pod, container) group_left () (kube_pod_container_status_last_terminated_reason{namespace="$namespace",pod=~"$pods",reason="OOMKilled"} == 1))`,
	MemoryLimit: `max by (container) (kube_pod_container_resource_limits{namespace="$namespace",pod=~"$pods",resource="memory"})`,
	NowCPU:      `sum by (namespace, pod, container) (rate(container_cpu_usage_seconds_total{namespace=~"$namespaces",container!="",container!="POD"}[5m]))`,
	NowMemory:   `max by (namespace, pod, container) (container_memory_working_set_bytes{namespace=~"$namespaces",container!="",container!="POD"})`,
	NowTime:     `max by (namespace, pod) (timestamp(container_memory_working_set_bytes{namespace=~"$namespaces",container!="",container!="POD"}))`,
}

// CheckQuery returns an error for an unknown query name.
func CheckQuery(name string) error {
	if _, ok := DefaultQueries[name]; ok {
		return nil
	}
	names := slices.Sorted(maps.Keys(DefaultQueries))
	return fmt.Errorf("there is no query %q%s: they are %s", name, workload.Hint(name, names), strings.Join(names, ", "))
}

// ParseQueries parses queries that replace the defaults, each as NAME=PROMQL. check returns an error for an unknown
// name.
func ParseQueries(texts []string, check func(name string) error) (map[string]string, error) {
	all := map[string]string{}
	for _, text := range texts {
		name, query, ok := strings.Cut(text, "=")
		if !ok || strings.TrimSpace(query) == "" {
			return nil, fmt.Errorf("%q is no NAME=PROMQL", text)
		}
		if err := check(name); err != nil {
			return nil, err
		}
		all[name] = query
	}
	return all, nil
}

// PodsOf returns a regular expression for the names that controllers give the pods of an object.
func PodsOf(kind, name string) string {
	name = strings.ReplaceAll(name, ".", "[.]")
	switch kind {
	case "Deployment", "Rollout":
		return name + "-[a-z0-9]+-[a-z0-9]{5}"
	case "StatefulSet":
		return name + "-[0-9]+"
	case "DaemonSet", "ReplicaSet":
		return name + "-[a-z0-9]{5}"
	}
	return name + "-.+"
}

// Filled returns the default query of a history for the pods of a target.
func Filled(name string, of Range) string { return fill(DefaultQueries[name], of) }

func fill(query string, of Range) string {
	return strings.NewReplacer(namespacePlaceholder, of.Namespace, podsPlaceholder, of.Pods, stepPlaceholder,
		model.Duration(of.Step).String()).Replace(query)
}

// query returns the query of a name.
func (s *Prometheus) query(name string) string {
	if text, ok := s.queries[name]; ok {
		return text
	}
	return DefaultQueries[name]
}
