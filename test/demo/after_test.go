package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
)

// TestRunAfterTheDemo runs the demo on the user's cluster, interrupts it in the middle of the week, and then does the
// same as make install and make run. No remains of the demo get in the way.
func TestRunAfterTheDemo(t *testing.T) {
	cluster := local.Start(t, local.Options{Level: local.LevelWorkloads, Log: t.Output()})
	scheme := app.Scheme()
	must(t, apiextensionsv1.AddToScheme(scheme))
	c, err := client.New(cluster.Config(), client.Options{Scheme: scheme})
	must(t, err)
	root, err := repository()
	must(t, err)
	env := &harness.Env{Cluster: cluster, Config: cluster.Config(), Client: c, Root: root}

	interruptedDemo(t, env)
	nothingLeft(t, c)

	must(t, inRoot(t, env, "make", "install", "KUBECTL="+cluster.Bin("kubectl")).Run())
	must(t, env.Apply(t.Context(), []byte(afterwards)))
	manager, err := env.StartProcess(build(t, env, "./cmd/flyball-manager"), flagsOfMakeRun(t, root)...)
	must(t, err)
	t.Cleanup(func() { must(t, manager.Terminate()) })
	must(t, harness.Poll(t.Context(), harness.Patience, func() error {
		var d appsv1.Deployment
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, &d); err != nil {
			return err
		}
		if *d.Spec.Replicas != 0 || d.Annotations[v1alpha1.AnnotationLedger] == "" {
			return fmt.Errorf("shop/web has %d replicas and the ledger %q, want it asleep", *d.Spec.Replicas,
				d.Annotations[v1alpha1.AnnotationLedger])
		}
		return nil
	}))
}

// afterwards is an object that always sleeps.
const afterwards = `
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: shop, name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: 'registry.example.com/web:1'}]}
---
apiVersion: flyball.dev/v1alpha1
kind: Schedule
metadata: {namespace: shop, name: always}
spec: {asleep: [{name: always, from: "00:00", to: "24:00"}]}
`

// interruptedDemo runs the demo as make demo CLUSTER=mine does, and interrupts it like Ctrl-C once the week is running.
func interruptedDemo(t *testing.T, env *harness.Env) {
	t.Helper()
	demo := inRoot(t, env, build(t, env, "./test/demo"), "--use-kubeconfig", "--yes", "--plain", "--week-in", "1h")
	output, err := demo.StdoutPipe()
	must(t, err)
	must(t, demo.Start())
	lines := bufio.NewScanner(output)
	var said strings.Builder
	for lines.Scan() {
		said.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "The week") {
			must(t, demo.Process.Signal(os.Interrupt))
		}
	}
	if _ = demo.Wait(); demo.ProcessState.ExitCode() != 130 || !strings.Contains(said.String(), "nothing of the demo is left in the cluster") {
		t.Fatalf("the demo ended with %d, want 130 for an interruption after which all is removed:\n%s", demo.ProcessState.ExitCode(),
			said.String())
	}
}

// nothingLeft checks that no object is left that would disturb a manager, or that calls a manager which no longer runs.
func nothingLeft(t *testing.T, c client.Client) {
	t.Helper()
	for _, list := range []client.ObjectList{
		&apiextensionsv1.CustomResourceDefinitionList{},
		&admissionregistrationv1.ValidatingWebhookConfigurationList{},
		&admissionregistrationv1.ValidatingAdmissionPolicyList{},
	} {
		must(t, harness.Poll(t.Context(), harness.Patience, func() error { // some are deleted by the garbage collector
			if err := c.List(t.Context(), list); err != nil {
				return err
			}
			items, err := meta.ExtractList(list)
			if err == nil && len(items) > 0 {
				err = fmt.Errorf("%s is left", items[0].(metav1.Object).GetName())
			}
			return err
		}))
	}
}

// flagsOfMakeRun returns the manager's flags in make run, without the addresses, because other tests may run on this
// machine.
func flagsOfMakeRun(t *testing.T, root string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	must(t, err)
	m := regexp.MustCompile(`\$\(GO\) run \./cmd/flyball-manager (.*)`).FindStringSubmatch(string(text))
	if m == nil {
		t.Fatal("the Makefile has no line that runs the manager")
	}
	return strings.Fields(m[1])
}

func build(t *testing.T, env *harness.Env, pkg string) string {
	t.Helper()
	dir := t.TempDir()
	out, err := inRoot(t, env, "go", "build", "-o", dir+"/", pkg).CombinedOutput()
	if err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return filepath.Join(dir, filepath.Base(pkg))
}

// inRoot returns a command in the repository, with the cluster's kubectl and kubeconfig.
func inRoot(t *testing.T, env *harness.Env, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), name, args...)
	cmd.Dir = env.Root
	cmd.Env = append(os.Environ(), "KUBECONFIG="+env.Cluster.Kubeconfig, "PATH="+filepath.Dir(env.Cluster.Bin("kubectl"))+":"+
		os.Getenv("PATH"))
	return cmd
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
