package deploy

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	files "flyball.dev/flyball/deploy"
	"flyball.dev/flyball/deploy/hooks"
	"flyball.dev/flyball/test/harness"
)

// TestInstallFile applies install.yaml to a cluster without Flyball, in one command. The manager and the program of the Job run with the
// rights in the file until the adapters are ready. A second application is accepted, and everything goes as docs/operations.md says.
func TestInstallFile(t *testing.T) {
	s := &stage{T: t, whole: t, ctx: t.Context(), clock: clocktesting.NewFakeClock(evening), port: harness.FreePort(t)}
	text, err := files.Install("../..", "registry.example.com/team/flyball", "v1.2.3")
	s.must(err)
	if len(text) >= 1<<20 {
		t.Errorf("install.yaml has %d bytes, want less than 1 MiB", len(text))
	}
	if strings.Contains(string(text), files.DevelopmentImage) {
		t.Error("install.yaml names the image of the repository")
	}
	file := filepath.Join(t.TempDir(), "install.yaml")
	s.must(os.WriteFile(file, text, 0o600))
	must(t, "kubectl", "delete", "--ignore-not-found", "--timeout=60s", "-f", "../../crds") // of an earlier test

	must(t, "kubectl", "apply", "-f", file)
	s.redirect()
	s.entitled()
	pod, err := s.hookPod(s.ctx, "install")
	s.must(err)
	if got := pod.Spec.Containers[0].Image; got != "registry.example.com/team/flyball:v1.2.3" {
		t.Errorf("the Job runs %s", got)
	}
	stop := s.start(here.as(pod.Spec.ServiceAccountName), app.WebhookOptions{Service: "flyball-webhook", ServicePort: int32(s.port)})
	defer stop()
	var output lines
	if err := hooks.Install(s.ctx, here.as(pod.Spec.ServiceAccountName), brings(pod.Spec), output.add); err != nil {
		t.Fatalf("%v\nthe Job said:\n%s\nthe manager said:\n%s", err, output.String(), s.log.String())
	}
	s.adaptersReady()
	s.appliedAgain(here.as(pod.Spec.ServiceAccountName), brings(pod.Spec))
	must(t, "kubectl", "apply", "-f", file)

	must(t, "kubectl", "delete", "adapters.flyball.dev", "--all")
	must(t, "kubectl", "delete", "flyball", "--all", "--all-namespaces")
	must(t, "kubectl", "delete", "-f", file, "--wait=false")
	stop()
	eventually(t, func() error {
		var namespaces corev1.NamespaceList
		if err := here.client.List(s.ctx, &namespaces); err != nil {
			return err
		}
		for _, n := range namespaces.Items {
			if n.Name == namespace {
				return errors.New("the namespace is still there")
			}
		}
		return nil
	})
}

// appliedAgain deletes an adapter that something else still holds, and runs the program of the Job meanwhile. The program
// waits until the adapter is gone and applies it again. Otherwise an installation over leftovers would lose the adapter.
func (s *stage) appliedAgain(config *rest.Config, adapters []string) {
	leaving := &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: "deployments.apps"}}
	finalizers := func(list string) {
		s.must(here.client.Patch(s.ctx, leaving.DeepCopy(), client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":`+list+`}}`))))
	}
	finalizers(`["example.com/hold"]`)
	s.must(here.client.Delete(s.ctx, leaving.DeepCopy()))
	var said lines
	done := make(chan error, 1)
	go func() { done <- hooks.Install(s.ctx, config, adapters, said.add) }()
	eventually(s.T, func() error {
		if !strings.Contains(said.String(), "waiting: deployments.apps is being deleted") {
			return fmt.Errorf("the Job does not wait for the adapter; it said: %s", said.String())
		}
		return nil
	})
	finalizers("null")
	s.must(<-done)
	s.must(here.client.Get(s.ctx, client.ObjectKeyFromObject(leaving), leaving))
	if !leaving.DeletionTimestamp.IsZero() {
		s.Error("the adapter is still being deleted")
	}
	s.adaptersReady()
}

// brings returns the adapters in a pod's arguments.
func brings(pod corev1.PodSpec) []string {
	return strings.Split(last(pod.Containers[0].Args, "--adapters="), ",")
}

// TestInstallNamesNoUnknownAdapter checks that the Job names an adapter that the library does not have.
func TestInstallNamesNoUnknownAdapter(t *testing.T) {
	err := hooks.Install(t.Context(), here.cluster.Config(), []string{"deployments.apps", "widgets.example.com"}, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "no adapter widgets.example.com") {
		t.Errorf("got %v", err)
	}
}
