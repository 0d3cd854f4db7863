package cli

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"flyball.dev/flyball/test/integration/suite"
)

// guard is a webhook of another program, for the Deployments of one namespace.
const guard = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: guard-%[1]s}
webhooks:
- name: guard.example.com
  clientConfig: {service: {namespace: %[1]s, name: guard}}
  rules: [{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments]}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
  sideEffects: None
  admissionReviewVersions: [v1]
`

// endpoint is a ready backend of the webhook. No controller creates endpoints here.
const endpoint = `
apiVersion: v1
kind: Service
metadata: {name: guard, namespace: %[1]s}
spec: {selector: {app: web}, ports: [{port: 443}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: guard-1, namespace: %[1]s, labels: {kubernetes.io/service-name: guard}}
addressType: IPv4
endpoints: [{addresses: [10.0.0.1], conditions: {ready: true}}]
ports: [{name: "", port: 443, protocol: TCP}]
`

var _ = Describe("doctor before the first night", func() {
	It("names webhooks of other programs whose backend is away or sleeps, and what they refuse then", func() {
		ns := suite.Namespace(ctx, env)
		apply(shop, ns)
		DeferCleanup(removeNights, ns)
		Eventually(func() string { return run("", "", "status", "-n", ns).Out }).Should(ContainSubstring("2 awake"))
		doctor := func() string {
			GinkgoHelper()
			got := run("", "", "doctor", "-n", ns)
			Expect(got.ErrOut).To(BeEmpty())
			_, found, _ := strings.Cut(got.Out, "other webhooks: ")
			return found
		}
		Expect(doctor()).To(And(HavePrefix("ok"), ContainSubstring("disruption budgets: ok\n  scaling down evicts no pod")))

		apply(guard, ns)
		DeferCleanup(func() {
			suite.Remove(ctx, env, &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: objectMeta("", "guard-"+ns)})
		})
		Expect(doctor()).To(And(HavePrefix("problem"), ContainSubstring("webhook guard.example.com of ValidatingWebhookConfiguration/guard-"+ns),
			ContainSubstring("has no ready endpoint: the API server refuses changes of Deployment.apps/"+ns+"/web, so nothing of that sleeps"),
			Not(ContainSubstring("puts to sleep"))))

		apply(endpoint, ns)
		Expect(doctor()).To(And(HavePrefix("problem"), Not(ContainSubstring("ready endpoint")),
			ContainSubstring("is Deployment.apps/"+ns+"/web, which Schedule/"+ns+"/nights puts to sleep")))

		Expect(run("viewer", "", "doctor", "-n", ns).Out).To(ContainSubstring("other webhooks: not checked"))
	})
})
