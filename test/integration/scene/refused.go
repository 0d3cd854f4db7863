package scene

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// Deny makes the API server refuse matching requests, until the returned function is called. deny returns after the dry
// run try is refused. The returned function returns after try is accepted again.
func Deny(name, rules, matches, valid, message string, try func() error) (lift func()) {
	GinkgoHelper()
	Expect(Env.Apply(Ctx, fmt.Appendf(nil, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules: [%[2]s]
  matchConditions: [{name: this, expression: "%[3]s"}]
  validations: [{expression: "%[4]s", message: "%[5]s"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, name, rules, matches, valid, message))).To(Succeed())
	denied := func() bool {
		err := try()
		return err != nil && strings.Contains(err.Error(), message)
	}
	Eventually(denied).Should(BeTrue())
	lift = func() {
		GinkgoHelper()
		suite.RemoveAdmissionPolicy(Ctx, Env, name)
		Eventually(denied).Should(BeFalse())
	}
	DeferCleanup(lift)
	return lift
}

// FailuresOf reads the failed targets that a Schedule names.
func FailuresOf(namespace, name string) func(Gomega) []v1alpha1.TargetFailure {
	return func(g Gomega) []v1alpha1.TargetFailure {
		var s v1alpha1.Schedule
		g.Expect(Env.Client.Get(Ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)).To(Succeed())
		return s.Status.Failures
	}
}
