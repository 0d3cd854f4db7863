package trigger

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/test/integration/suite"
)

// denySize makes the API server refuse a count of the Deployment web in a namespace, until the returned function is
// called.
func denySize(namespace string, size int64) (lift func()) {
	GinkgoHelper()
	policy := fmt.Appendf(nil, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments, deployments/scale]}]}
  matchConditions: [{name: here, expression: "object.metadata.namespace == '%[1]s'"}]
  validations: [{expression: "object.spec.replicas != %[2]d", message: "not so many here"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, namespace, size)
	Expect(env.Apply(ctx, policy)).To(Succeed())
	try := func() error {
		return env.Client.Patch(ctx, deployment(namespace, 0),
			client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, size)), client.DryRunAll)
	}
	Eventually(try).Should(MatchError(ContainSubstring("not so many here")))
	lift = func() {
		GinkgoHelper()
		suite.RemoveAdmissionPolicy(ctx, env, namespace)
		Eventually(try).Should(Succeed())
	}
	DeferCleanup(lift)
	return lift
}

var _ = Describe("A size that the API server refuses", func() {
	It("is named as the reason why the autoscaler's bounds wait, and they follow once it is accepted", func() {
		clock := start(7)
		ns := newNamespace()
		create(deployment(ns, 2), autoscaler(ns, 2, 4))
		lift := denySize(ns, 5)
		during := values(3, 11)
		during.Replicas = n(5)
		t := trigger(ns, autoscalers, daily("peak", 1, "08:00", "11:00", during))
		create(t)
		clock.SetTime(hour(8))
		Eventually(statusOf(t)).Should(HaveField("Failures", ConsistOf(And(
			HaveField("Kind", "HorizontalPodAutoscaler.autoscaling"), HaveField("Name", "web"),
			HaveField("Message", And(ContainSubstring("waits for Deployment.apps/"+ns+"/web to get its size"),
				ContainSubstring("not so many here")))))))
		Expect(replicas(ns)(Default)).To(BeEquivalentTo(2))
		lift()
		Eventually(replicas(ns)).Should(BeEquivalentTo(5))
		Eventually(bounds(ns)).Should(Equal([2]int32{3, 11}))
		Eventually(statusOf(t)).Should(HaveField("Failures", BeEmpty()))
	})
})
