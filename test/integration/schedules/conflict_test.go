package schedules

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
)

var _ = Describe("Two schedules on one target", func() {
	conflicting := func(namespace, name string) func(Gomega) metav1.Condition {
		return scene.ConditionOf(namespace, name, v1alpha1.ConditionConflicting)
	}
	says := func(text string) types.GomegaMatcher {
		return And(scene.BeCondition(metav1.ConditionTrue, "OtherPolicy"), HaveField("Message", ContainSubstring(text)))
	}
	decided := func(text string) types.GomegaMatcher {
		return And(scene.BeCondition(metav1.ConditionFalse, "Overruled"), HaveField("Message", ContainSubstring(text)))
	}

	It("follow the higher priority, and both report it without a warning", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.Nightly(ns, "asleep", scene.Always, scene.Priority(10))
		scene.Nightly(ns, "awake", scene.Never)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(conflicting(ns, "awake")).Should(decided("overruled by Schedule/" + ns + "/asleep on size (priority)"))
		Eventually(conflicting(ns, "asleep")).Should(decided("overrules Schedule/" + ns + "/awake on size (priority)"))
		for _, name := range []string{"asleep", "awake"} {
			Eventually(scene.ConditionOf(ns, name, v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
			Expect(scene.Reasons(ns, name)(Default)).NotTo(HaveKey("Conflicting"))
		}
		Eventually(scene.TargetsOf(ns, "awake")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Overridden: 1}))
		Eventually(scene.TargetsOf(ns, "asleep")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
	})

	It("keep the target awake when they tie, and both report it", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.Nightly(ns, "asleep", scene.Always)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		scene.Nightly(ns, "awake", scene.Never)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		Eventually(conflicting(ns, "asleep")).Should(says("overruled by Schedule/" + ns + "/awake on size (capacity)"))
		Eventually(conflicting(ns, "awake")).Should(says("overrules Schedule/" + ns + "/asleep on size (capacity)"))
		Eventually(scene.TargetsOf(ns, "asleep")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Overridden: 1}))
	})

	It("leave more replicas when they tie and both are asleep", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 10))
		scene.Nightly(ns, "zero", scene.Always)
		half := int32(50)
		scene.Nightly(ns, "half", scene.Always, func(r *v1alpha1.ScheduleRules) { r.AsleepAs = &v1alpha1.AsleepAs{Percent: &half} })
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(5))
		Eventually(conflicting(ns, "zero")).Should(says("overruled by Schedule/" + ns + "/half"))
		Eventually(conflicting(ns, "half")).Should(says("overrules Schedule/" + ns + "/zero"))
	})

	It("stop conflicting once either is deleted", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.Nightly(ns, "asleep", scene.Always)
		awake := scene.Nightly(ns, "awake", scene.Never)
		Eventually(conflicting(ns, "asleep")).Should(says("awake"))
		scene.Remove(awake)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(conflicting(ns, "asleep")).Should(scene.BeCondition(metav1.ConditionFalse, "None"))
	})

	It("hand over without waking the target when the winner is deleted", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		web := scene.Deployment(ns, "web", 3)
		scene.Create(web)
		first := scene.Nightly(ns, "first", scene.Always, scene.Priority(10))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		scene.Nightly(ns, "second", scene.Always)
		Eventually(scene.TargetsOf(ns, "second")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
		seen := scene.Follow(web)
		scene.Remove(first)
		Eventually(scene.Ledger(ns, "web")).Should(ContainSubstring("Schedule/" + ns + "/second"))
		Expect(seen.Values("spec", "replicas")).To(Equal([]string{"0"}))
	})

	It("have the same result in any order of creation", func() {
		scene.StartManagerAsleep()
		two := int64(2)
		steps := map[string]func(ns string){
			"asleep": func(ns string) { scene.Nightly(ns, "asleep", scene.Always, scene.Priority(5)) },
			"awake":  func(ns string) { scene.Nightly(ns, "awake", scene.Never, scene.Priority(5)) },
			"some": func(ns string) {
				scene.Nightly(ns, "some", scene.Always, scene.Priority(6),
					func(r *v1alpha1.ScheduleRules) { r.AsleepAs = &v1alpha1.AsleepAs{Replicas: &two} })
			},
		}
		orders := map[string][]string{}
		for _, order := range permutations([]string{"asleep", "awake", "some"}) {
			ns := scene.NewNamespace()
			orders[ns] = order
			scene.Create(scene.Deployment(ns, "web", 3))
			for _, step := range order {
				steps[step](ns)
			}
		}
		for ns, order := range orders {
			Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(2), "created in the order %v", order)
			for _, name := range []string{"asleep", "awake"} { // a tie
				Eventually(conflicting(ns, name)).Should(scene.BeCondition(metav1.ConditionTrue, "OtherPolicy"), "%s, created in the order %v", name,
					order)
			}
			Eventually(conflicting(ns, "some")).Should(scene.BeCondition(metav1.ConditionFalse, "Overruled"), "created in the order %v", order)
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
