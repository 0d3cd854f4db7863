package demand_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"flyball.dev/flyball/engine/policy/demand"
)

const interval = 15 * time.Second

func TestSelectorsAreGuarded(t *testing.T) {
	q, err := demand.Parse("max by (namespace, name) (open_connections)", interval, demand.Bind{})
	if err != nil {
		t.Fatal(err)
	}
	want := `(max by (namespace, name) ((clamp_min(open_connections and (timestamp(open_connections) >= time() - 30), -Inf) or ` +
		`clamp_min(last_over_time(open_connections[1m]) unless (timestamp(open_connections) >= time() - 30), +Inf)))) or ` +
		`label_replace(count((timestamp(open_connections) >= time() - 30)), "flyball_selector", "0", "", "")`
	if diff := cmp.Diff(want, q.Now); diff != "" {
		t.Error(diff)
	}
	if past := q.Past(time.Minute); strings.Count(past, "[60000ms:15000ms]") != 3 || !strings.Contains(past, ">= 4)) or clamp_min(") {
		t.Errorf("the past is %s", past)
	}
}

// TestEachSelectorIsBound: every selector of a tenant's demand has the tenant's namespace, also in places that are easily
// overlooked.
func TestEachSelectorIsBound(t *testing.T) {
	for _, text := range []string{
		"a", "a + on (namespace) b", "a or b unless c", `a{namespace="other"}`, `{__name__=~"a.*"}`, `{"a.b", namespace=~".*"}`,
		"sum(rate(a[2m])) by (namespace) / ignoring (x) group_left () b", "topk(scalar(b), a)", "clamp_max(a, scalar(b))",
		"quantile_over_time(scalar(b), a[5m])", "-a", "(a)", "absent(a)", "histogram_quantile(0.9, sum by (le) (rate(a[1m])))",
		`label_replace(a, "namespace", "other", "", "")`, `vector(scalar(a))`, `count_values("x", a)`, "a > bool 0",
		"predict_linear(a[1h], scalar(b))", "predict_linear(a[1h], scalar(sum(b * on () c)))",
	} {
		q, err := demand.Parse(text, interval, demand.Bind{Label: "tenant", Value: `sh"op`})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, selector := range q.Selectors {
			if !strings.Contains(selector, `tenant="sh\"op"`) {
				t.Errorf("%s: the selector %s is not bound", text, selector)
			}
		}
		for _, query := range []string{q.Now, q.Past(time.Minute)} {
			expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
			if err != nil {
				t.Fatal(err)
			}
			parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
				v, ok := node.(*parser.VectorSelector)
				if ok && !slices.ContainsFunc(v.LabelMatchers, func(m *labels.Matcher) bool {
					return m.Type == labels.MatchEqual && m.Name == "tenant" && m.Value == `sh"op`
				}) {
					t.Errorf("%s: %s has the free selector %s", text, query, v)
				}
				return nil
			})
		}
	}
}

func TestUnfitDemandsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"sum(":                            "unclosed left parenthesis",
		"1":                               "must have a series for each target, and is a scalar",
		"vector(1)":                       "must have a selector",
		"a[5m]":                           "must have a series for each target, and is a range vector",
		"a offset 1h":                     "must not have a offset 1h: a demand is that of the present",
		"a @ 1":                           "a demand is that of the present",
		"a @ start()":                     "a demand is that of the present",
		"rate(a[2m] offset -5m)":          "a demand is that of the present",
		"max_over_time(rate(a[2m])[1h:])": "a demand is that of the present",
		"predict_linear(a[1h], scalar(b offset 1h))":              "a demand is that of the present",
		"predict_linear(a[1h], scalar(max_over_time(b[30d:1m])))": "a demand is that of the present",
		"rate(a[20s])":            "at least two intervals, 30s",
		"absent_over_time(a[5m])": "must not call absent_over_time",
		"timestamp(a)":            "must not call timestamp",
		"info(a)":                 "not enabled",
		`{namespace=""}`:          "at least one non-empty matcher",
	} {
		if _, err := demand.Parse(text, interval, demand.Bind{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}
