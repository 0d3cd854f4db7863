package deploy

import (
	"bytes"
	"fmt"
	"strings"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
)

// developer runs kubectl flyball as a user with the cluster's role edit in one namespace. The user's rights on
// Flyball's objects come only from the chart.
func (s *stage) developer() {
	flyball := func(args ...string) (out, errOut string, code int) {
		var o, e bytes.Buffer
		args = append(args, "--as=ed", "--kubeconfig="+here.cluster.Kubeconfig, "--cache-dir="+s.TempDir())
		code = cli.Run(s.ctx, args, factory.Env{IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &o, ErrOut: &e},
			Now: s.clock.Now})
		return o.String(), e.String(), code
	}
	// The right of ed on Adapters, Calendars and Cluster policies comes only from the chart's role for all users.
	eventually(s.T, func() error {
		out, errOut, _ := flyball("status", "-n", "shop")
		if !strings.Contains(out, "Schedule/shop/nights") || errOut != "" {
			return fmt.Errorf("status: %s%s", out, errOut)
		}
		return nil
	})
	for _, args := range [][]string{
		{"status", "--targets"}, {"status", "--targets", "schedule/nights"},
		{"explain", "deployment/web"}, {"explain", "schedule/nights"}, {"plan", "--for", "1d"},
		{"freezes"}, {"doctor"},
		{"can-i", "rollout", "deployment/web"}, {"migrate", "kube-downscaler"},
		{"sleep", "deployment/web", "--for", "1h", "--dry-run"}, {"pause", "schedule/nights", "--dry-run"},
		{"wake", "deployment/web", "--for", "1h"},
		{"wake", "deployment/web", "--end"},
		{"pause", "schedule/nights"}, {"pause", "schedule/nights", "--end"},
	} {
		out, errOut, code := flyball(append(args, "-n", "shop")...)
		if code != 0 && code != 2 || errOut != "" {
			s.Errorf("%v: exit status %d\n%s%s", args, code, out, errOut)
		}
	}
	out, errOut, code := flyball("wake", "ns/default", "--for", "1h")
	if code != 1 || out != "" || !strings.Contains(errOut, "default") {
		s.Errorf("in another namespace: exit status %d\n%s%s", code, out, errOut)
	}
}
