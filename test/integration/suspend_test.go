package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
)

var _ = Describe("A suspended schedule", func() {
	suspended := beCondition(metav1.ConditionTrue, "Suspended")

	It("keeps sleeping objects asleep until it resumes", func() {
		clock := startManagerAsleep()
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		s := nightly(ns, "nights")
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		patch(s, `{"spec":{"suspend":true}}`)
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(suspended)
		clock.SetTime(dawn)
		Consistently(replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))

		patch(s, `{"spec":{"suspend":false}}`)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
	})

	It("keeps awake objects awake until it resumes", func() {
		clock := startManager()
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		known(ns, 1)
		s := nightly(ns, "nights", func(r *v1alpha1.ScheduleRules) { r.Suspend = true })
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(suspended)
		Expect(targetsOf(ns, "nights")(Default)).To(HaveField("Total", BeNumerically(">=", 1)), "what has still to be looked at counts")
		clock.SetTime(dusk)
		create(deployment(ns, "late", 1))
		Consistently(counts(ns)).Should(Equal(map[string]int{"late": 1, "web": 3}))
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 2, Awake: 2}))

		patch(s, `{"spec":{"suspend":false}}`)
		Eventually(sleepers(ns)).Should(Equal(2))
	})
})
