// Package harness runs the real manager against a local API server for tests: in the test's own process with a clock
// that the test controls, or as a separate process that can be killed.
package harness

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/local"
)

// Namespace is the namespace of managers under test.
const Namespace = "flyball-system"

// Patience is how long specs wait for an expected state. It is far longer than any promise of Flyball, because a busy
// machine may be slow. Durations are measured by make bench, beside a baseline of the same run.
const Patience = time.Minute

// Env is an API server with Flyball's CRDs installed.
type Env struct {
	Cluster *local.Cluster
	Config  *rest.Config
	Client  client.Client
	// Root is the repository's root.
	Root string
}

// Up starts a cluster and installs the CRDs.
func Up(ctx context.Context, opts local.Options) (*Env, error) {
	cluster, err := local.Up(ctx, opts)
	if err != nil {
		return nil, err
	}
	env := &Env{Cluster: cluster, Config: cluster.Config()}
	if err := env.prepare(ctx); err != nil {
		return nil, errors.Join(err, cluster.Stop())
	}
	return env, nil
}

func (e *Env) prepare(ctx context.Context) error {
	var err error
	if e.Root, err = Root(); err != nil {
		return err
	}
	if e.Client, err = client.New(e.Config, client.Options{Scheme: app.Scheme()}); err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(e.Root, "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("find the CRDs: %d files, %w", len(files), err)
	}
	if err := e.ApplyFiles(ctx, files...); err != nil {
		return err
	}
	if err := e.AwaitCRDs(ctx); err != nil {
		return err
	}
	return e.Apply(ctx, []byte("{apiVersion: v1, kind: Namespace, metadata: {name: "+Namespace+"}}"))
}

// Root returns the repository's root. It finds the root by the go.mod file.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && bytes.HasPrefix(text, []byte("module flyball.dev/flyball\n")) {
			return dir, nil
		}
	}
	return "", errors.New("find the repository: no go.mod of flyball.dev/flyball above the working directory")
}

// ApplyFiles applies the objects of YAML files, server-side.
func (e *Env) ApplyFiles(ctx context.Context, files ...string) error {
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return fmt.Errorf("read %s: %w", f, err)
		}
		if err := e.Apply(ctx, text); err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
	}
	return nil
}

// Apply applies the objects of a YAML text, server-side.
func (e *Env) Apply(ctx context.Context, text []byte) error {
	objs, err := Objects(text)
	if err != nil {
		return err
	}
	for _, obj := range objs {
		obj.SetManagedFields(nil)
		err := e.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("test"), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("apply %s %s: %w", obj.GetKind(), obj.GetName(), err)
		}
	}
	return nil
}

// Objects returns the objects of a YAML text.
func Objects(text []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		obj := &unstructured.Unstructured{}
		switch err := decoder.Decode(obj); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("decode YAML: %w", err)
		case len(obj.Object) > 0:
			out = append(out, obj)
		}
	}
}

// AwaitCRDs waits until every version of every CRD is served, which happens shortly after a CRD is reported as established.
func (e *Env) AwaitCRDs(ctx context.Context) error {
	all := &unstructured.UnstructuredList{}
	all.SetAPIVersion("apiextensions.k8s.io/v1")
	all.SetKind("CustomResourceDefinitionList")
	if err := e.Client.List(ctx, all); err != nil {
		return fmt.Errorf("list the CRDs: %w", err)
	}
	for _, crd := range all.Items {
		if err := e.awaitCRD(ctx, crd); err != nil {
			return fmt.Errorf("wait for the CRD %s: %w", crd.GetName(), err)
		}
	}
	return nil
}

func (e *Env) awaitCRD(ctx context.Context, crd unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, v := range versions {
		version, _ := v.(map[string]any)
		if version["served"] != true {
			continue
		}
		objects := &metav1.PartialObjectMetadataList{}
		objects.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: fmt.Sprint(version["name"]), Kind: kind + "List"})
		served := func() error {
			err := e.Client.List(ctx, objects, client.Limit(1))
			if err != nil && e.isGoing(ctx, crd.GetName()) {
				return nil
			}
			return err
		}
		if err := Poll(ctx, Patience, served); err != nil {
			return err
		}
	}
	return nil
}

// isGoing reports whether a CRD is being deleted or is gone.
func (e *Env) isGoing(ctx context.Context, name string) bool {
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	err := e.Client.Get(ctx, client.ObjectKey{Name: name}, crd)
	return apierrors.IsNotFound(err) || err == nil && crd.DeletionTimestamp != nil
}

// InstallAdapters installs the shipped adapters with the given names, or all without names.
func (e *Env) InstallAdapters(ctx context.Context, names ...string) error {
	all, err := adapters.All()
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	for i := range all {
		a := all[i]
		if len(names) > 0 && !wanted[a.Name] {
			continue
		}
		if err := e.Client.Create(ctx, &a); err != nil {
			return fmt.Errorf("create the adapter %s: %w", a.Name, err)
		}
	}
	return nil
}

// AwaitAdapters waits until the named adapters are ready.
func (e *Env) AwaitAdapters(ctx context.Context, names ...string) error {
	return Poll(ctx, Patience, func() error {
		for _, n := range names {
			var a v1alpha1.Adapter
			if err := e.Client.Get(ctx, client.ObjectKey{Name: n}, &a); err != nil {
				return err
			}
			if c := condition(a.Status.Conditions, v1alpha1.ConditionReady); c == nil || c.Status != metav1.ConditionTrue ||
				c.ObservedGeneration != a.Generation {
				return fmt.Errorf("the adapter %s is not ready: %+v", n, a.Status.Conditions)
			}
		}
		return nil
	})
}

func condition(list []metav1.Condition, kind string) *metav1.Condition {
	for i := range list {
		if list[i].Type == kind {
			return &list[i]
		}
	}
	return nil
}

// Poll calls check every 50 ms until it returns nil. At the limit it returns the last error.
func Poll(ctx context.Context, limit time.Duration, check func() error) error {
	return PollEvery(ctx, 50*time.Millisecond, limit, check)
}

// PollEvery calls check with a pause until it returns nil. At the limit it returns the last error.
func PollEvery(ctx context.Context, pause, limit time.Duration, check func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := check()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("still after %s: %w", limit, err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(pause):
		}
	}
}

// Manager is a manager in this process.
type Manager struct {
	// Registry has its metrics.
	Registry *prometheus.Registry
	traffic  *traffic
	stop     context.CancelFunc
	done     chan error
	ended    sync.Once
	stopped  atomic.Bool
	err      error
}

// Options configure a manager under test.
type Options struct {
	// Clock is the clock by which policies are decided. nil means the machine's clock.
	Clock clock.WithTicker
	// PodClock is the clock by which a tuning policy counts the age of pods. nil means the machine's clock.
	PodClock clock.PassiveClock
	// Config is the client configuration. nil means the administrator's.
	Config *rest.Config
	// Pod is the name of the Pod that the manager treats as its own. Empty means none.
	Pod string
	// Webhook configures the admission webhook. The zero value disables it.
	Webhook app.WebhookOptions
	// UsageResolution is the pause between two measurements of pod usage. Zero means the manager's default.
	UsageResolution time.Duration
	// Prometheus configures the server that has the history of pod usage. The zero value means none.
	Prometheus app.PrometheusOptions
	// Notifications configures messages. The zero value sends none. Without names of Secrets or a limit, those of the manager's flags
	// count.
	Notifications app.NotificationOptions
	// DryRun writes nothing to targets.
	DryRun bool
	// Health is the address of /healthz and /readyz. Empty disables them.
	Health string
	// Log receives the manager's log. nil discards it.
	Log io.Writer
}

// Start runs a manager in this process. It does not wait until the manager is ready.
func (e *Env) Start(opts Options) *Manager {
	ctx, stop := context.WithCancel(context.Background())
	m := &Manager{Registry: prometheus.NewRegistry(), traffic: newTraffic(e.Config, e.Cluster), stop: stop, done: make(chan error, 1)}
	log := funcr.New(func(string, string) {}, funcr.Options{})
	if opts.Log != nil {
		log = zap.New(zap.UseDevMode(true), zap.WriteTo(opts.Log))
	}
	log = log.WithSink(&listener{LogSink: log.GetSink(), begun: &m.traffic.working})
	setLogger.Do(func() { ctrl.SetLogger(log) })
	if len(opts.Notifications.Secrets) == 0 {
		opts.Notifications.Secrets = []string{"flyball-notifications"}
	}
	opts.Notifications.PerNamespace = cmp.Or(opts.Notifications.PerNamespace, 20)
	config := opts.Config
	if config == nil {
		config = e.Config
	}
	config = m.traffic.over(config)
	running.Store(m, nil)
	go func() {
		err := app.Run(ctx, config, app.Options{
			MetricsAddress: "0", HealthAddress: cmp.Or(opts.Health, "0"), Namespace: Namespace, Pod: opts.Pod, DryRun: opts.DryRun, Workers: 16,
			QPS:             -1,
			ShutdownTimeout: Patience, Log: log, Clock: opts.Clock, PodClock: opts.PodClock, Registry: m.Registry,
			Webhook:         opts.Webhook,
			UsageResolution: opts.UsageResolution, Prometheus: opts.Prometheus, Notifications: opts.Notifications,
		})
		if err != nil && !m.stopped.Load() {
			_, _ = fmt.Fprintln(os.Stderr, "A manager under test ended before it was told to:", err)
		}
		m.done <- err
	}()
	return m
}

var setLogger sync.Once

// Running returns false once the manager was asked to stop.
func (m *Manager) Running() bool { return !m.stopped.Load() }

// Stop stops the manager and returns its error. A later call returns the same error.
func (m *Manager) Stop() error {
	m.stopped.Store(true)
	running.Delete(m)
	m.stop()
	m.ended.Do(func() { m.err = <-m.done })
	return m.err
}

// Process is a manager in a separate process.
type Process struct {
	cmd *exec.Cmd
	out *bytes.Buffer
}

// Build builds the manager's binary into a directory and returns its path. Go caches a linked program for go run and not for go
// build, so the suites of a run link it once.
func (e *Env) Build(ctx context.Context, dir string) (string, error) {
	binary := filepath.Join(dir, "flyball-manager")
	cmd := exec.CommandContext(ctx, "go", "run", "-exec", "cp", "./cmd/flyball-manager", binary)
	cmd.Dir = e.Root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the manager: %w\n%s", err, out)
	}
	return binary, nil
}

// StartProcess runs the binary against the cluster.
func (e *Env) StartProcess(binary string, args ...string) (*Process, error) {
	p := &Process{out: &bytes.Buffer{}}
	p.cmd = exec.Command(binary, append([]string{"--leader-elect=false", "--webhook=false", "--metrics-bind-address=0",
		"--health-probe-bind-address=0"}, args...)...)
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+e.Cluster.Kubeconfig)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the manager: %w", err)
	}
	return p, nil
}

// Kill ends the process like a crash.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	_ = p.cmd.Wait()
}

// Pause suspends the process with all its state.
func (p *Process) Pause() error { return p.cmd.Process.Signal(syscall.SIGSTOP) }

// Terminate asks the process to stop, as a kubelet does, and waits for its end.
func (p *Process) Terminate() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("terminate the manager: %w", err)
	}
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the manager ended: %w\n%s", err, p.out)
	}
	return nil
}

// Output returns the output of the process. It may be called only after the process has ended.
func (p *Process) Output() string { return p.out.String() }

// Patch merge-patches an object.
func (e *Env) Patch(ctx context.Context, obj client.Object, body string) error {
	return e.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(body)))
}
