package failures

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// many is a number of targets that is larger than the number of workers. So some targets are still undecided while no
// write succeeds.
const many = 40

var _ = Describe("While many targets change", func() {
	It("none counts as settled too early, and the lag of the transition ends with its last write", func() {
		clock := suite.NewClock(scene.Monday)
		writes := &gate{match: patches("deployments")}
		m := startBehind(clock, writes)
		ns := scene.NewNamespace()
		scene.CreateMany(ns, "web", many, 2)
		s := scene.Nightly(ns, "nights")
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: many, Awake: many}))
		before := lags(m)(Default)
		seen := scene.Follow(s)

		writes.close()
		clock.SetTime(scene.Dusk)
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: many, Pending: many}))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "Progressing"))
		Consistently(scene.TargetsOf(ns, "nights")).Should(HaveField("Pending", BeEquivalentTo(many)))
		Expect(lags(m)(Default)).To(Equal(before))

		clock.SetTime(scene.Dusk.Add(11 * time.Minute))
		writes.open()
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: many, Asleep: many}))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
		Eventually(lags(m)).Should(Equal([2]float64{before[0] + 1, before[1] + 660}))
		for _, u := range seen.All() {
			if scene.FieldOf(u, "status", "state") == "Asleep" {
				Expect(scene.FieldOf(u, "status", "targets", "awake")).To(Equal("0"), "%v", u.Object["status"])
			}
		}
	})

	It("none counts as settled too early under a new spec", func() {
		clock := suite.NewClock(scene.Monday)
		writes := &gate{match: patches("deployments")}
		startBehind(clock, writes)
		ns := scene.NewNamespace()
		scene.CreateMany(ns, "web", many, 2)
		s := scene.Nightly(ns, "nights")
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: many, Awake: many}))
		seen := scene.Follow(s)

		writes.close()
		scene.Patch(s, `{"spec":{"upscale":"0 20 * * *","downscale":"0 8 * * *"}}`)
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: many, Pending: many}))
		writes.open()
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: many, Asleep: many}))
		for _, u := range seen.All() {
			if scene.FieldOf(u, "status", "observedGeneration") == "2" {
				Expect(scene.FieldOf(u, "status", "targets", "awake")).To(Equal("0"), "%v", u.Object["status"])
			}
		}
	})
})

var _ = Describe("A changed object that the watch does not deliver", func() {
	It("is tried less and less often, and changed once the watch is back", func() {
		clock := suite.NewClock(scene.Monday)
		stream, writes := &gate{match: watches("deployments"), answers: true}, &gate{match: patches("deployments")}
		startBehind(clock, stream, writes)
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.Nightly(ns, "nights")
		Eventually(scene.TargetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(1)))
		stream.close()
		scene.Patch(scene.Deployment(ns, "web", 3), scene.LabelPatch("release", "7"))
		before := len(writes.times())
		clock.SetTime(scene.Dusk)
		const tries = 6
		Eventually(func() int { return len(writes.times()) - before }).Should(BeNumerically(">=", tries))
		at := writes.times()[before:]
		// The pauses between retries begin at 50 ms and double each time. A busy machine can only make them longer.
		Expect(at[tries-1].Sub(at[tries-2])).To(BeNumerically(">=", 500*time.Millisecond))
		Expect(scene.Replicas(ns, "web")(Default)).To(BeEquivalentTo(3))
		stream.open()
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
	})
})
