package schedules

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
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

func enforce(r *v1alpha1.ScheduleRules) { r.OnManualChange = v1alpha1.ManualEnforce }

var _ = Describe("A manual change at night", func() {
	It("is respected until the next transition and stands after it", func() {
		clock := scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.Nightly(ns, "nights")
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))

		scene.Scale(ns, "web", 5)
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Overridden: 1}))
		clock.SetTime(scene.Dawn.Add(-time.Second))
		suite.Still(scene.Replicas(ns, "web")).Should(BeEquivalentTo(5))

		clock.SetTime(scene.Dawn)
		Eventually(scene.Ledger(ns, "web")).Should(BeEmpty())
		Expect(scene.Replicas(ns, "web")(Default)).To(BeEquivalentTo(5))
		clock.SetTime(scene.Dusk.AddDate(0, 0, 1))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		clock.SetTime(scene.Dawn.AddDate(0, 0, 1))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(5))
	})

	It("that goes up and back to zero is the last word of the owner, and stands as well", func() {
		clock := scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.Nightly(ns, "nights")
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		scene.Scale(ns, "web", 5)
		Eventually(scene.TargetsOf(ns, "nights")).Should(HaveField("Overridden", BeEquivalentTo(1)))
		scene.Scale(ns, "web", 0)
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, AlreadyAsleep: 1}))
		clock.SetTime(scene.Dawn)
		Eventually(scene.Ledger(ns, "web")).Should(BeEmpty())
		Expect(scene.Replicas(ns, "web")(Default)).To(BeEquivalentTo(0))
		scene.Scale(ns, "web", 4)
		clock.SetTime(scene.Dusk.AddDate(0, 0, 1))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		clock.SetTime(scene.Dawn.AddDate(0, 0, 1))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(4))
	})

	It("of other fields than the count stays, and the count is restored", func() {
		clock := scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		web := scene.Deployment(ns, "web", 3)
		scene.Create(web)
		scene.Nightly(ns, "nights")
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		scene.Patch(web, `{"metadata":{"labels":{"release":"7"}},"spec":{"minReadySeconds":9}}`)
		clock.SetTime(scene.Dawn)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		var after appsv1.Deployment
		Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(web), &after)).To(Succeed())
		Expect(after.Spec.MinReadySeconds).To(BeEquivalentTo(9))
		Expect(after.Labels).To(HaveKeyWithValue("release", "7"))
	})

	It("is corrected if the policy enforces", func() {
		clock := scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.Nightly(ns, "nights", enforce)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		scene.Scale(ns, "web", 5)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Expect(scene.ConditionOf(ns, "nights", v1alpha1.ConditionContested)(Default)).To(scene.BeCondition(metav1.ConditionFalse, "None"))
		clock.SetTime(scene.Dawn)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
	})
})

var _ = Describe("A writer that keeps resetting enforced values", func() {
	DescribeTable("is named in Contested, and corrections slow down to one a minute",
		func(onManualChange v1alpha1.ManualChange, reset string) {
			clock := scene.StartManagerAsleep()
			ns := scene.NewNamespace()
			web := scene.Deployment(ns, "web", 3)
			scene.Create(web)
			scene.Nightly(ns, "nights", func(r *v1alpha1.ScheduleRules) { r.OnManualChange = onManualChange })
			Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
			seen := scene.Follow(web)
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
				return scene.ConditionOf(ns, "nights", v1alpha1.ConditionContested)(g)
			}).WithPolling(200 * time.Millisecond).Should(And(scene.BeCondition(metav1.ConditionTrue, "OtherWriter"),
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
				return scene.Replicas(ns, "web")(g)
			}).Should(BeEquivalentTo(0))
			clock.Step(11 * time.Minute)
			Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionContested)).Should(scene.BeCondition(metav1.ConditionFalse, "None"))
		},
		Entry("where the policy enforces", v1alpha1.ManualEnforce, `{"spec":{"replicas":3}}`),
		Entry("where it replaces the whole object, the ledger with it", v1alpha1.ManualRespect,
			`{"metadata":{"annotations":{"flyball.dev/ledger":null}},"spec":{"replicas":3}}`),
	)
})

// rival resets a Deployment whenever its count has changed, like an operator that owns it. It does so until stop is
// called.
func rival(namespace, name string, n int32, reset string) (stop func()) {
	ctx, cancel := context.WithCancel(scene.Ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		body := client.RawPatch(types.MergePatchType, []byte(reset))
		for ctx.Err() == nil {
			d := scene.Deployment(namespace, name, n)
			if scene.Env.Client.Get(ctx, client.ObjectKeyFromObject(d), d) == nil && *d.Spec.Replicas != n {
				_ = scene.Env.Client.Patch(ctx, d, body, client.FieldOwner("rival-operator")) // tried again in a moment
			}
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	stop = func() { cancel(); <-done }
	DeferCleanup(stop)
	return stop
}

// corrections returns the number of times that a count went to zero.
func corrections(h *scene.Writes) int {
	n := 0
	for _, v := range h.Values("spec", "replicas") {
		if v == "0" {
			n++
		}
	}
	return n
}
