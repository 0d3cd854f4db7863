package freeze

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/test/integration/suite"
)

// rulesOf lists the rules of the freeze webhooks as "resource: OPERATIONS". A rule for only some namespaces is listed
// as "namespaces resource: OPERATIONS". The rules for status, which every kind has, are left out.
func rulesOf(g Gomega) []string {
	config := configuration(g)
	g.Expect(config).NotTo(BeNil())
	var typed admissionregistrationv1.ValidatingWebhookConfiguration
	g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(config.Object, &typed)).To(Succeed())
	var out []string
	for _, w := range typed.Webhooks {
		where := ""
		for _, e := range w.NamespaceSelector.MatchExpressions {
			if e.Operator == metav1.LabelSelectorOpIn {
				where = strings.Join(e.Values, ",") + " "
			}
		}
		for _, r := range w.Rules {
			for _, resource := range r.Resources {
				if !strings.HasSuffix(resource, "/status") && (w.Name == "freeze.flyball.dev" || where != "") {
					var operations []string
					for _, o := range r.Operations {
						operations = append(operations, string(o))
					}
					out = append(out, where+resource+": "+strings.Join(operations, " "))
				}
			}
		}
	}
	return out
}

var _ = Describe("The webhook configuration", func() {
	It("exists only while a freeze exists, with the kinds and operations in use", func() {
		// Where Scale is denied, every change of an autoscaler and every change of pods in place is judged.
		const scalers, resizes = "nowhere horizontalpodautoscalers: CREATE UPDATE DELETE", "nowhere pods/resize: UPDATE"
		suite.Still(configuration).Should(BeNil())
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: one}
spec: {target: {kinds: [{group: apps, kind: Deployment}], namespaces: [nowhere]}, startTime: 2026-03-05T12:00:00Z, endTime: 2026-03-06T12:00:00Z, deny: [Delete]}
`)
		Eventually(rulesOf).Should(ConsistOf("nowhere deployments: UPDATE DELETE"))
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: two}
spec: {target: {kinds: [{group: apps, kind: Deployment}, {group: batch, kind: CronJob}], namespaces: [nowhere]}, startTime: 2026-03-05T12:00:00Z, endTime: 2026-03-07T12:00:00Z, deny: [Scale, Create]}
`)
		Eventually(rulesOf).Should(ConsistOf("nowhere deployments: CREATE UPDATE DELETE", "nowhere deployments/scale: UPDATE",
			"nowhere cronjobs: CREATE UPDATE", "nowhere cronjobs/scale: UPDATE", scalers, resizes))
		clock.SetTime(time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC)) // the first is over
		Eventually(rulesOf).Should(ConsistOf("nowhere deployments: CREATE UPDATE", "nowhere deployments/scale: UPDATE",
			"nowhere cronjobs: CREATE UPDATE", "nowhere cronjobs/scale: UPDATE", scalers, resizes))
		clock.SetTime(time.Date(2026, 3, 7, 12, 0, 0, 0, time.UTC))
		Eventually(configuration).Should(BeNil())
	})

	It("guards the labels of namespaces only while a freeze that selects by them is guarded", func() {
		guard := func(g Gomega) []string {
			var policies []string
			webhooks, _, _ := unstructured.NestedSlice(configuration(g).Object, "webhooks")
			for _, w := range webhooks {
				name, policy := w.(map[string]any)["name"].(string), w.(map[string]any)["failurePolicy"].(string)
				if strings.HasPrefix(name, "namespaces.") {
					policies = append(policies, policy)
				}
			}
			return policies
		}
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: by-name}
spec: {target: {kinds: [{group: apps, kind: Deployment}], namespaces: [nowhere]}, startTime: 2026-03-02T12:00:00Z, endTime: 2026-03-20T12:00:00Z, deny: [Delete]}
`)
		Eventually(configuration).ShouldNot(BeNil())
		suite.Still(guard).Should(BeEmpty())
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: by-label}
spec: {target: {kinds: [{group: apps, kind: Deployment}], namespaceSelector: {matchLabels: {env: nowhere}}}, startTime: 2026-03-05T12:00:00Z, endTime: 2026-03-06T12:00:00Z, guardAhead: 1h, deny: [Delete]}
`)
		Eventually(guard).Should(ConsistOf("Ignore"))
		for _, change := range []struct {
			hour int
			want []string
		}{{11, []string{"Fail"}}, {12, []string{"Fail"}}, {36, nil}} {
			clock.SetTime(time.Date(2026, 3, 5, change.hour, 0, 0, 0, time.UTC))
			Eventually(guard).Should(ConsistOf(change.want))
		}
	})

	It("sends changes only from frozen namespaces", func() {
		shop, blog := newNamespace(), newNamespace()
		for _, ns := range []string{shop, blog} {
			Expect(env.Client.Create(ctx, deployment(ns, "web"))).To(Succeed())
		}
		freezing(shop, "mine", "Delete")
		Eventually(rulesOf).Should(And(ContainElement(shop+" deployments: UPDATE DELETE"), HaveEach(HavePrefix(shop+" "))))
		drop := func(ns string) func() error {
			return func() error { return as("alice").Delete(ctx, deployment(ns, "web"), client.DryRunAll) }
		}
		eventuallyRefused(drop(shop))
		Expect(drop(blog)()).To(Succeed())
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: all}
spec: {target: {kinds: [{group: apps, kind: Deployment}], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %s}}}, startTime: 2026-03-02T12:00:00Z, endTime: 2026-03-06T12:00:00Z, deny: [Delete]}
`, blog)
		Eventually(rulesOf).Should(And(ContainElement("deployments: UPDATE DELETE"), Not(ContainElement(HavePrefix(shop+" deployments:"))),
			ContainElement(shop+" jobs: UPDATE DELETE")))
		eventuallyRefused(drop(blog))
		Expect(drop(shop)()).To(BeRefused("ChangeFreeze/" + shop + "/mine denies Delete"))
	})

	It("is restored after its deletion or an edit of its rules", func() {
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: one}
spec: {target: {kinds: [{group: apps, kind: Deployment}], namespaces: [nowhere]}, startTime: 2026-03-05T12:00:00Z, endTime: 2026-03-06T12:00:00Z, deny: [Delete]}
`)
		Eventually(rulesOf).Should(ConsistOf("nowhere deployments: UPDATE DELETE"))
		Expect(env.Client.Delete(ctx, configuration(Default))).To(Succeed())
		Eventually(configuration).ShouldNot(BeNil())
		Expect(env.Client.Patch(ctx, configuration(Default),
			client.RawPatch(types.JSONPatchType,
				[]byte(`[{"op":"replace","path":"/webhooks/0/rules/0/operations","value":["CREATE"]}]`)))).To(Succeed())
		Eventually(rulesOf).Should(ConsistOf("nowhere deployments: UPDATE DELETE"))
	})
})
