package integration

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
	"flyball.dev/flyball/test/integration/suite"
)

// nightlyOver creates a Schedule called nights, asleep from 20:00 to 08:00 UTC. The function change adjusts it before
// it is created.
func nightlyOver(namespace string, change func(*v1alpha1.Schedule)) *v1alpha1.Schedule {
	GinkgoHelper()
	s := &v1alpha1.Schedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nights"},
		Spec:       v1alpha1.ScheduleSpec{ScheduleRules: v1alpha1.ScheduleRules{Upscale: "0 8 * * *", Downscale: "0 20 * * *"}},
	}
	change(s)
	Expect(env.Client.Create(ctx, s)).To(Succeed())
	DeferCleanup(remove, s)
	return s
}

// pressNights creates the Schedule of nightlyOver for one kind.
func pressNights(namespace string, k customkind.Kind) *v1alpha1.Schedule {
	GinkgoHelper()
	return nightlyOver(namespace, func(s *v1alpha1.Schedule) { s.Spec.Target.Kinds = []v1alpha1.KindRef{k.Ref()} })
}

var _ = Describe("An adapter", func() {
	It("waits for its kind and is used as soon as the kind is installed", func() {
		managerAtNight()
		ns := newNamespace()
		k := newKind()
		adapt(k.Adapter(".spec.replicas"))
		pressNights(ns, k)
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionServed)).Should(beCondition(metav1.ConditionFalse, "GroupNotServed"))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionFalse, "AdapterNotReady"))

		Expect(k.Install(ctx, env)).To(Succeed())
		press(k, ns, "daily", 3)
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "Ready"))
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
	})

	It("reports that its kind is removed, and continues when the kind comes back", func() {
		managerAtNight()
		ns := newNamespace()
		k := installKind()
		adapt(k.Adapter(".spec.replicas"))
		press(k, ns, "daily", 3)
		pressNights(ns, k)
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))

		Expect(k.Remove(ctx, env)).To(Succeed())
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionServed)).Should(HaveField("Status", metav1.ConditionFalse))
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(HaveField("Status", metav1.ConditionFalse))
		Eventually(targets(ns, "nights")).Should(HaveField("Total", BeEquivalentTo(0)))

		Eventually(func() error { return k.Gone(ctx, env) }).Should(Succeed())
		Expect(k.Install(ctx, env)).To(Succeed())
		press(k, ns, "daily", 5)
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
	})

	It("names a path that is not in the schema, and its probable meaning", func() {
		managerAtNight()
		k := installKind()
		adapt(k.Adapter(".spec.replcias"))
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionSchemaMatched)).Should(And(
			beCondition(metav1.ConditionFalse, "PathNotInSchema"),
			HaveField("Message", And(ContainSubstring("spec.scale[0].replicas"), ContainSubstring(".spec.replcias"),
				ContainSubstring("did you mean .spec.replicas?")))))
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionFalse, "PathNotInSchema"))
	})

	It("requires the plural and the group of its kind as its name", func() {
		managerAtNight()
		k := installKind()
		a := k.Adapter(".spec.replicas")
		a.Name = "press." + k.Group
		adapt(a)
		Eventually(adapterCondition(a.Name, v1alpha1.ConditionAccepted)).Should(And(
			beCondition(metav1.ConditionFalse, "WrongName"), HaveField("Message", ContainSubstring(k.Name()))))
	})

	It("waits for an older adapter of the same kind until that is deleted", func() {
		managerAtNight()
		k := installKind()
		older := k.Adapter(".spec.replicas")
		older.Name = "a-" + k.Name()
		adapt(older)
		Eventually(adapterCondition(older.Name, v1alpha1.ConditionAccepted)).Should(beCondition(metav1.ConditionFalse, "WrongName"))
		adapt(k.Adapter(".spec.replicas"))
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionAccepted)).Should(And(
			beCondition(metav1.ConditionFalse, "DuplicateKind"), HaveField("Message", ContainSubstring(older.Name))))

		Expect(env.Client.Delete(ctx, older)).To(Succeed())
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "Ready"))
	})

	It("reports that its version is not served, and names the served one", func() {
		managerAtNight()
		k := installKind()
		a := k.Adapter(".spec.replicas")
		a.Spec.Target.Versions = []string{"v9"}
		adapt(a)
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionServed)).Should(And(
			beCondition(metav1.ConditionFalse, "VersionNotServed"), HaveField("Message", And(ContainSubstring("v9"), ContainSubstring("v1")))))
		Expect(env.Patch(ctx, a, `{"spec":{"target":{"versions":["v9","v1"]}}}`)).To(Succeed())
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "Ready"))
	})
})

// clerk gives rights to a manager with few rights. It has all rights except those for the adapters of custom kinds.
const clerk = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s}
rules:
- {apiGroups: [flyball.dev], resources: ["*"], verbs: [get, list, watch, patch]}
- {apiGroups: [""], resources: [namespaces], verbs: [get, list, watch]}
- {apiGroups: [events.k8s.io], resources: [events], verbs: [create, patch]}
- {apiGroups: [apps], resources: [deployments, statefulsets, daemonsets, replicasets], verbs: [get, list, watch, patch]}
- {apiGroups: [batch], resources: [jobs, cronjobs], verbs: [get, list, watch, patch]}
- {apiGroups: [autoscaling], resources: [horizontalpodautoscalers], verbs: [get, list, watch, patch]}
- {apiGroups: [apiextensions.k8s.io], resources: [customresourcedefinitions], verbs: [list, watch]}
- {apiGroups: [apiregistration.k8s.io], resources: [apiservices], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]
`

var _ = Describe("An adapter of a kind on which Flyball lacks rights", func() {
	It("prints the missing rule, ready to paste, and works once the rule is granted", func() {
		Expect(env.Apply(ctx, fmt.Appendf(nil, clerk, "flyball-clerk"))).To(Succeed())
		awaitClerk("flyball-clerk")
		m := env.Start(harness.Options{
			Clock: suite.NewClock(monday.Add(9 * time.Hour)), Config: env.Cluster.Impersonate("flyball-clerk"), Log: GinkgoWriter})
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		ns := newNamespace()
		k := newKind()
		k.Scale = true
		Expect(k.Install(ctx, env)).To(Succeed())
		a := k.Adapter(".spec.replicas")
		a.Spec.Scale[0].Via = v1alpha1.ViaScale
		adapt(a)
		press(k, ns, "daily", 3)
		pressNights(ns, k)

		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionAuthorized)).Should(beCondition(metav1.ConditionFalse, "MissingRules"))
		Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(a), a)).To(Succeed())
		var missing []rbacv1.PolicyRule
		Expect(yaml.UnmarshalStrict([]byte(a.Status.MissingRules), &missing)).To(Succeed())
		Expect(missing).To(ConsistOf(
			rbacv1.PolicyRule{APIGroups: []string{k.Group}, Resources: []string{"presses"}, Verbs: []string{"get", "list", "watch", "patch"}},
			rbacv1.PolicyRule{APIGroups: []string{k.Group}, Resources: []string{"presses/scale"}, Verbs: []string{"patch"}}))
		Expect(adapterCondition(k.Name(), v1alpha1.ConditionAuthorized)(Default).Message).To(ContainSubstring(a.Status.MissingRules))

		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "flyball-clerk"}}
		Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(role), role)).To(Succeed())
		role.Rules = append(role.Rules, missing...)
		Expect(env.Client.Update(ctx, role)).To(Succeed())
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "Ready"))
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
	})
})

var _ = Describe("An adapter that writes through /scale", func() {
	It("writes the ledger first, then the count, and gives the count back through /scale too", func() {
		clock := suite.NewClock(monday.Add(9 * time.Hour))
		startManagerAt(clock)
		ns := newNamespace()
		k := newKind()
		k.Scale = true
		Expect(k.Install(ctx, env)).To(Succeed())
		before := press(k, ns, "daily", 3)
		lift := denyScaleOf(k, ns)
		a := k.Adapter(".spec.replicas")
		a.Spec.Scale[0].Via = v1alpha1.ViaScale
		adapt(a)
		pressNights(ns, k)

		Eventually(pressLedger(k, ns, "daily")).Should(ContainSubstring("/spec/replicas"))
		Eventually(failuresOf(ns, "nights")).Should(ConsistOf(HaveField("Name", "daily")))
		Expect(pressCount(k, ns, "daily", ".spec.replicas")(Default)).To(BeEquivalentTo(3))

		lift()
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		clock.SetTime(monday.Add(21 * time.Hour))
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))
		Eventually(pressLedger(k, ns, "daily")).Should(BeEmpty())
		after := k.Object(ns, "daily", nil)
		Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(after), after)).To(Succeed())
		Expect(asOwned(after)).To(Equal(asOwned(before)))
	})

	It("is not used if the kind has no /scale", func() {
		managerAtNight()
		k := installKind()
		a := k.Adapter(".spec.replicas")
		a.Spec.Scale[0].Via = v1alpha1.ViaScale
		adapt(a)
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionServed)).Should(beCondition(metav1.ConditionFalse, "NoScaleSubresource"))
	})
})

// denyScaleOf makes the API server refuse writes to /scale of a kind in a namespace, until the returned function is
// called.
func denyScaleOf(k customkind.Kind, namespace string) (lift func()) {
	GinkgoHelper()
	rules := fmt.Sprintf("{apiGroups: [%s], apiVersions: [v1], operations: [UPDATE], resources: [presses/scale]}", k.Group)
	return deny(namespace, rules, "true", "false", "/scale is closed", func() error {
		obj := k.Object(namespace, "daily", nil)
		return env.Client.SubResource("scale").Patch(ctx, obj,
			client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":99}}`)),
			&client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
	})
}

// targets reads the counts of a Schedule.
func targets(namespace, name string) func(Gomega) v1alpha1.TargetCounts {
	return func(g Gomega) v1alpha1.TargetCounts {
		var s v1alpha1.Schedule
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)).To(Succeed())
		g.Expect(s.Status.Targets).NotTo(BeNil())
		return *s.Status.Targets
	}
}
