// Package monitoring lets a real Prometheus scrape a real manager, and evaluates every query of the dashboard and every
// alert. Each must return data.
package monitoring

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
)

// afternoon is before the first transition of the scene.
var afternoon = time.Date(2026, 3, 2, 17, 0, 0, 0, time.UTC)

var inUse = []string{"deployments.apps", "horizontalpodautoscalers.autoscaling", "rollouts.argoproj.io"}

// scene is a cluster with a manager and a Prometheus that scrapes it.
type scene struct {
	*testing.T
	env        *harness.Env
	clock      *clocktesting.FakeClock
	prometheus *prometheus
	// deletions is the number of attempts at a denied deletion. rollOuts is the number of attempts at a roll-out that an
	// exception allows. More than one attempt may be needed, because a verdict can be late and another write can come
	// first.
	deletions, rollOuts int
}

func TestDashboardAndAlertsHaveData(t *testing.T) {
	env, err := harness.Up(t.Context(), local.Options{Level: local.LevelMetrics, With: []string{"prometheus", "promtool"}, Log: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := env.Cluster.Stop(); err != nil {
			t.Error(err)
		}
	}()
	s := &scene{T: t, env: env, clock: clocktesting.NewFakeClock(afternoon)}
	defer s.start()()
	s.play()
	t.Run("the dashboard has data", s.dashboard)
	t.Run("what is tuned is as on the objects", s.tuned)
	t.Run("savings are exact", s.savings)
	t.Run("the alerts have data", s.alerts)
	t.Run("each alert fires where it should", s.alertsFire)
	t.Run("series go with their policy", s.seriesGo)
	t.Run("recommend reads a history", s.recommends)
}

func (s *scene) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// start runs the manager with its own metrics endpoint, as its binary does, and lets Prometheus scrape it.
func (s *scene) start() (stop func()) {
	s.must(s.env.InstallAdapters(s.Context(), inUse...))
	ctx, cancel := context.WithCancel(context.Background())
	metrics, port := fmt.Sprintf("127.0.0.1:%d", harness.FreePort(s.T)), harness.FreePort(s.T)
	var said bytes.Buffer
	log := zap.New(zap.WriteTo(&said))
	ctrl.SetLogger(log)
	done := make(chan error, 1)
	go func() {
		done <- app.Run(ctx, s.env.Cluster.Impersonate("system:serviceaccount:flyball-system:flyball", "system:masters"), app.Options{
			MetricsAddress: metrics, HealthAddress: "0", Namespace: harness.Namespace, Workers: 16, QPS: -1, ShutdownTimeout: harness.Patience,
			Log: log, Clock: s.clock, UsageResolution: time.Second,
			Savings: app.SavingsOptions{Price: "cpu=0.031,memory=0.004,currency=EUR", CO2: "cpu=4.6,memory=0.4"},
			Notifications: app.NotificationOptions{Enabled: true, Secrets: []string{"flyball-notifications"}, PerNamespace: 20,
				AllowedHosts: []string{"127.0.0.0/8"}}, Webhook: app.WebhookOptions{
				Enabled: true, Pods: true, Host: "127.0.0.1", Port: port, URL: fmt.Sprintf("https://127.0.0.1:%d", port), Secret: "flyball"},
		})
	}()
	if err := s.env.AwaitAdapters(s.Context(), inUse[:2]...); err != nil {
		cancel()
		s.Fatalf("%v; the manager: %v\n%s", err, <-done, said.String())
	}
	s.prometheus = startPrometheus(s.T, s.env.Cluster, s.env.Root, metrics)
	return func() {
		cancel()
		if err := <-done; err != nil {
			s.Errorf("the manager ended: %v\n%s", err, said.String())
		}
	}
}

// notification sends a message about the changes that the freeze of the scene denies, to an address.
const notification = `
---
apiVersion: v1
kind: Secret
metadata: {namespace: depot, name: flyball-notifications}
stringData: {url: %q}
---
apiVersion: flyball.dev/v1alpha1
kind: Notification
metadata: {namespace: depot, name: team}
spec:
  events: [Denied]
  to: {service: {type: Mattermost, urlFrom: {secretKeyRef: {name: flyball-notifications, key: url}}}}
`

// play causes every event with a metric while Prometheus scrapes.
func (s *scene) play() {
	text, err := os.ReadFile("scene.yaml")
	s.must(err)
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	s.Cleanup(receiver.Close)
	text = append(text, fmt.Sprintf(notification, receiver.URL)...)
	eventually(s.T, func() error { return s.env.Apply(s.Context(), text) }) // once the webhook is reachable
	denied := func(what string, change func() error) {
		eventually(s.T, func() error {
			if err := change(); err == nil || !strings.Contains(err.Error(), "sale") {
				return fmt.Errorf("%s: got %w, want it denied by the freeze", what, err)
			}
			return nil
		})
	}
	api := &appsv1.Deployment{}
	api.Namespace, api.Name = "depot", "api"
	denied("a deletion", func() error { return s.env.Client.Delete(s.Context(), api, client.DryRunAll) })
	// The API server has a refused deletion judged again if the object has changed since it was cached. The last change is that the
	// autoscaler's two pods are available.
	eventually(s.T, func() error {
		if err := s.env.Client.Get(s.Context(), client.ObjectKeyFromObject(api), api); err != nil {
			return err
		}
		if st := api.Status; st.ObservedGeneration != api.Generation || st.AvailableReplicas != 2 {
			return fmt.Errorf("depot/api still changes: %+v", st)
		}
		return nil
	})
	denied("a deletion", func() error {
		s.deletions++
		return s.env.Client.Delete(s.Context(), api)
	})
	// The API server judges a patch again after a concurrent write, for example by the Deployment's controller. An
	// update fails instead.
	rollOut := func(opts ...client.UpdateOption) error {
		if err := s.env.Client.Get(s.Context(), client.ObjectKeyFromObject(api), api); err != nil {
			return err
		}
		api.Spec.Template.Annotations = map[string]string{"fix": "1"}
		return s.env.Client.Update(s.Context(), api, opts...)
	}
	eventually(s.T, func() error { return rollOut(client.DryRunAll) }) // once the exception is known too
	eventually(s.T, func() error {
		s.rollOuts++
		return rollOut()
	})
	// A transition is visible only if the earlier state was scraped.
	s.prometheus.is(s.T, `flyball_targets{policy="shop/nights",state="awake"}`, 1)
	s.clock.SetTime(time.Date(2026, 3, 2, 20, 30, 0, 0, time.UTC))
	s.replicas(0)
	s.tune()
}

func (s *scene) replicas(want int32) {
	s.Helper()
	eventually(s.T, func() error {
		var d appsv1.Deployment
		if err := s.env.Client.Get(s.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, &d); err != nil {
			return err
		}
		if *d.Spec.Replicas != want {
			return fmt.Errorf("shop/web has %d replicas, want %d", *d.Spec.Replicas, want)
		}
		return nil
	})
}

// dashboard evaluates every query of the dashboard, including its variables.
func (s *scene) dashboard(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(s.env.Root, "deploy", "dashboards", "flyball.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title, Type string
			Targets     []struct{ Expr string }
		}
		Templating struct {
			List []struct{ Name, Definition string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$policy_kind", ".*", "$policy", ".*", "$target_namespace",
		".*")
	queries, rows := 0, map[string]bool{}
	for _, p := range d.Panels {
		if p.Type == "row" {
			rows[p.Title] = true
		}
		for _, target := range p.Targets {
			queries++
			t.Run(p.Title, func(t *testing.T) { s.prometheus.hasData(t, variables.Replace(target.Expr)) })
		}
	}
	for _, row := range []string{"Sleeping", "Savings", "Tuning", "Freezes", "Health"} {
		if !rows[row] {
			t.Errorf("there is no row %s", row)
		}
	}
	if queries < 50 {
		t.Errorf("found only %d queries", queries)
	}
	values := regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
	for _, v := range d.Templating.List {
		if m := values.FindStringSubmatch(v.Definition); m != nil {
			s.prometheus.hasData(t, fmt.Sprintf("count by (%s) (%s)", m[2], variables.Replace(m[1])))
		}
	}
}

// savings compares Prometheus with the requests of the only sleeping Deployment: three pods of half a core.
func (s *scene) savings(t *testing.T) {
	const of = `{policy_kind="Schedule",policy="shop/nights",target_namespace="shop"}`
	is := func(expression string, want float64) { t.Helper(); s.prometheus.is(t, expression, want) }
	is("flyball_saved_replicas"+of, 3)
	is("flyball_saved_cpu_cores"+of, 1.5)
	is("flyball_saved_memory_bytes"+of, 3*256<<20)
	is("flyball_saved_replica_seconds_total"+of, 0)
	s.clock.Step(10 * time.Hour)
	is("flyball_saved_replica_seconds_total"+of, 3*10*3600)
	is("flyball_saved_cpu_core_seconds_total"+of, 1.5*10*3600)
	is("flyball_saved_memory_byte_seconds_total"+of, 3*256<<20*10*3600)
	tried := func(of string, times int) {
		t.Helper()
		is(fmt.Sprintf("(%s >= bool 1) * (%s <= bool %d)", of, of, times), 1)
	}
	tried(`flyball_freeze_denials_total{policy="depot/sale",action="Delete",enforcement="Deny"}`, s.deletions) // dry runs do not count
	tried(`flyball_freeze_exceptions_total{policy="depot/sale",action="RollOut"}`, s.rollOuts)
	is(`flyball_adapter_kind_installed{adapter="rollouts.argoproj.io"}`, 0)
}

type rule struct {
	Alert, Expr string
	Annotations map[string]string
}

// rules returns the shipped alerts.
func (s *scene) rules(t *testing.T) (all []rule) {
	text, err := os.ReadFile(filepath.Join(s.env.Root, "deploy", "alerts", "flyball.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	return all
}

// alerts checks that Prometheus evaluates every alert, and has every series that the alerts use.
func (s *scene) alerts(t *testing.T) {
	rules := s.rules(t)
	for _, r := range rules {
		selectors := s.prometheus.selectors(t, r.Expr)
		if len(selectors) == 0 {
			t.Errorf("%s looks at nothing", r.Alert)
		}
		for _, selector := range selectors {
			s.prometheus.hasData(t, selector)
		}
	}
	eventually(t, func() error {
		var loaded struct {
			Groups []struct {
				Rules []struct{ Name, Health, LastError string }
			}
		}
		if err := s.prometheus.get(t.Context(), "/api/v1/rules", nil, &loaded); err != nil {
			return err
		}
		healthy := 0
		for _, g := range loaded.Groups {
			for _, r := range g.Rules {
				if r.Health != "ok" {
					return fmt.Errorf("the rule %s is %s: %s", r.Name, r.Health, r.LastError)
				}
				healthy++
			}
		}
		if healthy != len(rules) {
			return fmt.Errorf("%d rules are evaluated, want %d", healthy, len(rules))
		}
		return nil
	})
}

// alertsFire runs the tests of the rules, and checks that every alert has a test that fires and one that does not.
func (s *scene) alertsFire(t *testing.T) {
	tests := filepath.Join(s.env.Root, "deploy", "alerts", "tests", "flyball.yaml")
	if out, err := exec.CommandContext(t.Context(), s.env.Cluster.Bin("promtool"), "test", "rules", tests).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(tests)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Tests []struct {
			Cases []struct {
				Alertname string
				Want      []any `json:"exp_alerts"`
			} `json:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range file.Tests {
		for _, c := range test.Cases {
			fires[c.Alertname] = fires[c.Alertname] || len(c.Want) > 0
			silent[c.Alertname] = silent[c.Alertname] || len(c.Want) == 0
		}
	}
	for _, r := range s.rules(t) {
		if !fires[r.Alert] || !silent[r.Alert] {
			t.Errorf("%s: tested where it fires: %t, where it does not: %t", r.Alert, fires[r.Alert], silent[r.Alert])
		}
	}
}

// seriesGo deletes the policies and checks that their series disappear.
func (s *scene) seriesGo(t *testing.T) {
	s.clock.SetTime(time.Date(2026, 4, 2, 12, 0, 0, 0, time.UTC)) // the freeze is over and no longer guarded
	for _, file := range []string{"scene.yaml", "tuning.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all, err := harness.Objects(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, obj := range all {
			if obj.GroupVersionKind().Group == "flyball.dev" {
				eventually(t, func() error { return client.IgnoreNotFound(s.env.Client.Delete(t.Context(), obj)) })
			}
		}
	}
	eventually(t, func() error {
		left, err := s.prometheus.query(t.Context(),
			`{__name__=~"flyball_.*",policy!=""} or flyball_usage_readable or {__name__=~"flyball_tuned_.*"}`)
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%d series of policies are left", len(left))
		}
		return err
	})
	s.replicas(3)
}

func eventually(t *testing.T, check func() error) {
	t.Helper()
	if err := harness.Poll(t.Context(), harness.Patience, check); err != nil {
		t.Fatal(err)
	}
}
