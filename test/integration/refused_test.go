package integration

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

// deny makes the API server refuse matching requests, until the returned function is called. deny returns after the dry
// run try is refused. The returned function returns after try is accepted again.
func deny(name, rules, matches, valid, message string, try func() error) (lift func()) {
	GinkgoHelper()
	Expect(env.Apply(ctx, fmt.Appendf(nil, `
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
		for _, kind := range []string{"ValidatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy"} {
			obj := &unstructured.Unstructured{}
			obj.SetAPIVersion("admissionregistration.k8s.io/v1")
			obj.SetKind(kind)
			obj.SetName(name)
			Expect(client.IgnoreNotFound(env.Client.Delete(ctx, obj))).To(Succeed())
		}
		Eventually(denied).Should(BeFalse())
	}
	DeferCleanup(lift)
	return lift
}

// denyScaling makes the API server refuse changes of the count of one Deployment, until the returned function is
// called.
func denyScaling(namespace, name, message string) (lift func()) {
	GinkgoHelper()
	return deny(namespace, "{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments]}",
		fmt.Sprintf("object.metadata.namespace == '%s' && object.metadata.name == '%s'", namespace, name),
		"object.spec.replicas == oldObject.spec.replicas", message, func() error {
			return env.Client.Patch(ctx, deployment(namespace, name, 0),
				client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":99}}`)), client.DryRunAll)
		})
}

var _ = Describe("A workload whose write is refused", func() {
	It("keeps no other object awake, is named with its error, and sleeps by itself once the obstacle is gone", func() {
		clock := startManager()
		ns := newNamespace()
		for _, name := range []string{"one", "stuck", "two"} {
			Expect(env.Client.Create(ctx, deployment(ns, name, 3))).To(Succeed())
		}
		lift := denyScaling(ns, "stuck", "the presses are running")
		nightly(ns, "nights")
		clock.SetTime(monday.Add(9 * time.Hour))

		Eventually(replicas(ns, "one")).Should(BeEquivalentTo(0))
		Eventually(replicas(ns, "two")).Should(BeEquivalentTo(0))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionFalse, "TargetsFailed"))
		Eventually(failuresOf(ns, "nights")).Should(ConsistOf(And(
			HaveField("Kind", "Deployment.apps"), HaveField("Namespace", ns), HaveField("Name", "stuck"),
			HaveField("Message", ContainSubstring("the presses are running")))))
		Expect(replicas(ns, "stuck")(Default)).To(BeEquivalentTo(3))

		lift()
		Eventually(replicas(ns, "stuck")).Should(BeEquivalentTo(0))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
		Expect(failuresOf(ns, "nights")(Default)).To(BeEmpty())
	})

	It("wakes by itself too once the obstacle is gone", func() {
		clock := startManager()
		ns := newNamespace()
		for _, name := range []string{"one", "stuck"} {
			Expect(env.Client.Create(ctx, deployment(ns, name, 3))).To(Succeed())
		}
		nightly(ns, "nights")
		clock.SetTime(monday.Add(9 * time.Hour))
		Eventually(replicas(ns, "stuck")).Should(BeEquivalentTo(0))
		lift := denyScaling(ns, "stuck", "no engineer in the house")
		clock.SetTime(monday.Add(21 * time.Hour))

		Eventually(replicas(ns, "one")).Should(BeEquivalentTo(3))
		Eventually(failuresOf(ns, "nights")).Should(ConsistOf(HaveField("Name", "stuck")))
		lift()
		Eventually(replicas(ns, "stuck")).Should(BeEquivalentTo(3))
		Eventually(ledger(ns, "stuck")).Should(BeEmpty())
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
	})
})

// failuresOf reads the failed targets that a Schedule names.
func failuresOf(namespace, name string) func(Gomega) []v1alpha1.TargetFailure {
	return func(g Gomega) []v1alpha1.TargetFailure {
		var s v1alpha1.Schedule
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)).To(Succeed())
		return s.Status.Failures
	}
}
