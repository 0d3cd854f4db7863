package deploy

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/deploy/hooks"
)

// adopt uninstalls the release without its hooks while a target sleeps. So the adapters stay, marked for deletion. Then
// it installs the release again. Helm must end only after the adapters of the chart are back, and an upgrade must be
// able to change them as before.
func (s *stage) adopt() {
	s.replicas(0)
	s.stop()
	// The guard of the adapters is deleted with a role, a moment later. An earlier attempt is refused and repeated.
	eventually(s.T, func() error {
		_, err := here.tool(s.ctx, "helm", "uninstall", release, "--namespace", namespace, "--no-hooks")
		return err
	})
	left := map[string]types.UID{}
	for _, a := range s.adapters() {
		if a.DeletionTimestamp.IsZero() != (a.Name == "ovens.bakery.example.com") {
			s.Errorf("the adapter %s is being deleted at %v", a.Name, a.DeletionTimestamp)
		}
		left[a.Name] = a.UID
	}
	if _, ok := left["deployments.apps"]; !ok {
		s.Fatalf("nothing is left behind: %v", left)
	}
	said, err := s.installAgain()
	if err != nil {
		s.Fatalf("%v\nthe hook said:\n%s", err, said)
	}
	if !strings.Contains(said, "waiting: ") || !strings.Contains(said, "deployments.apps: ") {
		s.Errorf("the hook does not say what it waits for:\n%s", said)
	}
	// Helm has ended. The following checks hold at once.
	for _, a := range s.adapters() {
		if !a.DeletionTimestamp.IsZero() || a.Name == "deployments.apps" && a.UID == left[a.Name] {
			s.Errorf("the adapter %s is the one that was being deleted", a.Name)
		}
		delete(left, a.Name)
	}
	if len(left) > 0 {
		s.Errorf("Helm is done, and these adapters are not there: %v", slices.Collect(maps.Keys(left)))
	}
	s.adaptersStillReady()
	s.clock.Step(time.Minute) // the batch of the previous manager is over
	s.replicas(0)
	s.upgradeAdopted()
}

// installAgain installs the chart, runs the manager when its Deployment exists, and then runs the program of the hook's
// pod.
func (s *stage) installAgain() (said string, err error) {
	var output lines
	ctx, cancel := context.WithTimeout(s.ctx, 2*time.Minute)
	defer cancel()
	hooked := make(chan error, 1)
	ended := make(chan struct{})
	go func() {
		pod, err := s.hookPod(ctx, "adopt")
		if err == nil {
			select {
			case <-ended:
				err = errors.New("Helm did not wait for the hook")
			default:
			}
			s.redirect()
			s.entitled()
			manager := deployment(s.T, s.live("Deployment")).Spec.Template.Spec
			s.stop = s.start(here.as("flyball"), app.WebhookOptions{Service: "flyball-webhook", ServicePort: int32(s.port)}, brings(manager)...)
			err = errors.Join(err, hooks.Adopt(ctx, here.as("flyball-adopt"), brings(pod.Spec), output.add), finish(ctx, pod))
		}
		hooked <- err
	}()
	_, err = here.tool(ctx, "helm", append([]string{"install", release, chart, "--timeout", "2m", "--set-json",
		`adapters={"jobs.batch":{"enabled":false}}`}, s.args...)...)
	close(ended)
	if err != nil {
		cancel()
	}
	return output.String(), errors.Join(err, <-hooked)
}

// brings returns the adapters in a pod's arguments.
func brings(pod corev1.PodSpec) []string {
	return strings.Split(last(pod.Containers[0].Args, "--adapters="), ",")
}

// upgradeAdopted upgrades to a chart with a different adapter of Deployments, and back.
func (s *stage) upgradeAdopted() {
	newer := s.TempDir()
	s.must(os.CopyFS(newer, os.DirFS(chart)))
	file := filepath.Join(newer, "files", "adapters", "deployments.apps.yaml")
	text, err := os.ReadFile(file)
	s.must(err)
	s.must(os.WriteFile(file, []byte(strings.Replace(string(text), "versions: [v1]", "versions: [v1, v2]", 1)), 0o600))
	for _, with := range []struct {
		chart    string
		versions int
	}{{newer, 2}, {chart, 1}} {
		must(s.T, "helm", "upgrade", release, with.chart, "--namespace", namespace, "--reset-then-reuse-values")
		s.redirect()
		var a v1alpha1.Adapter
		s.must(here.client.Get(s.ctx, client.ObjectKey{Name: "deployments.apps"}, &a))
		if got := a.Spec.Target.Versions; len(got) != with.versions {
			s.Errorf("after the upgrade the adapter of Deployments has the versions %v, want %d", got, with.versions)
		}
	}
	s.adaptersStillReady()
}
