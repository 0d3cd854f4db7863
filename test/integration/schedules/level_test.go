package schedules

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// autoscaler returns an HPA of a Deployment. Its metric is CPU, or an external metric if its minimum is zero. It does
// not create the HPA.
func autoscaler(namespace, name string, minimum, maximum int32) *autoscalingv2.HorizontalPodAutoscaler {
	h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	h.Spec.ScaleTargetRef = autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name}
	h.Spec.MinReplicas, h.Spec.MaxReplicas = &minimum, maximum
	if minimum == 0 {
		value := resource.MustParse("30")
		h.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
			Metric: autoscalingv2.MetricIdentifier{Name: "queue_length"},
			Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &value},
		}}}
		return h
	}
	utilization := int32(80)
	h.Spec.Metrics = []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
		Name:   corev1.ResourceCPU,
		Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: &utilization},
	}}}
	return h
}

var _ = Describe("asleepAs", func() {
	// night lets one night pass over an object. It checks the object in the night, and that it is the same as before after
	// the night.
	night := func(as v1alpha1.AsleepAs, obj client.Object, asleep func(g Gomega)) {
		GinkgoHelper()
		clock := scene.StartManager()
		before := scene.Stored(Default, obj)
		scene.Nightly(obj.GetNamespace(), "nights", func(r *v1alpha1.ScheduleRules) { r.AsleepAs = &as })
		Eventually(scene.ConditionOf(obj.GetNamespace(), "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue,
			"AsExpected"))
		clock.SetTime(scene.Dusk)
		Eventually(asleep).Should(Succeed())
		clock.SetTime(scene.Dawn)
		Eventually(func(g Gomega) map[string]any { return scene.AsIs(scene.Stored(g, obj)) }).Should(Equal(scene.AsIs(before)))
	}

	It("replicas leaves that many and never raises a count", func() {
		ns := scene.NewNamespace()
		web, two := scene.Deployment(ns, "web", 5), int64(2)
		scene.Create(web, scene.Deployment(ns, "small", 1))
		night(v1alpha1.AsleepAs{Replicas: &two}, web, func(g Gomega) {
			g.Expect(scene.Counts(ns)(g)).To(Equal(map[string]int{"small": 1, "web": 2}))
		})
	})

	It("percent leaves that share, rounded up", func() {
		ns := scene.NewNamespace()
		web, share := scene.Deployment(ns, "web", 5), int32(30)
		scene.Create(web, scene.Deployment(ns, "small", 1))
		night(v1alpha1.AsleepAs{Percent: &share}, web, func(g Gomega) {
			g.Expect(scene.Counts(ns)(g)).To(Equal(map[string]int{"small": 1, "web": 2}))
		})
	})

	It("bounds narrows an autoscaler and touches nothing else", func() {
		ns := scene.NewNamespace()
		h, one, two := autoscaler(ns, "web", 3, 10), int64(1), int64(2)
		scene.Create(h, scene.Deployment(ns, "web", 5))
		night(v1alpha1.AsleepAs{Bounds: &v1alpha1.BoundsValue{Min: &one, Max: &two}}, h, func(g Gomega) {
			u := scene.Stored(g, h)
			g.Expect([]string{scene.FieldOf(u, "spec", "minReplicas"), scene.FieldOf(u, "spec", "maxReplicas")}).To(Equal([]string{"1", "2"}))
			g.Expect(scene.Replicas(ns, "web")(g)).To(BeEquivalentTo(5))
		})
	})

	It("hold stops the roll-out and leaves the count", func() {
		ns := scene.NewNamespace()
		web, yes := scene.Deployment(ns, "web", 5), true
		scene.Create(web)
		night(v1alpha1.AsleepAs{Hold: &yes}, web, func(g Gomega) {
			u := scene.Stored(g, web)
			g.Expect([]string{scene.FieldOf(u, "spec", "paused"), scene.FieldOf(u, "spec", "replicas")}).To(Equal([]string{"true", "5"}))
		})
	})

	It("annotations sets them and restores the originals", func() {
		ns := scene.NewNamespace()
		web := scene.Deployment(ns, "web", 5)
		web.Annotations = map[string]string{"example.com/tier": "gold"}
		scene.Create(web)
		night(v1alpha1.AsleepAs{Annotations: map[string]string{"example.com/tier": "night", "example.com/asleep": "yes"}}, web, func(g Gomega) {
			a := scene.Stored(g, web).GetAnnotations()
			g.Expect(a).To(And(HaveKeyWithValue("example.com/tier", "night"), HaveKeyWithValue("example.com/asleep", "yes")))
			g.Expect(scene.Replicas(ns, "web")(g)).To(BeEquivalentTo(5))
		})
	})
})

var _ = Describe("An autoscaler of a target that sleeps", func() {
	const policyOf = "selectPolicy"

	It("with a minimum of zero is held before the target goes to zero and released after the target is back", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		web, h := scene.Deployment(ns, "web", 3), autoscaler(ns, "web", 0, 10)
		scene.Create(web, h)
		before := scene.Stored(Default, h)
		scene.Nightly(ns, "nights")
		Eventually(scene.TargetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(1)))
		suite.Settled() // the autoscaler is known too
		target, autoscaler := scene.Follow(web), scene.Follow(h)

		clock.SetTime(scene.Dusk)
		Eventually(func() int64 { return target.Since(0, "0", "spec", "replicas") }).Should(BeNumerically(">", 0))
		asleep := target.Since(0, "0", "spec", "replicas")
		// Each object has a watch of its own, so one object may be newer than the other.
		heldAt := func() int64 { return autoscaler.Since(0, "Disabled", "spec", "behavior", "scaleUp", policyOf) }
		Eventually(heldAt).Should(BeNumerically(">", 0))
		held := heldAt()
		Expect(held).To(BeNumerically("<", asleep))

		clock.SetTime(scene.Dawn)
		Eventually(func(g Gomega) map[string]any { return scene.AsIs(scene.Stored(g, h)) }).Should(Equal(scene.AsIs(before)))
		awakeAt := func() int64 { return target.Since(asleep, "3", "spec", "replicas") }
		Eventually(awakeAt).Should(BeNumerically(">", 0))
		letGoAt := func() int64 { return autoscaler.Since(held, "", "spec", "behavior", "scaleUp", policyOf) }
		Eventually(letGoAt).Should(BeNumerically(">", 0))
		Expect(letGoAt()).To(BeNumerically(">", awakeAt()))
	})

	It("with a minimum of zero that appears at night is held", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.Nightly(ns, "nights")
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		h := autoscaler(ns, "web", 0, 10)
		scene.Create(h)
		Eventually(func(g Gomega) string {
			return scene.FieldOf(scene.Stored(g, h), "spec", "behavior", "scaleUp", policyOf)
		}).Should(Equal("Disabled"))
	})

	It("with a higher minimum needs no change: it rests while the target is at zero", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		h := autoscaler(ns, "web", 2, 10)
		scene.Create(scene.Deployment(ns, "web", 3), h)
		scene.Nightly(ns, "nights")
		Eventually(scene.TargetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(1)))
		clock.SetTime(scene.Dusk)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		clock.SetTime(scene.Dawn)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		Expect(scene.VersionOf(h)(Default)).To(Equal(h.ResourceVersion))
	})

	It("gets the size as its bounds if some replicas are left", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		web, h, two := scene.Deployment(ns, "web", 5), autoscaler(ns, "web", 3, 10), int64(2)
		scene.Create(web, h)
		before := scene.Stored(Default, h)
		scene.Nightly(ns, "nights", func(r *v1alpha1.ScheduleRules) { r.AsleepAs = &v1alpha1.AsleepAs{Replicas: &two} })
		Eventually(scene.TargetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(1)))
		clock.SetTime(scene.Dusk)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(2))
		// The minimum is written before the count of the Deployment, and the maximum after it.
		Eventually(func(g Gomega) []string {
			u := scene.Stored(g, h)
			return []string{scene.FieldOf(u, "spec", "minReplicas"), scene.FieldOf(u, "spec", "maxReplicas")}
		}).Should(Equal([]string{"2", "2"}))
		clock.SetTime(scene.Dawn)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(5))
		Eventually(func(g Gomega) map[string]any { return scene.AsIs(scene.Stored(g, h)) }).Should(Equal(scene.AsIs(before)))
	})
})
