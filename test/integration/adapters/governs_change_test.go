package adapters

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/customkind"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

const (
	governsDeployments = `{"spec":{"governsKind":{"group":"apps","kind":"Deployment"}}}`
	governsReplicaSets = `{"spec":{"governsKind":{"group":"apps","kind":"ReplicaSet"}}}`
)

// autoscalerOf installs a kind whose objects govern the object in .spec.target, and creates an object that governs web.
// It has bounds, and a note holds it. The manager knows it then, because each kind has a watch of its own.
func autoscalerOf(namespace, kind string) (customkind.Kind, *v1alpha1.Adapter) {
	GinkgoHelper()
	k := scene.InstallKind()
	a := k.Adapter(".spec.replicas")
	a.Spec.Scale = nil
	a.Spec.Bounds = &v1alpha1.Bounds{Min: &v1alpha1.Bound{Path: ".spec.replicas"}, Max: &v1alpha1.Bound{Path: ".spec.pool.size"}}
	a.Spec.Hold = []v1alpha1.Variant{{Set: []v1alpha1.Write{{Path: ".spec.note", Value: apiextensionsv1.JSON{Raw: []byte(`"held"`)}}}}}
	a.Spec.Governs, a.Spec.GovernsKind = ".spec.target", &v1alpha1.KindRef{Group: "apps", Kind: kind}
	scene.Adapt(a)
	obj := k.Object(namespace, "autoscaler", map[string]any{
		"replicas": int64(1), "pool": map[string]any{"size": int64(9)}, "target": map[string]any{"name": "web"},
	})
	scene.Create(obj)
	Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "Ready"))
	suite.Settled()
	return k, a
}

// note reads the text that holds the autoscaler. It is empty if the text is absent.
func note(k customkind.Kind, namespace string) func(Gomega) string {
	return func(g Gomega) string {
		text, _, err := unstructured.NestedString(scene.Stored(g, k.Object(namespace, "autoscaler", nil)).Object, "spec", "note")
		g.Expect(err).NotTo(HaveOccurred())
		return text
	}
}

// replicaSet returns a ReplicaSet called web without an owner. It does not create it.
func replicaSet(namespace string, n int32) *appsv1.ReplicaSet {
	d := scene.Deployment(namespace, "web", n)
	return &appsv1.ReplicaSet{ObjectMeta: d.ObjectMeta, Spec: appsv1.ReplicaSetSpec{Replicas: &n, Selector: d.Spec.Selector,
		Template: d.Spec.Template}}
}

var _ = Describe("An adapter that is edited to govern another kind", func() {
	It("releases its objects when a sleeping target is no longer theirs, and holds them again when it is", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		k, a := autoscalerOf(ns, "Deployment")
		scene.Create(scene.Deployment(ns, "web", 3), replicaSet(ns, 2))
		scene.NightlyOver(ns, func(s *v1alpha1.Schedule) {
			s.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
		})
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Expect(note(k, ns)(Default)).To(Equal("held"), "the autoscaler comes first")

		scene.Patch(a, governsReplicaSets)
		Eventually(note(k, ns)).Should(BeEmpty())
		Eventually(scene.PressLedger(k, ns, "autoscaler")).Should(BeEmpty())
		Expect(scene.Replicas(ns, "web")(Default)).To(BeEquivalentTo(0))

		scene.Patch(a, governsDeployments)
		Eventually(note(k, ns)).Should(Equal("held"))
	})

	It("passes the size of a Trigger on its objects to their present targets", func() {
		scene.StartManager()
		ns := scene.NewNamespace()
		k, a := autoscalerOf(ns, "ReplicaSet")
		rs := replicaSet(ns, 2)
		scene.Create(scene.Deployment(ns, "web", 3), rs)
		size := int64(7)
		t := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "peaks"}}
		t.Spec.Target.Kinds = []v1alpha1.KindRef{k.Ref()}
		t.Spec.Triggers = []v1alpha1.TimeTrigger{{Name: "peak", Window: v1alpha1.Window{From: "08:00", To: "20:00"},
			During: v1alpha1.TriggerValues{Replicas: &size}}}
		scene.Create(t)
		DeferCleanup(scene.Remove, t)
		Eventually(func(g Gomega) int32 {
			g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(rs), rs)).To(Succeed())
			return *rs.Spec.Replicas
		}).Should(BeEquivalentTo(7))
		Expect(scene.Replicas(ns, "web")(Default)).To(BeEquivalentTo(3))

		scene.Patch(a, governsDeployments)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(7))
	})
})
