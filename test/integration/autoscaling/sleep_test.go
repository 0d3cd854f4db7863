package autoscaling

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// rounds is the number of rounds in which the autoscaler's controller could wake a sleeping target.
const rounds = 20

// onQueue is an autoscaler that goes to zero while the queue is empty.
const onQueue = `minReplicas: 0, maxReplicas: 6,
  metrics: [{type: External, external: {metric: {name: jobs-waiting}, target: {type: AverageValue, averageValue: "10"}}}]`

var monday = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// startManager runs a manager whose clock stands at Monday noon.
func startManager() *clocktesting.FakeClock {
	clock := clocktesting.NewFakeClock(monday)
	m := env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
	DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
	return clock
}

// nightly creates a Schedule over everything in a namespace, asleep from 20:00 to 08:00 UTC.
func nightly(namespace string) {
	GinkgoHelper()
	s := &v1alpha1.Schedule{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "nights"},
		Spec:       v1alpha1.ScheduleSpec{ScheduleRules: v1alpha1.ScheduleRules{Upscale: "0 8 * * *", Downscale: "0 20 * * *"}},
	}
	Expect(env.Client.Create(ctx, s)).To(Succeed())
}

// usage sets the CPU usage of every pod in a namespace.
func usage(namespace, cpu string) {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(env.Client.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
	for i := range pods.Items {
		// The autoscaler may take a pod away meanwhile.
		err := env.Patch(ctx, &pods.Items[i], fmt.Sprintf(`{"metadata":{"annotations":{"kwok.x-k8s.io/usage-cpu":%q}}}`, cpu))
		Expect(client.IgnoreNotFound(err)).To(Succeed())
	}
}

var _ = Describe("An autoscaler of a sleeping Deployment", Ordered, func() {
	// Both kinds of autoscaler are watched through the same night.
	var clock *clocktesting.FakeClock
	var queue *external

	BeforeAll(func() {
		clock = startManager()
		queue = serveExternal()
		create("busy", 2,
			`minReplicas: 2, maxReplicas: 6,
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]`)
		queue.set(0)
		create("queue", 1, onQueue)
		nightly("busy")
		nightly("queue")
	})

	It("works before the night", func() {
		// The pods use 400m of 500m, twice the target utilisation, so the autoscaler scales up to the maximum. The queue is
		// empty, so its autoscaler scales down to zero.
		Eventually(replicas("busy")).Should(BeEquivalentTo(6))
		Eventually(replicas("queue")).Should(BeEquivalentTo(0))
		queue.set(30)
		Eventually(replicas("queue")).Should(BeEquivalentTo(3))
	})

	It("does not wake it, for any minimum and metrics", func() {
		clock.SetTime(monday.Add(8 * time.Hour))
		Eventually(replicas("busy")).Should(BeEquivalentTo(0))
		Eventually(replicas("queue")).Should(BeEquivalentTo(0))
		queue.set(60)
		for _, ns := range []string{"busy", "queue"} {
			suite.DuringRounds(env, ns, rounds, func(g Gomega) {
				g.Expect(replicas("busy")(g)).To(BeEquivalentTo(0))
				g.Expect(replicas("queue")(g)).To(BeEquivalentTo(0))
			})
		}
	})

	It("is as it was after the night, and works", func() {
		queue.set(20)
		clock.SetTime(monday.Add(20 * time.Hour))
		Eventually(replicas("busy")).Should(BeNumerically(">=", 2))
		Eventually(func(g Gomega) {
			g.Expect(autoscaler("busy")(g).MinReplicas).To(HaveValue(BeEquivalentTo(2)))
			g.Expect(autoscaler("queue")(g).MinReplicas).To(HaveValue(BeEquivalentTo(0)))
			g.Expect(autoscaler("queue")(g).Behavior).To(BeNil())
		}).Should(Succeed())
		Eventually(replicas("queue")).Should(BeEquivalentTo(2))
		queue.set(50)
		Eventually(replicas("queue")).Should(BeEquivalentTo(5))
		Eventually(func(g Gomega) int32 {
			usage("busy", "100m")
			return replicas("busy")(g)
		}).Should(BeEquivalentTo(2))
	})

	It("does not wake a target that it had taken to zero itself before the night", func() {
		queue.set(0)
		Eventually(replicas("queue")).Should(BeEquivalentTo(0))
		// The autoscaler scales from zero only if its own status says that it has scaled to zero. It writes this status after
		// the count. It does not write it if another writer, such as Flyball, writes the autoscaler in between.
		Eventually(conditions("queue")).Should(HaveKeyWithValue(autoscalingv2.ScaledToZero, corev1.ConditionTrue))
		clock.SetTime(monday.Add(32 * time.Hour))
		// A round that began before the hold goes by the behavior from before it, so the queue fills only after a round with the hold.
		Eventually(func(g Gomega) {
			h := seen(g, "queue")
			g.Expect(h.Spec.Behavior).NotTo(BeNil())
			g.Expect(h.Status.ObservedGeneration).To(HaveValue(Equal(h.Generation)))
		}).Should(Succeed())
		queue.set(60)
		suite.DuringRounds(env, "queue", rounds/2, func(g Gomega) { g.Expect(replicas("queue")(g)).To(BeEquivalentTo(0)) })
		clock.SetTime(monday.Add(44 * time.Hour))
		Eventually(replicas("queue")).Should(BeEquivalentTo(6))
		Expect(autoscaler("queue")(Default).Behavior).To(BeNil())
	})

	It("does not wake a target under a minimum raised since its own zero", func() {
		queue.set(0)
		create("raised", 1, onQueue)
		Eventually(conditions("raised")).Should(HaveKeyWithValue(autoscalingv2.ScaledToZero, corev1.ConditionTrue))
		// Somebody scales it up again. The autoscaler does not, so its condition stays.
		h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: "raised", Name: "web"}}
		Expect(env.Patch(ctx, h, `{"spec":{"behavior":{"scaleUp":{"selectPolicy":"Disabled"}}}}`)).To(Succeed())
		queue.set(30)
		Expect(env.Patch(ctx, &appsv1.Deployment{ObjectMeta: h.ObjectMeta}, `{"spec":{"replicas":3}}`)).To(Succeed())
		Eventually(desired("raised")).Should(Equal([2]int32{3, 3}))
		Expect(env.Patch(ctx, h, `{"spec":{"behavior":null,"minReplicas":2}}`)).To(Succeed())
		Expect(conditions("raised")(Default)).To(HaveKeyWithValue(autoscalingv2.ScaledToZero, corev1.ConditionTrue))
		nightly("raised")

		clock.SetTime(monday.Add(56 * time.Hour))
		Eventually(func(g Gomega) {
			g.Expect(replicas("raised")(g)).To(BeEquivalentTo(0))
			g.Expect(desired("raised")(g)).To(Equal([2]int32{0, 0})) // the autoscaler has looked at it, and left it
			g.Expect(conditions("raised")(g)).To(HaveKeyWithValue(autoscalingv2.ScalingActive, corev1.ConditionTrue))
		}).Should(Succeed())
		clock.SetTime(monday.Add(68 * time.Hour))
		Eventually(func(g Gomega) {
			g.Expect(replicas("raised")(g)).To(BeEquivalentTo(3))
			g.Expect(autoscaler("raised")(g).MinReplicas).To(HaveValue(BeEquivalentTo(2)))
			g.Expect(autoscaler("raised")(g).Behavior).To(BeNil())
		}).Should(Succeed())
	})
})
