package integration

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admit/registration"
	"flyball.dev/flyball/test/integration/customkind"
	"flyball.dev/flyball/test/integration/suite"
)

// nobodyAnswers makes the API server send adapters and schedules to a webhook that does not answer, until the spec
// ends.
func nobodyAnswers(k customkind.Kind) {
	GinkgoHelper()
	every := []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update,
		admissionregistrationv1.Delete}
	config := registration.Configuration("nobody-answers", registration.Endpoint{URL: fmt.Sprintf("https://127.0.0.1:%d", suite.FreePort())},
		[]registration.Kind{{Resource: "adapters", Operations: every}, {Resource: "schedules"}}, nil)
	judged := func() error {
		return env.Client.Patch(ctx, k.Adapter(""), client.RawPatch(types.MergePatchType,
			[]byte(`{"spec":{"scale":[{"name":"main","replicas":".spec.pool.size"}]}}`)), client.DryRunAll)
	}
	create(config)
	DeferCleanup(func() {
		Expect(env.Client.Delete(ctx, config)).To(Succeed())
		Eventually(judged).Should(Succeed())
	})
	Eventually(judged).Should(MatchError(ContainSubstring("failed calling webhook")))
}

// pressByDay creates a kind with an adapter that is not in use yet, and an awake object of the kind.
func pressByDay(change ...func(*v1alpha1.ScheduleRules)) (k customkind.Kind, a *v1alpha1.Adapter, ns string) {
	GinkgoHelper()
	ns, k = newNamespace(), installKind()
	a = adapt(k.Adapter(".spec.replicas"))
	press(k, ns, "daily", 3)
	nightlyOn(ns, "nights", v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{k.Ref()}}, change...)
	Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Awake: 1}))
	Expect(finalizers(read(a))(Default)).To(BeEmpty())
	return k, a, ns
}

var _ = Describe("While no webhook answers", func() {
	It("targets sleep all the same, while edits of an adapter's spec are still refused", func() {
		clock := startManager()
		k, a, ns := pressByDay()
		nobodyAnswers(k)
		clock.SetTime(dusk)
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		Expect(finalizers(read(a))(Default)).To(ConsistOf(v1alpha1.FinalizerRestore))

		refused := MatchError(ContainSubstring("failed calling webhook"))
		Expect(env.Patch(ctx, read(a), `{"spec":{"scale":[{"name":"main","replicas":".spec.pool.size"}]}}`)).To(refused)
		Expect(env.Patch(ctx, read(a), `{"metadata":{"labels":{"a":"b"}},"spec":{"target":{"versions":["v1","v2"]}}}`)).To(refused)
		Expect(env.Client.Delete(ctx, read(a))).To(refused)
		Expect(env.Patch(ctx, read(a), `{"metadata":{"labels":{"a":"b"}}}`)).To(Succeed())
		clock.SetTime(dawn)
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))
	})
})

var _ = Describe("A refused record before a change", func() {
	It("is reported for the finalizer of the adapter, and takes no place in a batch", func() {
		clock := startManager()
		k, a, ns := pressByDay(limitDown(1, time.Hour))
		lift := deny(ns, "{apiGroups: [flyball.dev], apiVersions: [v1alpha1], operations: [UPDATE], resources: [adapters]}",
			fmt.Sprintf("object.metadata.name == '%s'", a.Name), "!has(object.metadata.finalizers)", "adapters are under glass", func() error {
				return env.Client.Patch(ctx, read(a), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/x"]}}`)),
					client.DryRunAll)
			})
		clock.SetTime(dusk)
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(
			beCondition(metav1.ConditionFalse, "TargetsFailed"), HaveField("Message", ContainSubstring("adapters are under glass"))))
		Eventually(failuresOf(ns, "nights")).Should(ConsistOf(HaveField("Name", "daily")))
		Expect(pressCount(k, ns, "daily", ".spec.replicas")(Default)).To(BeEquivalentTo(3))
		lift()
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
	})

	It("is reported for the batch", func() {
		clock := startManager()
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		s := nightly(ns, "nights", limitDown(1, time.Hour))
		Eventually(targetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(1)))
		lift := deny(ns, "{apiGroups: [flyball.dev], apiVersions: [v1alpha1], operations: [UPDATE], resources: [schedules/status]}",
			fmt.Sprintf("object.metadata.namespace == '%s'", ns), "!has(object.status.downscaleBatch)", "no batch today", func() error {
				return env.Client.Status().Patch(ctx, s.DeepCopy(), client.RawPatch(types.MergePatchType,
					[]byte(`{"status":{"downscaleBatch":{"openedAt":"2026-01-01T00:00:00.000000Z"}}}`)),
					&client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
			})
		clock.SetTime(dusk)
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(
			beCondition(metav1.ConditionFalse, "TargetsFailed"), HaveField("Message", ContainSubstring("no batch today"))))
		Expect(replicas(ns, "web")(Default)).To(BeEquivalentTo(3))
		lift()
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
	})
})

// denyFinalizers makes the API server refuse finalizers on the schedules of a namespace, until the returned function is
// called.
func denyFinalizers(ns string) (lift func()) {
	GinkgoHelper()
	probe := object("Schedule", ns, "probe", `{upscale: 0 8 * * *, downscale: 0 20 * * *, suspend: true, target: {names: [nobody]}}`)
	create(probe)
	DeferCleanup(remove, probe.DeepCopy())
	return deny(ns, "{apiGroups: [flyball.dev], apiVersions: [v1alpha1], operations: [UPDATE], resources: [schedules]}",
		fmt.Sprintf("object.metadata.namespace == '%s' && has(object.metadata.finalizers) && size(object.metadata.finalizers) > "+
			"(has(oldObject.metadata.finalizers) ? size(oldObject.metadata.finalizers) : 0)", ns),
		"false", "no strings attached", func() error {
			more := `{"metadata":{"finalizers":["example.com/a","example.com/b","` + v1alpha1.FinalizerRestore + `"]}}`
			return env.Client.Patch(ctx, probe.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(more)), client.DryRunAll)
		})
}

var _ = Describe("A policy that cannot be given the finalizer", func() {
	blocked := And(beCondition(metav1.ConditionFalse, "FinalizerRefused"), HaveField("Message", ContainSubstring("no strings attached")))
	late := func(ns string) {
		GinkgoHelper()
		create(deployment(ns, "late", 2))
	}

	It("keeps its changes over a restart, makes no new ones, reports it, and blocks no other policy", func() {
		n := managerAtNight()
		stuck, other := newNamespace(), newNamespace()
		asleep(stuck, 3)
		n.stop()
		patch(&v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: stuck, Name: "nights"}}, `{"metadata":{"finalizers":null}}`)
		lift := denyFinalizers(stuck)
		late(stuck)
		create(deployment(other, "web", 3))
		nightly(other, "nights")

		n.start()
		Eventually(replicas(other, "web")).Should(BeEquivalentTo(0))
		Eventually(conditionOf(stuck, "nights", v1alpha1.ConditionReady)).Should(blocked)
		Expect(replicas(stuck, "late")(Default)).To(BeEquivalentTo(2))
		Consistently(replicas(stuck, "web")).Should(BeEquivalentTo(0))

		lift()
		Eventually(replicas(stuck, "late")).Should(BeEquivalentTo(0))
		Eventually(conditionOf(stuck, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
		Expect(strings.Contains(ledger(stuck, "web")(Default), `"was":3`)).To(BeTrue())
	})

	It("reports it if it is new, and begins once it can", func() {
		managerAtNight()
		asleep(newNamespace(), 3) // the manager is past its start
		ns := newNamespace()
		lift := denyFinalizers(ns)
		create(deployment(ns, "web", 3))
		nightly(ns, "nights")
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(blocked)
		Consistently(replicas(ns, "web")).Should(BeEquivalentTo(3))
		lift()
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
	})
})
