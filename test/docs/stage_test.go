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
	// does the work of the installation's pods.
	bare bool
	// level is the level of the control plane; default api.
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

// scenes are the scenes by page, or by the word after console. A page without an entry gets an empty cluster. A start of a cluster with
// Flyball costs more than the commands of most pages, so pages share one where they can.
var scenes = map[string]scene{
	"README.md":                      {bare: true},
	"docs/operations.md":             {bare: true, level: local.LevelWorkloads},
	"kustomize":                      {bare: true, level: local.LevelWorkloads},
	"docs/adapters.md":               {at: evening.Add(3 * time.Hour)},
	"docs/evaluate.md":               {objects: []string{"shop.yaml"}},
	"docs/policies/schedule.md":      {at: evening, objects: []string{"shop.yaml", "weeknights.yaml"}},
	"today":                          {objects: []string{"shop.yaml"}},
	"docs/policies/trigger.md":       {at: time.Date(2037, 5, 12, 13, 0, 0, 0, time.UTC), objects: []string{"shop.yaml"}},
	"docs/policies/freeze.md":        {at: time.Date(2037, 12, 21, 12, 0, 0, 0, time.UTC), objects: []string{"shop.yaml"}},
	"docs/policies/deletion-cost.md": {at: evening, level: local.LevelWorkloads, objects: []string{"zones.yaml"}},
	"docs/migrating.md":              {at: evening, objects: []string{"migrating-cluster.yaml"}, files: "migrating"},
	"docs/cli": {level: local.LevelWorkloads, objects: []string{"shop.yaml", "cli.yaml"}, files: "cli",
		namespace: "shop"},
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

// builtin are the adapters that the chart enables.
var builtin = []string{"deployments.apps", "statefulsets.apps", "daemonsets.apps", "replicasets.apps", "cronjobs.batch", "jobs.batch",
	"horizontalpodautoscalers.autoscaling"}

// stage is a running scene.
type stage struct {
	*testing.T
	scene
	env []string
	// dir has a copy of the parts of the repository that commands read.
	dir    string
	client client.Client
	// applies is true if objects on the page are applied.
	applies bool
}

// open starts the control plane and the manager.
func open(t *testing.T, root, plugin, name string) *stage {
	t.Helper()
	s := &stage{T: t, scene: scenes[name], dir: t.TempDir()}
	s.applies = !s.bare
	s.copyFiles(root)
	opts := local.Options{Level: cmp.Or(s.level, local.LevelAPI), Log: t.Output()}
	var cluster *local.Cluster
	if s.bare {
		opts.With = []string{"helm"}
		cluster = local.Start(t, opts)
	} else {
		env, err := harness.Up(t.Context(), opts)
		s.must(err)
		cluster = env.Cluster
		t.Cleanup(func() { s.must(cluster.Stop()) })
	}
	var err error
	s.client, err = client.New(cluster.Config(), client.Options{Scheme: app.Scheme()})
	s.must(err)
	s.env = []string{
		"KUBECONFIG=" + cluster.Kubeconfig, "HOME=" + t.TempDir(),
		"PATH=" + strings.Join([]string{filepath.Dir(cluster.Bin("kubectl")), plugin, os.Getenv("PATH")}, ":"),
	}
	env := &harness.Env{Cluster: cluster, Config: cluster.Config(), Client: s.client, Root: root}
	if s.bare {
		s.manageOnceInstalled(env)
		return s
	}
	s.must(env.InstallAdapters(t.Context(), builtin...))
	crds, err := filepath.Glob(filepath.Join("testdata", s.files, "crds", "*.yaml"))
	s.must(err)
	s.must(env.ApplyFiles(t.Context(), crds...))
	s.must(env.AwaitCRDs(t.Context()))
	for _, file := range s.objects {
		s.must(env.ApplyFiles(t.Context(), filepath.Join("testdata", file)))
	}
	port := harness.FreePort(t)
	options := harness.Options{Log: t.Output(), Notifications: app.NotificationOptions{Enabled: true}, Webhook: app.WebhookOptions{
		Enabled: true, Host: "127.0.0.1", Port: port, URL: fmt.Sprintf("https://127.0.0.1:%d", port), Secret: "flyball-webhook-cert"}}
	if !s.at.IsZero() {
		clock := simclock.New(s.at)
		clock.Run(1)
		options.Clock = clock
	}
	if s.namespace != "" {
		out, code, err := s.shell(t.Context(), "kubectl config set-context --current --namespace "+s.namespace)
		s.must(err)
		if code != 0 {
			t.Fatal(out)
		}
	}
	manager := env.Start(options)
	t.Cleanup(func() { s.must(manager.Stop()) })
	s.must(env.AwaitAdapters(t.Context(), builtin...))
	return s
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// copyFiles copies the files that commands read, so that writes do not reach the repository.
func (s *stage) copyFiles(root string) {
	for _, part := range []string{"adapters", "crds", "deploy", "samples", "test/demo/manifests"} {
		s.must(os.CopyFS(filepath.Join(s.dir, part), os.DirFS(filepath.Join(root, part))))
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
func (s *stage) manageOnceInstalled(env *harness.Env) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		for {
			var d appsv1.Deployment
			if err := s.client.Get(ctx, client.ObjectKey{Namespace: harness.Namespace, Name: "flyball"}, &d); err == nil {
				break
			}
			select {
			case <-ctx.Done():
				done <- nil
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
		manager := env.Start(harness.Options{Log: s.Output()})
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
	if err := s.client.Get(s.Context(), client.ObjectKeyFromObject(obj), now); err != nil {
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
