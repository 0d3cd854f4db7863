package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// call is a kind of request as counted by the API server.
type call struct{ verb, group, resource, subresource string }

func (c call) String() string {
	text := c.verb + " " + strings.TrimSuffix(c.resource+"."+c.group, ".")
	if c.subresource != "" {
		text += "/" + strings.TrimPrefix(c.subresource, "/")
	}
	return text
}

// tally counts requests.
type tally map[call]float64

// metrics returns the API server's metrics of one name.
func (s *stage) metrics(ctx context.Context, name string) ([]*dto.Metric, error) {
	text, err := s.clients.Discovery().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the API server's metrics: %w", err)
	}
	var lines bytes.Buffer
	for line := range bytes.Lines(text) {
		if bytes.HasPrefix(line, []byte("# TYPE "+name+" ")) || bytes.HasPrefix(line, []byte(name+"{")) ||
			bytes.HasPrefix(line, []byte(name+" ")) || bytes.HasPrefix(line, []byte(name+"_")) {
			lines.Write(line)
		}
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(&lines)
	if err != nil {
		return nil, fmt.Errorf("parse the API server's metrics: %w", err)
	}
	if families[name] == nil {
		return nil, fmt.Errorf("read the API server's metrics: there is no %s", name)
	}
	return families[name].GetMetric(), nil
}

// effort is processor time in seconds, of the API server and of this process.
type effort struct {
	Server float64 `json:"server"`
	Own    float64 `json:"own"`
}

func (s *stage) effort(ctx context.Context) (effort, error) {
	m, err := s.metrics(ctx, "process_cpu_seconds_total")
	if err != nil {
		return effort{}, err
	}
	return effort{Server: m[0].GetCounter().GetValue(), Own: cpuSeconds()}, nil
}

func (e effort) sum() float64 { return e.Server + e.Own }

func (e effort) since(before effort) effort {
	return effort{e.Server - before.Server, e.Own - before.Own}
}

// requests returns the number of requests that the API server has answered, as the API server counts them. It leaves
// out watches, leases, and the health and metrics requests of this program and of the cluster's supervisor.
func (s *stage) requests(ctx context.Context) (tally, error) {
	counted, err := s.metrics(ctx, "apiserver_request_total")
	if err != nil {
		return nil, err
	}
	t := tally{}
	for _, m := range counted {
		if c := callOf(m.GetLabel()); !ignored(c) {
			t[c] += m.GetCounter().GetValue()
		}
	}
	return t, nil
}

func callOf(labels []*dto.LabelPair) call {
	var c call
	for _, l := range labels {
		switch l.GetName() {
		case "verb":
			c.verb = l.GetValue()
		case "group":
			c.group = l.GetValue()
		case "resource":
			c.resource = l.GetValue()
		case "subresource":
			c.subresource = l.GetValue()
		}
	}
	return c
}

func ignored(c call) bool {
	if c.verb == "WATCH" || c.verb == "WATCHLIST" || c.resource == "leases" {
		return true
	}
	if c.resource != "" {
		return false
	}
	for _, path := range []string{"metrics", "readyz", "livez", "healthz"} {
		if strings.HasPrefix(strings.TrimPrefix(c.subresource, "/"), path) {
			return true
		}
	}
	return false
}

// since returns the difference to an earlier tally.
func (t tally) since(before tally) tally {
	out := tally{}
	for c, n := range t {
		if d := n - before[c]; d != 0 {
			out[c] = d
		}
	}
	return out
}

func (t tally) sum() float64 {
	total := 0.0
	for _, n := range t {
		total += n
	}
	return total
}

// String lists the calls, the most frequent first.
func (t tally) String() string {
	calls := slices.SortedFunc(maps.Keys(t), func(a, b call) int {
		if t[a] != t[b] {
			return int(t[b] - t[a])
		}
		return strings.Compare(a.String(), b.String())
	})
	parts := make([]string, len(calls))
	for i, c := range calls {
		parts[i] = fmt.Sprintf("%.0f %s", t[c], c)
	}
	return strings.Join(parts, ", ")
}
