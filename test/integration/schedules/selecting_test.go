package schedules

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
)

// removeNamespace deletes an empty namespace. It also finalises the namespace, because no namespace controller runs
// here.
func removeNamespace(name string) {
	GinkgoHelper()
	gone := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Expect(scene.Env.Client.Delete(scene.Ctx, gone)).To(Succeed())
	Expect(scene.Env.Client.SubResource("finalize").Update(scene.Ctx, gone)).To(Succeed())
}

var _ = Describe("A schedule that selects nothing", func() {
	selecting := func(namespace, name string) func(Gomega) metav1.Condition {
		return scene.ConditionOf(namespace, name, v1alpha1.ConditionSelecting)
	}

	It("names the term without a match, and its probable meaning, until something matches", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3, "tier", "front"))
		scene.NightlyOn(ns, "name", v1alpha1.TargetSelector{Names: []string{"wbe"}})
		Eventually(selecting(ns, "name")).Should(And(scene.BeCondition(metav1.ConditionFalse, "NameUnknown"),
			HaveField("Message", "names: there is no object wbe; did you mean web?")))
		Eventually(scene.ConditionOf(ns, "name", v1alpha1.ConditionReady)).Should(And(scene.BeCondition(metav1.ConditionTrue, "AsExpected"),
			HaveField("Message", "no target is selected; names: there is no object wbe; did you mean web?")))
		scene.NightlyOn(ns, "kind", v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: "apps", Kind: "Deploymnt"}}})
		Eventually(selecting(ns, "kind")).Should(And(scene.BeCondition(metav1.ConditionFalse, "KindUnknown"),
			HaveField("Message", ContainSubstring("did you mean Deployment.apps?"))))
		scene.NightlyOn(ns, "label", v1alpha1.TargetSelector{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "back"}}})
		Eventually(selecting(ns, "label")).Should(And(scene.BeCondition(metav1.ConditionFalse, "LabelsUnlike"),
			HaveField("Message", "selector: no object has tier=back")))
		scene.NightlyOn(ns, "some", v1alpha1.TargetSelector{Names: []string{"web", "wbe"}})
		Eventually(selecting(ns, "some")).Should(And(scene.BeCondition(metav1.ConditionTrue, "NameUnknown"),
			HaveField("Message", ContainSubstring("wbe"))))
		scene.Nightly(ns, "all")
		Eventually(selecting(ns, "all")).Should(scene.BeCondition(metav1.ConditionTrue, "Selected"))

		scene.Create(scene.Deployment(ns, "wbe", 2))
		Eventually(selecting(ns, "name")).Should(scene.BeCondition(metav1.ConditionTrue, "Selected"))
		Eventually(selecting(ns, "some")).Should(scene.BeCondition(metav1.ConditionTrue, "Selected"))
		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Deployment(ns, "wbe", 2))).To(Succeed())
		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Deployment(ns, "web", 3))).To(Succeed())
		Eventually(selecting(ns, "label")).Should(scene.BeCondition(metav1.ConditionFalse, "NoObjects"))
		Eventually(selecting(ns, "name")).Should(And(scene.BeCondition(metav1.ConditionFalse, "NameUnknown"),
			HaveField("Message", "names: there is no object wbe")))
	})

	It("is reported of a freeze, too, once the named object is gone", func() {
		scene.StartManagerAsleep()
		ns, other := scene.NewNamespace(), scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		hour := v1alpha1.Period{StartTime: metav1.NewTime(scene.Dawn), EndTime: metav1.NewTime(scene.Dawn.Add(time.Hour))}
		period := v1alpha1.FreezePeriod{Period: hour}
		named := &v1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "named"}}
		named.Spec.Target.Names, named.Spec.FreezePeriod = []string{"web"}, period
		wide := &v1alpha1.ClusterChangeFreeze{ObjectMeta: metav1.ObjectMeta{Name: other}}
		wide.Spec.Target.Namespaces, wide.Spec.FreezePeriod = []string{other}, period
		scene.Create(named, wide)
		DeferCleanup(scene.Remove, wide)
		selected := func(obj client.Object, st *v1alpha1.FreezeStatus) func(Gomega) metav1.Condition {
			return func(g Gomega) metav1.Condition {
				g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
				c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionSelecting)
				g.Expect(c).NotTo(BeNil())
				return *c
			}
		}
		Eventually(selected(named, &named.Status)).Should(scene.BeCondition(metav1.ConditionTrue, "Selected"))
		Eventually(selected(wide, &wide.Status)).Should(scene.BeCondition(metav1.ConditionTrue, "Selected"))
		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Deployment(ns, "web", 3))).To(Succeed())
		Eventually(selected(named, &named.Status)).Should(scene.BeCondition(metav1.ConditionFalse, "NameUnknown"))
		removeNamespace(other)
		Eventually(selected(wide, &wide.Status)).Should(scene.BeCondition(metav1.ConditionFalse, "NamespaceUnknown"))
	})

	It("is reported again once the matching object is gone", func() {
		scene.StartManagerAsleep()
		ns, other := scene.NewNamespace(), scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3, "tier", "front"), scene.Deployment(ns, "api", 3))
		scene.NightlyOn(ns, "names", v1alpha1.TargetSelector{Names: []string{"web", "api"},
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}})
		wide := scene.ClusterNightly(func(s *v1alpha1.ClusterScheduleSpec) { s.Target.Namespaces = []string{ns, other} })
		reaching := func(g Gomega) metav1.Condition {
			g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(wide), wide)).To(Succeed())
			c := meta.FindStatusCondition(wide.Status.Conditions, v1alpha1.ConditionSelecting)
			g.Expect(c).NotTo(BeNil())
			return *c
		}
		Eventually(selecting(ns, "names")).Should(scene.BeCondition(metav1.ConditionTrue, "Selected"))
		Eventually(reaching).Should(scene.BeCondition(metav1.ConditionTrue, "Selected"))

		By("removing a named object that is no target")
		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Deployment(ns, "api", 3))).To(Succeed())
		Eventually(selecting(ns, "names")).Should(And(scene.BeCondition(metav1.ConditionTrue, "NameUnknown"),
			HaveField("Message", "names: there is no object api")))
		removeNamespace(other)
		Eventually(reaching).Should(And(scene.BeCondition(metav1.ConditionTrue, "NamespaceUnknown"),
			HaveField("Message", ContainSubstring("there is no namespace "+other))))
	})
})
