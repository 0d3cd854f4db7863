package failures

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// patchesIn matches writes to Deployments of one namespace.
func patchesIn(namespace string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		return r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/namespaces/"+namespace+"/deployments/")
	}
}

// undoScaling makes the API server accept every write to a Deployment, but undo its changes of the count and of the
// ledger. It does so until the returned function is called.
func undoScaling(namespace, name string) (lift func()) {
	GinkgoHelper()
	Expect(scene.Env.Apply(scene.Ctx, fmt.Appendf(nil, `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: undo-%[1]s}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments]}]
  matchConditions: [{name: this, expression: "object.metadata.namespace == '%[1]s'"}]
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        [JSONPatch{op: "replace", path: "/spec/replicas", value: oldObject.spec.replicas}] +
        (has(object.metadata.annotations) && "%[2]s" in object.metadata.annotations ?
        [JSONPatch{op: "remove", path: "/metadata/annotations/" + jsonpatch.escapeKey("%[2]s")}] : [])
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: undo-%[1]s}
spec: {policyName: undo-%[1]s}
`, namespace, v1alpha1.AnnotationLedger))).To(Succeed())
	undone := func(g Gomega) bool {
		d := scene.Deployment(namespace, name, 0)
		g.Expect(scene.Env.Client.Patch(scene.Ctx, d, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":99}}`)),
			client.DryRunAll)).To(Succeed())
		return *d.Spec.Replicas != 99
	}
	Eventually(undone).Should(BeTrue())
	lift = func() {
		GinkgoHelper()
		for _, kind := range []string{"MutatingAdmissionPolicyBinding", "MutatingAdmissionPolicy"} {
			obj := &unstructured.Unstructured{}
			obj.SetAPIVersion("admissionregistration.k8s.io/v1")
			obj.SetKind(kind)
			obj.SetName("undo-" + namespace)
			Expect(client.IgnoreNotFound(scene.Env.Client.Delete(scene.Ctx, obj))).To(Succeed())
		}
		Eventually(undone).Should(BeFalse())
	}
	DeferCleanup(lift)
	return lift
}

var _ = Describe("A write that succeeds without effect because the ledger is removed with it", func() {
	It("makes the target contested, is repeated ever more rarely in spite of other events, and succeeds at last", func() {
		ns := scene.NewNamespace()
		sent := &gate{match: patchesIn(ns)}
		clock := suite.NewClock(scene.Dusk.Add(time.Hour))
		startBehind(clock, sent)
		scene.Create(scene.Deployment(ns, "web", 3))
		lift := undoScaling(ns, "web")
		scene.Nightly(ns, "nights")
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionContested)).Should(And(
			scene.BeCondition(metav1.ConditionTrue, "OtherWriter"), HaveField("Message", ContainSubstring("an admission webhook"))))
		suite.Settled()
		count := sent.accepted
		begun := count()
		Expect(begun).To(Equal(1), "the answer to the first write shows that it is undone")

		others := func() {
			GinkgoHelper()
			before := count()
			for edit := range 5 {
				scene.Annotate(ns, "web", "example.com/edit", fmt.Sprint(before, edit))
				suite.Settled()
			}
			Expect(count()).To(Equal(before), "writes because others edit the object")
		}
		others()

		By("the pauses pass")
		for i, pause := range []time.Duration{15 * time.Second, time.Minute, time.Minute} {
			clock.Step(pause - time.Second)
			suite.Settled()
			Expect(count()).To(Equal(begun + i))
			clock.Step(time.Second)
			Eventually(count).Should(Equal(begun + i + 1))
			suite.Settled()
		}
		for i := range 11 {
			clock.Step(time.Minute)
			Eventually(count).Should(Equal(begun + 3 + i + 1))
			suite.Settled() // the pause begins when the manager has the answer
		}
		others()
		Expect(scene.Replicas(ns, "web")(Default)).To(BeEquivalentTo(3))

		lift()
		clock.Step(time.Minute)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		clock.Step(11 * time.Minute)
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionContested)).Should(scene.BeCondition(metav1.ConditionFalse, "None"))
	})
})
