package failures

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
)

// denyScaling makes the API server refuse changes of the count of one Deployment, until the returned function is
// called.
func denyScaling(namespace, name, message string) (lift func()) {
	GinkgoHelper()
	return scene.Deny(namespace, "{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments]}",
		fmt.Sprintf("object.metadata.namespace == '%s' && object.metadata.name == '%s'", namespace, name),
		"object.spec.replicas == oldObject.spec.replicas", message, func() error {
			return scene.Env.Client.Patch(scene.Ctx, scene.Deployment(namespace, name, 0),
				client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":99}}`)), client.DryRunAll)
		})
}

var _ = Describe("A workload whose write is refused", func() {
	It("keeps no other object awake, is named with its error, and sleeps by itself once the obstacle is gone", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		for _, name := range []string{"one", "stuck", "two"} {
			Expect(scene.Env.Client.Create(scene.Ctx, scene.Deployment(ns, name, 3))).To(Succeed())
		}
		lift := denyScaling(ns, "stuck", "the presses are running")
		scene.Nightly(ns, "nights")
		clock.SetTime(scene.Monday.Add(9 * time.Hour))

		Eventually(scene.Replicas(ns, "one")).Should(BeEquivalentTo(0))
		Eventually(scene.Replicas(ns, "two")).Should(BeEquivalentTo(0))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionFalse, "TargetsFailed"))
		Eventually(scene.FailuresOf(ns, "nights")).Should(ConsistOf(And(
			HaveField("Kind", "Deployment.apps"), HaveField("Namespace", ns), HaveField("Name", "stuck"),
			HaveField("Message", ContainSubstring("the presses are running")))))
		Expect(scene.Replicas(ns, "stuck")(Default)).To(BeEquivalentTo(3))

		lift()
		Eventually(scene.Replicas(ns, "stuck")).Should(BeEquivalentTo(0))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
		Expect(scene.FailuresOf(ns, "nights")(Default)).To(BeEmpty())
	})

	It("wakes by itself too once the obstacle is gone", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		for _, name := range []string{"one", "stuck"} {
			Expect(scene.Env.Client.Create(scene.Ctx, scene.Deployment(ns, name, 3))).To(Succeed())
		}
		scene.Nightly(ns, "nights")
		clock.SetTime(scene.Monday.Add(9 * time.Hour))
		Eventually(scene.Replicas(ns, "stuck")).Should(BeEquivalentTo(0))
		lift := denyScaling(ns, "stuck", "no engineer in the house")
		clock.SetTime(scene.Monday.Add(21 * time.Hour))

		Eventually(scene.Replicas(ns, "one")).Should(BeEquivalentTo(3))
		Eventually(scene.FailuresOf(ns, "nights")).Should(ConsistOf(HaveField("Name", "stuck")))
		lift()
		Eventually(scene.Replicas(ns, "stuck")).Should(BeEquivalentTo(3))
		Eventually(scene.Ledger(ns, "stuck")).Should(BeEmpty())
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
	})
})
