package monitoring

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"flyball.dev/flyball/cmd/kubectl-flyball/analysis"
	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/engine/tuning/measure"
	"flyball.dev/flyball/engine/workload"
)

// The history has a day and a half of a workload, one point per minute.
const (
	recordedMinutes = 36 * 60
	// thirdFrom is the minute from which a third pod is ready. killedAt is the minute in which a container was killed.
	thirdFrom, killedAt = 600, 900
	recordedMemory      = 200 << 20
)

var recordedFrom = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

// cores returns the CPU that a pod of the workload uses in a minute: more by day, and constant within each quarter of
// an hour.
func cores(minute int) float64 {
	quarter := float64(minute / 15 * 15)
	return 0.5 - 0.3*math.Cos(2*math.Pi*quarter/(24*60))
}

// exposition returns the workload's series of cadvisor and kube-state-metrics, with the time of every point.
func exposition() string {
	var b strings.Builder
	pods := []string{"web-5d4f9c7b6d-abcde", "web-5d4f9c7b6d-fghij", "web-5d4f9c7b6d-klmno"}
	series := func(name, labels string, value func(minute int) float64) {
		for p, pod := range pods {
			for minute := range recordedMinutes {
				if p < 2 || minute >= thirdFrom {
					fmt.Fprintf(&b, "%s{namespace=\"shop\",pod=%q%s} %s %d\n", name, pod, labels,
						strconv.FormatFloat(value(minute), 'g', -1, 64), recordedFrom.Add(time.Duration(minute)*time.Minute).UnixMilli())
				}
			}
		}
	}
	used := make([]float64, recordedMinutes+1)
	for minute := range recordedMinutes {
		used[minute+1] = used[minute] + 60*cores(minute)
	}
	series("container_cpu_usage_seconds_total", `,container="app"`, func(minute int) float64 { return used[minute] })
	series("container_cpu_usage_seconds_total", `,container="mesh"`, func(minute int) float64 { return float64(minute) })
	series("container_cpu_usage_seconds_total", `,container=""`, func(minute int) float64 { return 2 * used[minute] }) // the pod's own cgroup
	series("container_memory_working_set_bytes", `,container="app"`, func(int) float64 { return recordedMemory })
	series("container_cpu_cfs_throttled_seconds_total", `,container="app"`, func(minute int) float64 { return used[minute] / 4 })
	series("kube_pod_status_ready", `,condition="true"`, func(int) float64 { return 1 })
	series("kube_pod_container_resource_limits", `,container="app",resource="memory",unit="byte"`, func(int) float64 { return 256 << 20 })
	series("kube_pod_container_status_restarts_total", `,container="app"`, func(minute int) float64 {
		if minute >= killedAt {
			return 1
		}
		return 0
	})
	series("kube_pod_container_status_last_terminated_reason", `,container="app",reason="OOMKilled"`, func(minute int) float64 {
		if minute >= killedAt {
			return 1
		}
		return 0
	})
	return b.String()
}

// recorded starts a Prometheus with the series of the workload.
func (s *scene) recorded(t *testing.T) *prometheus {
	text := exposition()
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = w.Write([]byte(text))
	}))
	t.Cleanup(endpoint.Close)
	p := launchPrometheus(t, s.env.Cluster, fmt.Sprintf(`
global: {scrape_interval: 15s, scrape_timeout: 15s}
storage: {tsdb: {out_of_order_time_window: 3000d}}
scrape_configs:
- job_name: recorded
  static_configs: [{targets: [%q]}]
`, strings.TrimPrefix(endpoint.URL, "http://")), "--storage.tsdb.retention.time=100y")
	eventually(t, func() error {
		samples, err := p.query(t.Context(), `up{job="recorded"}`)
		if err == nil && (len(samples) != 1 || samples[0] != 1) {
			err = fmt.Errorf("up is %v", samples)
		}
		return err
	})
	return p
}

// recommends reads the history of a workload from a real Prometheus, with the verb's default queries.
func (s *scene) recommends(t *testing.T) {
	p := s.recorded(t)
	var notes []string
	last := recordedFrom.Add((recordedMinutes - 1) * time.Minute)
	reader := analysis.Prometheus{
		Address: p.url, Namespace: "shop", Pods: measure.PodsOf("Deployment", "web"), From: recordedFrom, To: last, Step: time.Minute,
		Progress: func(string) {}, Note: func(text string) { notes = append(notes, text) },
	}
	samples, err := reader.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Run("samples are what was recorded", func(t *testing.T) { samplesAreExact(t, samples, notes) })
	t.Run("files give the same numbers", func(t *testing.T) { filesGiveTheSame(t, p, samples, last) })
	t.Run("what is wrong is named", func(t *testing.T) { readerFaults(t, reader) })
}

// samplesAreExact checks every sample more than five minutes away from a change, because rates are smoothed over
// changes.
func samplesAreExact(t *testing.T, samples []workload.Sample, notes []string) {
	seen, kills := 0, 0
	for _, x := range samples {
		minute := int(x.At.Sub(recordedFrom) / time.Minute)
		if x.Container != "app" {
			continue
		}
		kills += x.OOMKills
		if minute < thirdFrom && x.Replicas != 2 || minute >= thirdFrom && x.Replicas != 3 {
			t.Errorf("at minute %d there are %d replicas", minute, x.Replicas)
		}
		if x.Memory != recordedMemory || x.MemoryLimit != 256<<20 {
			t.Errorf("at minute %d memory is %v of %v", minute, x.Memory, x.MemoryLimit)
		}
		if minute%15 < 6 || minute >= thirdFrom-1 && minute < thirdFrom+6 {
			continue
		}
		seen++
		if math.Abs(x.CPU-1000*cores(minute)) > 0.01 || math.Abs(x.Throttled-0.2) > 1e-6 {
			t.Errorf("at minute %d the app uses %vm, %v throttled; want %vm and 0.2", minute, x.CPU, x.Throttled, 1000*cores(minute))
		}
	}
	if seen < 1200 || kills != 3 {
		t.Errorf("%d samples were looked at, with %d kills, want 3", seen, kills)
	}
	if len(notes) > 0 {
		t.Errorf("the server says %q", notes)
	}
}

const recordedManifest = `
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: registry.example.com/web:1, resources: {requests: {cpu: "1", memory: 1Gi}, limits: {memory: 256Mi}}}
`

// filesGiveTheSame runs the verb on the server, and on a file with the server's samples.
func filesGiveTheSame(t *testing.T, p *prometheus, samples []workload.Sample, last time.Time) {
	dir := t.TempDir()
	manifest, file := filepath.Join(dir, "web.yaml"), filepath.Join(dir, "web.csv")
	if err := os.WriteFile(manifest, []byte(recordedManifest), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, table(t, samples), 0o600); err != nil {
		t.Fatal(err)
	}
	common := []string{"suggest", "requests", "deployment/web", "--offline", manifest, "-n", "shop", "--time-zone", "UTC", "-o", "json"}
	asked, note := recommendation(t, append(common, "--prometheus", p.url, "--history", "2d", "--at", last.Format(time.RFC3339))...)
	if !strings.Contains(note, "container mesh is left out") {
		t.Errorf("of a container that the manifest does not have it says %q", note)
	}
	read, _ := recommendation(t, append(common, "--usage", file)...)
	if diff := cmp.Diff(read, asked); diff != "" {
		t.Errorf("from a file (-) and from Prometheus (+): %s", diff)
	}
	if asked["phase"] != "Working" || asked["containers"].([]any)[0].(map[string]any)["memory"].(map[string]any)["recommended"] == "1024Mi" {
		t.Errorf("nothing is recommended: %v", asked)
	}
}

// table returns the samples of the app as CSV.
func table(t *testing.T, samples []workload.Sample) []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	rows := [][]string{analysis.Columns}
	for _, x := range samples {
		if x.Container != "app" {
			continue
		}
		cpu := ""
		if x.CPU >= 0 {
			cpu = number(x.CPU / 1000)
		}
		rows = append(rows, []string{x.At.Format(time.RFC3339), x.Container, cpu, number(x.Memory), strconv.Itoa(x.Replicas), number(x.Throttled),
			strconv.Itoa(x.OOMKills), number(x.MemoryLimit)})
	}
	if err := w.WriteAll(rows); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// recommendation runs the verb and returns its answer and its notes.
func recommendation(t *testing.T, args ...string) (answer map[string]any, notes string) {
	t.Helper()
	var out, errOut bytes.Buffer
	env := factory.Env{IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}, Now: time.Now}
	if code := cli.Run(t.Context(), args, env); code != 0 {
		t.Fatalf("%v ends with %d: %s", args, code, errOut.String())
	}
	if err := json.Unmarshal(out.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	return answer, errOut.String()
}

// readerFaults makes requests that a server cannot answer, or answers differently.
func readerFaults(t *testing.T, reader analysis.Prometheus) {
	for name, c := range map[string]struct {
		edit func(*analysis.Prometheus)
		want string
	}{
		"a query that is no PromQL": {func(p *analysis.Prometheus) { p.Queries = map[string]string{analysis.CPUColumn: "sum("} }, "parse error"},
		"no series of the pods":     {func(p *analysis.Prometheus) { p.Pods = "api-.+" }, "has nothing for cpu"},
		"no label of the container": {func(p *analysis.Prometheus) {
			p.Queries = map[string]string{analysis.MemoryColumn: "sum(container_memory_working_set_bytes)"}
		}, `no label "container"`},
		"two series of a container": {func(p *analysis.Prometheus) {
			p.Queries = map[string]string{analysis.CPUColumn: "container_memory_working_set_bytes"}
		}, "two series"},
		"an address that is none": {func(p *analysis.Prometheus) { p.Address = "http://[" }, "address"},
	} {
		p := reader
		c.edit(&p)
		if _, err := p.Read(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v, and should have %q", name, err, c.want)
		}
	}
}
