package outage

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
)

var _ = Describe("An API server that is away for 20 s across a transition", func() {
	It("finds everything right after its return", func() {
		const size = 60
		monday := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
		clock := clocktesting.NewFakeClock(monday)
		m := env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		f := newFleet("away", size)
		Expect(env.Patch(ctx, f.schedule.DeepCopy(), `{"spec":{"awake":null,"upscale":"0 8 * * *","downscale":"0 20 * * *"}}`)).To(Succeed())
		Eventually(f.counts).Should(Equal(v1alpha1.TargetCounts{Total: size, Awake: size}))

		Expect(env.Cluster.StopAPIServer()).To(Succeed())
		stopped := time.Now()
		clock.SetTime(monday.Add(9 * time.Hour))
		time.Sleep(time.Until(stopped.Add(20 * time.Second)))
		Expect(env.Cluster.StartAPIServer()).To(Succeed())
		Eventually(f.allAsleep).Should(Succeed())
		Eventually(f.counts).
			Should(Equal(v1alpha1.TargetCounts{Total: size, Asleep: size - f.zeros(), AlreadyAsleep: f.zeros()}))

		// An edit after the outage is seen too.
		Expect(env.Patch(ctx, f.schedule.DeepCopy(), `{"spec":{"upscale":"0 21 * * *"}}`)).To(Succeed())
		Eventually(f.allAwake).Should(Succeed())
	})
})
