package integration

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
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

// createMany creates n Deployments of some replicas.
func createMany(namespace, prefix string, n int, replicas int32) {
	GinkgoHelper()
	for i := range n {
		create(deployment(namespace, fmt.Sprintf("%s-%d", prefix, i), replicas))
	}
}

var _ = Describe("A rate limit", func() {
	const delay = 30 * time.Second
	// stays checks that for now at most n targets sleep.
	stays := func(namespace string, n int) {
		GinkgoHelper()
		Eventually(sleepers(namespace)).Should(Equal(n))
		Consistently(sleepers(namespace)).WithTimeout(300 * time.Millisecond).Should(Equal(n))
	}

	It("allows one batch for each delay, down and up", func() {
		clock := startManager()
		ns := newNamespace()
		createMany(ns, "web", 6, 2)
		nightly(ns, "nights", limitDown(2, delay), limitUp(3, delay))
		Eventually(targetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(6)))

		clock.SetTime(dusk)
		stays(ns, 2)
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 6, Asleep: 2, Pending: 4}))
		clock.SetTime(dusk.Add(delay - time.Second))
		stays(ns, 2)
		clock.SetTime(dusk.Add(delay))
		stays(ns, 4)
		clock.SetTime(dusk.Add(2 * delay))
		stays(ns, 6)

		clock.SetTime(dawn)
		stays(ns, 3)
		clock.SetTime(dawn.Add(delay))
		stays(ns, 0)
	})

	It("counts only real changes", func() {
		clock := startManager()
		ns := newNamespace()
		createMany(ns, "done", 8, 0)
		createMany(ns, "web", 2, 2)
		nightly(ns, "nights", limitDown(2, delay))
		Eventually(targetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(10)))
		clock.SetTime(dusk)
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 10, Asleep: 2, AlreadyAsleep: 8}))
	})

	It("holds over a restart of the manager", func() {
		clock := suite.NewClock(monday)
		manager := env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
		DeferCleanup(func() { Expect(manager.Stop()).To(Succeed()) })
		Expect(env.AwaitAdapters(ctx, builtin...)).To(Succeed())
		ns := newNamespace()
		createMany(ns, "web", 4, 2)
		nightly(ns, "nights", limitDown(2, delay))
		Eventually(targetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(4)))
		clock.SetTime(dusk)
		stays(ns, 2)

		Expect(manager.Stop()).To(Succeed())
		clock.SetTime(dusk.Add(delay / 2))
		manager = env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 4, Asleep: 2, Pending: 2}))
		stays(ns, 2)
		clock.SetTime(dusk.Add(delay))
		stays(ns, 4)
	})

	It("never delays another policy", func() {
		clock := startManager()
		slow, fast := newNamespace(), newNamespace()
		createMany(slow, "web", 3, 2)
		createMany(fast, "web", 20, 2)
		nightly(slow, "nights", limitDown(1, time.Hour))
		nightly(fast, "nights")
		Eventually(targetsOf(slow, "nights")).Should(HaveField("Awake", BeEquivalentTo(3)))
		Eventually(targetsOf(fast, "nights")).Should(HaveField("Awake", BeEquivalentTo(20)))
		clock.SetTime(dusk)
		Eventually(sleepers(fast)).Should(Equal(20))
		stays(slow, 1)
	})

	It("does not delay the restore when the policy is deleted", func() {
		startManagerAsleep()
		ns := newNamespace()
		createMany(ns, "web", 4, 2)
		s := nightly(ns, "nights", limitUp(1, time.Hour))
		Eventually(sleepers(ns)).Should(Equal(4))
		remove(s)
		Expect(sleepers(ns)(Default)).To(Equal(0))
	})
})
