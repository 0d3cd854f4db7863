package schedules

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("A suspended schedule", func() {
	suspended := scene.BeCondition(metav1.ConditionTrue, "Suspended")

	It("keeps sleeping objects asleep until it resumes", func() {
		clock := scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		s := scene.Nightly(ns, "nights")
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		scene.Patch(s, `{"spec":{"suspend":true}}`)
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(suspended)
		clock.SetTime(scene.Dawn)
		suite.Still(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))

		scene.Patch(s, `{"spec":{"suspend":false}}`)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
	})

	It("keeps awake objects awake until it resumes", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.Known(ns, 1)
		s := scene.Nightly(ns, "nights", func(r *v1alpha1.ScheduleRules) { r.Suspend = true })
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(suspended)
		Expect(scene.TargetsOf(ns, "nights")(Default)).To(HaveField("Total", BeNumerically(">=", 1)), "what has still to be looked at counts")
		clock.SetTime(scene.Dusk)
		scene.Create(scene.Deployment(ns, "late", 1))
		suite.Still(scene.Counts(ns)).Should(Equal(map[string]int{"late": 1, "web": 3}))
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 2, Awake: 2}))

		scene.Patch(s, `{"spec":{"suspend":false}}`)
		Eventually(scene.Sleepers(ns)).Should(Equal(2))
	})
})
