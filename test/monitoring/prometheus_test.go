package monitoring

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"testing"

	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
)

// prometheus is a Prometheus server that scrapes one manager and evaluates the shipped alerts.
type prometheus struct {
	url string
}

// startPrometheus starts a server that ends with the test. The target has the labels that the Prometheus operator gives
// to targets of a ServiceMonitor.
func startPrometheus(t *testing.T, cluster *local.Cluster, root, target string) *prometheus {
	t.Helper()
	config := fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [%q]
scrape_configs:
- job_name: flyball
  static_configs:
  - targets: [%q]
    labels: {namespace: flyball-system, pod: flyball-0, container: manager, service: flyball-metrics, endpoint: metrics}
`, filepath.Join(root, "deploy", "alerts", "flyball.yaml"), target)
	p := launchPrometheus(t, cluster, config)
	eventually(t, func() error {
		samples, err := p.query(t.Context(), `up{job="flyball"}`)
		if err == nil && (len(samples) != 1 || samples[0] != 1) {
			err = fmt.Errorf("up is %v", samples)
		}
		return err
	})
	return p
}

// launchPrometheus starts a server with a configuration. It ends with the test.
func launchPrometheus(t *testing.T, cluster *local.Cluster, config string, flags ...string) *prometheus {
	t.Helper()
	url, _ := harness.Prometheus{Binary: cluster.Bin("prometheus"), Config: config, Flags: flags}.Start(t)
	return &prometheus{url: url}
}

// get calls the server's API.
func (p *prometheus) get(ctx context.Context, path string, args url.Values, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path+"?"+args.Encode(), nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	var answer struct {
		Status, Error string
		Data          json.RawMessage
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Status != "success" {
		return fmt.Errorf("%s %v: %s %s, %w", path, args, answer.Status, answer.Error, err)
	}
	return json.Unmarshal(answer.Data, into)
}

// query evaluates an expression now and returns the numeric values of its series.
func (p *prometheus) query(ctx context.Context, expression string) ([]float64, error) {
	var data struct {
		ResultType string
		Result     []struct {
			Value [2]any
		}
	}
	if err := p.get(ctx, "/api/v1/query", url.Values{"query": {expression}}, &data); err != nil {
		return nil, err
	}
	var values []float64
	for _, r := range data.Result {
		text, _ := r.Value[1].(string)
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", expression, err)
		}
		if !math.IsNaN(n) {
			values = append(values, n)
		}
	}
	return values, nil
}

// hasData waits until an expression returns a number.
func (p *prometheus) hasData(t *testing.T, expression string) {
	t.Helper()
	err := harness.Poll(t.Context(), harness.Patience, func() error {
		values, err := p.query(t.Context(), expression)
		if err == nil && len(values) == 0 {
			err = fmt.Errorf("no data for %s", expression)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// is waits until an expression returns exactly the wanted number.
func (p *prometheus) is(t *testing.T, expression string, want float64) {
	t.Helper()
	eventually(t, func() error {
		got, err := p.query(t.Context(), expression)
		if err == nil && (len(got) != 1 || got[0] != want) {
			err = fmt.Errorf("%s is %v, want %g", expression, got, want)
		}
		return err
	})
}

// node is a part of an expression parsed by the server.
type node struct {
	Type     string
	Name     string
	Matchers []struct{ Name, Value, Type string }
}

// selectors returns the selectors of series in an expression.
func (p *prometheus) selectors(t *testing.T, expression string) []string {
	t.Helper()
	var tree any
	if err := p.get(t.Context(), "/api/v1/parse_query", url.Values{"query": {expression}}, &tree); err != nil {
		t.Fatal(err)
	}
	var found []string
	var walk func(any)
	walk = func(part any) {
		switch part := part.(type) {
		case []any:
			for _, p := range part {
				walk(p)
			}
		case map[string]any:
			if kind := part["type"]; kind == "vectorSelector" || kind == "matrixSelector" {
				found = append(found, selectorOf(t, part))
			}
			for _, p := range part {
				walk(p)
			}
		}
	}
	walk(tree)
	return found
}

func selectorOf(t *testing.T, part map[string]any) string {
	t.Helper()
	text, err := json.Marshal(part)
	if err != nil {
		t.Fatal(err)
	}
	var n node
	if err := json.Unmarshal(text, &n); err != nil {
		t.Fatal(err)
	}
	s := n.Name + "{"
	for _, m := range n.Matchers {
		if m.Name != "__name__" {
			s += fmt.Sprintf("%s%s%q,", m.Name, m.Type, m.Value)
		}
	}
	return s + "}"
}
