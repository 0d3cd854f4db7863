package trigger

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// keepAutoscalers makes the API server refuse to delete the autoscalers of a namespace, until the spec ends.
func keepAutoscalers(namespace, reason string) {
	GinkgoHelper()
	Expect(env.Apply(ctx, fmt.Appendf(nil, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules: [{apiGroups: [autoscaling], apiVersions: ["*"], operations: [DELETE], resources: [horizontalpodautoscalers]}]
  matchConditions: [{name: this, expression: "request.namespace == '%[1]s'"}]
  validations: [{expression: "false", message: "year-end freeze", reason: %[2]s}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, namespace, reason))).To(Succeed())
	DeferCleanup(func() {
		for _, kind := range []string{"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"} {
			obj := &unstructured.Unstructured{}
			obj.SetAPIVersion("admissionregistration.k8s.io/v1")
			obj.SetKind(kind)
			obj.SetName(namespace)
			Expect(client.IgnoreNotFound(env.Client.Delete(ctx, obj))).To(Succeed())
		}
	})
	Eventually(func() error {
		return env.Client.Delete(ctx, autoscaler(namespace, 0, 0), client.DryRunAll)
	}).Should(MatchError(ContainSubstring("year-end freeze")))
}

var _ = Describe("An object that was created for a Trigger and may not be deleted", func() {
	for _, reason := range []string{"Forbidden", "Invalid"} {
		It("does not block the Trigger's deletion, answered with "+reason, func() {
			start(9)
			ns := newNamespace()
			t := templated(ns, autoscalers, fmt.Sprintf(hpaTemplate, 4), daily("peak", 1, "08:00", "11:00", values(5, 20)))
			create(t)
			Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
			keepAutoscalers(ns, reason)
			remove(t)
			Expect(bounds(ns)(Default)).To(Equal([2]int32{1, 4}), "its bounds are given back all the same")
			Eventually(reasons(t)).Should(HaveKey("NotRemoved"))
			hpa := autoscaler(ns, 0, 0)
			Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(hpa), hpa)).To(Succeed())
			Expect(hpa.OwnerReferences).To(HaveExactElements(HaveField("UID", t.UID)), "the garbage collector knows whose it was")
		})
	}
})
