package workloads

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// denyWaking makes the API server refuse to wake a Deployment, until the returned function is called.
func denyWaking(namespace, name string) (lift func()) {
	GinkgoHelper()
	id := namespace + "-" + name
	Expect(env.Apply(ctx, fmt.Appendf(nil, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments, deployments/scale]}]}
  matchConditions: [{name: here, expression: "object.metadata.namespace == '%[2]s' && object.metadata.name == '%[3]s'"}]
  validations: [{expression: "object.spec.replicas == 0", message: "sleep on"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec: {policyName: %[1]s, validationActions: [Deny]}
`, id, namespace, name))).To(Succeed())
	try := func() error {
		return env.Client.Patch(ctx, workload(namespace, name, "Deployment"),
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":1}}`)), client.DryRunAll)
	}
	Eventually(try).Should(MatchError(ContainSubstring("sleep on")))
	lift = func() {
		GinkgoHelper()
		suite.RemoveAdmissionPolicy(ctx, env, id)
		Eventually(try).Should(Succeed())
	}
	DeferCleanup(lift)
	return lift
}

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
	status := func(ns string) func(Gomega) v1alpha1.ScheduleStatus {
		return func(g Gomega) v1alpha1.ScheduleStatus {
			var s v1alpha1.Schedule
			g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "nights"}, &s)).To(Succeed())
			return s.Status
		}
	}
	// ordered makes a schedule in which db wakes first.
	ordered := func(ns string, change func(*v1alpha1.ScheduleRules)) {
		GinkgoHelper()
		s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nights"}, Spec: v1alpha1.ScheduleSpec{ScheduleRules: rules()}}
		s.Spec.Order = &v1alpha1.Order{Waves: []v1alpha1.Wave{{Name: "databases", Names: []string{"db"}}}}
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
		suite.Still(replicas(ns, "web")).Should(Equal(1))
	})

	It("goes forward in each namespace of a ClusterSchedule by itself, unless the order is across namespaces", func() {
		clock := startManager()
		stuck, free := suite.Namespace(ctx, env), suite.Namespace(ctx, env)
		s := &v1alpha1.ClusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: "nights-of-" + stuck}}
		s.Spec.ScheduleRules, s.Spec.Target.Namespaces = rules(), []string{stuck, free}
		s.Spec.Order = &v1alpha1.Order{Waves: []v1alpha1.Wave{{Name: "databases", Names: []string{"db"}, Timeout: "20h"}}}
		for _, ns := range s.Spec.Target.Namespaces {
			create(ns, "db", "web")
		}
		Expect(env.Client.Create(ctx, s)).To(Succeed())
		DeferCleanup(func() { suite.Remove(ctx, env, s) })
		of := func(g Gomega) v1alpha1.ScheduleStatus {
			var now v1alpha1.ClusterSchedule
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(s), &now)).To(Succeed())
			return now.Status
		}
		for _, ns := range s.Spec.Target.Namespaces {
			Eventually(pods(ns)).Should(Equal(2))
		}
		sleeps := func(at time.Time) {
			GinkgoHelper()
			clock.SetTime(at)
			Eventually(of).Should(HaveField("Targets", HaveField("Asleep", BeEquivalentTo(4))))
		}
		sleeps(dusk)
		Expect(env.Patch(ctx, workload(stuck, "db", "Deployment"), nowhere)).To(Succeed())
		clock.SetTime(dawn)
		Eventually(replicas(free, "web")).Should(Equal(1))
		Eventually(of).Should(HaveField("Order", And(HaveField("Wave", "databases"), HaveField("Namespace", stuck),
			HaveField("Waiting", BeEquivalentTo(1)))))
		Expect(replicas(stuck, "web")(Default)).To(BeZero())

		across := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"order":{"across":"Namespaces"}}}`))
		Expect(env.Client.Patch(ctx, s, across)).To(Succeed())
		sleeps(dusk.AddDate(0, 0, 1))
		clock.SetTime(dawn.AddDate(0, 0, 1))
		Eventually(of).Should(HaveField("Order", And(HaveField("Wave", "databases"), HaveField("Namespace", stuck),
			HaveField("Waiting", BeEquivalentTo(2)), HaveField("Others", BeEmpty()))))
		Expect(replicas(free, "web")(Default)).To(BeZero())
	})

	It("goes on after the timeout with Continue, and says that it does not with Stop", func() {
		clock := startManager()
		goesOn, stops := suite.Namespace(ctx, env), suite.Namespace(ctx, env)
		for _, ns := range []string{goesOn, stops} {
			create(ns, "db", "web")
		}
		ordered(goesOn, nil)
		ordered(stops, func(r *v1alpha1.ScheduleRules) { r.Order.Waves[0].OnTimeout = v1alpha1.OnTimeoutStop })
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

	It("does not wait again for a wave that timed out before a restart", func() {
		clock := suite.NewClock(monday)
		manager := env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
		DeferCleanup(func() { Expect(manager.Stop()).To(Succeed()) })
		ns := suite.Namespace(ctx, env)
		create(ns, "db", "web")
		ordered(ns, func(r *v1alpha1.ScheduleRules) {
			r.UpscaleRateLimit = &v1alpha1.RateLimit{BatchSize: 1, DelayBetweenBatches: "1h"}
		})
		asleep(clock, ns)
		clock.SetTime(dawn)
		Eventually(status(ns)).Should(HaveField("Order", HaveField("Waiting", BeEquivalentTo(1))))
		clock.SetTime(dawn.Add(10*time.Minute + time.Second))
		Eventually(status(ns)).Should(HaveField("Order", And(HaveField("Wave", "the rest"), HaveField("Waiting", BeZero()))))
		Expect(manager.Stop()).To(Succeed())

		clock.SetTime(dawn.Add(time.Hour)) // the next batch
		manager = env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
		Eventually(replicas(ns, "web")).Should(Equal(1))
		Eventually(status(ns)).Should(HaveField("Order", BeNil()))
	})

	It("has targets wait that come due later, while the write of another target fails", func() {
		clock := startManager()
		first, second := suite.Namespace(ctx, env), suite.Namespace(ctx, env)
		s := &v1alpha1.ClusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: "ordered-late"}}
		s.Spec.ScheduleRules, s.Spec.Target.Namespaces = rules(), []string{first, second}
		s.Spec.Order = &v1alpha1.Order{Waves: []v1alpha1.Wave{{Names: []string{"db"}}}}
		late := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: second, Name: "late"}}
		late.Spec.Upscale, late.Spec.Downscale, late.Spec.Priority = "0 9 * * *", "0 20 * * *", 10
		for _, ns := range []string{first, second} {
			create(ns, "db", "web")
			Eventually(pods(ns)).Should(Equal(2))
		}
		for _, policy := range []client.Object{s, late} {
			Expect(env.Client.Create(ctx, policy)).To(Succeed())
			DeferCleanup(func() { suite.Remove(ctx, env, policy) })
		}
		clock.SetTime(dusk)
		for _, ns := range []string{first, second} {
			Eventually(replicas(ns, "db")).Should(BeZero())
			Eventually(replicas(ns, "web")).Should(BeZero())
		}
		Expect(env.Patch(ctx, workload(second, "db", "Deployment"), nowhere)).To(Succeed())
		lift := denyWaking(first, "web")

		clock.SetTime(dawn)
		Eventually(replicas(first, "db")).Should(Equal(1))
		Eventually(func(g Gomega) v1alpha1.ScheduleStatus {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
			return s.Status
		}).Should(HaveField("Targets", HaveField("Failed", BeEquivalentTo(1))))
		clock.SetTime(dawn.Add(time.Hour))
		Eventually(replicas(second, "db")).Should(Equal(1))
		suite.Still(replicas(second, "web")).Should(BeZero())
		Expect(env.Patch(ctx, workload(second, "db", "Deployment"), anywhere)).To(Succeed())
		Eventually(replicas(second, "web")).Should(Equal(1))
		lift()
		Eventually(replicas(first, "web")).Should(Equal(1))
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
			suite.Still(both).Should(Equal(step.want))
		}
	})

	It("does not wait for a namespace on its way out", func() {
		clock := startManager()
		first, second := suite.Namespace(ctx, env), suite.Namespace(ctx, env)
		create(first, "db")
		create(second, "web")
		s := &v1alpha1.ClusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: "ordered"}}
		s.Spec.ScheduleRules, s.Spec.Target.Namespaces = rules(), []string{first, second}
		s.Spec.Order = &v1alpha1.Order{Waves: []v1alpha1.Wave{{Names: []string{"db"}}}, Across: v1alpha1.AcrossNamespaces}
		Expect(env.Client.Create(ctx, s)).To(Succeed())
		DeferCleanup(func() { suite.Remove(ctx, env, s) })
		Eventually(pods(second)).Should(Equal(1))
		clock.SetTime(dusk)
		Eventually(replicas(first, "db")).Should(BeZero())
		Expect(env.Patch(ctx, workload(first, "db", "Deployment"), nowhere)).To(Succeed())
		clock.SetTime(dawn)
		Eventually(replicas(first, "db")).Should(Equal(1))
		suite.Still(replicas(second, "web")).Should(BeZero())
		Expect(env.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: first}})).To(Succeed())
		Eventually(replicas(second, "web")).Should(Equal(1))
	})
})
