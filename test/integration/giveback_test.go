package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// night is a manager whose clock stands at nine in the evening. It can be stopped and started again. It also serves the
// clean-ups of a spec that were registered after its first start.
type night struct {
	running *harness.Manager
	clock   *suite.Clock
	// config is the client configuration of the manager. It is nil for the administrator's configuration.
	config *rest.Config
	// adapters are the adapters of the installation.
	adapters []string
}

// managerAtNight starts the manager.
func managerAtNight() *night {
	GinkgoHelper()
	n := &night{}
	n.start()
	DeferCleanup(n.stop)
	return n
}

func (n *night) start() {
	n.clock = suite.NewClock(monday.Add(9 * time.Hour))
	n.running = env.Start(harness.Options{Clock: n.clock, Config: n.config, Adapters: n.adapters, Log: GinkgoWriter})
}

func (n *night) stop() {
	GinkgoHelper()
	if n.running != nil {
		running := n.running
		n.running = nil
		Expect(running.Stop()).To(Succeed())
	}
}

// asleep creates a Deployment with a number of replicas and a Schedule, and waits until the Schedule has put the
// Deployment to sleep.
func asleep(namespace string, replicasAwake int32, change ...func(*v1alpha1.ScheduleRules)) (*v1alpha1.Schedule, *v1alpha1.Schedule) {
	GinkgoHelper()
	Expect(env.Client.Create(ctx, deployment(namespace, "web", replicasAwake, "tier", "front"))).To(Succeed())
	s := nightly(namespace, "nights", change...)
	Eventually(replicas(namespace, "web")).Should(BeEquivalentTo(0))
	return s, &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: s.Name}}
}

// restored waits until the Deployment of asleep has its replicas again and has no annotation of Flyball.
func restored(namespace string, n int) {
	GinkgoHelper()
	Eventually(replicas(namespace, "web")).Should(BeEquivalentTo(n))
	Eventually(ledger(namespace, "web")).Should(BeEmpty())
}

var _ = Describe("Objects that a schedule has put to sleep are restored", func() {
	It("when the schedule is deleted", func() {
		managerAtNight()
		ns := newNamespace()
		s, read := asleep(ns, 3)
		Expect(env.Client.Delete(ctx, s)).To(Succeed())
		restored(ns, 3)
		Eventually(vanished(read)).Should(Succeed())
	})

	It("when the schedule was deleted while no manager ran", func() {
		night := managerAtNight()
		ns := newNamespace()
		s, read := asleep(ns, 3)
		night.stop()
		Expect(env.Client.Delete(ctx, s)).To(Succeed())
		Consistently(replicas(ns, "web")).WithTimeout(300 * time.Millisecond).Should(BeEquivalentTo(0))
		night.start()
		restored(ns, 3)
		Eventually(vanished(read)).Should(Succeed())
	})

	It("when the schedule was deleted without its finalizer while no manager ran", func() {
		night := managerAtNight()
		ns := newNamespace()
		s, read := asleep(ns, 3)
		night.stop()
		Expect(env.Patch(ctx, read, `{"metadata":{"finalizers":null}}`)).To(Succeed())
		Expect(env.Client.Delete(ctx, s)).To(Succeed())
		Expect(vanished(read)()).To(Succeed())
		night.start()
		restored(ns, 3)
	})

	It("when the schedule is deleted without its finalizer under a running manager", func() {
		managerAtNight()
		ns := newNamespace()
		s, read := asleep(ns, 3)
		Expect(env.Client.Delete(ctx, s)).To(Succeed())
		Expect(client.IgnoreNotFound(env.Patch(ctx, read, `{"metadata":{"finalizers":null}}`))).To(Succeed())
		restored(ns, 3)
	})

	It("when the manager starts after the finalizer was removed by hand and restored", func() {
		night := managerAtNight()
		ns := newNamespace()
		s, read := asleep(ns, 3)
		night.stop()
		Expect(env.Patch(ctx, read, `{"metadata":{"finalizers":null}}`)).To(Succeed())
		night.start()
		Eventually(finalizers(read)).Should(ContainElement(v1alpha1.FinalizerRestore))
		Expect(env.Client.Delete(ctx, s)).To(Succeed())
		restored(ns, 3)
	})

	It("and a finalizer removed by hand under a running manager is restored", func() {
		managerAtNight()
		ns := newNamespace()
		_, read := asleep(ns, 3)
		Expect(env.Patch(ctx, read, `{"metadata":{"finalizers":null}}`)).To(Succeed())
		Eventually(finalizers(read)).Should(ContainElement(v1alpha1.FinalizerRestore))
	})

	DescribeTable("when the selection is narrowed", func(body string) {
		managerAtNight()
		ns := newNamespace()
		_, read := asleep(ns, 3)
		Expect(env.Patch(ctx, read, body)).To(Succeed())
		restored(ns, 3)
	},
		Entry("to other names", `{"spec":{"target":{"names":["other"]}}}`),
		Entry("to other kinds", `{"spec":{"target":{"kinds":[{"group":"batch","kind":"CronJob"}]}}}`),
		Entry("to other labels", `{"spec":{"target":{"selector":{"matchLabels":{"tier":"back"}}}}}`),
		Entry("to annotations that it lacks", `{"spec":{"target":{"annotations":{"example.com/nights":"off"}}}}`),
		Entry("by an exclusion", `{"spec":{"target":{"exclude":{"matchLabels":{"flyball.dev/exclude":null,"tier":"front"}}}}}`),
	)

	It("when the selection is narrowed while no manager runs", func() {
		night := managerAtNight()
		ns := newNamespace()
		_, read := asleep(ns, 3)
		night.stop()
		Expect(env.Patch(ctx, read, `{"spec":{"target":{"names":["other"]}}}`)).To(Succeed())
		night.start()
		restored(ns, 3)
	})

	It("except on a target in deletion that waits for its owner's finalizer", func() {
		managerAtNight()
		ns := newNamespace()
		kept := deployment(ns, "kept", 3)
		kept.Finalizers = []string{"example.com/backup"}
		create(kept)
		create(deployment(ns, "web", 3))
		DeferCleanup(func() {
			Expect(env.Patch(ctx, deployment(ns, "kept", 0), `{"metadata":{"finalizers":null}}`)).To(Succeed())
		})
		s := nightly(ns, "nights")
		Eventually(replicas(ns, "kept")).Should(BeEquivalentTo(0))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		Expect(env.Client.Delete(ctx, kept)).To(Succeed())
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
		Expect(env.Client.Delete(ctx, s)).To(Succeed())
		Eventually(vanished(s)).Should(Succeed())
		Expect(replicas(ns, "web")(Default)).To(BeEquivalentTo(3))
		Expect(finalizers(deployment(ns, "kept", 0))(Default)).To(ContainElement("example.com/backup"))
	})

	It("unless the deletion policy is Orphan: then they stay as they are, without a ledger", func() {
		managerAtNight()
		ns := newNamespace()
		s, read := asleep(ns, 3, func(r *v1alpha1.ScheduleRules) { r.DeletionPolicy = v1alpha1.DeletionOrphan })
		Expect(env.Client.Delete(ctx, s)).To(Succeed())
		Eventually(vanished(read)).Should(Succeed())
		Eventually(ledger(ns, "web")).Should(BeEmpty())
		Consistently(replicas(ns, "web")).Should(BeEquivalentTo(0))
	})
})

var _ = Describe("A ledger that was edited by hand", func() {
	It("prevents writes to its object, is named, and works again once it is repaired", func() {
		clock := suite.NewClock(monday.Add(9 * time.Hour))
		startManagerAt(clock)
		ns := newNamespace()
		_, _ = asleep(ns, 3)
		good := ledger(ns, "web")(Default)
		annotate(ns, "web", v1alpha1.AnnotationLedger, `{"/spec/replicas":`)

		Eventually(failuresOf(ns, "nights")).Should(ConsistOf(And(
			HaveField("Name", "web"), HaveField("Message", ContainSubstring(v1alpha1.AnnotationLedger)))))
		version := resourceVersion(ns, "web")(Default)
		clock.SetTime(monday.Add(21 * time.Hour))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionAsleep)).Should(beCondition(metav1.ConditionFalse, "Awake"))
		Consistently(resourceVersion(ns, "web")).Should(Equal(version))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionFalse, "TargetsFailed"))

		annotate(ns, "web", v1alpha1.AnnotationLedger, good)
		restored(ns, 3)
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
	})

	It("blocks the deletion of its schedule until it is repaired", func() {
		managerAtNight()
		ns := newNamespace()
		s, read := asleep(ns, 3)
		good := ledger(ns, "web")(Default)
		annotate(ns, "web", v1alpha1.AnnotationLedger, "nonsense")
		Eventually(failuresOf(ns, "nights")).ShouldNot(BeEmpty())
		Expect(env.Client.Delete(ctx, s)).To(Succeed())
		Consistently(vanished(read)).WithTimeout(2 * time.Second).ShouldNot(Succeed())

		annotate(ns, "web", v1alpha1.AnnotationLedger, good)
		restored(ns, 3)
		Eventually(vanished(read)).Should(Succeed())
	})
})
