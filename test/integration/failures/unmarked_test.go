package failures

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/test/integration/customkind"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// nobodyAnswers makes the API server send adapters and schedules to a webhook that does not answer, until the spec
// ends.
func nobodyAnswers(k customkind.Kind) {
	GinkgoHelper()
	config := register.Configuration("nobody-answers", register.Endpoint{URL: fmt.Sprintf("https://127.0.0.1:%d", suite.FreePort())},
		[]review.OwnKind{{Resource: "adapters", Deletions: true}, {Resource: "schedules"}}, nil)
	judged := func() error {
		return scene.Env.Client.Patch(scene.Ctx, k.Adapter(""), client.RawPatch(types.MergePatchType,
			[]byte(`{"spec":{"scale":[{"name":"main","replicas":".spec.pool.size"}]}}`)), client.DryRunAll)
	}
	scene.Create(config)
	DeferCleanup(func() {
		Expect(scene.Env.Client.Delete(scene.Ctx, config)).To(Succeed())
		Eventually(judged).Should(Succeed())
	})
	Eventually(judged).Should(MatchError(ContainSubstring("failed calling webhook")))
}

// pressByDay creates a kind with an adapter that is not in use yet, and an awake object of the kind.
func pressByDay(change ...func(*v1alpha1.ScheduleRules)) (k customkind.Kind, a *v1alpha1.Adapter, ns string) {
	GinkgoHelper()
	ns, k = scene.NewNamespace(), scene.InstallKind()
	a = scene.Adapt(k.Adapter(".spec.replicas"))
	scene.Press(k, ns, "daily", 3)
	scene.NightlyOn(ns, "nights", v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{k.Ref()}}, change...)
	Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Awake: 1}))
	Expect(scene.Finalizers(scene.Read(a))(Default)).To(BeEmpty())
	return k, a, ns
}

var _ = Describe("While no webhook answers", func() {
	It("targets sleep all the same, while edits of an adapter's spec are still refused", func() {
		clock := scene.StartManager()
		k, a, ns := pressByDay()
		nobodyAnswers(k)
		clock.SetTime(scene.Dusk)
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		Expect(scene.Finalizers(scene.Read(a))(Default)).To(ConsistOf(v1alpha1.FinalizerRestore))

		refused := MatchError(ContainSubstring("failed calling webhook"))
		Expect(scene.Env.Patch(scene.Ctx, scene.Read(a), `{"spec":{"scale":[{"name":"main","replicas":".spec.pool.size"}]}}`)).To(refused)
		Expect(scene.Env.Patch(scene.Ctx, scene.Read(a),
			`{"metadata":{"labels":{"a":"b"}},"spec":{"target":{"versions":["v1","v2"]}}}`)).To(refused)
		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Read(a))).To(refused)
		Expect(scene.Env.Patch(scene.Ctx, scene.Read(a), `{"metadata":{"labels":{"a":"b"}}}`)).To(Succeed())
		clock.SetTime(scene.Dawn)
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))
	})
})

var _ = Describe("A refused record before a change", func() {
	It("is reported for the finalizer of the adapter, and takes no place in a batch", func() {
		clock := scene.StartManager()
		k, a, ns := pressByDay(limitDown(1, time.Hour))
		lift := scene.Deny(ns, "{apiGroups: [flyball.dev], apiVersions: [v1alpha1], operations: [UPDATE], resources: [adapters]}",
			fmt.Sprintf("object.metadata.name == '%s'", a.Name), "!has(object.metadata.finalizers)", "adapters are under glass", func() error {
				return scene.Env.Client.Patch(scene.Ctx, scene.Read(a),
					client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["example.com/x"]}}`)),
					client.DryRunAll)
			})
		clock.SetTime(scene.Dusk)
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(
			scene.BeCondition(metav1.ConditionFalse, "TargetsFailed"), HaveField("Message", ContainSubstring("adapters are under glass"))))
		Eventually(scene.FailuresOf(ns, "nights")).Should(ConsistOf(HaveField("Name", "daily")))
		Expect(scene.PressCount(k, ns, "daily", ".spec.replicas")(Default)).To(BeEquivalentTo(3))
		lift()
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
	})

	It("is reported for the batch", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		s := scene.Nightly(ns, "nights", limitDown(1, time.Hour))
		Eventually(scene.TargetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(1)))
		lift := scene.Deny(ns, "{apiGroups: [flyball.dev], apiVersions: [v1alpha1], operations: [UPDATE], resources: [schedules/status]}",
			fmt.Sprintf("object.metadata.namespace == '%s'", ns), "!has(object.status.downscaleBatch)", "no batch today", func() error {
				return scene.Env.Client.Status().Patch(scene.Ctx, s.DeepCopy(), client.RawPatch(types.MergePatchType,
					[]byte(`{"status":{"downscaleBatch":{"openedAt":"2026-01-01T00:00:00.000000Z"}}}`)),
					&client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
			})
		clock.SetTime(scene.Dusk)
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(
			scene.BeCondition(metav1.ConditionFalse, "TargetsFailed"), HaveField("Message", ContainSubstring("no batch today"))))
		Expect(scene.Replicas(ns, "web")(Default)).To(BeEquivalentTo(3))
		lift()
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
	})
})

// denyFinalizers makes the API server refuse finalizers on the schedules of a namespace, until the returned function is
// called.
func denyFinalizers(ns string) (lift func()) {
	GinkgoHelper()
	probe := scene.Object("Schedule", ns, "probe", `{upscale: 0 8 * * *, downscale: 0 20 * * *, suspend: true, target: {names: [nobody]}}`)
	scene.Create(probe)
	DeferCleanup(scene.Remove, probe.DeepCopy())
	return scene.Deny(ns, "{apiGroups: [flyball.dev], apiVersions: [v1alpha1], operations: [UPDATE], resources: [schedules]}",
		fmt.Sprintf("object.metadata.namespace == '%s' && has(object.metadata.finalizers) && size(object.metadata.finalizers) > "+
			"(has(oldObject.metadata.finalizers) ? size(oldObject.metadata.finalizers) : 0)", ns),
		"false", "no strings attached", func() error {
			more := `{"metadata":{"finalizers":["example.com/a","example.com/b","` + v1alpha1.FinalizerRestore + `"]}}`
			return scene.Env.Client.Patch(scene.Ctx, probe.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(more)), client.DryRunAll)
		})
}

var _ = Describe("A policy that cannot be given the finalizer", func() {
	blocked := And(scene.BeCondition(metav1.ConditionFalse, "FinalizerRefused"), HaveField("Message", ContainSubstring("no strings attached")))
	late := func(ns string) {
		GinkgoHelper()
		scene.Create(scene.Deployment(ns, "late", 2))
	}

	It("keeps its changes over a restart, makes no new ones, reports it, and blocks no other policy", func() {
		n := scene.ManagerAtNight()
		stuck, other := scene.NewNamespace(), scene.NewNamespace()
		scene.Asleep(stuck, 3)
		n.Stop()
		scene.Patch(&v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: stuck, Name: "nights"}}, `{"metadata":{"finalizers":null}}`)
		lift := denyFinalizers(stuck)
		late(stuck)
		scene.Create(scene.Deployment(other, "web", 3))
		scene.Nightly(other, "nights")

		n.Start()
		Eventually(scene.Replicas(other, "web")).Should(BeEquivalentTo(0))
		Eventually(scene.ConditionOf(stuck, "nights", v1alpha1.ConditionReady)).Should(blocked)
		Expect(scene.Replicas(stuck, "late")(Default)).To(BeEquivalentTo(2))
		suite.Still(scene.Replicas(stuck, "web")).Should(BeEquivalentTo(0))

		lift()
		Eventually(scene.Replicas(stuck, "late")).Should(BeEquivalentTo(0))
		Eventually(scene.ConditionOf(stuck, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
		Expect(strings.Contains(scene.Ledger(stuck, "web")(Default), `"was":3`)).To(BeTrue())
	})

	It("reports it if it is new, and begins once it can", func() {
		scene.ManagerAtNight()
		scene.Asleep(scene.NewNamespace(), 3) // the manager is past its start
		ns := scene.NewNamespace()
		lift := denyFinalizers(ns)
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.Nightly(ns, "nights")
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(blocked)
		suite.Still(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		lift()
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
	})
})
