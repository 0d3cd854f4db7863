package schedules

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("Objects that a schedule has put to sleep are restored", func() {
	It("when the schedule is deleted", func() {
		scene.ManagerAtNight()
		ns := scene.NewNamespace()
		s, read := scene.Asleep(ns, 3)
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		scene.Restored(ns, 3)
		Eventually(scene.Vanished(read)).Should(Succeed())
	})

	It("when the schedule was deleted while no manager ran", func() {
		night := scene.ManagerAtNight()
		ns := scene.NewNamespace()
		s, read := scene.Asleep(ns, 3)
		night.Stop()
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		Expect(scene.Replicas(ns, "web")(Default)).To(BeEquivalentTo(0))
		night.Start()
		scene.Restored(ns, 3)
		Eventually(scene.Vanished(read)).Should(Succeed())
	})

	It("when the schedule was deleted without its finalizer while no manager ran", func() {
		night := scene.ManagerAtNight()
		ns := scene.NewNamespace()
		s, read := scene.Asleep(ns, 3)
		night.Stop()
		Expect(scene.Env.Patch(scene.Ctx, read, `{"metadata":{"finalizers":null}}`)).To(Succeed())
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		Expect(scene.Vanished(read)()).To(Succeed())
		night.Start()
		scene.Restored(ns, 3)
	})

	It("when the schedule is deleted without its finalizer under a running manager", func() {
		scene.ManagerAtNight()
		ns := scene.NewNamespace()
		s, read := scene.Asleep(ns, 3)
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		Expect(client.IgnoreNotFound(scene.Env.Patch(scene.Ctx, read, `{"metadata":{"finalizers":null}}`))).To(Succeed())
		scene.Restored(ns, 3)
	})

	It("when the manager starts after the finalizer was removed by hand and restored", func() {
		night := scene.ManagerAtNight()
		ns := scene.NewNamespace()
		s, read := scene.Asleep(ns, 3)
		night.Stop()
		Expect(scene.Env.Patch(scene.Ctx, read, `{"metadata":{"finalizers":null}}`)).To(Succeed())
		night.Start()
		Eventually(scene.Finalizers(read)).Should(ContainElement(v1alpha1.FinalizerRestore))
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		scene.Restored(ns, 3)
	})

	It("and a finalizer removed by hand under a running manager is restored", func() {
		scene.ManagerAtNight()
		ns := scene.NewNamespace()
		_, read := scene.Asleep(ns, 3)
		Expect(scene.Env.Patch(scene.Ctx, read, `{"metadata":{"finalizers":null}}`)).To(Succeed())
		Eventually(scene.Finalizers(read)).Should(ContainElement(v1alpha1.FinalizerRestore))
	})

	DescribeTable("when the selection is narrowed", func(body string) {
		scene.ManagerAtNight()
		ns := scene.NewNamespace()
		_, read := scene.Asleep(ns, 3)
		Expect(scene.Env.Patch(scene.Ctx, read, body)).To(Succeed())
		scene.Restored(ns, 3)
	},
		Entry("to other names", `{"spec":{"target":{"names":["other"]}}}`),
		Entry("to other kinds", `{"spec":{"target":{"kinds":[{"group":"batch","kind":"CronJob"}]}}}`),
		Entry("to other labels", `{"spec":{"target":{"selector":{"matchLabels":{"tier":"back"}}}}}`),
		Entry("to annotations that it lacks", `{"spec":{"target":{"annotations":{"example.com/nights":"off"}}}}`),
		Entry("by an exclusion", `{"spec":{"target":{"exclude":{"matchLabels":{"flyball.dev/exclude":null,"tier":"front"}}}}}`),
	)

	It("when the selection is narrowed while no manager runs", func() {
		night := scene.ManagerAtNight()
		ns := scene.NewNamespace()
		_, read := scene.Asleep(ns, 3)
		night.Stop()
		Expect(scene.Env.Patch(scene.Ctx, read, `{"spec":{"target":{"names":["other"]}}}`)).To(Succeed())
		night.Start()
		scene.Restored(ns, 3)
	})

	It("except on a target in deletion that waits for its owner's finalizer", func() {
		scene.ManagerAtNight()
		ns := scene.NewNamespace()
		kept := scene.Deployment(ns, "kept", 3)
		kept.Finalizers = []string{"example.com/backup"}
		scene.Create(kept)
		scene.Create(scene.Deployment(ns, "web", 3))
		DeferCleanup(func() {
			Expect(scene.Env.Patch(scene.Ctx, scene.Deployment(ns, "kept", 0), `{"metadata":{"finalizers":null}}`)).To(Succeed())
		})
		s := scene.Nightly(ns, "nights")
		Eventually(scene.Replicas(ns, "kept")).Should(BeEquivalentTo(0))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Expect(scene.Env.Client.Delete(scene.Ctx, kept)).To(Succeed())
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		Eventually(scene.Vanished(s)).Should(Succeed())
		Expect(scene.Replicas(ns, "web")(Default)).To(BeEquivalentTo(3))
		Expect(scene.Finalizers(scene.Deployment(ns, "kept", 0))(Default)).To(ContainElement("example.com/backup"))
	})

	It("unless the deletion policy is Orphan: then they stay as they are, without a ledger", func() {
		scene.ManagerAtNight()
		ns := scene.NewNamespace()
		s, read := scene.Asleep(ns, 3, func(r *v1alpha1.ScheduleRules) { r.DeletionPolicy = v1alpha1.DeletionOrphan })
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		Eventually(scene.Vanished(read)).Should(Succeed())
		Eventually(scene.Ledger(ns, "web")).Should(BeEmpty())
		suite.Still(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
	})
})

var _ = Describe("A ledger that was edited by hand", func() {
	It("prevents writes to its object, is named, and works again once it is repaired", func() {
		clock := suite.NewClock(scene.Monday.Add(9 * time.Hour))
		scene.StartManagerAt(clock)
		ns := scene.NewNamespace()
		_, _ = scene.Asleep(ns, 3)
		good := scene.Ledger(ns, "web")(Default)
		scene.Annotate(ns, "web", v1alpha1.AnnotationLedger, `{"/spec/replicas":`)

		Eventually(scene.FailuresOf(ns, "nights")).Should(ConsistOf(And(
			HaveField("Name", "web"), HaveField("Message", ContainSubstring(v1alpha1.AnnotationLedger)))))
		version := scene.ResourceVersion(ns, "web")(Default)
		clock.SetTime(scene.Monday.Add(21 * time.Hour))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionAsleep)).Should(scene.BeCondition(metav1.ConditionFalse, "Awake"))
		suite.Still(scene.ResourceVersion(ns, "web")).Should(Equal(version))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionFalse, "TargetsFailed"))

		scene.Annotate(ns, "web", v1alpha1.AnnotationLedger, good)
		scene.Restored(ns, 3)
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
	})

	It("blocks the deletion of its schedule until it is repaired", func() {
		scene.ManagerAtNight()
		ns := scene.NewNamespace()
		s, read := scene.Asleep(ns, 3)
		good := scene.Ledger(ns, "web")(Default)
		scene.Annotate(ns, "web", v1alpha1.AnnotationLedger, "nonsense")
		Eventually(scene.FailuresOf(ns, "nights")).ShouldNot(BeEmpty())
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		suite.Still(scene.Vanished(read)).ShouldNot(Succeed())

		scene.Annotate(ns, "web", v1alpha1.AnnotationLedger, good)
		scene.Restored(ns, 3)
		Eventually(scene.Vanished(read)).Should(Succeed())
	})
})
