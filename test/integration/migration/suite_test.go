// Package migration tests the migration from other tools to Flyball on a real Kubernetes API server. It installs the
// kinds of those tools, and puts workloads to sleep as each tool does. Then it runs kubectl flyball migrate and the
// real manager. The tools themselves do not run. The tests write the objects that the tools would write.
package migration

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/cli-runtime/pkg/genericiooptions"
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
	inUse = []string{
		"deployments.apps", "statefulsets.apps", "daemonsets.apps", "cronjobs.batch", "horizontalpodautoscalers.autoscaling",
		"scaledobjects.keda.sh", "applications.argoproj.io", "kustomizations.kustomize.toolkit.fluxcd.io", "helmreleases.helm.toolkit.fluxcd.io",
	}
)

// noon is the instant at which every spec begins, on a Monday. night is an instant at which workloads sleep.
var (
	noon  = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	night = noon.Add(10 * time.Hour)
)

func TestMigration(t *testing.T) { suite.Run(t, "kubectl flyball migrate") }

var _ = BeforeSuite(func() {
	ctx = context.Background()
	env = suite.Up(ctx, local.Options{Level: local.LevelAPI})
	for _, k := range foreign {
		Expect(env.Apply(ctx, fmt.Appendf(nil, anyCRD, k.plural, k.group, k.kind, k.version, k.scope))).To(Succeed())
	}
	Expect(env.AwaitCRDs(ctx)).To(Succeed())
	Expect(env.InstallAdapters(ctx, inUse...)).To(Succeed())
	Expect(env.Apply(ctx, []byte(people))).To(Succeed())
	clock = clocktesting.NewFakeClock(noon)
	port := suite.FreePort()
	suite.Start(ctx, env, harness.Options{Clock: clock, Webhook: app.WebhookOptions{
		Enabled: true, Host: "127.0.0.1", Port: port, URL: fmt.Sprintf("https://127.0.0.1:%d", port), Secret: "flyball-webhook-cert"}}, inUse...)
	suite.AwaitWebhook(ctx, env)
})

var _ = BeforeEach(func() { clock.SetTime(noon) })

// foreign are the kinds of the tools, and the other custom kinds that the tools put to sleep.
var foreign = []struct{ plural, group, kind, version, scope string }{
	{"lightsoutschedules", "lightsout.techsupport.mk", "LightsOutSchedule", "v1alpha1", "Cluster"},
	{"sleepinfos", "kube-green.com", "SleepInfo", "v1alpha1", "Namespaced"},
	{"changefreezes", "freeze-operator.io", "ChangeFreeze", "v1alpha1", "Cluster"},
	{"scaledobjects", "keda.sh", "ScaledObject", "v1alpha1", "Namespaced"},
	{"applications", "argoproj.io", "Application", "v1alpha1", "Namespaced"},
	{"kustomizations", "kustomize.toolkit.fluxcd.io", "Kustomization", "v1", "Namespaced"},
	{"helmreleases", "helm.toolkit.fluxcd.io", "HelmRelease", "v2", "Namespaced"},
}

const anyCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s}
spec:
  group: %[2]s
  scope: %[5]s
  names: {kind: %[3]s, listKind: %[3]sList, plural: %[1]s, singular: a%[1]s}
  versions: [{name: %[4]s, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]
`

// people are two users. One may read everything and write nothing. The other may patch Deployments too.
const people = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: migration-view}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: [get, list, watch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: migration-view}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: migration-view}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: viewer}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: deployer}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: migration-patch}
rules: [{apiGroups: [apps], resources: [deployments], verbs: [patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: migration-patch}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: migration-patch}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: deployer}]
`

// outcome has the output and the exit code of a command line.
type outcome struct {
	Code        int
	Out, ErrOut string
}

// migrate runs kubectl flyball migrate as a user, by the clock of the manager.
func migrate(user string, args ...string) outcome {
	GinkgoHelper()
	var out, errOut bytes.Buffer
	args = append(append([]string{"migrate"}, args...), "--kubeconfig="+env.Cluster.Kubeconfig, "--time-zone=UTC", "--cache-dir="+
		GinkgoT().TempDir())
	if user != "" {
		args = append(args, "--as="+user)
	}
	code := cli.Run(ctx, args, factory.Env{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}, Now: clock.Now,
	})
	return outcome{code, out.String(), errOut.String()}
}
