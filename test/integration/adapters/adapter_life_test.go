package adapters

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/customkind"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("An adapter", func() {
	It("waits for its kind and is used as soon as the kind is installed", func() {
		scene.ManagerAtNight()
		ns := scene.NewNamespace()
		k := scene.NewKind()
		scene.Adapt(k.Adapter(".spec.replicas"))
		scene.PressNights(ns, k)
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionServed)).Should(scene.BeCondition(metav1.ConditionFalse, "GroupNotServed"))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionFalse, "AdapterNotReady"))

		Expect(k.Install(scene.Ctx, scene.Env)).To(Succeed())
		scene.Press(k, ns, "daily", 3)
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "Ready"))
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
	})

	It("reports that its kind is removed, and continues when the kind comes back", func() {
		scene.ManagerAtNight()
		ns := scene.NewNamespace()
		k := scene.InstallKind()
		scene.Adapt(k.Adapter(".spec.replicas"))
		scene.Press(k, ns, "daily", 3)
		scene.PressNights(ns, k)
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))

		Expect(k.Remove(scene.Ctx, scene.Env)).To(Succeed())
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionServed)).Should(HaveField("Status", metav1.ConditionFalse))
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(HaveField("Status", metav1.ConditionFalse))
		Eventually(scene.Targets(ns, "nights")).Should(HaveField("Total", BeEquivalentTo(0)))

		Eventually(func() error { return k.Gone(scene.Ctx, scene.Env) }).Should(Succeed())
		Expect(k.Install(scene.Ctx, scene.Env)).To(Succeed())
		scene.Press(k, ns, "daily", 5)
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
	})

	It("names a path that is not in the schema, and its probable meaning", func() {
		scene.ManagerAtNight()
		k := scene.InstallKind()
		scene.Adapt(k.Adapter(".spec.replcias"))
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionSchemaMatched)).Should(And(
			scene.BeCondition(metav1.ConditionFalse, "PathNotInSchema"),
			HaveField("Message", And(ContainSubstring("spec.scale[0].replicas"), ContainSubstring(".spec.replcias"),
				ContainSubstring("did you mean .spec.replicas?")))))
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionFalse, "PathNotInSchema"))
	})

	It("requires the plural and the group of its kind as its name", func() {
		scene.ManagerAtNight()
		k := scene.InstallKind()
		a := k.Adapter(".spec.replicas")
		a.Name = "press." + k.Group
		scene.Adapt(a)
		Eventually(scene.AdapterCondition(a.Name, v1alpha1.ConditionAccepted)).Should(And(
			scene.BeCondition(metav1.ConditionFalse, "WrongName"), HaveField("Message", ContainSubstring(k.Name()))))
	})

	It("waits for an older adapter of the same kind until that is deleted", func() {
		scene.ManagerAtNight()
		k := scene.InstallKind()
		older := k.Adapter(".spec.replicas")
		older.Name = "a-" + k.Name()
		scene.Adapt(older)
		Eventually(scene.AdapterCondition(older.Name, v1alpha1.ConditionAccepted)).Should(scene.BeCondition(metav1.ConditionFalse, "WrongName"))
		scene.Adapt(k.Adapter(".spec.replicas"))
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionAccepted)).Should(And(
			scene.BeCondition(metav1.ConditionFalse, "DuplicateKind"), HaveField("Message", ContainSubstring(older.Name))))

		Expect(scene.Env.Client.Delete(scene.Ctx, older)).To(Succeed())
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "Ready"))
	})

	It("reports that its version is not served, and names the served one", func() {
		scene.ManagerAtNight()
		k := scene.InstallKind()
		a := k.Adapter(".spec.replicas")
		a.Spec.Target.Versions = []string{"v9"}
		scene.Adapt(a)
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionServed)).Should(And(
			scene.BeCondition(metav1.ConditionFalse, "VersionNotServed"), HaveField("Message", And(ContainSubstring("v9"), ContainSubstring("v1")))))
		Expect(scene.Env.Patch(scene.Ctx, a, `{"spec":{"target":{"versions":["v9","v1"]}}}`)).To(Succeed())
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "Ready"))
	})
})

var _ = Describe("The status of an adapter", func() {
	It("is written once when a manager starts, and stays as it is when the next one does", func() {
		ns := scene.NewNamespace()
		k := scene.InstallKind()
		a := k.Adapter(".spec.replicas")
		scene.Create(a)
		scene.Press(k, ns, "daily", 3)
		stored := scene.Follow(a)

		first := scene.StartManagerAt(suite.NewClock(scene.Monday))
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "Ready"))
		Expect(first.Stop()).To(Succeed())
		scene.StartManagerAsleep()
		DeferCleanup(scene.Remove, a) // while the manager runs
		scene.PressNights(ns, k)
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0)) // targets come after every adapter
		Expect(stored.Values("status")).To(HaveLen(2), "without a status, and ready")
	})
})

var _ = Describe("An adapter of a kind on which Flyball lacks rights", func() {
	It("prints the missing rule, ready to paste, and works once the rule is granted", func() {
		Expect(scene.Env.Apply(scene.Ctx, fmt.Appendf(nil, scene.Clerk, "flyball-clerk"))).To(Succeed())
		scene.AwaitClerk("flyball-clerk")
		m := scene.Env.Start(harness.Options{
			Clock: suite.NewClock(scene.Monday.Add(9 * time.Hour)), Config: scene.Env.Cluster.Impersonate("flyball-clerk"), Log: GinkgoWriter})
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		ns := scene.NewNamespace()
		k := scene.NewKind()
		k.Scale = true
		Expect(k.Install(scene.Ctx, scene.Env)).To(Succeed())
		a := k.Adapter(".spec.replicas")
		a.Spec.Scale[0].Via = v1alpha1.ViaScale
		scene.Adapt(a)
		scene.Press(k, ns, "daily", 3)
		scene.PressNights(ns, k)

		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionAuthorized)).Should(scene.BeCondition(metav1.ConditionFalse,
			"MissingRules"))
		Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(a), a)).To(Succeed())
		var missing []rbacv1.PolicyRule
		Expect(yaml.UnmarshalStrict([]byte(a.Status.MissingRules), &missing)).To(Succeed())
		Expect(missing).To(ConsistOf(
			rbacv1.PolicyRule{APIGroups: []string{k.Group}, Resources: []string{"presses"}, Verbs: []string{"get", "list", "watch", "patch"}},
			rbacv1.PolicyRule{APIGroups: []string{k.Group}, Resources: []string{"presses/scale"}, Verbs: []string{"patch"}}))
		Expect(scene.AdapterCondition(k.Name(), v1alpha1.ConditionAuthorized)(Default).Message).To(ContainSubstring(a.Status.MissingRules))

		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "flyball-clerk"}}
		Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(role), role)).To(Succeed())
		role.Rules = append(role.Rules, missing...)
		Expect(scene.Env.Client.Update(scene.Ctx, role)).To(Succeed())
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "Ready"))
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
	})
})

var _ = Describe("An adapter that writes through /scale", func() {
	It("writes the ledger first, then the count, and gives the count back through /scale too", func() {
		clock := suite.NewClock(scene.Monday.Add(9 * time.Hour))
		scene.StartManagerAt(clock)
		ns := scene.NewNamespace()
		k := scene.NewKind()
		k.Scale = true
		Expect(k.Install(scene.Ctx, scene.Env)).To(Succeed())
		before := scene.Press(k, ns, "daily", 3)
		lift := denyScaleOf(k, ns)
		a := k.Adapter(".spec.replicas")
		a.Spec.Scale[0].Via = v1alpha1.ViaScale
		scene.Adapt(a)
		scene.PressNights(ns, k)

		Eventually(scene.PressLedger(k, ns, "daily")).Should(ContainSubstring("/spec/replicas"))
		Eventually(scene.FailuresOf(ns, "nights")).Should(ConsistOf(HaveField("Name", "daily")))
		Expect(scene.PressCount(k, ns, "daily", ".spec.replicas")(Default)).To(BeEquivalentTo(3))

		lift()
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		clock.SetTime(scene.Monday.Add(21 * time.Hour))
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))
		Eventually(scene.PressLedger(k, ns, "daily")).Should(BeEmpty())
		after := k.Object(ns, "daily", nil)
		Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(after), after)).To(Succeed())
		Expect(scene.AsOwned(after)).To(Equal(scene.AsOwned(before)))
	})

	It("is not used if the kind has no /scale", func() {
		scene.ManagerAtNight()
		k := scene.InstallKind()
		a := k.Adapter(".spec.replicas")
		a.Spec.Scale[0].Via = v1alpha1.ViaScale
		scene.Adapt(a)
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionServed)).Should(scene.BeCondition(metav1.ConditionFalse,
			"NoScaleSubresource"))
	})
})

// denyScaleOf makes the API server refuse writes to /scale of a kind in a namespace, until the returned function is
// called.
func denyScaleOf(k customkind.Kind, namespace string) (lift func()) {
	GinkgoHelper()
	rules := fmt.Sprintf("{apiGroups: [%s], apiVersions: [v1], operations: [UPDATE], resources: [presses/scale]}", k.Group)
	return scene.Deny(namespace, rules, "true", "false", "/scale is closed", func() error {
		obj := k.Object(namespace, "daily", nil)
		return scene.Env.Client.SubResource("scale").Patch(scene.Ctx, obj,
			client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":99}}`)),
			&client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
	})
}
