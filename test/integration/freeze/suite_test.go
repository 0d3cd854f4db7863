// Package freeze tests change freezes with the real manager against a real Kubernetes API server and its controllers, with a
// clock that the tests move.
package freeze

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

// inUse are the adapters of the suite: kinds that every API server has, and some custom kinds.
var inUse = []string{
	"deployments.apps", "statefulsets.apps", "daemonsets.apps", "replicasets.apps",
	"cronjobs.batch", "jobs.batch", "horizontalpodautoscalers.autoscaling",
	"rollouts.argoproj.io", "elasticsearches.elasticsearch.k8s.elastic.co", "clusters.postgresql.cnpg.io",
	"applications.argoproj.io", "kustomizations.kustomize.toolkit.fluxcd.io", "helmreleases.helm.toolkit.fluxcd.io",
}

var (
	env   *harness.Env
	ctx   context.Context
	clock *clocktesting.FakeClock
	// manager is the manager that runs throughout the suite.
	manager *harness.Manager
)

// noon is the instant at which every spec begins.
var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func TestFreeze(t *testing.T) { suite.Run(t, "Freezes") }

var _ = BeforeSuite(func() {
	ctx = context.Background()
	env = suite.Up(ctx, local.Options{Level: local.LevelWorkloads, Audit: true})
	for _, crd := range customKinds() {
		Expect(env.Apply(ctx, []byte(crd))).To(Succeed())
	}
	Expect(env.AwaitCRDs(ctx)).To(Succeed())
	Expect(env.InstallAdapters(ctx, inUse...)).To(Succeed())
	Expect(env.Apply(ctx, []byte(rights))).To(Succeed())
	clock = clocktesting.NewFakeClock(noon)
	manager = startManager(suite.FreePort(), "flyball")
	Expect(env.AwaitAdapters(ctx, inUse...)).To(Succeed())
	suite.AwaitWebhook(ctx, env)
})

// rights lets developers write workloads and freeze policies, and gives no virtual verb to anybody.
const rights = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: freeze-test-people}
rules:
- apiGroups: ["", apps, batch, autoscaling, argoproj.io, elasticsearch.k8s.elastic.co, postgresql.cnpg.io, policy]
  resources: ["*"]
  verbs: [get, list, watch, create, update, patch, delete, deletecollection]
- apiGroups: [flyball.dev]
  resources: ["*"]
  verbs: [get, list, watch, create, update, patch, delete, deletecollection]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: freeze-test-people}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: freeze-test-people}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: people}]
`

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// flyball returns the client configuration for a manager of the suite, with an account of its own.
func flyball() *rest.Config {
	return env.Cluster.Impersonate("system:serviceaccount:flyball-system:flyball", "system:masters")
}

// webhookAt returns the options for a webhook on a port of this machine.
func webhookAt(port int, secret string) app.WebhookOptions {
	return app.WebhookOptions{Enabled: true, Host: "127.0.0.1", Port: port, URL: fmt.Sprintf("https://127.0.0.1:%d", port), Secret: secret}
}

// startManager runs a manager until the suite or spec ends.
func startManager(port int, secret string) *harness.Manager {
	GinkgoHelper()
	return suite.Start(ctx, env, harness.Options{Clock: clock, Config: flyball(), Webhook: webhookAt(port, secret),
		Notifications: app.NotificationOptions{Enabled: true, AllowedHosts: []string{"127.0.0.0/8"}}})
}

var _ = BeforeEach(func() {
	clock.SetTime(noon)
	DeferCleanup(thaw)
})

// thaw removes every freeze policy and waits until no change is judged any more.
func thaw() {
	GinkgoHelper()
	for _, obj := range []client.Object{
		&v1alpha1.ClusterChangeFreeze{}, &v1alpha1.ClusterMaintenanceWindow{}, &v1alpha1.ClusterFreezeException{},
	} {
		Expect(env.Client.DeleteAllOf(ctx, obj)).To(Succeed())
	}
	for _, list := range []client.ObjectList{&v1alpha1.ChangeFreezeList{}, &v1alpha1.MaintenanceWindowList{},
		&v1alpha1.FreezeExceptionList{}} {
		Expect(env.Client.List(ctx, list)).To(Succeed())
		Expect(meta.EachListItem(list, func(obj runtime.Object) error {
			return client.IgnoreNotFound(env.Client.Delete(ctx, obj.(client.Object)))
		})).To(Succeed())
	}
	Eventually(configuration).Should(BeNil())
}

// configuration reads the webhook configuration of freezes; nil if there is none.
func configuration(g Gomega) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("admissionregistration.k8s.io/v1")
	obj.SetKind("ValidatingWebhookConfiguration")
	err := env.Client.Get(ctx, client.ObjectKey{Name: "flyball-freeze"}, obj)
	if apierrors.IsNotFound(err) {
		return nil
	}
	g.Expect(err).NotTo(HaveOccurred())
	return obj
}

// newNamespace makes a namespace of the spec's own, with labels given as pairs.
func newNamespace(labels ...string) string {
	GinkgoHelper()
	return suite.Namespace(ctx, env, labels...)
}

// as returns the client of a user in groups. Every user is also in the group people.
func as(user string, groups ...string) client.Client {
	GinkgoHelper()
	c, err := client.New(env.Cluster.Impersonate(user, append(groups, "people", "system:authenticated")...),
		client.Options{Scheme: app.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	return c
}

// apply applies YAML as the administrator.
func apply(format string, args ...any) {
	GinkgoHelper()
	Expect(env.Apply(ctx, fmt.Appendf(nil, format, args...))).To(Succeed())
}

// freezing creates a ChangeFreeze that is active for a day from noon. It denies the given actions on all objects in a
// namespace.
func freezing(namespace, name, deny string, more ...string) {
	GinkgoHelper()
	apply(`
apiVersion: flyball.dev/v1alpha1
kind: ChangeFreeze
metadata: {name: %s, namespace: %s}
spec:
  startTime: 2026-03-02T12:00:00Z
  endTime: 2026-03-03T12:00:00Z
  deny: [%s]
  message: {reason: inventory, contact: "#shop"}
%s`, name, namespace, deny, strings.Join(more, "\n"))
}

// refused reports whether an error is the refusal of a change by a freeze.
func refused(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), `freeze.flyball.dev" denied the request: change of `)
}

// BeRefused matches the error of a change that a freeze refuses. The message must have all of the texts.
func BeRefused(texts ...string) OmegaMatcher {
	matchers := []OmegaMatcher{Satisfy(refused)}
	for _, text := range texts {
		matchers = append(matchers, MatchError(ContainSubstring(text)))
	}
	return And(matchers...)
}

// eventuallyRefused waits until a freeze refuses a change. The change is tried as a dry run.
func eventuallyRefused(try func() error) {
	GinkgoHelper()
	Eventually(try).Should(BeRefused())
}

// object decodes one object.
func object(format string, args ...any) *unstructured.Unstructured {
	GinkgoHelper()
	objs, err := harness.Objects(fmt.Appendf(nil, format, args...))
	Expect(err).NotTo(HaveOccurred())
	Expect(objs).To(HaveLen(1))
	return objs[0]
}
