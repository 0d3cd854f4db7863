package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

// removeNamespace deletes an empty namespace. It also finalises the namespace, because no namespace controller runs
// here.
func removeNamespace(name string) {
	GinkgoHelper()
	gone := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	Expect(env.Client.Delete(ctx, gone)).To(Succeed())
	Expect(env.Client.SubResource("finalize").Update(ctx, gone)).To(Succeed())
}

var _ = Describe("A schedule that selects nothing", func() {
	selecting := func(namespace, name string) func(Gomega) metav1.Condition {
		return conditionOf(namespace, name, v1alpha1.ConditionSelecting)
	}

	It("names the term without a match, and its probable meaning, until something matches", func() {
		startManagerAsleep()
		ns := newNamespace()
		create(deployment(ns, "web", 3, "tier", "front"))
		nightlyOn(ns, "name", v1alpha1.TargetSelector{Names: []string{"wbe"}})
		Eventually(selecting(ns, "name")).Should(And(beCondition(metav1.ConditionFalse, "NameUnknown"),
			HaveField("Message", "names: there is no object wbe; did you mean web?")))
		Eventually(conditionOf(ns, "name", v1alpha1.ConditionReady)).Should(And(beCondition(metav1.ConditionTrue, "AsExpected"),
			HaveField("Message", "no target is selected; names: there is no object wbe; did you mean web?")))
		nightlyOn(ns, "kind", v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: "apps", Kind: "Deploymnt"}}})
		Eventually(selecting(ns, "kind")).Should(And(beCondition(metav1.ConditionFalse, "KindUnknown"),
			HaveField("Message", ContainSubstring("did you mean Deployment.apps?"))))
		nightlyOn(ns, "label", v1alpha1.TargetSelector{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "back"}}})
		Eventually(selecting(ns, "label")).Should(And(beCondition(metav1.ConditionFalse, "LabelsUnlike"),
			HaveField("Message", "selector: no object has tier=back")))
		nightlyOn(ns, "some", v1alpha1.TargetSelector{Names: []string{"web", "wbe"}})
		Eventually(selecting(ns, "some")).Should(And(beCondition(metav1.ConditionTrue, "NameUnknown"),
			HaveField("Message", ContainSubstring("wbe"))))
		nightly(ns, "all")
		Eventually(selecting(ns, "all")).Should(beCondition(metav1.ConditionTrue, "Selected"))

		create(deployment(ns, "wbe", 2))
		Eventually(selecting(ns, "name")).Should(beCondition(metav1.ConditionTrue, "Selected"))
		Eventually(selecting(ns, "some")).Should(beCondition(metav1.ConditionTrue, "Selected"))
		Expect(env.Client.Delete(ctx, deployment(ns, "wbe", 2))).To(Succeed())
		Expect(env.Client.Delete(ctx, deployment(ns, "web", 3))).To(Succeed())
		Eventually(selecting(ns, "label")).Should(beCondition(metav1.ConditionFalse, "NoObjects"))
		Eventually(selecting(ns, "name")).Should(And(beCondition(metav1.ConditionFalse, "NameUnknown"),
			HaveField("Message", "names: there is no object wbe")))
	})

	It("is reported of a freeze, too, once the named object is gone", func() {
		startManagerAsleep()
		ns, other := newNamespace(), newNamespace()
		create(deployment(ns, "web", 3))
		period := v1alpha1.FreezePeriod{StartTime: metav1.NewTime(dawn), EndTime: metav1.NewTime(dawn.Add(time.Hour))}
		named := &v1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "named"}}
		named.Spec.Target.Names, named.Spec.FreezePeriod = []string{"web"}, period
		wide := &v1alpha1.ClusterChangeFreeze{ObjectMeta: metav1.ObjectMeta{Name: other}}
		wide.Spec.Target.Namespaces, wide.Spec.FreezePeriod = []string{other}, period
		create(named, wide)
		DeferCleanup(remove, wide)
		selected := func(obj client.Object, st *v1alpha1.FreezeStatus) func(Gomega) metav1.Condition {
			return func(g Gomega) metav1.Condition {
				g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
				c := meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionSelecting)
				g.Expect(c).NotTo(BeNil())
				return *c
			}
		}
		Eventually(selected(named, &named.Status)).Should(beCondition(metav1.ConditionTrue, "Selected"))
		Eventually(selected(wide, &wide.Status)).Should(beCondition(metav1.ConditionTrue, "Selected"))
		Expect(env.Client.Delete(ctx, deployment(ns, "web", 3))).To(Succeed())
		Eventually(selected(named, &named.Status)).Should(beCondition(metav1.ConditionFalse, "NameUnknown"))
		removeNamespace(other)
		Eventually(selected(wide, &wide.Status)).Should(beCondition(metav1.ConditionFalse, "NamespaceUnknown"))
	})

	It("is reported again once the matching object is gone", func() {
		startManagerAsleep()
		ns, other := newNamespace(), newNamespace()
		create(deployment(ns, "web", 3, "tier", "front"), deployment(ns, "api", 3))
		nightlyOn(ns, "names", v1alpha1.TargetSelector{Names: []string{"web", "api"},
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}})
		wide := clusterNightly(func(s *v1alpha1.ClusterScheduleSpec) { s.Target.Namespaces = []string{ns, other} })
		reaching := func(g Gomega) metav1.Condition {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(wide), wide)).To(Succeed())
			c := meta.FindStatusCondition(wide.Status.Conditions, v1alpha1.ConditionSelecting)
			g.Expect(c).NotTo(BeNil())
			return *c
		}
		Eventually(selecting(ns, "names")).Should(beCondition(metav1.ConditionTrue, "Selected"))
		Eventually(reaching).Should(beCondition(metav1.ConditionTrue, "Selected"))

		By("removing a named object that is no target")
		Expect(env.Client.Delete(ctx, deployment(ns, "api", 3))).To(Succeed())
		Eventually(selecting(ns, "names")).Should(And(beCondition(metav1.ConditionTrue, "NameUnknown"),
			HaveField("Message", "names: there is no object api")))
		removeNamespace(other)
		Eventually(reaching).Should(And(beCondition(metav1.ConditionTrue, "NamespaceUnknown"),
			HaveField("Message", ContainSubstring("there is no namespace "+other))))
	})
})
