package integration

import (
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/customkind"
	"flyball.dev/flyball/test/integration/suite"
)

// grant gives a user rights on the objects of a kind. They replace earlier rights of the user that were granted under
// the same name.
func grant(user string, k customkind.Kind, verbs ...string) {
	GinkgoHelper()
	name := user + "-" + k.Group
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{k.Group}, Resources: []string{"presses"}, Verbs: verbs}}}
	if env.Client.Get(ctx, client.ObjectKeyFromObject(role), &rbacv1.ClusterRole{}) == nil {
		Expect(env.Client.Update(ctx, role)).To(Succeed())
	} else {
		create(role, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}})
	}
	for _, verb := range everything {
		suite.AwaitRight(ctx, env, user, verb, k.Group, "presses", slices.Contains(verbs, verb))
	}
}

var everything = []string{"get", "list", "watch", "patch"}

// clerkAtNight starts a manager at night that runs as a user with few rights.
func clerkAtNight(user string) *night {
	GinkgoHelper()
	Expect(env.Apply(ctx, fmt.Appendf(nil, clerk, user))).To(Succeed())
	awaitClerk(user)
	n := &night{config: env.Cluster.Impersonate(user)}
	n.start()
	DeferCleanup(n.stop)
	return n
}

// awaitClerk waits until the API server grants the rights of a clerk to a user.
func awaitClerk(user string) {
	GinkgoHelper()
	suite.AwaitRight(ctx, env, user, "watch", "", "namespaces", true)
}

// seriesOf reads the value of the series of a metric that has the given label values. It returns -1 if there is no such
// series.
func seriesOf(m *harness.Manager, name string, values ...string) func(Gomega) float64 {
	return func(g Gomega) float64 {
		families, err := m.Registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		for _, f := range families {
			for _, s := range f.GetMetric() {
				has := func(value string) bool {
					return slices.ContainsFunc(s.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == value })
				}
				if f.GetName() == name && !slices.ContainsFunc(values, func(v string) bool { return !has(v) }) {
					return s.GetGauge().GetValue()
				}
			}
		}
		return -1
	}
}

var _ = Describe("An adapter whose rights are taken away", func() {
	It("names the missing rights as soon as a write is forbidden, and continues once they are back", func() {
		n := clerkAtNight("flyball-demoted")
		ns, k := newNamespace(), installKind()
		grant("flyball-demoted", k, everything...)
		adapt(k.Adapter(".spec.replicas"))
		press(k, ns, "daily", 3)
		pressNights(ns, k)
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		Eventually(seriesOf(n.running, "flyball_adapter_authorized", k.Name())).Should(BeEquivalentTo(1))

		grant("flyball-demoted", k, "get", "list", "watch")
		n.clock.SetTime(dawn)
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionAuthorized)).Should(And(
			beCondition(metav1.ConditionFalse, "MissingRules"), HaveField("Message", ContainSubstring(`verbs: ["patch"]`))))
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionFalse, "MissingRules"))
		Eventually(seriesOf(n.running, "flyball_adapter_authorized", k.Name())).Should(BeEquivalentTo(0))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(
			HaveField("Status", metav1.ConditionFalse), HaveField("Message", ContainSubstring(`verbs: ["patch"]`))))

		grant("flyball-demoted", k, everything...)
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "Ready"))
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))
		Eventually(seriesOf(n.running, "flyball_adapter_authorized", k.Name())).Should(BeEquivalentTo(1))
	})

	It("is not ready while the API server refuses to list its kind", func() {
		n := clerkAtNight("flyball-blind")
		ns, k := newNamespace(), installKind()
		grant("flyball-blind", k, "get", "patch", "list", "watch")
		adapt(k.Adapter(".spec.replicas"))
		press(k, ns, "daily", 3)
		pressNights(ns, k)
		Eventually(seriesOf(n.running, "flyball_kind_listed", "Press."+k.Group)).Should(BeEquivalentTo(1))
		n.stop()

		grant("flyball-blind", k, "get", "patch")
		n.start()
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionFalse, "MissingRules"))
		grant("flyball-blind", k, everything...)
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "Ready"))
		Eventually(seriesOf(n.running, "flyball_kind_listed", "Press."+k.Group)).Should(BeEquivalentTo(1))
	})
})

var _ = Describe("A policy that is deleted while an adapter is not ready", func() {
	It("is deleted if it never changed an object of the adapter's kind, and waits otherwise", func() {
		n := managerAtNight()
		ns, k := newNamespace(), installKind()
		a := adapt(k.Adapter(".spec.replicas"))
		press(k, ns, "daily", 3)
		create(deployment(ns, "web", 3))
		slept := pressNights(ns, k)
		broad := nightlyOn(newNamespace(), "broad", v1alpha1.TargetSelector{})
		listed := nightlyOn(ns, "listed", v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}})
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		n.stop()
		Expect(env.Patch(ctx, read(a), `{"spec":{"scale":[{"name":"main","replicas":".spec.copies"}]}}`)).To(Succeed())
		n.start()
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(HaveField("Status", metav1.ConditionFalse))

		remove(broad)
		remove(listed)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
		Expect(env.Client.Delete(ctx, slept)).To(Succeed())
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(
			beCondition(metav1.ConditionFalse, "Restoring"), HaveField("Message", And(ContainSubstring(k.Name()), ContainSubstring(ns+"/daily")))))
		Expect(env.Patch(ctx, read(a), `{"spec":{"scale":[{"name":"main","replicas":".spec.replicas"}]}}`)).To(Succeed())
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))
		Eventually(vanished(slept)).Should(Succeed())
	})

	It("is deleted although Flyball may not list that kind, if its spec never selected it", func() {
		n := clerkAtNight("flyball-shut")
		ns, k := newNamespace(), installKind()
		grant("flyball-shut", k, everything...)
		adapt(k.Adapter(".spec.replicas"))
		press(k, ns, "daily", 3)
		pressNights(ns, k)
		create(deployment(ns, "web", 3))
		listed := nightlyOn(ns, "listed", v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}})
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		n.stop()
		grant("flyball-shut", k, "patch")
		n.start()
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(HaveField("Status", metav1.ConditionFalse))
		remove(listed)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
		grant("flyball-shut", k, everything...)
	})
})
