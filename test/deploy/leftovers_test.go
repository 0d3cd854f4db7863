package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "k8s.io/api/apps/v1"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
)

// installOver uninstalls the release without its hooks while a target sleeps. So the adapters stay, marked for deletion.
// Helm must refuse to install the release again, with the command that lets these adapters go. After the command, the
// release is installed, the target still sleeps with its original, and an upgrade changes the adapters as before.
func (s *stage) installOver() {
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
	install := append([]string{"install", release, chart, "--set-json", `adapters={"jobs.batch":{"enabled":false}}`}, s.args...)
	_, err := here.tool(s.ctx, "helm", install...)
	if err == nil {
		s.Fatal("Helm installs over adapters that are being deleted")
	}
	command := regexp.MustCompile(`kubectl patch adapters\.flyball\.dev .*`).FindString(err.Error())
	if command == "" || !strings.Contains(command, " deployments.apps ") {
		s.Fatalf("the refusal has no command for the adapters: %v", err)
	}
	if out, err := here.shell(s.ctx, command); err != nil {
		s.Fatalf("%v\n%s", err, out)
	}
	must(s.T, "helm", install...)
	s.redirect()
	s.entitled()
	s.stop = s.start(here.as("flyball"), app.WebhookOptions{Service: "flyball-webhook", ServicePort: int32(s.port)})
	s.adaptersReady()
	for _, a := range s.adapters() {
		if !a.DeletionTimestamp.IsZero() || a.Name == "deployments.apps" && a.UID == left[a.Name] {
			s.Errorf("the adapter %s is the one that was being deleted", a.Name)
		}
		delete(left, a.Name)
	}
	for name := range left {
		s.Errorf("the adapter %s has not come back", name)
	}
	s.stillAsleep()
	s.upgradeOver()
}

// stillAsleep checks that the target sleeps and has its original. The new manager has seen it by now, because it
// answers for the adapter.
func (s *stage) stillAsleep() {
	s.replicas(0)
	var d appsv1.Deployment
	s.must(here.client.Get(s.ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, &d))
	if ledger := d.Annotations[v1alpha1.AnnotationLedger]; !strings.Contains(ledger, `"was":3`) {
		s.Errorf("the ledger of the sleeping target is %s, want the original 3", ledger)
	}
}

// upgradeOver upgrades to a chart with a different adapter of Deployments, and back.
func (s *stage) upgradeOver() {
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
