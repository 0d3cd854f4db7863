package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// many is a number of targets that is larger than the number of workers. So some targets are still undecided while no
// write succeeds.
const many = 40

var _ = Describe("While many targets change", func() {
	It("none counts as settled too early, and the lag of the transition ends with its last write", func() {
		clock := suite.NewClock(monday)
		writes := &gate{match: patches("deployments")}
		m := startBehind(clock, writes)
		ns := newNamespace()
		createMany(ns, "web", many, 2)
		s := nightly(ns, "nights")
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: many, Awake: many}))
		before := lags(m)(Default)
		seen := follow(s)

		writes.close()
		clock.SetTime(dusk)
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: many, Pending: many}))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "Progressing"))
		Consistently(targetsOf(ns, "nights")).Should(HaveField("Pending", BeEquivalentTo(many)))
		Expect(lags(m)(Default)).To(Equal(before))

		clock.SetTime(dusk.Add(11 * time.Minute))
		writes.open()
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: many, Asleep: many}))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
		Eventually(lags(m)).Should(Equal([2]float64{before[0] + 1, before[1] + 660}))
		for _, u := range seen.all() {
			if fieldOf(u, "status", "state") == "Asleep" {
				Expect(fieldOf(u, "status", "targets", "awake")).To(Equal("0"), "%v", u.Object["status"])
			}
		}
	})

	It("none counts as settled too early under a new spec", func() {
		clock := suite.NewClock(monday)
		writes := &gate{match: patches("deployments")}
		startBehind(clock, writes)
		ns := newNamespace()
		createMany(ns, "web", many, 2)
		s := nightly(ns, "nights")
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: many, Awake: many}))
		seen := follow(s)

		writes.close()
		patch(s, `{"spec":{"upscale":"0 20 * * *","downscale":"0 8 * * *"}}`)
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: many, Pending: many}))
		writes.open()
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: many, Asleep: many}))
		for _, u := range seen.all() {
			if fieldOf(u, "status", "observedGeneration") == "2" {
				Expect(fieldOf(u, "status", "targets", "awake")).To(Equal("0"), "%v", u.Object["status"])
			}
		}
	})
})

var _ = Describe("A changed object that the watch does not deliver", func() {
	It("is tried less and less often, and changed once the watch is back", func() {
		clock := suite.NewClock(monday)
		stream, writes := &gate{match: watches("deployments"), answers: true}, &gate{match: patches("deployments")}
		startBehind(clock, stream, writes)
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		nightly(ns, "nights")
		Eventually(targetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(1)))
		stream.close()
		patch(deployment(ns, "web", 3), label("release", "7"))
		before := len(writes.times())
		clock.SetTime(dusk)
		const tries = 6
		Eventually(func() int { return len(writes.times()) - before }).Should(BeNumerically(">=", tries))
		at := writes.times()[before:]
		// The pauses between retries begin at 50 ms and double each time. A busy machine can only make them longer.
		Expect(at[tries-1].Sub(at[tries-2])).To(BeNumerically(">=", 500*time.Millisecond))
		Expect(replicas(ns, "web")(Default)).To(BeEquivalentTo(3))
		stream.open()
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
	})
})
