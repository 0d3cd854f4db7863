package integration

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
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("An object that cannot take the claimed state", func() {
	It("counts neither as asleep nor as awake, and is named with the reason", func() {
		n := managerAtNight()
		ns, k := newNamespace(), installKind()
		a := k.Adapter(".spec.replicas")
		none, keep := apiextensionsv1.JSON{Raw: []byte(`"none"`)}, apiextensionsv1.JSON{Raw: []byte(`"keep"`)}
		a.Spec.Scale[0].When = []v1alpha1.Predicate{{Path: ".spec.note", Default: &none, Op: v1alpha1.OpNe, Value: &keep}}
		adapt(a)
		create(k.Object(ns, "kept", map[string]any{"replicas": int64(4), "note": "keep"}))
		press(k, ns, "daily", 4)
		pressNights(ns, k)
		Eventually(targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 2, Asleep: 1, Unable: 1}))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(beCondition(metav1.ConditionTrue, "AsExpected"),
			HaveField("Message", And(ContainSubstring("1 left running"), ContainSubstring("kept"), ContainSubstring("must not be scaled")))))
		Expect(pressCount(k, ns, "kept", ".spec.replicas")(Default)).To(BeEquivalentTo(4))
		Eventually(labelled(n.running, "unable")).Should(ContainElement("flyball_targets"))

		patch(k.Object(ns, "kept", nil), `{"spec":{"note":"not any more"}}`)
		Eventually(targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 2, Asleep: 2}))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(HaveField("Message", Not(ContainSubstring("kept"))))
	})
})

var _ = Describe("A ledger that names a policy of another namespace", func() {
	It("neither blocks that policy's deletion nor shows in its status, and is restored", func() {
		managerAtNight()
		bank, tenant := newNamespace(), newNamespace()
		create(deployment(bank, "web", 3))
		s := nightly(bank, "nights")
		Eventually(targetsOf(bank, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))

		forged := deployment(tenant, "web", 0)
		forged.Annotations = map[string]string{v1alpha1.AnnotationLedger: fmt.Sprintf(
			`{"/spec/replicas":{"was":5,"set":0,"by":"Schedule/%s/nights","since":"2026-03-02T20:00:00Z"},"of":"Deployment/web"}`, bank)}
		// The API server refuses to restore the forged entry, so the entry stays until lift is called. If the entry
		// counted for the policy of the other namespace, this policy could not be deleted.
		probe := deployment(tenant, "probe", 1)
		create(probe)
		lift := deny(tenant, "{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments]}",
			fmt.Sprintf("object.metadata.namespace == '%s'", tenant), "object.spec.replicas == oldObject.spec.replicas", "stays as it is",
			func() error {
				return env.Client.Patch(ctx, probe.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":99}}`)),
					client.DryRunAll)
			})
		create(forged)
		Consistently(targetsOf(bank, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
		Consistently(conditionOf(bank, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
		remove(s)
		Expect(ledger(tenant, "web")(Default)).NotTo(BeEmpty())
		lift()
		Eventually(replicas(tenant, "web")).Should(BeEquivalentTo(5))
		Eventually(ledger(tenant, "web")).Should(BeEmpty())
	})
})

var _ = Describe("A manager that starts while an adapter is broken", func() {
	It("reports it in policies that list no kinds, and serves the other kinds", func() {
		n := managerAtNight()
		ns, k := newNamespace(), installKind()
		a := adapt(k.Adapter(".spec.replicas"))
		press(k, ns, "daily", 3)
		create(deployment(ns, "web", 3))
		nightly(ns, "nights")
		nightlyOn(ns, "listed", v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}})
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 2, Asleep: 2}))
		n.stop()
		Expect(env.Patch(ctx, read(a), `{"spec":{"scale":[{"name":"main","replicas":".spec.copies"}]}}`)).To(Succeed())
		press(k, ns, "late", 4)
		create(deployment(ns, "late", 4))

		n.start()
		Eventually(replicas(ns, "late")).Should(BeEquivalentTo(0))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(
			beCondition(metav1.ConditionFalse, "AdapterNotReady"),
			HaveField("Message", And(ContainSubstring(k.Name()), ContainSubstring(".spec.copies")))))
		Eventually(conditionOf(ns, "listed", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
		Expect(pressCount(k, ns, "late", ".spec.replicas")(Default)).To(BeEquivalentTo(4))
		Expect(pressCount(k, ns, "daily", ".spec.replicas")(Default)).To(BeEquivalentTo(0))

		Expect(env.Patch(ctx, read(a), `{"spec":{"scale":[{"name":"main","replicas":".spec.replicas"}]}}`)).To(Succeed())
		Eventually(pressCount(k, ns, "late", ".spec.replicas")).Should(BeEquivalentTo(0))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
	})
})

var _ = Describe("An object that its owner had suspended", func() {
	It("sleeps and wakes like any other once its owner has resumed it", func() {
		clock := startManagerAsleep()
		ns := newNamespace()
		yes := true
		report := cronJob(ns, "report", &yes)
		create(report)
		nightly(ns, "nights")
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, AlreadyAsleep: 1}))
		suspended := func(g Gomega) string { return fieldOf(stored(g, report), "spec", "suspend") }
		clock.SetTime(dawn)
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Awake: 1}))
		Expect(suspended(Default)).To(Equal("true"))

		patch(report, `{"spec":{"suspend":false}}`)
		clock.SetTime(dusk.AddDate(0, 0, 1))
		Eventually(suspended).Should(Equal("true"))
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
		clock.SetTime(dawn.AddDate(0, 0, 1))
		Eventually(suspended).Should(Equal("false"))
		Eventually(func(g Gomega) map[string]string { return stored(g, report).GetAnnotations() }).ShouldNot(HaveKey(v1alpha1.AnnotationLedger))
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
		clock := suite.NewClock(monday)
		m := startManagerAt(clock)
		ns := newNamespace()
		long := strings.Repeat("a", 63) + "." + strings.Repeat("b", 189) // 253
		web := deployment(ns, "web", 3)
		web.Name = long
		create(web)
		nightly(ns, long, limitDown(1, 1e9), limitUp(1, 1e9))
		everywhere := object("ClusterSchedule", "", long, `{upscale: 0 7 * * *, downscale: 0 21 * * *, target: {namespaces: [`+ns+
			`]}, priority: -1}`)
		create(everywhere)
		DeferCleanup(remove, everywhere.DeepCopy())
		Eventually(targetsOf(ns, long)).Should(HaveField("Awake", BeEquivalentTo(1)))
		clock.SetTime(dusk)
		Eventually(replicas(ns, long)).Should(BeEquivalentTo(0))
		Expect(ledger(ns, long)(Default)).To(ContainSubstring(`"by":"Schedule/` + ns + "/" + long + `"`))
		Eventually(conditionOf(ns, long, v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
		Eventually(reasons(ns, long)).Should(HaveKeyWithValue("Asleep", 1))
		Eventually(labelled(m, ns+"/"+long)).Should(ConsistOf(append(slices.Clone(seriesOfPolicies), "flyball_batches_total")))
		clock.SetTime(dawn)
		Eventually(replicas(ns, long)).Should(BeEquivalentTo(3))
		Eventually(ledger(ns, long)).Should(BeEmpty())
	})
})

var _ = Describe("The series of a deleted object", func() {
	It("are deleted with it", func() {
		clock := suite.NewClock(monday)
		m := env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		k, a, ns := pressByDay()
		clock.SetTime(dusk)
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		policy := ns + "/nights"
		Eventually(labelled(m, policy)).Should(ConsistOf(seriesOfPolicies))
		Eventually(labelled(m, a.Name)).Should(ConsistOf("flyball_adapter_ready", "flyball_adapter_authorized", "flyball_adapter_kind_installed",
			"flyball_writes_total", "flyball_cache_objects"))

		remove(&v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nights"}})
		Eventually(labelled(m, policy)).Should(BeEmpty())
		Expect(pressCount(k, ns, "daily", ".spec.replicas")(Default)).To(BeEquivalentTo(3))
		remove(read(a))
		Eventually(labelled(m, a.Name)).Should(BeEmpty())
		Consistently(labelled(m, policy)).Should(BeEmpty())
	})
})
