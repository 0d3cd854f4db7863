package adapters

import (
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/customkind"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// grant gives a user rights on the objects of a kind. They replace earlier rights of the user that were granted under
// the same name.
func grant(user string, k customkind.Kind, verbs ...string) {
	GinkgoHelper()
	name := user + "-" + k.Group
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{k.Group}, Resources: []string{"presses"}, Verbs: verbs}}}
	if scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(role), &rbacv1.ClusterRole{}) == nil {
		Expect(scene.Env.Client.Update(scene.Ctx, role)).To(Succeed())
	} else {
		scene.Create(role, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}})
	}
	for _, verb := range everything {
		suite.AwaitRight(scene.Ctx, scene.Env, user, verb, k.Group, "presses", slices.Contains(verbs, verb))
	}
}

var everything = []string{"get", "list", "watch", "patch"}

// clerkAtNight starts a manager at night that runs as a user with few rights.
func clerkAtNight(user string) *scene.Night {
	GinkgoHelper()
	Expect(scene.Env.Apply(scene.Ctx, fmt.Appendf(nil, scene.Clerk, user))).To(Succeed())
	scene.AwaitClerk(user)
	n := &scene.Night{Config: scene.Env.Cluster.Impersonate(user)}
	n.Start()
	DeferCleanup(n.Stop)
	return n
}

var _ = Describe("An adapter whose rights are taken away", func() {
	It("names the missing rights as soon as a write is forbidden, and continues once they are back", func() {
		n := clerkAtNight("flyball-demoted")
		ns, k := scene.NewNamespace(), scene.InstallKind()
		grant("flyball-demoted", k, everything...)
		scene.Adapt(k.Adapter(".spec.replicas"))
		scene.Press(k, ns, "daily", 3)
		scene.PressNights(ns, k)
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		Eventually(scene.SeriesOf(n.Running, "flyball_adapter_authorized", k.Name())).Should(BeEquivalentTo(1))

		grant("flyball-demoted", k, "get", "list", "watch")
		n.Clock.SetTime(scene.Dawn)
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionAuthorized)).Should(And(
			scene.BeCondition(metav1.ConditionFalse, "MissingRules"), HaveField("Message", ContainSubstring(`verbs: ["patch"]`))))
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionFalse, "MissingRules"))
		Eventually(scene.SeriesOf(n.Running, "flyball_adapter_authorized", k.Name())).Should(BeEquivalentTo(0))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(
			HaveField("Status", metav1.ConditionFalse), HaveField("Message", ContainSubstring(`verbs: ["patch"]`))))

		grant("flyball-demoted", k, everything...)
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "Ready"))
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))
		Eventually(scene.SeriesOf(n.Running, "flyball_adapter_authorized", k.Name())).Should(BeEquivalentTo(1))
	})

	It("is not ready while the API server refuses to list its kind", func() {
		n := clerkAtNight("flyball-blind")
		ns, k := scene.NewNamespace(), scene.InstallKind()
		grant("flyball-blind", k, "get", "patch", "list", "watch")
		scene.Adapt(k.Adapter(".spec.replicas"))
		scene.Press(k, ns, "daily", 3)
		scene.PressNights(ns, k)
		Eventually(scene.SeriesOf(n.Running, "flyball_kind_listed", "Press."+k.Group)).Should(BeEquivalentTo(1))
		n.Stop()

		grant("flyball-blind", k, "get", "patch")
		n.Start()
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionFalse, "MissingRules"))
		grant("flyball-blind", k, everything...)
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "Ready"))
		Eventually(scene.SeriesOf(n.Running, "flyball_kind_listed", "Press."+k.Group)).Should(BeEquivalentTo(1))
	})
})

var _ = Describe("A policy that is deleted while an adapter is not ready", func() {
	It("is deleted if it never changed an object of the adapter's kind, and waits otherwise", func() {
		n := scene.ManagerAtNight()
		ns, k := scene.NewNamespace(), scene.InstallKind()
		a := scene.Adapt(k.Adapter(".spec.replicas"))
		scene.Press(k, ns, "daily", 3)
		scene.Create(scene.Deployment(ns, "web", 3))
		slept := scene.PressNights(ns, k)
		broad := scene.NightlyOn(scene.NewNamespace(), "broad", v1alpha1.TargetSelector{})
		listed := scene.NightlyOn(ns, "listed", v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}})
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		n.Stop()
		Expect(scene.Env.Patch(scene.Ctx, scene.Read(a), `{"spec":{"scale":[{"name":"main","replicas":".spec.copies"}]}}`)).To(Succeed())
		n.Start()
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(HaveField("Status", metav1.ConditionFalse))

		scene.Remove(broad)
		scene.Remove(listed)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		Expect(scene.Env.Client.Delete(scene.Ctx, slept)).To(Succeed())
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(
			scene.BeCondition(metav1.ConditionFalse, "Restoring"),
			HaveField("Message", And(ContainSubstring(k.Name()), ContainSubstring(ns+"/daily")))))
		Expect(scene.Env.Patch(scene.Ctx, scene.Read(a), `{"spec":{"scale":[{"name":"main","replicas":".spec.replicas"}]}}`)).To(Succeed())
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))
		Eventually(scene.Vanished(slept)).Should(Succeed())
	})

	It("is deleted although Flyball may not list that kind, if its spec never selected it", func() {
		n := clerkAtNight("flyball-shut")
		ns, k := scene.NewNamespace(), scene.InstallKind()
		grant("flyball-shut", k, everything...)
		scene.Adapt(k.Adapter(".spec.replicas"))
		scene.Press(k, ns, "daily", 3)
		scene.PressNights(ns, k)
		scene.Create(scene.Deployment(ns, "web", 3))
		listed := scene.NightlyOn(ns, "listed", v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}})
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		n.Stop()
		grant("flyball-shut", k, "patch")
		n.Start()
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(HaveField("Status", metav1.ConditionFalse))
		scene.Remove(listed)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		grant("flyball-shut", k, everything...)
	})
})
