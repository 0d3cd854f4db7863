package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	promapi "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"flyball.dev/flyball/engine/policy/tortoise/usage"
)

// Placeholders of queries.
const (
	namespacePlaceholder = "$namespace"
	podsPlaceholder      = "$pods"
	stepPlaceholder      = "$step"
)

// DefaultQueries are for the metrics of cadvisor (the kubelet) and of kube-state-metrics. Each gives a series a container, that of replicas
// one series. $namespace and $pods are the namespace and a regular expression of the names of the pods; $step is the time between two
// samples.
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
}

// mustAnswer are the queries without which there is nothing to learn. The others may find nothing.
var mustAnswer = []string{CPU, Memory, Replicas}

// Prometheus reads samples from a server.
type Prometheus struct {
	// Address is the URL of the server, with user and password if it wants them. TokenFile has a bearer token; empty: none.
	Address, TokenFile string
	// Namespace, and Pods, a regular expression of the names of the target's pods.
	Namespace, Pods string
	// Queries by field, in place of DefaultQueries.
	Queries map[string]string
	// From and To are the instants of the first and the last sample, Step is between two samples.
	From, To time.Time
	Step     time.Duration
	// Progress is told what goes on; Note what the server warns of. Neither is nil.
	Progress, Note func(string)
}

// CheckQuery says whether there may be a query of a name.
func CheckQuery(name string) error {
	if _, ok := DefaultQueries[name]; ok {
		return nil
	}
	if err := knownField(name); err != nil {
		return err
	}
	return fmt.Errorf("%s is no query: it comes with the answers", name)
}

// PodsOf gives a regular expression of the names that controllers give the pods of an object.
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

// Read asks the server, a day at a time.
func (p Prometheus) Read(ctx context.Context) ([]usage.Sample, error) {
	client, err := p.client()
	if err != nil {
		return nil, err
	}
	found := answers{}
	for _, name := range Fields {
		query, ok := p.Queries[name]
		if !ok {
			query, ok = DefaultQueries[name]
		}
		if !ok {
			continue
		}
		query = p.fill(query)
		n, err := p.ask(ctx, client, name, query, found)
		if err != nil {
			return nil, err
		}
		if n == 0 && slices.Contains(mustAnswer, name) {
			return nil, fmt.Errorf("prometheus at %s has nothing for %s between %s and %s: the query was %s; see --query and --pods",
				p.host(), name, p.From.Format(time.RFC3339), p.To.Format(time.RFC3339), query)
		}
	}
	return found.samples(), nil
}

// host is the address without a password.
func (p Prometheus) host() string {
	if i := strings.LastIndex(p.Address, "@"); i >= 0 {
		return p.Address[i+1:]
	}
	return p.Address
}

func (p Prometheus) fill(query string) string {
	return strings.NewReplacer(namespacePlaceholder, p.Namespace, podsPlaceholder, p.Pods, stepPlaceholder, model.Duration(p.Step).String()).Replace(query)
}

// bearer sends a token with each request.
type bearer struct{ token string }

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return api.DefaultRoundTripper.RoundTrip(r)
}

func (p Prometheus) client() (promapi.API, error) {
	cfg := api.Config{Address: p.Address}
	if p.TokenFile != "" {
		token, err := os.ReadFile(p.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("read the token: %w", err)
		}
		cfg.RoundTripper = bearer{strings.TrimSpace(string(token))}
	}
	client, err := api.NewClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("read the address of Prometheus: %w", err)
	}
	return promapi.NewAPI(client), nil
}

// chunk is how much is asked for at once: servers refuse more than 11,000 points a series.
const chunk = 24 * time.Hour

// ask puts one query, and says how many points came.
func (p Prometheus) ask(ctx context.Context, client promapi.API, name, query string, found answers) (points int, err error) {
	days := int((p.To.Sub(p.From) + chunk - 1) / chunk)
	for day := 0; day == 0 || day < days; day++ {
		p.Progress(fmt.Sprintf("asking Prometheus for %s, day %d of %d", name, day+1, max(days, 1)))
		from := p.From.Add(time.Duration(day) * chunk)
		to := from.Add(chunk - p.Step)
		if to.After(p.To) || day >= days-1 {
			to = p.To
		}
		value, warnings, infos, err := client.QueryRange(ctx, query, promapi.Range{Start: from, End: to, Step: p.Step})
		if err != nil {
			return 0, fmt.Errorf("ask Prometheus at %s for %s with %s: %s", p.host(), name, query, explained(err))
		}
		for _, text := range slices.Concat(warnings, promapi.Warnings(infos)) {
			p.Note(fmt.Sprintf("Prometheus says of %s: %s", name, text))
		}
		matrix, ok := value.(model.Matrix)
		if !ok {
			return 0, fmt.Errorf("ask Prometheus at %s for %s: the answer of %s is a %s, and no series over time", p.host(), name, query, value.Type())
		}
		for _, series := range matrix {
			if err := found.take(name, series); err != nil {
				return 0, fmt.Errorf("ask Prometheus at %s for %s with %s: %w", p.host(), name, query, err)
			}
			points += len(series.Values)
		}
	}
	return points, nil
}

// explained is what went wrong, with the words of the server where it said some. It is a text: what a connection that fails means for the
// cluster does not hold for this server.
func explained(err error) string {
	var at *promapi.Error
	if errors.As(err, &at) && at.Detail != "" && len(at.Detail) < 300 {
		return fmt.Sprintf("%v (%s)", err, strings.TrimSpace(at.Detail))
	}
	return err.Error()
}

// moment is one container at one instant.
type moment struct {
	at        model.Time
	container string
}

// answers are the values that came, by moment and field. The container of replicas is empty: they are those of all.
type answers map[moment]map[string]float64

func (a answers) take(name string, series *model.SampleStream) error {
	container := string(series.Metric[Container])
	if container == "" && name != Replicas {
		return fmt.Errorf("a series has no label %q: %s", Container, series.Metric)
	}
	if name == Replicas {
		container = ""
	}
	for _, v := range series.Values {
		if math.IsNaN(float64(v.Value)) || math.IsInf(float64(v.Value), 0) {
			continue
		}
		at := moment{v.Timestamp, container}
		if a[at] == nil {
			a[at] = map[string]float64{}
		}
		if _, twice := a[at][name]; twice {
			return fmt.Errorf("there are two series of container %q: the query must give one a container", container)
		}
		a[at][name] = float64(v.Value)
	}
	return nil
}

// samples joins the answers. Where replicas are not known nothing can be said.
func (a answers) samples() []usage.Sample {
	var all []usage.Sample
	for at, values := range a {
		replicas, known := a[moment{at.at, ""}][Replicas]
		if at.container == "" || !known {
			continue
		}
		s := usage.Sample{At: at.at.Time().UTC(), Container: at.container, CPU: -1, Memory: -1, Replicas: int(math.Round(replicas)), Throttled: min(max(values[Throttled], 0), 1)}
		if v, ok := values[CPU]; ok {
			s.CPU = v * 1000
		}
		if v, ok := values[Memory]; ok {
			s.Memory = v
		}
		if v := values[MemoryLimit]; v > 0 {
			s.MemoryLimit = v
			s.OOMKills = int(math.Round(values[OOMKills]))
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(x, y usage.Sample) int { return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.Container, y.Container)) })
	return all
}
