package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
)

// always and never set cron pairs. At night, the pair of always means asleep, and the pair of never means awake.
func always(r *v1alpha1.ScheduleRules) { r.Downscale, r.Upscale = "0 20 * * *", "0 8 * * *" }
func never(r *v1alpha1.ScheduleRules)  { r.Downscale, r.Upscale = "0 8 * * *", "0 20 * * *" }

func priority(n int32) func(*v1alpha1.ScheduleRules) {
	return func(r *v1alpha1.ScheduleRules) { r.Priority = n }
}

var _ = Describe("Two schedules on one target", func() {
	conflicting := func(namespace, name string) func(Gomega) metav1.Condition {
		return conditionOf(namespace, name, v1alpha1.ConditionConflicting)
	}
	says := func(text string) types.GomegaMatcher {
		return And(beCondition(metav1.ConditionTrue, "OtherPolicy"), HaveField("Message", ContainSubstring(text)))
	}
	decided := func(text string) types.GomegaMatcher {
		return And(beCondition(metav1.ConditionFalse, "Overruled"), HaveField("Message", ContainSubstring(text)))
	}

	It("follow the higher priority, and both report it without a warning", func() {
		startManagerAsleep()
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		nightly(ns, "asleep", always, priority(10))
		nightly(ns, "awake", never)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(conflicting(ns, "awake")).Should(decided("overruled by Schedule/" + ns + "/asleep on size (priority)"))
		Eventually(conflicting(ns, "asleep")).Should(decided("overrules Schedule/" + ns + "/awake on size (priority)"))
		for _, name := range []string{"asleep", "awake"} {
			Eventually(conditionOf(ns, name, v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
			Expect(reasons(ns, name)(Default)).NotTo(HaveKey("Conflicting"))
		}
		Eventually(targetsOf(ns, "awake")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Overridden: 1}))
		Eventually(targetsOf(ns, "asleep")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
	})

	It("keep the target awake when they tie, and both report it", func() {
		startManagerAsleep()
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		nightly(ns, "asleep", always)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		nightly(ns, "awake", never)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
		Eventually(conflicting(ns, "asleep")).Should(says("overruled by Schedule/" + ns + "/awake on size (capacity)"))
		Eventually(conflicting(ns, "awake")).Should(says("overrules Schedule/" + ns + "/asleep on size (capacity)"))
		Eventually(targetsOf(ns, "asleep")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Overridden: 1}))
	})

	It("leave more replicas when they tie and both are asleep", func() {
		startManagerAsleep()
		ns := newNamespace()
		create(deployment(ns, "web", 10))
		nightly(ns, "zero", always)
		half := int32(50)
		nightly(ns, "half", always, func(r *v1alpha1.ScheduleRules) { r.AsleepAs = &v1alpha1.AsleepAs{Percent: &half} })
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(5))
		Eventually(conflicting(ns, "zero")).Should(says("overruled by Schedule/" + ns + "/half"))
		Eventually(conflicting(ns, "half")).Should(says("overrules Schedule/" + ns + "/zero"))
	})

	It("stop conflicting once either is deleted", func() {
		startManagerAsleep()
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		nightly(ns, "asleep", always)
		awake := nightly(ns, "awake", never)
		Eventually(conflicting(ns, "asleep")).Should(says("awake"))
		remove(awake)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(conflicting(ns, "asleep")).Should(beCondition(metav1.ConditionFalse, "None"))
	})

	It("hand over without waking the target when the winner is deleted", func() {
		startManagerAsleep()
		ns := newNamespace()
		web := deployment(ns, "web", 3)
		create(web)
		first := nightly(ns, "first", always, priority(10))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		nightly(ns, "second", always)
		Eventually(targetsOf(ns, "second")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
		seen := follow(web)
		remove(first)
		Eventually(ledger(ns, "web")).Should(ContainSubstring("Schedule/" + ns + "/second"))
		Expect(seen.values("spec", "replicas")).To(Equal([]string{"0"}))
	})

	It("have the same result in any order of creation", func() {
		startManagerAsleep()
		two := int64(2)
		steps := map[string]func(ns string){
			"asleep": func(ns string) { nightly(ns, "asleep", always, priority(5)) },
			"awake":  func(ns string) { nightly(ns, "awake", never, priority(5)) },
			"some": func(ns string) {
				nightly(ns, "some", always, priority(6), func(r *v1alpha1.ScheduleRules) { r.AsleepAs = &v1alpha1.AsleepAs{Replicas: &two} })
			},
		}
		orders := map[string][]string{}
		for _, order := range permutations([]string{"asleep", "awake", "some"}) {
			ns := newNamespace()
			orders[ns] = order
			create(deployment(ns, "web", 3))
			for _, step := range order {
				steps[step](ns)
			}
		}
		for ns, order := range orders {
			Eventually(replicas(ns, "web")).Should(BeEquivalentTo(2), "created in the order %v", order)
			for _, name := range []string{"asleep", "awake"} { // a tie
				Eventually(conflicting(ns, name)).Should(beCondition(metav1.ConditionTrue, "OtherPolicy"), "%s, created in the order %v", name, order)
			}
			Eventually(conflicting(ns, "some")).Should(beCondition(metav1.ConditionFalse, "Overruled"), "created in the order %v", order)
		}
	})
})

// permutations lists every order of some names.
func permutations(names []string) [][]string {
	if len(names) < 2 {
		return [][]string{names}
	}
	var all [][]string
	for i, first := range names {
		rest := append(append([]string(nil), names[:i]...), names[i+1:]...)
		for _, p := range permutations(rest) {
			all = append(all, append([]string{first}, p...))
		}
	}
	return all
}
