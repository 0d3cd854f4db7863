package docs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/demo/simclock"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
)

// scene is the environment for the commands of a page.
type scene struct {
	// bare is true if there are no CRDs and no manager, because the page installs them. A manager in this process then
	// does the work of the installation's pods. A bare scene has a control plane of its own.
	bare bool
	// level is the level of the control plane of a bare scene; default api.
	level string
	// at is the time of the manager's clock. Zero means the current time.
	at time.Time
	// objects are files of testdata that are applied before the first command.
	objects []string
	// namespace is the default namespace of commands.
	namespace string
	// files is a directory of testdata that is copied to the working directory.
	files string
}

var evening = time.Date(2037, 5, 11, 18, 30, 0, 0, time.UTC)

// scenes are the scenes by page, or by the word after console. A page without an entry gets an empty cluster.
var scenes = map[string]scene{
	"README.md":                      {bare: true},
	"docs/operations.md":             {bare: true, level: local.LevelWorkloads},
	"kustomize":                      {bare: true, level: local.LevelWorkloads},
	"docs/adapters.md":               {at: evening.Add(3 * time.Hour)},
	"docs/policies/schedule.md":      {at: evening, objects: []string{"shop.yaml", "weeknights.yaml"}},
	"today":                          {objects: []string{"shop.yaml"}},
	"docs/policies/trigger.md":       {at: time.Date(2037, 5, 12, 13, 0, 0, 0, time.UTC), objects: []string{"shop.yaml"}},
	"docs/policies/freeze.md":        {at: time.Date(2037, 12, 21, 12, 0, 0, 0, time.UTC), objects: []string{"shop.yaml"}},
	"docs/policies/deletion-cost.md": {objects: []string{"zones.yaml"}},
	"docs/cli":                       {objects: []string{"shop.yaml", "cli.yaml"}, files: "cli", namespace: "shop"},
}

// today are the pages whose commands need no special time, and whose objects do not meet.
var today = []string{"docs/architecture.md", "docs/notifications.md", "docs/ui.md", "docs/policies/override.md"}

// sceneOf returns the scene of a block.
func sceneOf(b block) string {
	switch {
	case b.example:
		return "docs/cli"
	case b.scene == "" && slices.Contains(today, b.page):
		return "today"
	}
	return cmp.Or(b.scene, b.page)
}

// inTurn returns the scenes that share a control plane and a manager, by the time of their clocks. A start of a cluster with Flyball
// costs more than the commands of most pages.
func inTurn(names []string) []string {
	shared := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return scenes[name].bare })
	slices.SortStableFunc(shared, func(a, b string) int { return scenes[a].at.Compare(scenes[b].at) })
	return shared
}

// builtin are the adapters that the chart enables.
var builtin = []string{"deployments.apps", "statefulsets.apps", "daemonsets.apps", "replicasets.apps", "cronjobs.batch", "jobs.batch",
	"horizontalpodautoscalers.autoscaling"}

// stage is a control plane on which scenes run.
type stage struct {
	*testing.T
	scene
	*harness.Env
	env []string
	// kubeconfig is the scene's, since commands change its namespace.
	kubeconfig string
	// dir has a copy of the parts of the repository that commands read.
	dir string
	// clock is the manager's clock.
	clock *simclock.Clock
}

// openBare starts the control plane of a bare scene.
func openBare(t *testing.T, root, plugin string, scene scene) *stage {
	t.Helper()
	cluster := local.Start(t, local.Options{Level: cmp.Or(scene.level, local.LevelAPI), With: []string{"helm"}, Log: t.Output()})
	c, err := client.New(cluster.Config(), client.Options{Scheme: app.Scheme()})
	s := &stage{Env: &harness.Env{Cluster: cluster, Config: cluster.Config(), Client: c, Root: root}}
	s.begin(t, plugin, scene)
	s.must(err)
	s.manageOnceInstalled()
	return s
}

// openShared starts a control plane with Flyball, and a manager whose clock a scene sets.
func openShared(t *testing.T, plugin string) *stage {
	t.Helper()
	env, err := harness.Up(t.Context(), local.Options{Level: local.LevelWorkloads, Log: t.Output()})
	s := &stage{T: t, Env: env, clock: simclock.New(time.Now())}
	s.must(err)
	t.Cleanup(func() { s.must(env.Cluster.Stop()) })
	s.must(env.InstallAdapters(t.Context(), builtin...))
	crds, err := filepath.Glob(filepath.Join("testdata", "*", "crds", "*.yaml"))
	s.must(err)
	s.must(env.ApplyFiles(t.Context(), crds...))
	s.must(env.AwaitCRDs(t.Context()))
	s.clock.Run(1)
	port := harness.FreePort(t)
	manager := env.Start(harness.Options{Log: t.Output(), Clock: s.clock, Notifications: app.NotificationOptions{Enabled: true},
		Webhook: app.WebhookOptions{Enabled: true, Host: "127.0.0.1", Port: port, URL: fmt.Sprintf("https://127.0.0.1:%d", port),
			Secret: "flyball-webhook-cert"}})
	t.Cleanup(func() { s.must(manager.Stop()) })
	s.must(env.AwaitAdapters(t.Context(), builtin...))
	return s
}

// begin gives the commands of a scene their directories and their environment.
func (s *stage) begin(t *testing.T, plugin string, scene scene) {
	t.Helper()
	s.T, s.scene, s.dir = t, scene, t.TempDir()
	s.copyFiles()
	s.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text, err := os.ReadFile(s.Cluster.Kubeconfig)
	s.must(err)
	s.must(os.WriteFile(s.kubeconfig, text, 0o600))
	s.env = []string{
		"KUBECONFIG=" + s.kubeconfig, "HOME=" + t.TempDir(),
		"PATH=" + strings.Join([]string{filepath.Dir(s.Cluster.Bin("kubectl")), plugin, os.Getenv("PATH")}, ":"),
	}
}

// enter begins a scene on a shared control plane.
func (s *stage) enter(t *testing.T, plugin string, scene scene) {
	t.Helper()
	s.begin(t, plugin, scene)
	if !s.at.IsZero() {
		s.clock.Set(s.at)
	}
	for _, file := range s.objects {
		s.must(s.ApplyFiles(t.Context(), filepath.Join("testdata", file)))
	}
	if s.namespace != "" {
		s.do("kubectl config set-context --current --namespace " + s.namespace)
	}
}

// leave deletes the scene's objects and all policies, and waits until they are gone.
func (s *stage) leave() {
	s.Helper()
	s.do("kubectl delete --all --all-namespaces " +
		"$(kubectl api-resources --categories=flyball -o name | grep -v ^adapters | paste -sd,)")
	var objects []*unstructured.Unstructured
	for _, file := range s.objects {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		s.must(err)
		more, err := harness.Objects(text)
		s.must(err)
		objects = append(objects, more...)
	}
	objects = slices.DeleteFunc(objects, func(obj *unstructured.Unstructured) bool { return obj.GetKind() == "Namespace" }) // used again
	for _, obj := range objects {
		err := s.Client.Delete(s.Context(), obj, client.PropagationPolicy(metav1.DeletePropagationForeground))
		s.must(client.IgnoreNotFound(err))
	}
	for _, obj := range objects {
		s.must(harness.Poll(s.Context(), harness.Patience, func() error { return s.gone(obj) }))
	}
}

// gone returns nil once an object does not exist.
func (s *stage) gone(obj *unstructured.Unstructured) error {
	err := s.Client.Get(s.Context(), client.ObjectKeyFromObject(obj), obj.DeepCopy())
	if err == nil {
		return fmt.Errorf("%s %s is there", obj.GetKind(), obj.GetName())
	}
	return client.IgnoreNotFound(err)
}

// do runs a line that has to succeed.
func (s *stage) do(line string) {
	s.Helper()
	out, code, err := s.shell(s.Context(), line)
	s.must(err)
	if code != 0 {
		s.Fatalf("$ %s\nexit code %d\n%s", line, code, out)
	}
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// copyFiles copies the files that commands read, so that writes do not reach the repository.
func (s *stage) copyFiles() {
	for _, part := range []string{"adapters", "crds", "deploy", "samples", "test/demo/manifests"} {
		s.must(os.CopyFS(filepath.Join(s.dir, part), os.DirFS(filepath.Join(s.Root, part))))
	}
	if s.files != "" {
		s.must(os.CopyFS(s.dir, os.DirFS(filepath.Join("testdata", s.files))))
	}
}

// buildPlugin builds the plugin as make build does, and returns the directory for the path.
func buildPlugin(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", dir+"/", "./cmd/kubectl-flyball")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the plugin: %v\n%s", err, out)
	}
	return dir
}

// manageOnceInstalled runs a manager once the installation has created its Deployment. It serves no webhook, because
// API servers would call the installation's pods.
func (s *stage) manageOnceInstalled() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		for {
			var d appsv1.Deployment
			if err := s.Client.Get(ctx, client.ObjectKey{Namespace: harness.Namespace, Name: "flyball"}, &d); err == nil {
				break
			}
			select {
			case <-ctx.Done():
				done <- nil
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
		manager := s.Start(harness.Options{Log: s.Output()})
		<-ctx.Done()
		done <- manager.Stop()
	}()
	s.Cleanup(func() {
		cancel()
		s.must(<-done)
	})
}

// apply applies the complete objects of a page, and waits until Flyball's objects are ready.
func (s *stage) apply(b block) {
	s.Helper()
	objects, err := harness.Objects([]byte(b.text))
	if err != nil || len(objects) == 0 || objects[0].GetKind() == "" {
		return // a part of an object
	}
	file := filepath.Join(s.TempDir(), "block.yaml")
	s.must(os.WriteFile(file, []byte(b.text), 0o600))
	s.must(harness.Poll(s.Context(), harness.Patience, func() error {
		out, code, err := s.shell(s.Context(), "kubectl apply -f "+file)
		if err == nil && code != 0 {
			err = fmt.Errorf("%s: %s", b, out)
		}
		return err
	}))
	for _, obj := range objects {
		if obj.GroupVersionKind().Group == v1alpha1.GroupVersion.Group {
			s.must(harness.Poll(s.Context(), harness.Patience, func() error { return s.ready(obj) }))
		}
	}
}

// ready returns nil if an object reports that it is ready.
func (s *stage) ready(obj *unstructured.Unstructured) error {
	now := obj.DeepCopy()
	if err := s.Client.Get(s.Context(), client.ObjectKeyFromObject(obj), now); err != nil {
		return err
	}
	conditions, _, _ := unstructured.NestedSlice(now.Object, "status", "conditions")
	for _, c := range conditions {
		if m, ok := c.(map[string]any); ok && m["type"] == v1alpha1.ConditionReady && m["status"] == "True" {
			return nil
		}
	}
	return fmt.Errorf("%s %s is not ready: %v", obj.GetKind(), obj.GetName(), conditions)
}
