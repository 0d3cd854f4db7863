package schedules

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("An object at rest by its owner", func() {
	It("is not written before, during and after the night", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		yes := true
		resting := []client.Object{scene.Deployment(ns, "zero", 0), scene.CronJob(ns, "suspended", &yes)}
		scene.Create(resting...)
		scene.Create(scene.Deployment(ns, "web", 2), scene.CronJob(ns, "report", nil))
		before := make([]string, len(resting))
		for i, obj := range resting {
			before[i] = obj.GetResourceVersion()
		}
		untouched := func(g Gomega) {
			for i, obj := range resting {
				g.Expect(scene.VersionOf(obj)(g)).To(Equal(before[i]), "%s was written", obj.GetName())
			}
		}
		scene.Nightly(ns, "nights")
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 4, Awake: 4}))
		untouched(Default)

		clock.SetTime(scene.Dusk)
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 4, Asleep: 2, AlreadyAsleep: 2}))
		untouched(Default)

		clock.SetTime(scene.Dawn)
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 4, Awake: 4}))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(2))
		suite.Still(untouched).Should(Succeed())
	})

	It("stays at zero on waking if it was scaled to zero while asleep and awake again", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 2))
		scene.Nightly(ns, "nights")
		clock.SetTime(scene.Dusk)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		clock.SetTime(scene.Dawn)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(2))
		Eventually(scene.Ledger(ns, "web")).Should(BeEmpty())

		scene.Scale(ns, "web", 0)
		clock.SetTime(scene.Dusk.AddDate(0, 0, 1))
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, AlreadyAsleep: 1}))
		clock.SetTime(scene.Dawn.AddDate(0, 0, 1))
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Awake: 1}))
		suite.Still(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
	})
})
