// Package idle tests sleep by idleness: a real Prometheus scrapes a real HAProxy, and the real manager asks that Prometheus.
package idle

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

var (
	env *harness.Env
	ctx context.Context
)

func TestIdle(t *testing.T) { suite.Run(t, "Idle") }

var _ = BeforeSuite(func() {
	ctx = context.Background()
	env = suite.Up(ctx, local.Options{Level: local.LevelAPI, With: []string{"prometheus", "promtool"}}, "deployments.apps")
})

// The app is asleep after asleepAfter without a request.
const asleepAfter = 10 * time.Second

// waking is the page of HAProxy for an app without endpoints.
const waking = "HTTP/1.0 503 Service Unavailable\r\nContent-Type: text/html\r\nRetry-After: 2\r\n\r\n" +
	"<meta http-equiv=refresh content=2><p>The app is waking up.\n"

// front is a HAProxy before one app.
type front struct {
	// url is the address for users. metrics is the address of its counters. backend is the name of its backend.
	url, metrics, backend string
}

// newFront starts a HAProxy with a backend for an app.
func newFront(namespace, name, app string) front {
	GinkgoHelper()
	t := GinkgoTB()
	binary, err := exec.CommandContext(ctx, "./haproxy").Output()
	Expect(err).NotTo(HaveOccurred(), "%s", err)
	dir := t.TempDir()
	page, config := filepath.Join(dir, "waking.http"), filepath.Join(dir, "haproxy.cfg")
	Expect(os.WriteFile(page, []byte(waking), 0o600)).To(Succeed())
	f := front{url: fmt.Sprintf("127.0.0.1:%d", suite.FreePort()), metrics: fmt.Sprintf("127.0.0.1:%d", suite.FreePort()),
		backend: namespace + "_" + name}
	text := fmt.Sprintf(`
defaults
  mode http
  timeout client 10s
  timeout connect 1s
  timeout server 10s
  retries 0
frontend users
  bind %[1]s
  default_backend %[3]s
frontend counters
  bind %[2]s
  http-request use-service prometheus-exporter
backend %[3]s
  errorfile 503 %[4]s
  server app %[5]s check inter 100ms
`, f.url, f.metrics, f.backend, page, app)
	Expect(os.WriteFile(config, []byte(text), 0o600)).To(Succeed())
	cmd := exec.CommandContext(ctx, strings.TrimSpace(string(binary)), "-db", "-f", config)
	cmd.Stdout, cmd.Stderr = GinkgoWriter, GinkgoWriter
	Expect(cmd.Start()).To(Succeed())
	DeferCleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	return f
}

// get requests the app as a browser does, and returns the status and the page.
func (f front) get(g Gomega) (status int, page string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+f.url, nil)
	g.Expect(err).NotTo(HaveOccurred())
	answer, err := http.DefaultClient.Do(request)
	g.Expect(err).NotTo(HaveOccurred())
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	g.Expect(err).NotTo(HaveOccurred())
	return answer.StatusCode, string(text)
}

// runApp serves the app at an address while its Deployment has replicas, in place of a kubelet.
func runApp(d *appsv1.Deployment, address string) {
	running, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	DeferCleanup(func() {
		stop()
		<-done
	})
	go func() {
		defer GinkgoRecover()
		defer close(done)
		var server *http.Server
		for running.Err() == nil {
			var now appsv1.Deployment
			err := env.Client.Get(running, client.ObjectKeyFromObject(d), &now)
			switch up := err == nil && *now.Spec.Replicas > 0; {
			case err != nil:
			case up && server == nil:
				listener, err := net.Listen("tcp", address)
				Expect(err).NotTo(HaveOccurred())
				server = &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, "the app")
				})}
				go func(s *http.Server) { _ = s.Serve(listener) }(server)
			case !up && server != nil:
				_ = server.Close()
				server = nil
			}
			select {
			case <-running.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
		if server != nil {
			_ = server.Close()
		}
	}()
}

// requests is the number of requests a second to the backends of HAProxy, whose names are NAMESPACE_NAME.
const requests = `label_replace(label_replace(rate(haproxy_backend_http_requests_total[10s]), "namespace", "$1", "proxy", "(.+)_.+"),
  "name", "$1", "proxy", ".+_(.+)")`

// scraping returns the configuration of a Prometheus that scrapes an address of each tenant each second. Its series have the label tenant.
func scraping(addresses map[string]string) string {
	text := "global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n- job_name: front\n  static_configs:\n"
	for tenant, address := range addresses {
		text += fmt.Sprintf("  - {targets: [%q], labels: {tenant: %q}}\n", address, tenant)
	}
	return text
}

// newApp creates a Deployment with three replicas.
func newApp(namespace, name string) *appsv1.Deployment {
	GinkgoHelper()
	Expect(env.Apply(ctx, fmt.Appendf(nil, `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %[1]s, name: %[2]s}
spec:
  replicas: 3
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec: {containers: [{name: main, image: "example.com/app:1"}]}
`, namespace, name))).To(Succeed())
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// newSchedule creates a ClusterSchedule for a namespace, with the demand above.
func newSchedule(namespace string, change ...func(*v1alpha1.ClusterScheduleSpec)) *v1alpha1.ClusterSchedule {
	GinkgoHelper()
	s := &v1alpha1.ClusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: "idle-" + namespace}}
	s.Spec.Target.Namespaces = []string{namespace}
	s.Spec.Idle = &v1alpha1.IdleRule{Demand: requests, AsleepAfter: v1alpha1.Duration(asleepAfter.String()), Interval: "2s"}
	for _, c := range change {
		c(&s.Spec)
	}
	Expect(env.Client.Create(ctx, s)).To(Succeed())
	return s
}

// replicas reads the count of a Deployment.
func replicas(d *appsv1.Deployment) func(Gomega) int {
	return func(g Gomega) int {
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		return int(*d.Spec.Replicas)
	}
}

// ready reads the condition Ready of a schedule. status is a pointer into the schedule.
func ready(s client.Object, status *v1alpha1.PolicyStatus) func(Gomega) metav1.Condition {
	return func(g Gomega) metav1.Condition {
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
		c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
		g.Expect(c).NotTo(BeNil())
		return *c
	}
}

// start runs a manager that asks a Prometheus.
func start(o app.PrometheusOptions) *harness.Manager {
	GinkgoHelper()
	return suite.Start(ctx, env, harness.Options{Prometheus: o}, "deployments.apps")
}
