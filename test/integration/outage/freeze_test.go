package outage

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// guard returns the failure policy of the webhook that guards the labels of namespaces. It returns "" if they are not
// guarded.
func guard(g Gomega) admissionregistrationv1.FailurePolicyType {
	var config admissionregistrationv1.ValidatingWebhookConfiguration
	g.Expect(env.Client.Get(ctx, client.ObjectKey{Name: "flyball-freeze"}, &config)).To(Succeed())
	for _, w := range config.Webhooks {
		if w.Name == "namespaces.freeze.flyball.dev" {
			return *w.FailurePolicy
		}
	}
	return ""
}

var _ = Describe("A maintenance window that closes while no manager runs", func() {
	It("finds the labels of namespaces guarded, from guardAhead before and for nothing else", func() {
		window := &v1alpha1.ClusterMaintenanceWindow{ObjectMeta: metav1.ObjectMeta{Name: "today"}}
		window.Spec.Target.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"env": "prod"}}
		window.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
		// The window is open now, closes in two hours and never opens again.
		window.Spec.Windows = []v1alpha1.Window{{Start: "2020-01-01T00:00:00Z", End: time.Now().Add(2 * time.Hour).UTC().Format(time.RFC3339)}}
		window.Spec.Deny, window.Spec.GuardAhead = []v1alpha1.Action{v1alpha1.ActionDelete}, "1h"
		prod := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "prod-", Labels: map[string]string{"env": "prod"}}}
		Expect(env.Client.Create(ctx, prod)).To(Succeed())
		relabel := func() error {
			return env.Client.Patch(ctx, prod.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"env":"dev"}}}`)),
				client.DryRunAll)
		}
		port := suite.FreePort()
		run := func() (kill func()) {
			return start("--webhook=true", "--webhook-host=127.0.0.1", fmt.Sprintf("--webhook-port=%d", port),
				fmt.Sprintf("--webhook-url=https://127.0.0.1:%d", port)).Kill
		}
		DeferCleanup(func() {
			// A manager without a webhook removes the remains of the webhook.
			p, err := env.StartProcess(binary)
			Expect(err).NotTo(HaveOccurred())
			defer p.Kill()
			var left admissionregistrationv1.ValidatingWebhookConfigurationList
			Eventually(func(g Gomega) []admissionregistrationv1.ValidatingWebhookConfiguration {
				g.Expect(env.Client.List(ctx, &left)).To(Succeed())
				return left.Items
			}).Should(BeEmpty())
			Expect(client.IgnoreNotFound(env.Client.Delete(ctx, window))).To(Succeed())
		})
		kill := run()
		Eventually(func() error { return env.Client.Create(ctx, window) }).Should(Succeed())
		Eventually(guard).Should(Equal(admissionregistrationv1.Ignore), "it closes later")
		kill()
		Expect(relabel()).To(Succeed())

		kill = run()
		Eventually(func() error { return env.Patch(ctx, window.DeepCopy(), `{"spec":{"guardAhead":"3h"}}`) }).Should(Succeed())
		Eventually(guard).Should(Equal(admissionregistrationv1.Fail), "it closes soon")
		kill()
		Eventually(relabel).Should(MatchError(ContainSubstring(`failed calling webhook "namespaces.freeze.flyball.dev"`)))
		Expect(env.Patch(ctx, prod.DeepCopy(), `{"metadata":{"annotations":{"a":"b"}}}`)).To(Succeed())
		Expect(env.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "new-"}})).To(Succeed())
		Expect(env.Client.Delete(ctx, prod)).To(Succeed())
	})
})
