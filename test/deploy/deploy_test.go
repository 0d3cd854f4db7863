// Package deploy tests the directory deploy/ with the real Helm and kubectl: the chart renders, installs and uninstalls
// on a real API server without leaving a target asleep, and grants exactly the rights that the manager needs.
package deploy

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
)

const (
	chart     = "../../deploy/helm/flyball"
	namespace = "flyball-system"
	release   = "flyball"
)

// site is the cluster of all tests, with its tools.
type site struct {
	cluster *local.Cluster
	client  client.Client
	home    string
}

var here site

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// run starts controllers too, because a controller aggregates the manager's role.
func run(m *testing.M) (code int, err error) {
	cluster, err := local.Up(context.Background(), local.Options{Level: local.LevelWorkloads, With: []string{"helm"}, Audit: true})
	if err != nil {
		return 1, err
	}
	defer func() {
		if stop := cluster.Stop(); err == nil {
			err = stop
		}
	}()
	home, err := os.MkdirTemp("", "flyball-helm-")
	if err != nil {
		return 1, err
	}
	defer func() { _ = os.RemoveAll(home) }()
	c, err := client.New(cluster.Config(), client.Options{Scheme: app.Scheme()})
	if err != nil {
		return 1, err
	}
	here = site{cluster: cluster, client: c, home: home}
	return m.Run(), nil
}

// tool runs helm or kubectl and returns the output.
func (s site) tool(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, s.cluster.Bin(name), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.cluster.Kubeconfig,
		"HELM_CACHE_HOME="+s.home, "HELM_CONFIG_HOME="+s.home, "HELM_DATA_HOME="+s.home)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out.String(), errs.String())
	}
	return out.String(), nil
}

// shell runs a line of the documents, with the cluster's kubectl.
func (s site) shell(ctx context.Context, line string) (string, error) {
	cmd := exec.CommandContext(ctx, "sh", "-euc", line)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.cluster.Kubeconfig, "PATH="+filepath.Dir(s.cluster.Bin("kubectl"))+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func must(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := here.tool(t.Context(), name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// render returns the objects of the chart, hooks included, with Lists expanded.
func render(t *testing.T, args ...string) []*unstructured.Unstructured {
	t.Helper()
	return objects(t, must(t, "helm", append([]string{"template", release, chart, "--namespace", namespace}, args...)...))
}

func objects(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	all, err := harness.Objects([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var out []*unstructured.Unstructured
	for _, obj := range all {
		if !obj.IsList() {
			out = append(out, obj)
			continue
		}
		list, err := obj.ToList()
		if err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			out = append(out, &list.Items[i])
		}
	}
	return out
}

// find returns the only object of a kind and name.
func find(t *testing.T, all []*unstructured.Unstructured, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, obj := range all {
		if obj.GetKind() == kind && obj.GetName() == name {
			return obj
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return nil
}

// as returns the configuration of a service account in Flyball's namespace.
func (s site) as(account string) *rest.Config {
	return s.cluster.Impersonate("system:serviceaccount:"+namespace+":"+account,
		"system:serviceaccounts", "system:serviceaccounts:"+namespace, "system:authenticated")
}

// eventually waits for a condition.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	if err := harness.Poll(t.Context(), harness.Patience, check); err != nil {
		t.Fatal(err)
	}
}

// read returns files of the repository by pattern.
func read(t *testing.T, pattern string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("find %s: %d files, %v", pattern, len(files), err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[file] = string(text)
	}
	return all
}
