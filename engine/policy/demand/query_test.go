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

// queryOf returns the query of a demand; an empty namespace: of a ClusterSchedule.
func queryOf(text, namespace string) (*demand.Query, error) {
	r := &demand.Rule{Text: text, Namespace: namespace, Interval: 15 * time.Second, NamespaceLabel: "namespace", NameLabel: "name"}
	return r.Query("tenant")
}

func TestSelectorsAreGuarded(t *testing.T) {
	q, err := queryOf("max by (namespace, name) (max_over_time(queue[1m]))", "")
	if err != nil {
		t.Fatal(err)
	}
	const known = `((max_over_time(queue[1m]) > -Inf and (timestamp(queue) > time() - 30) and (timestamp(queue offset 1m) > time() - 90)) ` +
		`or (max_over_time(queue[1m]) > 0 and (timestamp(queue) > time() - 30)))`
	want := `(max by (namespace, name) ((clamp_min(` + known + `, -Inf) or clamp_min(count_over_time(queue[1m]) unless ` + known +
		`, +Inf)))) or label_replace(count((timestamp(queue) > time() - 30)), "flyball_selector", "0", "", "")`
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
		"rate(a[2m])", "rate(a[2m]) + on (namespace) rate(b[2m])", "rate(a[2m]) or rate(b[2m])", `rate(a{namespace="other"}[2m])`,
		`rate({__name__=~"a.*"}[2m])`, `rate({"a.b", namespace=~".*"}[2m])`, "-rate(a[2m])", "(max_over_time(a[2m]))",
		"sum(rate(a[2m])) by (namespace) * ignoring (x) group_left () max_over_time(b[2m])", "clamp_min(rate(a[2m]), 0)",
		`label_replace(rate(a[2m]), "namespace", "other", "", "")`, "max(max_over_time(a[2m])) by (name) - sum(rate(b[5m])) by (name)",
	} {
		q, err := queryOf(text, `sh"op`)
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

// TestUnfitDemandsAreRefused: each error is said once, and names the form.
func TestUnfitDemandsAreRefused(t *testing.T) {
	const present, hides = ": a demand is that of the present", ", which can hide lost samples"
	for text, want := range map[string]string{
		"sum(":                                        "1:5: parse error: unclosed left parenthesis",
		"1":                                           "must have a series for each target, and is a scalar",
		"a[5m]":                                       "must have a series for each target, and is a range vector",
		"rate(a[2m] offset 1h)":                       "must not have a[2m] offset 1h" + present,
		"rate(a[2m] offset -5m)":                      "must not have a[2m] offset -5m" + present,
		"rate(a[2m] @ 1)":                             "must not have a[2m] @ 1.000" + present,
		"rate(a[2m] @ start())":                       "must not have a[2m] @ start()" + present,
		"max_over_time(rate(a[2m])[1h:])":             "must not have rate(a[2m])[1h:]" + present,
		"a":                                           "a must have a range, as in max_over_time(a[2m]), or demand between two queries is missed",
		"rate(a[45s])":                                "a[45s] must reach back at least four intervals, 1m, because answers can be lost",
		"rate(a[2m]) > 0":                             "must not compare by >: spec.idle.above is the limit",
		"rate(a[2m]) > bool 0":                        "must not compare by >: spec.idle.above is the limit",
		"rate(a[2m]) > bool scalar(rate(b[2m]))":      "must not have scalar" + hides + "\nmust not compare by >: spec.idle.above is the limit",
		"rate(a[2m]) or vector(0)":                    "must not have vector" + hides,
		"rate(a[2m]) or 0 * rate(b[2m])":              "must not have this *" + hides,
		"rate(a[2m]) / rate(b[2m])":                   "must not have this /" + hides,
		"rate(a[2m]) / -2":                            "must not have this /" + hides,
		"rate(a[2m]) and rate(b[2m])":                 "must not have this and" + hides,
		"rate(a[2m]) unless rate(b[2m])":              "must not have this unless" + hides,
		"rate(a[2m]) % 2":                             "must not have this %" + hides,
		"rate(a[2m]) or on (name) rate(b[2m])":        "must not have or with on or ignoring" + hides,
		"rate(a[2m]) / Inf":                           "must not have this /" + hides,
		"count by (name) (rate(a[2m]))":               "must not have this count" + hides,
		"min by (name) (rate(a[2m]))":                 "must not have this min" + hides,
		"topk by (name) (1, rate(a[2m]))":             "must not have this topk" + hides,
		"max by (name) (rate(a[2m]) - 1)":             "must not have this max" + hides,
		"max by (name) (-rate(a[2m]))":                "must not have this max" + hides,
		"clamp_min(rate(a[2m]) - rate(b[2m]), 0)":     "must not have this clamp_min" + hides,
		"clamp_max(rate(a[2m]), 1)":                   "must not have clamp_max" + hides,
		"absent(rate(a[2m]))":                         "must not have absent" + hides,
		"absent_over_time(a[5m])":                     "must not have absent_over_time" + hides,
		"irate(a[5m])":                                "must not have irate" + hides,
		"timestamp(a)":                                "must not have timestamp" + hides,
		"vector(1)":                                   "names no target: no series has the label namespace or name",
		"sum(rate(a[2m]))":                            "names no target: no series has the label namespace or name",
		"sum by (pod) (rate(a[2m])) * 60":             "names no target: no series has the label namespace or name",
		"max without (namespace, name) (rate(a[2m]))": "names no target: no series has the label namespace or name",
		`rate({namespace=""}[2m])`:                    "1:6: parse error: vector selector must contain at least one non-empty matcher",

		"sum by (name) (rate(a[2m]) * on (x) rate(b[2m]))":            "must not have this * between series inside an aggregation" + hides,
		`label_replace(rate(a[2m]), "flyball_selector", "0", "", "")`: "must not write the label flyball_selector, which is Flyball's own",
		`label_join(label_join(rate(a[2m]), "x", "", "y", "y"), "x", "", "x", "x")`: "must not read the label x by label_join, " +
			"because another function writes it\nmust not read the label x by label_join, because another function writes it",
		`label_replace(rate(a[2m]), "x", "$1$1$1$1$1", "y", "(.*)")`: "must not make a label of more than 4 others by label_replace",
	} {
		if _, err := queryOf(text, ""); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// TestSeriesThatNameTargets: labels come from selectors, from aggregations by them, and from label_replace. In a namespaced Schedule a
// series without both is of all its targets.
func TestSeriesThatNameTargets(t *testing.T) {
	for _, text := range []string{"rate(a[2m])", "sum by (name) (rate(a[2m]))", "sum without (pod) (rate(a[2m]))",
		`label_replace(sum by (proxy) (rate(a[2m])), "name", "$1", "proxy", "(.*)")`, "sum(rate(a[2m])) or rate(b[2m])"} {
		if _, err := queryOf(text, ""); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	own := demand.Rule{Text: "sum(rate(a[2m]))", Interval: 15 * time.Second, Namespace: "shop"}
	if _, err := own.Query(""); err != nil {
		t.Error(err)
	}
}
