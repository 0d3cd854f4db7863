package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"flyball.dev/flyball/test/cluster"
)

func start(t *testing.T, opts cluster.Options) *cluster.Cluster {
	t.Helper()
	opts.Log = t.Output()
	c, err := cluster.Start(t.Context(), opts)
	if err != nil {
		t.Fatalf("start a cluster: %v", err)
	}
	t.Cleanup(func() {
		if err := errors.Join(c.Failure(), c.Stop()); err != nil {
			t.Errorf("stop the cluster: %v", err)
		}
	})
	return c
}

// kubectl runs kubectl with a kubeconfig file.
func kubectl(c *cluster.Cluster, kubeconfig string, args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(c.BinDir(), "kubectl"), args...)
	cmd.Env = []string{"KUBECONFIG=" + kubeconfig, "HOME=" + c.Dir()}
	output, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(output)), err
}

func mustKubectl(t *testing.T, c *cluster.Cluster, args ...string) string {
	t.Helper()
	output, err := kubectl(c, c.Kubeconfig(), args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return output
}

func apply(t *testing.T, c *cluster.Cluster, manifest string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	mustKubectl(t, c, "create", "-f", file)
}

// eventually retries a check within the time that a slow machine may need.
func eventually(t *testing.T, within time.Duration, check func() error) {
	t.Helper()
	var err error
	look := time.NewTicker(250 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(within); time.Now().Before(deadline); <-look.C {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatalf("not within %s: %v", within, err)
}

// pids returns the process ids of the components by name.
func pids(t *testing.T, dir string) map[string]int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "run", "*.pid"))
	if err != nil || len(files) == 0 {
		t.Fatalf("pid files in %s: %v, %v", dir, files, err)
	}
	found := map[string]int{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		found[strings.TrimSuffix(filepath.Base(file), ".pid")] = pid
	}
	return found
}

const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations: {kwok.x-k8s.io/usage-cpu: 300m, kwok.x-k8s.io/usage-memory: 100Mi}
    spec:
      topologySpreadConstraints:
      - maxSkew: 1
        topologyKey: topology.kubernetes.io/zone
        whenUnsatisfiable: DoNotSchedule
        labelSelector: {matchLabels: {app: web}}
      containers: [{name: web, image: web}]
`

func TestClustersSideBySide(t *testing.T) {
	one, two := start(t, cluster.Options{}), start(t, cluster.Options{})
	mustKubectl(t, one, "create", "namespace", "only-in-one")
	if output, err := kubectl(two, two.Kubeconfig(), "get", "namespace", "only-in-one"); err == nil {
		t.Errorf("the second cluster has the first one's namespace: %s", output)
	}
	running := pids(t, one.Dir())
	if err := one.Stop(); err != nil {
		t.Fatal(err)
	}
	for name, pid := range running {
		if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
			t.Errorf("%s of the stopped cluster, pid %d: %v, want no such process", name, pid, err)
		}
	}
	if _, err := os.Stat(one.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the stopped cluster's directory: %v, want it gone", err)
	}
	mustKubectl(t, two, "get", "namespaces")
}

func TestUsersHaveOnlyTheirRights(t *testing.T) {
	c := start(t, cluster.Options{})
	mustKubectl(t, c, "create", "clusterrole", "see-pods", "--verb=list", "--resource=pods")
	mustKubectl(t, c, "create", "clusterrolebinding", "on-call", "--clusterrole=see-pods", "--group=oncall")
	for _, test := range []struct {
		user   string
		groups string
		reads  bool
	}{
		{user: "admin", groups: "system:masters", reads: true},
		{user: "alice", groups: "developers"},
		{user: "bob", groups: "developers,oncall", reads: true},
		{user: "sre", groups: "sre"},
	} {
		t.Run(test.user, func(t *testing.T) {
			kubeconfig := c.UserKubeconfigs()[test.user]
			who, err := kubectl(c, kubeconfig, "auth", "whoami", "-o", `jsonpath={.status.userInfo.username} {.status.userInfo.groups}`)
			want := fmt.Sprintf(`%s ["%s","system:authenticated"]`, test.user, strings.ReplaceAll(test.groups, ",", `","`))
			if err != nil || who != want {
				t.Errorf("whoami is %s, %v; want %s", who, err, want)
			}
			if answer, err := kubectl(c, kubeconfig, "get", "pods"); (err == nil) != test.reads {
				t.Errorf("reading pods: %v (%s), want allowed: %v", err, answer, test.reads)
			}
		})
	}
}

func TestOutageKeepsData(t *testing.T) {
	c := start(t, cluster.Options{})
	mustKubectl(t, c, "create", "configmap", "kept", "--from-literal=key=value")
	url := c.URL()
	if err := c.StopAPIServer(); err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(url)
	if err == nil {
		_ = response.Body.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("ask a stopped API server: %v; want connection refused", err)
	}
	if err := c.StartAPIServer(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c.URL() != url {
		t.Errorf("after the outage the address is %s, want %s", c.URL(), url)
	}
	if value := mustKubectl(t, c, "get", "configmap", "kept", "-o", "jsonpath={.data.key}"); value != "value" {
		t.Errorf("after the outage the value is %q", value)
	}
}

func TestWorkloadsLevelRunsPods(t *testing.T) {
	c := start(t, cluster.Options{Level: cluster.LevelWorkloads, HighQPS: true, Audit: true, Nodes: 4})
	apply(t, c, deployment)
	mustKubectl(t, c, "rollout", "status", "deployment", "web", "--timeout", "30s")

	t.Run("pods spread over the zones", func(t *testing.T) {
		zoneOf := map[string]string{}
		for _, line := range strings.Split(mustKubectl(t, c, "get", "nodes", "-o",
			`jsonpath={range .items[*]}{.metadata.name} {.metadata.labels.topology\.kubernetes\.io/zone}{"\n"}{end}`), "\n") {
			name, zone, _ := strings.Cut(line, " ")
			zoneOf[name] = zone
		}
		if len(zoneOf) != 4 {
			t.Errorf("nodes are %v, want 4", zoneOf)
		}
		var zones []string
		for _, node := range strings.Fields(mustKubectl(t, c, "get", "pods", "-l", "app=web", "-o", "jsonpath={.items[*].spec.nodeName}")) {
			zones = append(zones, zoneOf[node])
		}
		slices.Sort(zones)
		if !slices.Equal(zones, cluster.Zones()) {
			t.Errorf("the pods run in %v, want one in each of %v", zones, cluster.Zones())
		}
	})
	t.Run("a held pod is not ready until it is let go", func(t *testing.T) {
		apply(t, c, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"held","annotations":{"`+cluster.HoldAnnotation+`":"true"}},
			"spec":{"containers":[{"name":"c","image":"c"}]}}`)
		mustKubectl(t, c, "wait", "pod", "held", "--for=condition=PodScheduled", "--timeout=20s")
		if output, err := kubectl(c, c.Kubeconfig(), "wait", "pod", "held", "--for=condition=Ready", "--timeout=2s"); err == nil {
			t.Errorf("the held pod is ready: %s", output)
		}
		mustKubectl(t, c, "annotate", "pod", "held", cluster.HoldAnnotation+"-")
		mustKubectl(t, c, "wait", "pod", "held", "--for=condition=Ready", "--timeout=20s")
	})
	t.Run("a job completes", func(t *testing.T) {
		mustKubectl(t, c, "create", "job", "once", "--image=once")
		mustKubectl(t, c, "wait", "job", "once", "--for=condition=Complete", "--timeout=30s")
	})
	t.Run("a claim is bound", func(t *testing.T) {
		apply(t, c, `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data"},
			"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`)
		mustKubectl(t, c, "wait", "pvc", "data", "--for=jsonpath={.status.phase}=Bound", "--timeout=20s")
	})
	t.Run("controllers survive an outage", func(t *testing.T) {
		if err := c.StopAPIServer(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second) // controllers meet the closed port
		if err := c.StartAPIServer(t.Context()); err != nil {
			t.Fatal(err)
		}
		mustKubectl(t, c, "scale", "deployment", "web", "--replicas=4")
		mustKubectl(t, c, "rollout", "status", "deployment", "web", "--timeout=60s")
	})
	t.Run("requests are in the audit log by user agent", func(t *testing.T) {
		raw, err := os.ReadFile(c.AuditLog())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(raw), `"userAgent":"kubectl/`+cluster.KubernetesVersion) {
			t.Error("no request of kubectl in the audit log")
		}
	})
}

func TestMetricsLevelMeasuresPods(t *testing.T) {
	c := start(t, cluster.Options{Level: cluster.LevelMetrics, Nodes: 3})
	apply(t, c, deployment)
	apply(t, c, `{"apiVersion":"autoscaling.k8s.io/v1","kind":"VerticalPodAutoscaler","metadata":{"name":"web"},
		"spec":{"targetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},"updatePolicy":{"updateMode":"Off"}}}`)
	eventually(t, time.Minute, func() error {
		output, err := kubectl(c, c.Kubeconfig(), "top", "nodes", "--no-headers")
		if err != nil || strings.Count(output, "%") != 6 {
			return fmt.Errorf("kubectl top nodes: %w\n%s", err, output)
		}
		return nil
	})
	eventually(t, time.Minute, func() error {
		output, err := kubectl(c, c.Kubeconfig(), "top", "pods", "--no-headers")
		lines := strings.Split(output, "\n")
		if err != nil || len(lines) != 3 {
			return fmt.Errorf("kubectl top pods: %w\n%s", err, output)
		}
		for _, line := range lines {
			fields := strings.Fields(line)
			if len(fields) != 3 {
				return fmt.Errorf("kubectl top pods says %q", line)
			}
			// A rate between two samples is only close to the simulated usage.
			if milli := milliCPU(fields[1]); milli < 270 || milli > 330 || fields[2] != "100Mi" {
				return fmt.Errorf("usage of a pod is %q, want about 300m and 100Mi", line)
			}
		}
		return nil
	})
	eventually(t, time.Minute, func() error {
		output, err := kubectl(c, c.Kubeconfig(), "get", "vpa", "web", "-o",
			"jsonpath={.status.recommendation.containerRecommendations[0].target.cpu}")
		// The recommender starts with its floor of 25m and adds 15 % to the usage.
		if err != nil || milliCPU(output) < 270 {
			return fmt.Errorf("recommendation is %q: %w", output, err)
		}
		return nil
	})
}

// milliCPU parses a quantity like 300m; any other text is -1.
func milliCPU(quantity string) int {
	milli, err := strconv.Atoi(strings.TrimSuffix(quantity, "m"))
	if err != nil {
		return -1
	}
	return milli
}

func TestStartErrorHasComponentLog(t *testing.T) {
	for _, test := range []struct {
		name string
		opts cluster.Options
		want string
	}{
		{
			name: "flag of the API server",
			opts: cluster.Options{ExtraAPIServerArgs: []string{"--no-such-flag"}},
			want: "unknown flag: --no-such-flag",
		},
		{
			name: "flag of the controller manager",
			opts: cluster.Options{Level: cluster.LevelWorkloads, ExtraControllerManagerArgs: []string{"--no-such-flag"}},
			want: "unknown flag: --no-such-flag",
		},
		{name: "level", opts: cluster.Options{Level: "all"}, want: "levels are api, workloads, metrics"},
		{name: "binary", opts: cluster.Options{With: []string{"tiller"}}, want: `binary "tiller"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			test.opts.Dir = t.TempDir()
			_, err := cluster.Start(t.Context(), test.opts)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	c, err := cluster.Start(ctx, cluster.Options{})
	if err == nil {
		t.Fatal(errors.Join(errors.New("a cluster started within 200 ms"), c.Stop()))
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v, want the deadline", err)
	}
}

func TestUnexpectedEndIsReported(t *testing.T) {
	c, err := cluster.Start(t.Context(), cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	}()
	if err := syscall.Kill(pids(t, c.Dir())["etcd"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-c.Failed():
	case <-time.After(20 * time.Second):
		t.Fatal("the end of etcd is not reported")
	}
	if err := c.Failure(); err == nil || !strings.Contains(err.Error(), "etcd ended by itself (signal: killed)") {
		t.Errorf("failure is %v, want the end of etcd", err)
	}
}
