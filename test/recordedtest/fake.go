// Package recordedtest has a Prometheus server for tests. It answers the default queries from the test's series and
// knows no PromQL.
package recordedtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/common/model"

	"flyball.dev/flyball/engine/tuning/measure"
	"flyball.dev/flyball/engine/workload"
)

// Workload is a workload with recorded usage.
type Workload struct {
	Namespace string
	// Pattern is the regular expression for the names of its pods. Pods returns its present pods.
	Pattern string
	Pods    func() []string
	// Used returns the usage of its containers at an instant, or nothing if none was recorded.
	Used func(at time.Time) []workload.Sample
}

// Fake is the server. It can be made to fail.
type Fake struct {
	mu        sync.Mutex
	workloads []Workload
	down      bool
	ranges    int
}

// Add adds a workload.
func (f *Fake) Add(w Workload) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.workloads = append(f.workloads, w)
}

// Down makes the server refuse all requests, or answer again.
func (f *Fake) Down(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

// Ranges returns the number of range queries.
func (f *Fake) Ranges() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ranges
}

// ServeHTTP implements http.Handler.
func (f *Fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch query := r.FormValue("query"); {
	case f.down:
		refuse(w, http.StatusServiceUnavailable, "it is down")
	case strings.HasSuffix(r.URL.Path, "/api/v1/query_range"):
		f.ranges++
		answer(w, "matrix", f.matrix(query, seconds(r.FormValue("start")), seconds(r.FormValue("end")),
			time.Duration(number(r.FormValue("step"))*float64(time.Second))))
	case strings.HasSuffix(r.URL.Path, "/api/v1/query"):
		answer(w, "vector", f.vector(query, seconds(r.FormValue("time"))))
	default:
		refuse(w, http.StatusNotFound, "there is no "+r.URL.Path)
	}
}

func refuse(w http.ResponseWriter, code int, why string) {
	w.WriteHeader(code)
	_, _ = fmt.Fprintf(w, `{"status":"error","errorType":"unavailable","error":%q}`, why)
}

func answer(w http.ResponseWriter, kind string, result any) {
	_ = json.NewEncoder(w).Encode(map[string]any{"status": "success", "data": map[string]any{"resultType": kind, "result": result}})
}

func number(text string) float64 {
	n, _ := strconv.ParseFloat(text, 64) // the client sends a number
	return n
}

func seconds(text string) time.Time { return time.UnixMilli(int64(number(text)*1000 + 0.5)).UTC() }

// values has, by query of a history, the value of a sample, or false.
var values = map[string]func(workload.Sample) (float64, bool){
	measure.CPU:         func(s workload.Sample) (float64, bool) { return s.CPU / 1000, s.CPU >= 0 },
	measure.Memory:      func(s workload.Sample) (float64, bool) { return s.Memory, s.Memory >= 0 },
	measure.Throttled:   func(s workload.Sample) (float64, bool) { return s.Throttled, s.Throttled > 0 },
	measure.OOMKills:    func(s workload.Sample) (float64, bool) { return float64(s.OOMKills), s.OOMKills > 0 },
	measure.MemoryLimit: func(s workload.Sample) (float64, bool) { return s.MemoryLimit, s.MemoryLimit > 0 },
	measure.Replicas:    func(s workload.Sample) (float64, bool) { return float64(s.Replicas), true },
}

func (f *Fake) matrix(query string, from, to time.Time, step time.Duration) model.Matrix {
	all := model.Matrix{}
	for _, w := range f.workloads {
		for name, value := range values {
			if measure.Filled(name, measure.Range{Namespace: w.Namespace, Pods: w.Pattern, Step: step}) != query {
				continue
			}
			series := map[string]*model.SampleStream{}
			for at := from; !at.After(to); at = at.Add(step) {
				for _, s := range w.Used(at) {
					labels := model.Metric{"container": model.LabelValue(s.Container)}
					if name == measure.Replicas {
						labels, s.Container = model.Metric{}, ""
					}
					v, known := value(s)
					if series[s.Container] == nil {
						series[s.Container] = &model.SampleStream{Metric: labels}
					}
					stream := series[s.Container]
					pair := model.SamplePair{Timestamp: model.TimeFromUnixNano(at.UnixNano()), Value: model.SampleValue(v)}
					if n := len(stream.Values); known && (n == 0 || stream.Values[n-1].Timestamp != pair.Timestamp) {
						stream.Values = append(stream.Values, pair)
					}
				}
			}
			for _, stream := range series {
				if len(stream.Values) > 0 {
					all = append(all, stream)
				}
			}
		}
	}
	return all
}

var namespacesIn = regexp.MustCompile(`namespace=~"([^"]*)"`)

func (f *Fake) vector(query string, at time.Time) model.Vector {
	all := model.Vector{}
	found := namespacesIn.FindStringSubmatch(query)
	if found == nil {
		return all
	}
	add := func(v float64, labels model.Metric) {
		all = append(all, &model.Sample{Metric: labels, Value: model.SampleValue(v), Timestamp: model.TimeFromUnixNano(at.UnixNano())})
	}
	for _, w := range f.workloads {
		if in, err := regexp.MatchString("^("+found[1]+")$", w.Namespace); err != nil || !in {
			continue
		}
		for _, pod := range w.Pods() {
			for _, s := range w.Used(at) {
				labels := model.Metric{"namespace": model.LabelValue(w.Namespace), "pod": model.LabelValue(pod),
					"container": model.LabelValue(s.Container)}
				switch query {
				case strings.ReplaceAll(measure.DefaultQueries[measure.NowCPU], "$namespaces", found[1]):
					add(s.CPU/1000, labels)
				case strings.ReplaceAll(measure.DefaultQueries[measure.NowMemory], "$namespaces", found[1]):
					add(s.Memory, labels)
				case strings.ReplaceAll(measure.DefaultQueries[measure.NowTime], "$namespaces", found[1]):
					add(float64(at.Unix()), model.Metric{"namespace": labels["namespace"], "pod": labels["pod"]})
				}
			}
		}
	}
	return all
}
