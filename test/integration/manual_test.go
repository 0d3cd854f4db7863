package integration

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

func enforce(r *v1alpha1.ScheduleRules) { r.OnManualChange = v1alpha1.ManualEnforce }

var _ = Describe("A manual change at night", func() {
	It("is respected until the next transition and stands after it", func() {
		clock := startManagerAsleep()
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		nightly(ns, "nights")
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))

		scale(ns, "web", 5)
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Overridden: 1}))
		clock.SetTime(dawn.Add(-time.Second))
		Consistently(replicas(ns, "web")).Should(BeEquivalentTo(5))

		clock.SetTime(dawn)
		Eventually(ledger(ns, "web")).Should(BeEmpty())
		Expect(replicas(ns, "web")(Default)).To(BeEquivalentTo(5))
		clock.SetTime(dusk.AddDate(0, 0, 1))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		clock.SetTime(dawn.AddDate(0, 0, 1))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(5))
	})

	It("that goes up and back to zero is the last word of the owner, and stands as well", func() {
		clock := startManagerAsleep()
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		nightly(ns, "nights")
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		scale(ns, "web", 5)
		Eventually(targetsOf(ns, "nights")).Should(HaveField("Overridden", BeEquivalentTo(1)))
		scale(ns, "web", 0)
		Consistently(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Overridden: 1}))
		clock.SetTime(dawn)
		Eventually(ledger(ns, "web")).Should(BeEmpty())
		Expect(replicas(ns, "web")(Default)).To(BeEquivalentTo(0))
		scale(ns, "web", 4)
		clock.SetTime(dusk.AddDate(0, 0, 1))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		clock.SetTime(dawn.AddDate(0, 0, 1))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(4))
	})

	It("of other fields than the count stays, and the count is restored", func() {
		clock := startManagerAsleep()
		ns := newNamespace()
		web := deployment(ns, "web", 3)
		create(web)
		nightly(ns, "nights")
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		patch(web, `{"metadata":{"labels":{"release":"7"}},"spec":{"minReadySeconds":9}}`)
		clock.SetTime(dawn)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
		var after appsv1.Deployment
		Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(web), &after)).To(Succeed())
		Expect(after.Spec.MinReadySeconds).To(BeEquivalentTo(9))
		Expect(after.Labels).To(HaveKeyWithValue("release", "7"))
	})

	It("is corrected if the policy enforces", func() {
		clock := startManagerAsleep()
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		nightly(ns, "nights", enforce)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		scale(ns, "web", 5)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		Expect(conditionOf(ns, "nights", v1alpha1.ConditionContested)(Default)).To(beCondition(metav1.ConditionFalse, "None"))
		clock.SetTime(dawn)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
	})
})

var _ = Describe("A writer that keeps resetting enforced values", func() {
	DescribeTable("is named in Contested, and corrections slow down to one a minute",
		func(onManualChange v1alpha1.ManualChange, reset string) {
			clock := startManagerAsleep()
			ns := newNamespace()
			web := deployment(ns, "web", 3)
			create(web)
			nightly(ns, "nights", func(r *v1alpha1.ScheduleRules) { r.OnManualChange = onManualChange })
			Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
			seen := follow(web)
			stop := rival(ns, "web", 3, reset)

			step := func(simulated time.Duration) {
				for range int(simulated / (5 * time.Second)) {
					clock.FakeClock.Step(5 * time.Second) // nothing is explained meanwhile: the rival writes all the time
					time.Sleep(60 * time.Millisecond)     // for the engine and the rival to act
				}
			}
			step(2 * time.Minute)
			Eventually(func(g Gomega) metav1.Condition { // what was too slow for the clock is made up for
				clock.Step(5 * time.Second)
				return conditionOf(ns, "nights", v1alpha1.ConditionContested)(g)
			}).WithPolling(200 * time.Millisecond).Should(And(beCondition(metav1.ConditionTrue, "OtherWriter"),
				HaveField("Message", ContainSubstring("rival-operator"))))
			before := corrections(seen)
			for minute := range 4 {
				step(time.Minute)
				Eventually(func() int { return corrections(seen) - before }).Should(BeNumerically(">", minute))
			}
			Expect(corrections(seen) - before).To(BeNumerically("~", 4, 1))

			stop()
			Eventually(func(g Gomega) int32 {
				clock.Step(5 * time.Second)
				return replicas(ns, "web")(g)
			}).Should(BeEquivalentTo(0))
			clock.Step(11 * time.Minute)
			Eventually(conditionOf(ns, "nights", v1alpha1.ConditionContested)).Should(beCondition(metav1.ConditionFalse, "None"))
		},
		Entry("where the policy enforces", v1alpha1.ManualEnforce, `{"spec":{"replicas":3}}`),
		Entry("where it replaces the whole object, the ledger with it", v1alpha1.ManualRespect,
			`{"metadata":{"annotations":{"flyball.dev/ledger":null}},"spec":{"replicas":3}}`),
	)
})

// rival resets a Deployment whenever its count has changed, like an operator that owns it. It does so until stop is
// called.
func rival(namespace, name string, n int32, reset string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		body := client.RawPatch(types.MergePatchType, []byte(reset))
		for ctx.Err() == nil {
			d := deployment(namespace, name, n)
			if env.Client.Get(ctx, client.ObjectKeyFromObject(d), d) == nil && *d.Spec.Replicas != n {
				_ = env.Client.Patch(ctx, d, body, client.FieldOwner("rival-operator")) // tried again in a moment
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	stop = func() { cancel(); <-done }
	DeferCleanup(stop)
	return stop
}

// corrections returns the number of times that a count went to zero.
func corrections(h *history) int {
	n := 0
	for _, v := range h.values("spec", "replicas") {
		if v == "0" {
			n++
		}
	}
	return n
}
