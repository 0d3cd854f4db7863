package factory

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
)

// The flags of kubectl for connections overrule the kubeconfig.
func TestConnectionFlagsOverruleTheKubeconfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	const text = `{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: c, user: u, namespace: shop}},
  {name: b, context: {cluster: c, user: u, namespace: ops}}],
  clusters: [{name: c, cluster: {server: "https://one"}}], users: [{name: u, user: {token: t}}]}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	connect := func(args ...string) (*Connection, *rest.Config, error) {
		c, flags := newConnection(io.Discard), pflag.NewFlagSet("test", pflag.ContinueOnError)
		c.addFlags(flags)
		if err := flags.Parse(append([]string{"--kubeconfig", file}, args...)); err != nil {
			t.Fatal(err)
		}
		config, err := c.restConfig()
		return c, config, err
	}
	c, config, err := connect("--context", "b", "-s", "https://two", "--as", "alice", "--as-group", "ops", "--as-group", "dev",
		"--as-user-extra", "team=a", "--as-user-extra", "team=b")
	if err != nil {
		t.Fatal(err)
	}
	want := rest.ImpersonationConfig{UserName: "alice", Groups: []string{"ops", "dev"}, Extra: map[string][]string{"team": {"a", "b"}}}
	if diff := cmp.Diff(want, config.Impersonate); diff != "" || config.Host != "https://two" || config.BearerToken != "t" {
		t.Errorf("it connects to %s with %q: %s", config.Host, config.BearerToken, diff)
	}
	if ns, _, err := c.Loader().Namespace(); ns != "ops" || err != nil {
		t.Errorf("the namespace is %q, %v", ns, err)
	}
	if _, _, err := connect("--as-user-extra", "team"); err == nil || !strings.Contains(err.Error(), "key=value") {
		t.Errorf("an extra field without a value gives %v", err)
	}
}
