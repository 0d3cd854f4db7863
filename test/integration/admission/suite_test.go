// Package admission tests that the manager's webhook refuses specs with faults that the schema cannot find. It has a
// cluster of its own, in which nothing is admitted without the webhook.
package admission

import (
	"context"
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/customkind"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

var (
	env *harness.Env
	ctx context.Context
	// presses is a kind that is installed.
	presses = customkind.Kind{Group: "presses.example.com", Scale: true}
)

func TestAdmission(t *testing.T) { suite.Run(t, "Admission") }

var _ = BeforeSuite(func() {
	ctx = context.Background()
	env = suite.Up(ctx, local.Options{Level: local.LevelAPI}, shipped...)
	Expect(presses.Install(ctx, env)).To(Succeed())
	// This policy exists from before the webhook.
	Expect(env.Client.Create(ctx, object("Schedule", "slipped", `{`+pair+`, timeZone: Europe/Atlantis}`))).To(Succeed())

	port := suite.FreePort()
	suite.Start(ctx, env, harness.Options{Notifications: app.NotificationOptions{Enabled: true, PerNamespace: 2}, Webhook: app.WebhookOptions{
		Enabled: true, Host: "127.0.0.1", Port: port, URL: fmt.Sprintf("https://127.0.0.1:%d", port), Secret: "flyball-webhook-cert"}})
	suite.AwaitWebhook(ctx, env)
})

const pair = `upscale: 0 8 * * *, downscale: 0 20 * * *`

// object returns an object of one of Flyball's kinds, with a spec in YAML. A namespaced object is in the namespace
// default.
func object(kind, name, spec string) *unstructured.Unstructured {
	GinkgoHelper()
	objs, err := harness.Objects(fmt.Appendf(nil, "{apiVersion: flyball.dev/v1alpha1, kind: %s, metadata: {name: %s}, spec: %s}", kind, name,
		spec))
	Expect(err).NotTo(HaveOccurred())
	if !strings.HasPrefix(kind, "Cluster") && kind != "Adapter" && kind != "Calendar" {
		objs[0].SetNamespace(metav1.NamespaceDefault)
	}
	return objs[0]
}
