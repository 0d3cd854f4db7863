package schedules

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("An Override", func() {
	until := scene.Dusk.Add(3 * time.Hour)
	end := until.Format(time.RFC3339)
	of := func(o *v1alpha1.Override) func(g Gomega) v1alpha1.OverrideStatus {
		return func(g Gomega) v1alpha1.OverrideStatus {
			g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(o), o)).To(Succeed())
			return o.Status
		}
	}

	It("keeps targets awake until its end, whatever the priority, and leaves a day later", func() {
		clock := scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3), scene.Deployment(ns, "api", 2))
		scene.Nightly(ns, "nights", func(r *v1alpha1.ScheduleRules) { r.Priority = 1000 })
		Eventually(scene.Sleepers(ns)).Should(Equal(2))

		o := scene.Override(ns, "demo", v1alpha1.OverrideAwake, end, "web")
		Expect(scene.Env.Client.Create(scene.Ctx, o)).To(Succeed())
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		Eventually(of(o)).Should(And(HaveField("State", "Awake"), HaveField("Targets.Total", BeEquivalentTo(1)),
			HaveField("EndTime.Time", BeTemporally("==", until)),
			HaveField("Reached", ConsistOf(And(HaveField("Name", "web"), HaveField("Yielding", "Schedule/"+ns+"/nights"))))))
		Expect(scene.Replicas(ns, "api")(Default)).To(BeEquivalentTo(0))

		clock.SetTime(until)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(of(o)).Should(And(HaveField("State", "Ended"), HaveField("Targets.Total", BeZero()), HaveField("Reached", BeEmpty()),
			HaveField("Conditions", ContainElement(And(HaveField("Type", v1alpha1.ConditionReady),
				HaveField("Message", "ended at "+end))))))
		scene.Patch(o, `{"metadata":{"labels":{"look":"again"}}}`)
		clock.SetTime(until.Add(24 * time.Hour))
		scene.Patch(o, `{"spec":{"reason":"a look after a day"}}`)
		Eventually(func() bool {
			return apierrors.IsNotFound(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(o), o))
		}).Should(BeTrue())
	})

	It("reaches no further than the bounds of a schedule, also of later targets, and says so", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		for name, selected := range map[string]string{"nights": "web", "previews": "preview-*"} {
			scene.NightlyOn(ns, name, v1alpha1.TargetSelector{Names: []string{selected}}, func(r *v1alpha1.ScheduleRules) {
				r.Overrides = &v1alpha1.OverrideBounds{Effects: []v1alpha1.OverrideEffect{v1alpha1.OverrideHold}}
			})
		}
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		o := scene.Override(ns, "demo", v1alpha1.OverrideAwake, end)
		Expect(scene.Env.Client.Create(scene.Ctx, o)).To(Succeed())
		limited := []any{HaveField("Message", "Schedule/"+ns+"/nights yields to no effect Awake")}
		Eventually(of(o)).Should(And(HaveField("Targets.Overridden", BeEquivalentTo(1)), HaveField("Overridden", ConsistOf(limited...))))
		Expect(scene.Replicas(ns, "web")(Default)).To(BeEquivalentTo(0))

		scene.Create(scene.Deployment(ns, "preview-1", 2))
		limited = append(limited, HaveField("Message", "Schedule/"+ns+"/previews yields to no effect Awake"))
		Eventually(of(o)).Should(HaveField("Overridden", ConsistOf(limited...)))
		Eventually(scene.Replicas(ns, "preview-1")).Should(BeEquivalentTo(0))
	})

	It("to stay awake says that no schedule selects its objects", func() {
		scene.StartManager()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		o := scene.Override(ns, "demo", v1alpha1.OverrideAwake, end)
		Expect(scene.Env.Client.Create(scene.Ctx, o)).To(Succeed())
		Eventually(of(o)).Should(HaveField("Conditions", ContainElements(
			And(HaveField("Type", v1alpha1.ConditionReady), HaveField("Message", "no schedule selects an object of the target")),
			And(HaveField("Type", v1alpha1.ConditionSelecting), HaveField("Reason", "Selected")))))
	})

	It("puts targets to sleep by day, and gives them back when it is deleted while asleep", func() {
		scene.StartManager()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.Nightly(ns, "nights")
		o := scene.Override(ns, "repair", v1alpha1.OverrideAsleep, end)
		Expect(scene.Env.Client.Create(scene.Ctx, o)).To(Succeed())
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Expect(scene.Env.Client.Delete(scene.Ctx, o)).To(Succeed())
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		Eventually(func() bool {
			return apierrors.IsNotFound(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(o), o))
		}).Should(BeTrue())
	})

	It("that sleeps beside a schedule leaves what sleeps to the schedule, which is suspended meanwhile", func() {
		clock := scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		nights := scene.Nightly(ns, "nights")
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		o := scene.Override(ns, "repair", v1alpha1.OverrideAsleep, end)
		Expect(scene.Env.Client.Create(scene.Ctx, o)).To(Succeed())
		Eventually(scene.Ledger(ns, "web")).Should(And(ContainSubstring(`"also":["Schedule/`+ns+`/nights"]`),
			ContainSubstring(`"by":"Override/`+ns+`/repair"`)))

		scene.Patch(nights, `{"spec":{"suspend":true}}`)
		Eventually(scene.Ledger(ns, "web")).Should(And(Not(ContainSubstring("also")), ContainSubstring(`"by":"Schedule/`+ns+`/nights"`)))
		Eventually(of(o)).Should(HaveField("Overridden", ConsistOf(HaveField("Message", "Schedule/"+ns+"/nights keeps the target as it is"))))
		clock.SetTime(until)
		Eventually(of(o)).Should(HaveField("State", "Ended"))
		suite.Still(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		scene.Remove(nights)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		Expect(scene.Ledger(ns, "web")(Default)).To(BeEmpty())
		scene.Remove(o)
	})

	It("holds objects that no schedule selects, corrects changes by hand, and restores the originals at the end", func() {
		clock := scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		web, api := autoscaler(ns, "web", 2, 5), scene.Deployment(ns, "api", 3)
		o := scene.Override(ns, "load-test", v1alpha1.OverrideHold, end)
		scene.Create(web, api, o)
		Eventually(behavior(ns)).Should(HaveField("ScaleUp.SelectPolicy", HaveValue(Equal(autoscalingv2.DisabledPolicySelect))))
		paused := func(g Gomega) bool {
			var d appsv1.Deployment
			g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(api), &d)).To(Succeed())
			return d.Spec.Paused
		}
		Eventually(paused).Should(BeTrue())
		scene.Patch(api, `{"spec":{"paused":false}}`)
		Eventually(paused).Should(BeTrue())

		clock.SetTime(until)
		Eventually(behavior(ns)).Should(BeNil())
		Eventually(paused).Should(BeFalse())
		scene.Remove(o)
	})

	It("is refused with a selection by annotations, or an end that is no timestamp", func() {
		ns := scene.NewNamespace()
		for _, tc := range []struct {
			target       v1alpha1.TargetSelector
			until, field string
		}{
			{v1alpha1.TargetSelector{Annotations: map[string]string{"team": "shop"}}, end, "annotations: select by"},
			{v1alpha1.TargetSelector{AnnotationSelector: &metav1.LabelSelector{}}, end, "annotationSelector: select by"},
			{v1alpha1.TargetSelector{}, "0000-05-11", "spec.until: Invalid value"},
			{v1alpha1.TargetSelector{}, "9999-12-31", "spec.until: Invalid value"},
		} {
			o := scene.Override(ns, "demo", v1alpha1.OverrideAwake, tc.until)
			o.Spec.Target = tc.target
			Expect(scene.Env.Client.Create(scene.Ctx, o)).To(MatchError(ContainSubstring(tc.field)))
			wide := &v1alpha1.ClusterOverride{ObjectMeta: metav1.ObjectMeta{Name: ns}}
			wide.Spec.OverrideRules = o.Spec.OverrideRules
			wide.Spec.Target = v1alpha1.ClusterTargetSelector{TargetSelector: tc.target, Namespaces: []string{ns}}
			Expect(scene.Env.Client.Create(scene.Ctx, wide)).To(MatchError(ContainSubstring(tc.field)))
		}
	})
})
