package trigger

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// anyCRD is the CRD of a kind that accepts any field.
const anyCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s}
spec:
  group: %[2]s
  scope: Namespaced
  names: {plural: %[1]s, kind: %[3]s}
  versions:
  - {name: %[4]s, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
`

// ranged is a kind that accepts no minimum below 2.
const ranged = `
apiVersion: flyball.dev/v1alpha1
kind: Adapter
metadata: {name: rangeds.example.com}
spec:
  target: {group: example.com, kind: Ranged, versions: [v1]}
  bounds: {min: {path: .spec.low, minimum: 2}, max: {path: .spec.high, minimum: 2}}
`

// specOf reads the spec of an object of any kind.
func specOf(obj *unstructured.Unstructured) func(Gomega) any {
	return func(g Gomega) any {
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		return obj.Object["spec"]
	}
}

func makeOne(text string) *unstructured.Unstructured {
	GinkgoHelper()
	objs, err := harness.Objects([]byte(text))
	Expect(err).NotTo(HaveOccurred())
	Expect(objs).To(HaveLen(1))
	Expect(env.Client.Create(ctx, objs[0])).To(Succeed())
	return objs[0]
}

var _ = Describe("Every kind with bounds", Ordered, func() {
	BeforeAll(func() {
		for _, k := range [][4]any{{"scaledobjects", "keda.sh", "ScaledObject", "v1alpha1"}, {"services", "serving.knative.dev", "Service", "v1"},
			{"rangeds", "example.com", "Ranged", "v1"}} {
			Expect(env.Apply(ctx, fmt.Appendf(nil, anyCRD, k[:]...))).To(Succeed())
		}
		Expect(env.AwaitCRDs(ctx)).To(Succeed())
		Expect(env.InstallAdapters(ctx, "scaledobjects.keda.sh", "services.serving.knative.dev")).To(Succeed())
		Expect(env.Apply(ctx, []byte(ranged))).To(Succeed())
	})

	It("follows: a KEDA ScaledObject, whose Deployment gets the size once", func() {
		clock := start(7)
		Expect(env.AwaitAdapters(ctx, "scaledobjects.keda.sh")).To(Succeed())
		ns := newNamespace()
		scaled := makeOne(`{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {namespace: ` + ns +
			`, name: web}, spec: {scaleTargetRef: {name: web}, maxReplicaCount: 9}}`)
		create(deployment(ns, 1))
		t := trigger(ns, v1alpha1.KindRef{Group: "keda.sh", Kind: "ScaledObject"},
			daily("peak", 1, "08:00", "11:00", v1alpha1.TriggerValues{Min: n(3), Max: n(20), Replicas: n(4)}))
		create(t)
		clock.SetTime(hour(8))
		ref := map[string]any{"name": "web"}
		Eventually(specOf(scaled)).Should(Equal(map[string]any{"scaleTargetRef": ref, "minReplicaCount": int64(3), "maxReplicaCount": int64(20)}))
		Eventually(replicas(ns)).Should(BeEquivalentTo(4))
		scale(ns, 8)
		suite.Still(replicas(ns)).Should(BeEquivalentTo(8))
		clock.SetTime(hour(11))
		Eventually(specOf(scaled)).Should(Equal(map[string]any{"scaleTargetRef": ref, "maxReplicaCount": int64(9)}))
		Expect(replicas(ns)(Default)).To(BeEquivalentTo(8))
	})

	It("follows: a Knative Service, whose bounds are texts", func() {
		clock := start(7)
		Expect(env.AwaitAdapters(ctx, "services.serving.knative.dev")).To(Succeed())
		ns := newNamespace()
		service := makeOne(`{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {namespace: ` + ns +
			`, name: web}, spec: {template: {spec: {}}}}`)
		create(trigger(ns, v1alpha1.KindRef{Group: "serving.knative.dev", Kind: "Service"}, daily("peak", 1, "08:00", "11:00", values(3, 20))))
		clock.SetTime(hour(8))
		Eventually(specOf(service)).Should(Equal(map[string]any{"template": map[string]any{"spec": map[string]any{}, "metadata": map[string]any{
			"annotations": map[string]any{"autoscaling.knative.dev/min-scale": "3", "autoscaling.knative.dev/max-scale": "20"}}}}))
		clock.SetTime(hour(11))
		Eventually(specOf(service)).Should(Equal(map[string]any{"template": map[string]any{"spec": map[string]any{}}}))
	})

	It("refuses the values that its adapter excludes, before and after the adapter is known", func() {
		start(9)
		ns := newNamespace()
		obj := makeOne(`{apiVersion: example.com/v1, kind: Ranged, metadata: {namespace: ` + ns + `, name: web}, spec: {low: 2, high: 4}}`)
		kind := v1alpha1.KindRef{Group: "example.com", Kind: "Ranged"}
		t := trigger(ns, kind, daily("peak", 1, "08:00", "11:00", values(0, 20)))
		create(t)
		Expect(env.AwaitAdapters(ctx, "rangeds.example.com")).To(Succeed())
		Eventually(conditionOf(t, v1alpha1.ConditionReady)).Should(HaveExactElements("False", "InvalidSpec",
			ContainSubstring("spec.triggers[0].during.min: Invalid value: 0: Ranged.example.com accepts no less than 2")))
		suite.Still(specOf(obj)).Should(Equal(map[string]any{"low": int64(2), "high": int64(4)}))
		By("a size, for which the kind has no place")
		edit(t, func(s *v1alpha1.TriggerSpec) { s.Triggers[0].During = size(3) })
		Eventually(conditionOf(t, v1alpha1.ConditionReady)).Should(HaveExactElements("False", "InvalidSpec",
			ContainSubstring("during.replicas: Forbidden")))
		edit(t, func(s *v1alpha1.TriggerSpec) { s.Triggers[0].During = values(3, 20) })
		Eventually(specOf(obj)).Should(Equal(map[string]any{"low": int64(3), "high": int64(20)}))
	})
})
