package deploy

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/engine/controller/freezes"
	"flyball.dev/flyball/engine/controller/notifications"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/tuning/resize"
	"flyball.dev/flyball/engine/world"
)

// described collects the names of registered metrics.
type described struct{ names []string }

var fqName = regexp.MustCompile(`fqName: "([^"]+)"`)

func (d *described) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc, 100)
	c.Describe(descs)
	close(descs)
	for desc := range descs {
		d.names = append(d.names, fqName.FindStringSubmatch(desc.String())[1])
	}
	return nil
}

func (d *described) MustRegister(cs ...prometheus.Collector) {
	for _, c := range cs {
		_ = d.Register(c)
	}
}

func (d *described) Unregister(prometheus.Collector) bool { return false }

// metrics returns the names of the manager's metrics.
func metrics(t *testing.T) []string {
	t.Helper()
	var known described
	if _, err := app.NewMetrics(&known, world.New(world.Scope("", nil)), status.NewListings(),
		clocktesting.NewFakePassiveClock(time.Time{}), status.Rates{Price: &status.Rate{}, CO2: &status.Rate{}}, false); err != nil {
		t.Fatal(err)
	}
	if _, err := freezes.NewMetrics(&known); err != nil {
		t.Fatal(err)
	}
	if _, err := resize.NewCounter(&known); err != nil {
		t.Fatal(err)
	}
	if _, err := notifications.NewMetrics(&known); err != nil {
		t.Fatal(err)
	}
	if err := app.RegisterCertificate(&known, nil); err != nil {
		t.Fatal(err)
	}
	return known.names
}

// TestMetricsExist checks that the manager has every metric in alerts, dashboard and documents.
func TestMetricsExist(t *testing.T) {
	known := metrics(t)
	word := regexp.MustCompile(`\bflyball_[a-z0-9_]+`)
	for _, pattern := range []string{"deploy/alerts/*.yaml", "deploy/alerts/tests/*.yaml", "deploy/dashboards/*.json", "docs/operations.md",
		"docs/runbook.md", "docs/policies/*.md"} {
		for file, text := range read(t, pattern) {
			for _, name := range word.FindAllString(text, -1) {
				base := name
				for _, suffix := range []string{"_bucket", "_sum", "_count"} {
					base = strings.TrimSuffix(base, suffix)
				}
				if !slices.Contains(known, base) {
					t.Errorf("%s: there is no metric %s; there are %v", file, name, known)
				}
			}
		}
	}
}

// TestMetricsAreDocumented checks that the table in the documents has every metric.
func TestMetricsAreDocumented(t *testing.T) {
	text := read(t, "docs/operations.md")["../../docs/operations.md"]
	for _, name := range metrics(t) {
		if !regexp.MustCompile("(?m)^\\|.*`" + name + "`.*\\|$").MatchString(text) {
			t.Errorf("docs/operations.md does not list %s", name)
		}
	}
}

// TestAlertsHaveARunbook checks that every alert links to a section of the runbook, and that every section belongs to
// an alert.
func TestAlertsHaveARunbook(t *testing.T) {
	var sections []string
	for _, m := range regexp.MustCompile(`(?m)^## (\w+)$`).FindAllStringSubmatch(read(t, "docs/runbook.md")["../../docs/runbook.md"], -1) {
		sections = append(sections, m[1])
	}
	var file struct {
		Groups []struct {
			Rules []struct {
				Alert       string
				Labels      map[string]string
				Annotations map[string]string
			}
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "deploy/alerts/flyball.yaml")["../../deploy/alerts/flyball.yaml"]), &file); err != nil {
		t.Fatal(err)
	}
	var alerts []string
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			alerts = append(alerts, r.Alert)
			if want := "https://flyball.dev/docs/runbook.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
				t.Errorf("%s: its runbook is %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
			}
			if r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s needs a severity, a summary and a description", r.Alert)
			}
		}
	}
	if !slices.Equal(alerts, sections) {
		t.Errorf("the alerts are %v, the sections of the runbook %v", alerts, sections)
	}
}
