package workloads

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("A schedule with an order", func() {
	dusk, dawn := monday.Add(8*time.Hour), monday.Add(20*time.Hour)
	const (
		nowhere  = `{"spec":{"template":{"spec":{"nodeSelector":{"example.com/nowhere":"here"}}}}}`
		anywhere = `{"spec":{"template":{"spec":{"nodeSelector":null}}}}`
	)
	// create makes Deployments of one replica.
	create := func(ns string, names ...string) {
		GinkgoHelper()
		for _, name := range names {
			d := workload(ns, name, "Deployment")
			d.Object["spec"].(map[string]any)["replicas"] = int64(1)
			Expect(env.Client.Create(ctx, d)).To(Succeed())
		}
	}
	replicas := func(ns, name string) func(Gomega) int {
		return func(g Gomega) int {
			var d appsv1.Deployment
			g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, &d)).To(Succeed())
			return int(*d.Spec.Replicas)
		}
	}
	status := func(ns string) func(Gomega) v1alpha1.PolicyStatus {
		return func(g Gomega) v1alpha1.PolicyStatus {
			var s v1alpha1.Schedule
			g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "nights"}, &s)).To(Succeed())
			return s.Status
		}
	}
	// ordered makes a schedule in which db wakes first.
	ordered := func(ns string, change func(*v1alpha1.ScheduleRules)) {
		GinkgoHelper()
		s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nights"}, Spec: v1alpha1.ScheduleSpec{ScheduleRules: rules()}}
		s.Spec.Order = []v1alpha1.Wave{{Name: "databases", Names: []string{"db"}}}
		if change != nil {
			change(&s.Spec.ScheduleRules)
		}
		Expect(env.Client.Create(ctx, s)).To(Succeed())
		DeferCleanup(func() { suite.Remove(ctx, env, s) })
	}
	// asleep puts namespaces to sleep. Each has a db that cannot become ready again.
	asleep := func(clock interface{ SetTime(time.Time) }, namespaces ...string) {
		GinkgoHelper()
		for _, ns := range namespaces {
			Eventually(pods(ns)).Should(Equal(2))
		}
		clock.SetTime(dusk)
		for _, ns := range namespaces {
			Eventually(status(ns)).Should(HaveField("Targets", HaveField("Asleep", BeEquivalentTo(2))))
			Expect(env.Patch(ctx, workload(ns, "db", "Deployment"), nowhere)).To(Succeed())
		}
	}

	It("wakes the rest when the first wave is ready, also after a restart of the manager", func() {
		clock := suite.NewClock(monday)
		manager := env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
		DeferCleanup(func() { Expect(manager.Stop()).To(Succeed()) })
		ns := suite.Namespace(ctx, env)
		create(ns, "db", "web")
		ordered(ns, nil)
		asleep(clock, ns)

		clock.SetTime(dawn)
		Eventually(replicas(ns, "db")).Should(Equal(1))
		Eventually(status(ns)).Should(HaveField("Order", And(HaveField("Direction", "Wake"), HaveField("Wave", "databases"),
			HaveField("Waiting", BeEquivalentTo(1)),
			HaveField("WaitsFor", ContainSubstring("db has not settled: .status.availableReplicas")))))
		before := status(ns)(Default).Order.Since
		Expect(before.Time).To(BeTemporally("~", dawn, time.Minute))

		Expect(manager.Stop()).To(Succeed())
		clock.SetTime(dawn.Add(9 * time.Minute))
		manager = env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
		Eventually(status(ns)).Should(HaveField("Targets", And(HaveField("Awake", BeEquivalentTo(1)), HaveField("Pending", BeEquivalentTo(1)))))
		Eventually(status(ns)).Should(HaveField("Order", HaveField("Since", Equal(before))))
		Expect(replicas(ns, "web")(Default)).To(BeZero())

		Expect(env.Patch(ctx, workload(ns, "db", "Deployment"), anywhere)).To(Succeed())
		Eventually(replicas(ns, "web")).Should(Equal(1))
		Eventually(status(ns)).Should(And(HaveField("Order", BeNil()), HaveField("Targets", HaveField("Awake", BeEquivalentTo(2)))))

		// A database that fails by day must not put any object to sleep.
		Expect(env.Patch(ctx, workload(ns, "db", "Deployment"), nowhere)).To(Succeed())
		Consistently(replicas(ns, "web")).Should(Equal(1))
	})

	It("goes on after the timeout with Continue, and says that it does not with Stop", func() {
		clock := startManager()
		goesOn, stops := suite.Namespace(ctx, env), suite.Namespace(ctx, env)
		for _, ns := range []string{goesOn, stops} {
			create(ns, "db", "web")
		}
		ordered(goesOn, nil)
		ordered(stops, func(r *v1alpha1.ScheduleRules) { r.Order[0].OnTimeout = v1alpha1.OnTimeoutStop })
		asleep(clock, goesOn, stops)
		clock.SetTime(dawn)
		for _, ns := range []string{goesOn, stops} {
			Eventually(status(ns)).Should(HaveField("Order", HaveField("Waiting", BeEquivalentTo(1))))
			Expect(replicas(ns, "web")(Default)).To(BeZero())
		}

		clock.SetTime(dawn.Add(10*time.Minute + time.Second))
		Eventually(replicas(goesOn, "web")).Should(Equal(1))
		Eventually(status(goesOn)).Should(HaveField("Order", BeNil()))
		Eventually(status(stops)).Should(And(
			HaveField("Order", And(HaveField("Stopped", true), HaveField("Wave", "databases"))),
			HaveField("Conditions", ContainElement(And(HaveField("Type", "Ready"), HaveField("Reason", "TargetsFailed"),
				HaveField("Message", ContainSubstring("its onTimeout is Stop")))))))
		Expect(replicas(stops, "web")(Default)).To(BeZero())
		Expect(env.Patch(ctx, workload(stops, "db", "Deployment"), anywhere)).To(Succeed())
		Eventually(replicas(stops, "web")).Should(Equal(1))
		Eventually(status(stops)).Should(HaveField("Order", BeNil()))
	})

	It("sleeps in reverse, with its batches", func() {
		clock := startManager()
		ns := suite.Namespace(ctx, env)
		create(ns, "db", "web")
		ordered(ns, func(r *v1alpha1.ScheduleRules) {
			r.DownscaleRateLimit = &v1alpha1.RateLimit{BatchSize: 1, DelayBetweenBatches: "1h"}
			r.UpscaleRateLimit = r.DownscaleRateLimit
		})
		Eventually(pods(ns)).Should(Equal(2))
		both := func(g Gomega) string {
			return fmt.Sprintf("db %d, web %d", replicas(ns, "db")(g), replicas(ns, "web")(g))
		}
		for _, step := range []struct {
			at   time.Time
			want string
		}{
			{dusk, "db 1, web 0"}, {dusk.Add(time.Hour), "db 0, web 0"}, {dawn, "db 1, web 0"}, {dawn.Add(time.Hour), "db 1, web 1"},
		} {
			clock.SetTime(step.at)
			Eventually(both).Should(Equal(step.want))
			Consistently(both).Should(Equal(step.want))
		}
	})

	It("does not wait for a namespace on its way out", func() {
		clock := startManager()
		first, second := suite.Namespace(ctx, env), suite.Namespace(ctx, env)
		create(first, "db")
		create(second, "web")
		s := &v1alpha1.ClusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: "ordered"}}
		s.Spec.ScheduleRules, s.Spec.Target.Namespaces = rules(), []string{first, second}
		s.Spec.Order = []v1alpha1.Wave{{Names: []string{"db"}}}
		Expect(env.Client.Create(ctx, s)).To(Succeed())
		DeferCleanup(func() { suite.Remove(ctx, env, s) })
		Eventually(pods(second)).Should(Equal(1))
		clock.SetTime(dusk)
		Eventually(replicas(first, "db")).Should(BeZero())
		Expect(env.Patch(ctx, workload(first, "db", "Deployment"), nowhere)).To(Succeed())
		clock.SetTime(dawn)
		Eventually(replicas(first, "db")).Should(Equal(1))
		Consistently(replicas(second, "web")).Should(BeZero())
		Expect(env.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: first}})).To(Succeed())
		Eventually(replicas(second, "web")).Should(Equal(1))
	})
})
