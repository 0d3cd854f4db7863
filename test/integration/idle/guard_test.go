package idle

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"flyball.dev/flyball/engine/policy/demand"
)

// The two ingress controllers a and b count requests for web each 15 seconds. The controller b can no longer be scraped after two minutes,
// and a vanishes after four. At 3:30 one request comes, by a. The counters of other have the label of another tenant. A queue has jobs at
// two scrapes alone. Of two instances with a job under way, one vanishes at 6:00. A controller is away from 2:00 to 4:15.
const counters = `
  - {series: 'requests{instance="a", namespace="shop", name="web", tenant="shop"}', values: '0x13 1x2 _x40'}
  - {series: 'requests{instance="b", namespace="shop", name="web", tenant="shop"}', values: '5x8 _x40'}
  - {series: 'requests{instance="a", namespace="shop", name="other", tenant="bakery"}', values: '0x52'}
  - {series: 'queue{namespace="shop", name="web"}', values: '_x22 5 5 _x40'}
  - {series: 'started{instance="a", namespace="shop", name="web"}', values: '1x23 _x40'}
  - {series: 'finished{instance="a", namespace="shop", name="web"}', values: '0x23 _x40'}
  - {series: 'started{instance="b", namespace="shop", name="web"}', values: '0x52'}
  - {series: 'finished{instance="b", namespace="shop", name="web"}', values: '0x52'}
  - {series: 'back{namespace="shop", name="web"}', values: '0x8 _x8 3x36'}
  - {series: 'up{instance="a", job="front"}', values: '1x52'}
  - {series: 'up{instance="b", job="front"}', values: '1x8 0x44'}
`

// query returns the query of a demand; an empty namespace: of a ClusterSchedule.
func query(text, namespace string) (*demand.Query, error) {
	r := &demand.Rule{Text: text, Namespace: namespace, NamespaceLabel: "namespace", NameLabel: "name", Interval: 15 * time.Second}
	return r.Query("tenant")
}

// look is the expected answer to a query at a time.
type look struct {
	query, at string
	// values has the value of web, the value of other, and the number of fresh series; empty: there is none.
	web, other, fresh string
}

// evaluate evaluates queries with Prometheus' own engine.
func evaluate(looks []look) {
	GinkgoHelper()
	var tests strings.Builder
	for _, l := range looks {
		fmt.Fprintf(&tests, "  - expr: %q\n    eval_time: %s\n    exp_samples:\n", l.query, l.at)
		for labels, value := range map[string]string{`{namespace="shop", name="web"}`: l.web, `{namespace="shop", name="other"}`: l.other,
			`{flyball_selector="0"}`: l.fresh} {
			if value != "" {
				fmt.Fprintf(&tests, "    - {labels: '%s', value: %s}\n", labels, value)
			}
		}
	}
	file := filepath.Join(GinkgoT().TempDir(), "tests.yaml")
	text := "tests:\n- interval: 15s\n  input_series:" + counters + "  promql_expr_test:\n" + tests.String()
	Expect(os.WriteFile(file, []byte(text), 0o600)).To(Succeed())
	out, err := exec.CommandContext(ctx, env.Cluster.Bin("promtool"), "test", "rules", file).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), "%s", out)
}

var _ = Describe("The query of a demand, evaluated by Prometheus", Label("prometheus"), func() {
	It("has no zero for a sum that lost a part, and nothing for samples of long ago", func() {
		q, err := query("sum by (namespace, name) (increase(requests[1m]))", "")
		Expect(err).NotTo(HaveOccurred())
		evaluate([]look{
			{q.Now, "45s", ".inf", ".inf", "3"}, // all are new
			{q.Now, "2m", "0", "0", "3"},
			{q.Now, "2m29s", "0", "0", "3"},
			{q.Now, "2m30s", ".inf", "0", "2"}, // b has vanished
			{q.Now, "3m", "0", "0", "2"},       // a counts alone
			{q.Now, "3m30s", "1", "0", "2"},    // a request
			{q.Now, "4m", "1", "0", "2"},
			{q.Now, "4m45s", ".inf", "0", "1"}, // a has vanished
			{q.Now, "6m", "", "0", "1"},
			{q.Now, "14m", "", "", ""}, // nothing is scraped any more
		})
	})

	It("has no zero for a part that comes back, and for one that cannot be scraped if the demand says so", func() {
		q, err := query("sum by (namespace, name) (rate(back[1m]))", "")
		Expect(err).NotTo(HaveOccurred())
		evaluate([]look{{q.Now, "2m", "0", "", "1"}, {q.Now, "2m45s", ".inf", "", ""}, {q.Now, "3m30s", "", "", ""},
			{q.Now, "4m15s", ".inf", "", "1"}, {q.Now, "5m", ".inf", "", "1"}, {q.Now, "5m15s", "0", "", "1"}})
		q, err = query(`sum by (namespace, name) (rate(requests[1m]))
			- on () group_left () sum(ln(max_over_time(up{job="front"}[1m])))`, "")
		Expect(err).NotTo(HaveOccurred())
		values := "(" + q.Now + ") and on (namespace) requests"
		evaluate([]look{{values, "2m15s", "0", "0", ""}, {values, "3m15s", ".inf", ".inf", ""}, {values, "10m", "", ".inf", ""}})
	})

	It("counts a sample for two intervals, and no longer", func() {
		for _, text := range []string{"max_over_time(queue[1m])", "max by (namespace, name) (max_over_time(queue[1m]))"} {
			q, err := query(text, "")
			Expect(err).NotTo(HaveOccurred())
			evaluate([]look{
				{q.Now, "5m29s", "", "", ""},
				{q.Now, "5m30s", "5", "", "1"},
				{q.Now, "6m14s", "5", "", "1"},
				{q.Now, "6m15s", ".inf", "", ""}, // the last sample is 30 s old
				{q.Now, "6m44s", ".inf", "", ""},
				{q.Now, "6m45s", "", "", ""},
			})
		}
	})

	It("gives the largest demand of complete steps of the past", func() {
		q, err := query("sum by (namespace, name) (increase(requests[1m]))", "")
		Expect(err).NotTo(HaveOccurred())
		evaluate([]look{
			{q.Past(time.Minute), "2m15s", "0", "0", "3"},
			{q.Past(time.Minute), "3m", ".inf", "0", "3"},
			{q.Past(time.Minute), "4m15s", "1", "0", "2"},
			{q.Past(time.Minute), "5m30s", ".inf", "0", "1"}, // web has values for a part of the step alone
			{q.Past(time.Minute), "6m", "", "0", "1"},
		})
	})

	It("loses no use of a part of a step, and no lost part, of series with and without their name", func() {
		for _, text := range []string{"max_over_time(queue[1m])", "max by (namespace, name) (max_over_time(queue[1m]))"} {
			q, err := query(text, "")
			Expect(err).NotTo(HaveOccurred())
			evaluate([]look{
				{q.Past(time.Minute), "5m", "", "", ""},
				{q.Past(time.Minute), "6m", ".inf", "", ".inf"},
				{q.Past(time.Minute), "7m", ".inf", "", ""},
				{q.Past(time.Minute), "8m", "", "", ""},
			})
		}
		q, err := query("sum by (namespace, name) (max_over_time(started[1m])) - "+
			"sum by (namespace, name) (max_over_time(finished[1m]))", "")
		Expect(err).NotTo(HaveOccurred())
		past := "(" + q.Past(time.Minute) + ") and on (namespace, name) started"
		evaluate([]look{{past, "5m", "1", "", ""}, {past, "7m", ".inf", "", ""}, {past, "9m", "0", "", ""}})
	})

	It("sees only the series of the tenant", func() {
		for _, text := range []string{`rate(requests[1m]) or rate(requests{tenant="bakery"}[1m])`,
			`rate({__name__=~"req.*", tenant=~".+"}[1m])`, "rate(requests[1m]) or rate(requests[2m])"} {
			q, err := query("max by (namespace, name) ("+text+")", "bakery")
			Expect(err).NotTo(HaveOccurred())
			for _, selector := range q.Selectors {
				Expect(selector).To(ContainSubstring(`tenant="bakery"`))
			}
			evaluate([]look{{"max by (namespace, name) (" + q.Now + ") and on (namespace) requests", "2m", "", "0", ""}})
		}
	})
})
