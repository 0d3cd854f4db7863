package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// WakingPage is the page of a Front for an app without endpoints.
const WakingPage = "HTTP/1.0 503 Service Unavailable\r\nContent-Type: text/html\r\nRetry-After: 2\r\n\r\n" +
	"<meta http-equiv=refresh content=2><p>The app is waking up.\n"

// FrontDemand is the demand by the requests to Fronts in each of some seconds, as a PromQL query.
const FrontDemand = `label_replace(label_replace(rate(haproxy_backend_http_requests_total[10s]), "namespace", "$1", "proxy", "(.+)_.+"),
  "name", "$1", "proxy", ".+_(.+)")`

// Front is a HAProxy before one app. Its backend has the name NAMESPACE_NAME.
type Front struct {
	// URL is the address for users, and App that of the app. Metrics is the address of the counters.
	URL, App, Metrics string
}

// StartFront starts a HAProxy, whose files are in a directory. It ends when stop is called.
func StartFront(binary, dir, namespace, name string, log io.Writer) (f Front, stop func(), err error) {
	ports := make([]int, 3)
	for i := range ports {
		if ports[i], err = Port(); err != nil {
			return f, nil, err
		}
	}
	at := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	f = Front{URL: "http://" + at(0), App: at(1), Metrics: at(2)}
	page, config := filepath.Join(dir, name+".http"), filepath.Join(dir, name+".cfg")
	text := fmt.Sprintf(`
defaults
  mode http
  timeout client 10s
  timeout connect 1s
  timeout server 10s
  retries 0
frontend users
  bind %[1]s
  default_backend %[2]s
frontend counters
  bind %[3]s
  http-request use-service prometheus-exporter
backend %[2]s
  errorfile 503 %[4]s
  server app %[5]s check inter 100ms
`, at(0), namespace+"_"+name, at(2), page, at(1))
	if err := errors.Join(os.WriteFile(page, []byte(WakingPage), 0o600), os.WriteFile(config, []byte(text), 0o600)); err != nil {
		return f, nil, err
	}
	stop, err = start(exec.Command(binary, "-db", "-f", config), log)
	return f, stop, err
}

// Get requests the app as a browser does, and returns the page.
func (f Front) Get(ctx context.Context) (page string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL, nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	return string(text), err
}

// ScrapeFronts returns the configuration of a Prometheus that scrapes the counters of Fronts each second. The series of a backend have its
// namespace as the label tenant, as docs/policies/idle.md says.
func ScrapeFronts(metrics ...string) string {
	return fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
- job_name: front
  metric_relabel_configs:
  - {source_labels: [proxy], regex: (.+)_.+, target_label: tenant}
  static_configs: [{targets: ["%s"]}]
`, strings.Join(metrics, `", "`))
}

// start starts a program. It is killed when stop is called.
func start(cmd *exec.Cmd, log io.Writer) (stop func(), err error) {
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}, nil
}

// ServeApp serves the app of a Front while its Deployment has replicas, in place of a kubelet, until the context ends.
func (e *Env) ServeApp(ctx context.Context, d client.ObjectKey, address string) error {
	var server *http.Server
	defer func() {
		if server != nil {
			_ = server.Close()
		}
	}()
	for {
		var now appsv1.Deployment
		err := e.Client.Get(ctx, d, &now)
		switch up := err == nil && *now.Spec.Replicas > 0; {
		case err != nil:
		case up && server == nil:
			listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
			if err != nil {
				return err
			}
			server = &http.Server{ReadHeaderTimeout: time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, "the app\n")
			})}
			go func(s *http.Server) { _ = s.Serve(listener) }(server)
		case !up && server != nil:
			_ = server.Close()
			server = nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(50 * time.Millisecond):
		}
	}
}
