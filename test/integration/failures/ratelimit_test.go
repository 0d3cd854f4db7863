package failures

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

func limitDown(size int32, delay time.Duration) func(*v1alpha1.ScheduleRules) {
	return func(r *v1alpha1.ScheduleRules) {
		r.DownscaleRateLimit = &v1alpha1.RateLimit{BatchSize: size, DelayBetweenBatches: v1alpha1.Duration(delay.String())}
	}
}

func limitUp(size int32, delay time.Duration) func(*v1alpha1.ScheduleRules) {
	return func(r *v1alpha1.ScheduleRules) {
		r.UpscaleRateLimit = &v1alpha1.RateLimit{BatchSize: size, DelayBetweenBatches: v1alpha1.Duration(delay.String())}
	}
}

var _ = Describe("A rate limit", func() {
	const delay = 30 * time.Second
	// stays checks that for now at most n targets sleep.
	stays := func(namespace string, n int) {
		GinkgoHelper()
		Eventually(scene.Sleepers(namespace)).Should(Equal(n))
		suite.Still(scene.Sleepers(namespace)).Should(Equal(n))
	}

	It("allows one batch for each delay, down and up", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		scene.CreateMany(ns, "web", 6, 2)
		scene.Nightly(ns, "nights", limitDown(2, delay), limitUp(3, delay))
		Eventually(scene.TargetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(6)))

		clock.SetTime(scene.Dusk)
		stays(ns, 2)
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 6, Asleep: 2, Pending: 4}))
		clock.SetTime(scene.Dusk.Add(delay - time.Second))
		stays(ns, 2)
		clock.SetTime(scene.Dusk.Add(delay))
		stays(ns, 4)
		clock.SetTime(scene.Dusk.Add(2 * delay))
		stays(ns, 6)

		clock.SetTime(scene.Dawn)
		stays(ns, 3)
		clock.SetTime(scene.Dawn.Add(delay))
		stays(ns, 0)
	})

	It("counts only real changes", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		scene.CreateMany(ns, "done", 8, 0)
		scene.CreateMany(ns, "web", 2, 2)
		scene.Nightly(ns, "nights", limitDown(2, delay))
		Eventually(scene.TargetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(10)))
		clock.SetTime(scene.Dusk)
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 10, Asleep: 2, AlreadyAsleep: 8}))
	})

	It("holds over a restart of the manager", func() {
		clock := suite.NewClock(scene.Monday)
		manager := scene.Env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
		DeferCleanup(func() { Expect(manager.Stop()).To(Succeed()) })
		Expect(scene.Env.AwaitAdapters(scene.Ctx, scene.Builtin...)).To(Succeed())
		ns := scene.NewNamespace()
		scene.CreateMany(ns, "web", 4, 2)
		scene.Nightly(ns, "nights", limitDown(2, delay))
		Eventually(scene.TargetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(4)))
		clock.SetTime(scene.Dusk)
		stays(ns, 2)

		Expect(manager.Stop()).To(Succeed())
		clock.SetTime(scene.Dusk.Add(delay / 2))
		manager = scene.Env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 4, Asleep: 2, Pending: 2}))
		stays(ns, 2)
		clock.SetTime(scene.Dusk.Add(delay))
		stays(ns, 4)
	})

	It("never delays another policy", func() {
		clock := scene.StartManager()
		slow, fast := scene.NewNamespace(), scene.NewNamespace()
		scene.CreateMany(slow, "web", 3, 2)
		scene.CreateMany(fast, "web", 20, 2)
		scene.Nightly(slow, "nights", limitDown(1, time.Hour))
		scene.Nightly(fast, "nights")
		Eventually(scene.TargetsOf(slow, "nights")).Should(HaveField("Awake", BeEquivalentTo(3)))
		Eventually(scene.TargetsOf(fast, "nights")).Should(HaveField("Awake", BeEquivalentTo(20)))
		clock.SetTime(scene.Dusk)
		Eventually(scene.Sleepers(fast)).Should(Equal(20))
		stays(slow, 1)
	})

	It("does not delay the restore when the policy is deleted", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.CreateMany(ns, "web", 4, 2)
		s := scene.Nightly(ns, "nights", limitUp(1, time.Hour))
		Eventually(scene.Sleepers(ns)).Should(Equal(4))
		scene.Remove(s)
		Expect(scene.Sleepers(ns)(Default)).To(Equal(0))
	})
})
