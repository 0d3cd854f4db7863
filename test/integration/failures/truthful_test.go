package failures

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("An object that cannot take the claimed state", func() {
	It("counts neither as asleep nor as awake, and is named with the reason", func() {
		n := scene.ManagerAtNight()
		ns, k := scene.NewNamespace(), scene.InstallKind()
		a := k.Adapter(".spec.replicas")
		none, keep := apiextensionsv1.JSON{Raw: []byte(`"none"`)}, apiextensionsv1.JSON{Raw: []byte(`"keep"`)}
		a.Spec.Scale[0].When = []v1alpha1.Predicate{{Path: ".spec.note", Default: &none, Op: v1alpha1.OpNe, Value: &keep}}
		scene.Adapt(a)
		scene.Create(k.Object(ns, "kept", map[string]any{"replicas": int64(4), "note": "keep"}))
		scene.Press(k, ns, "daily", 4)
		scene.PressNights(ns, k)
		Eventually(scene.Targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 2, Asleep: 1, Unable: 1}))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(scene.BeCondition(metav1.ConditionTrue, "AsExpected"),
			HaveField("Message", And(ContainSubstring("1 left alone"), ContainSubstring("kept"), ContainSubstring("must not be scaled")))))
		Expect(scene.PressCount(k, ns, "kept", ".spec.replicas")(Default)).To(BeEquivalentTo(4))
		Eventually(labelled(n.Running, "unable")).Should(ContainElement("flyball_targets"))

		scene.Patch(k.Object(ns, "kept", nil), `{"spec":{"note":"not any more"}}`)
		Eventually(scene.Targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 2, Asleep: 2}))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(HaveField("Message", Not(ContainSubstring("kept"))))
	})
})

var _ = Describe("A ledger that names a policy of another namespace", func() {
	It("neither blocks that policy's deletion nor shows in its status, and is restored", func() {
		scene.ManagerAtNight()
		bank, tenant := scene.NewNamespace(), scene.NewNamespace()
		scene.Create(scene.Deployment(bank, "web", 3))
		s := scene.Nightly(bank, "nights")
		Eventually(scene.TargetsOf(bank, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))

		forged := scene.Deployment(tenant, "web", 0)
		forged.Annotations = map[string]string{v1alpha1.AnnotationLedger: fmt.Sprintf(
			`{"/spec/replicas":{"was":5,"set":0,"by":"Schedule/%s/nights","since":"2026-03-02T20:00:00Z"},"of":"Deployment/web"}`, bank)}
		// The API server refuses to restore the forged entry, so the entry stays until lift is called. If the entry
		// counted for the policy of the other namespace, this policy could not be deleted.
		probe := scene.Deployment(tenant, "probe", 1)
		scene.Create(probe)
		lift := scene.Deny(tenant, "{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments]}",
			fmt.Sprintf("object.metadata.namespace == '%s'", tenant), "object.spec.replicas == oldObject.spec.replicas", "stays as it is",
			func() error {
				return scene.Env.Client.Patch(scene.Ctx, probe.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":99}}`)),
					client.DryRunAll)
			})
		scene.Create(forged)
		suite.Still(scene.TargetsOf(bank, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
		suite.Still(scene.ConditionOf(bank, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
		scene.Remove(s)
		Expect(scene.Ledger(tenant, "web")(Default)).NotTo(BeEmpty())
		lift()
		Eventually(scene.Replicas(tenant, "web")).Should(BeEquivalentTo(5))
		Eventually(scene.Ledger(tenant, "web")).Should(BeEmpty())
	})
})

var _ = Describe("A manager that starts while an adapter is broken", func() {
	It("reports it in policies that list no kinds, and serves the other kinds", func() {
		n := scene.ManagerAtNight()
		ns, k := scene.NewNamespace(), scene.InstallKind()
		a := scene.Adapt(k.Adapter(".spec.replicas"))
		scene.Press(k, ns, "daily", 3)
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.Nightly(ns, "nights")
		scene.NightlyOn(ns, "listed", v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}})
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 2, Asleep: 2}))
		n.Stop()
		Expect(scene.Env.Patch(scene.Ctx, scene.Read(a), `{"spec":{"scale":[{"name":"main","replicas":".spec.copies"}]}}`)).To(Succeed())
		scene.Press(k, ns, "late", 4)
		scene.Create(scene.Deployment(ns, "late", 4))

		n.Start()
		Eventually(scene.Replicas(ns, "late")).Should(BeEquivalentTo(0))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(
			scene.BeCondition(metav1.ConditionFalse, "AdapterNotReady"),
			HaveField("Message", And(ContainSubstring(k.Name()), ContainSubstring(".spec.copies")))))
		Eventually(scene.ConditionOf(ns, "listed", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
		Expect(scene.PressCount(k, ns, "late", ".spec.replicas")(Default)).To(BeEquivalentTo(4))
		Expect(scene.PressCount(k, ns, "daily", ".spec.replicas")(Default)).To(BeEquivalentTo(0))

		Expect(scene.Env.Patch(scene.Ctx, scene.Read(a), `{"spec":{"scale":[{"name":"main","replicas":".spec.replicas"}]}}`)).To(Succeed())
		Eventually(scene.PressCount(k, ns, "late", ".spec.replicas")).Should(BeEquivalentTo(0))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
	})
})

var _ = Describe("An object that its owner had suspended", func() {
	It("sleeps and wakes like any other once its owner has resumed it", func() {
		clock := scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		yes := true
		report := scene.CronJob(ns, "report", &yes)
		scene.Create(report)
		scene.Nightly(ns, "nights")
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, AlreadyAsleep: 1}))
		suspended := func(g Gomega) string { return scene.FieldOf(scene.Stored(g, report), "spec", "suspend") }
		clock.SetTime(scene.Dawn)
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Awake: 1}))
		Expect(suspended(Default)).To(Equal("true"))

		scene.Patch(report, `{"spec":{"suspend":false}}`)
		clock.SetTime(scene.Dusk.AddDate(0, 0, 1))
		Eventually(suspended).Should(Equal("true"))
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
		clock.SetTime(scene.Dawn.AddDate(0, 0, 1))
		Eventually(suspended).Should(Equal("false"))
		Eventually(func(g Gomega) map[string]string {
			return scene.Stored(g,
				report).GetAnnotations()
		}).ShouldNot(HaveKey(v1alpha1.AnnotationLedger))
	})
})

// seriesOfPolicies are the metrics of a policy that has put a target to sleep.
var seriesOfPolicies = []string{
	"flyball_targets", "flyball_next_transition_timestamp_seconds", "flyball_conflicts",
	"flyball_last_transition_duration_seconds", "flyball_operations_total", "flyball_policy_ready", "flyball_policy_state",
	"flyball_policy_condition",
	"flyball_saved_replicas", "flyball_saved_cpu_cores", "flyball_saved_memory_bytes",
	"flyball_saved_replica_seconds_total", "flyball_saved_cpu_core_seconds_total", "flyball_saved_memory_byte_seconds_total",
}

var _ = Describe("Names as long as the API server allows", func() {
	It("are no hindrance to sleep, status, events and metrics", func() {
		clock := suite.NewClock(scene.Monday)
		m := scene.StartManagerAt(clock)
		ns := scene.NewNamespace()
		long := strings.Repeat("a", 63) + "." + strings.Repeat("b", 189) // 253
		web := scene.Deployment(ns, "web", 3)
		web.Name = long
		scene.Create(web)
		scene.Nightly(ns, long, limitDown(1, 1e9), limitUp(1, 1e9))
		everywhere := scene.Object("ClusterSchedule", "", long, `{upscale: 0 7 * * *, downscale: 0 21 * * *, target: {namespaces: [`+ns+
			`]}, priority: -1}`)
		scene.Create(everywhere)
		DeferCleanup(scene.Remove, everywhere.DeepCopy())
		Eventually(scene.TargetsOf(ns, long)).Should(HaveField("Awake", BeEquivalentTo(1)))
		clock.SetTime(scene.Dusk)
		Eventually(scene.Replicas(ns, long)).Should(BeEquivalentTo(0))
		Expect(scene.Ledger(ns, long)(Default)).To(ContainSubstring(`"by":"Schedule/` + ns + "/" + long + `"`))
		Eventually(scene.ConditionOf(ns, long, v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
		Eventually(scene.Reasons(ns, long)).Should(HaveKeyWithValue("Asleep", 1))
		Eventually(labelled(m, ns+"/"+long)).Should(ConsistOf(append(slices.Clone(seriesOfPolicies), "flyball_batches_total")))
		clock.SetTime(scene.Dawn)
		Eventually(scene.Replicas(ns, long)).Should(BeEquivalentTo(3))
		Eventually(scene.Ledger(ns, long)).Should(BeEmpty())
	})
})

var _ = Describe("The series of a deleted object", func() {
	It("are deleted with it", func() {
		clock := suite.NewClock(scene.Monday)
		m := scene.Env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		k, a, ns := pressByDay()
		clock.SetTime(scene.Dusk)
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		policy := ns + "/nights"
		Eventually(labelled(m, policy)).Should(ConsistOf(seriesOfPolicies))
		Eventually(labelled(m, a.Name)).Should(ConsistOf("flyball_adapter_ready", "flyball_adapter_authorized", "flyball_adapter_kind_installed",
			"flyball_writes_total", "flyball_cache_objects"))

		scene.Remove(&v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nights"}})
		Eventually(labelled(m, policy)).Should(BeEmpty())
		Expect(scene.PressCount(k, ns, "daily", ".spec.replicas")(Default)).To(BeEquivalentTo(3))
		scene.Remove(scene.Read(a))
		Eventually(labelled(m, a.Name)).Should(BeEmpty())
		suite.Still(labelled(m, policy)).Should(BeEmpty())
	})
})
