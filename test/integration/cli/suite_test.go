// Package cli runs kubectl flyball against a real Kubernetes API server with the real manager, as users with different
// rights, and migrates from other tools to Flyball.
package cli

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

var (
	env   *harness.Env
	ctx   context.Context
	clock *clocktesting.FakeClock
	// pipelines call the evaluate API.
	pipelines *pipeline
	inUse     = []string{"deployments.apps", "statefulsets.apps", "cronjobs.batch", "horizontalpodautoscalers.autoscaling"}
)

// noon is the instant at which every spec begins, on a Monday.
var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func TestCLI(t *testing.T) { suite.Run(t, "kubectl flyball") }

var _ = BeforeSuite(func() {
	ctx = context.Background()
	env = suite.Up(ctx, local.Options{Level: local.LevelAPI}, inUse...)
	Expect(env.Apply(ctx, []byte(people))).To(Succeed())
	clock = clocktesting.NewFakeClock(noon)
	port := suite.FreePort()
	suite.Start(ctx, env, harness.Options{Clock: clock, Webhook: app.WebhookOptions{
		Enabled: true, Host: "127.0.0.1", Port: port, URL: fmt.Sprintf("https://127.0.0.1:%d", port), Secret: "flyball-webhook-cert",
		Evaluate: app.APIOptions{Enabled: true, Rate: 1000}}}, inUse...)
	pipelines = newPipelines(fmt.Sprintf("https://127.0.0.1:%d", port))
})

var _ = BeforeEach(func() { clock.SetTime(noon) })

// people are a viewer with the rights of the cluster role view, developers who may edit workloads, and nobody, who has
// no rights. The rights are written out, because no controller aggregates roles here.
const people = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: viewer, namespace: default}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: nobody, namespace: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: cli-view}
rules:
- {apiGroups: [""], resources: [namespaces, pods, configmaps, services], verbs: [get, list, watch]}
- {apiGroups: [apps, batch, autoscaling], resources: ["*"], verbs: [get, list, watch]}
- {apiGroups: [flyball.dev], resources: ["*"], verbs: [get, list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: cli-edit}
rules:
- {apiGroups: [apps, batch, autoscaling], resources: ["*"], verbs: [create, update, patch, delete]}
- {apiGroups: [flyball.dev], resources: [schedules], verbs: [patch]}
- {apiGroups: [flyball.dev], resources: [overrides, clusteroverrides], verbs: [create, delete]}
- {apiGroups: [flyball.dev], resources: [freezeexceptions], verbs: [create, except]}
- {apiGroups: [""], resources: [namespaces], verbs: [patch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: cli-view}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cli-view}
subjects: [{kind: ServiceAccount, namespace: default, name: viewer}, {apiGroup: rbac.authorization.k8s.io, kind: Group, name: people}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: cli-edit}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cli-edit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: people}]
`

// outcome has the output and the exit code of a command line.
type outcome struct {
	Code        int
	Out, ErrOut string
}

// accounts are the users that have credentials of their own, each as the namespace and the name of a service account.
// The administrator impersonates all other users.
var accounts = map[string][2]string{"viewer": {"default", "viewer"}, "nobody": {"default", "nobody"}}

// kubeconfigOf writes a kubeconfig file that authenticates as a service account.
func kubeconfigOf(ns, account string) string {
	GinkgoHelper()
	admin := env.Cluster.Config()
	file := filepath.Join(GinkgoT().TempDir(), "kubeconfig")
	Expect(clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"c": {Server: admin.Host, CertificateAuthorityData: admin.CAData,
			CertificateAuthority: admin.CAFile}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"u": {Token: tokenOf(ns, account)}},
		Contexts:  map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}}, CurrentContext: "x",
	}, file)).To(Succeed())
	return file
}

// run runs a command line by the clock of the manager. The user is a name, or a service account as NAMESPACE/NAME.
func run(user, stdin string, args ...string) outcome {
	GinkgoHelper()
	var out, errOut bytes.Buffer
	kubeconfig, who := env.Cluster.Kubeconfig, accounts[user]
	if ns, account, ok := strings.Cut(user, "/"); ok {
		who = [2]string{ns, account}
	}
	if who[1] != "" {
		kubeconfig, user = kubeconfigOf(who[0], who[1]), ""
	}
	args = append(args, "--kubeconfig="+kubeconfig, "--time-zone=UTC", "--cache-dir="+GinkgoT().TempDir())
	if name, group, ok := strings.Cut(user, ":"); ok {
		args = append(args, "--as="+name, "--as-group=people")
		if group != "people" {
			args = append(args, "--as-group="+group)
		}
	} else if user != "" {
		args = append(args, "--as="+user)
	}
	code := cli.Run(ctx, args, factory.Env{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(stdin), Out: &out, ErrOut: &errOut}, Now: clock.Now,
	})
	return outcome{code, out.String(), errOut.String()}
}

// apply applies YAML as the administrator.
func apply(format string, args ...any) {
	GinkgoHelper()
	Expect(env.Apply(ctx, fmt.Appendf(nil, format, args...))).To(Succeed())
}

func objectMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}
