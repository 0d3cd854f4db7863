package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
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
		clock := startManager()
		before := stored(Default, obj)
		nightly(obj.GetNamespace(), "nights", func(r *v1alpha1.ScheduleRules) { r.AsleepAs = &as })
		Eventually(conditionOf(obj.GetNamespace(), "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
		clock.SetTime(dusk)
		Eventually(asleep).Should(Succeed())
		clock.SetTime(dawn)
		Eventually(func(g Gomega) map[string]any { return asIs(stored(g, obj)) }).Should(Equal(asIs(before)))
	}

	It("replicas leaves that many and never raises a count", func() {
		ns := newNamespace()
		web, two := deployment(ns, "web", 5), int64(2)
		create(web, deployment(ns, "small", 1))
		night(v1alpha1.AsleepAs{Replicas: &two}, web, func(g Gomega) {
			g.Expect(counts(ns)(g)).To(Equal(map[string]int{"small": 1, "web": 2}))
		})
	})

	It("percent leaves that share, rounded up", func() {
		ns := newNamespace()
		web, share := deployment(ns, "web", 5), int32(30)
		create(web, deployment(ns, "small", 1))
		night(v1alpha1.AsleepAs{Percent: &share}, web, func(g Gomega) {
			g.Expect(counts(ns)(g)).To(Equal(map[string]int{"small": 1, "web": 2}))
		})
	})

	It("bounds narrows an autoscaler and touches nothing else", func() {
		ns := newNamespace()
		h, one, two := autoscaler(ns, "web", 3, 10), int64(1), int64(2)
		create(h, deployment(ns, "web", 5))
		night(v1alpha1.AsleepAs{Bounds: &v1alpha1.BoundsValue{Min: &one, Max: &two}}, h, func(g Gomega) {
			u := stored(g, h)
			g.Expect([]string{fieldOf(u, "spec", "minReplicas"), fieldOf(u, "spec", "maxReplicas")}).To(Equal([]string{"1", "2"}))
			g.Expect(replicas(ns, "web")(g)).To(BeEquivalentTo(5))
		})
	})

	It("hold stops the roll-out and leaves the count", func() {
		ns := newNamespace()
		web, yes := deployment(ns, "web", 5), true
		create(web)
		night(v1alpha1.AsleepAs{Hold: &yes}, web, func(g Gomega) {
			u := stored(g, web)
			g.Expect([]string{fieldOf(u, "spec", "paused"), fieldOf(u, "spec", "replicas")}).To(Equal([]string{"true", "5"}))
		})
	})

	It("annotations sets them and restores the originals", func() {
		ns := newNamespace()
		web := deployment(ns, "web", 5)
		web.Annotations = map[string]string{"example.com/tier": "gold"}
		create(web)
		night(v1alpha1.AsleepAs{Annotations: map[string]string{"example.com/tier": "night", "example.com/asleep": "yes"}}, web, func(g Gomega) {
			a := stored(g, web).GetAnnotations()
			g.Expect(a).To(And(HaveKeyWithValue("example.com/tier", "night"), HaveKeyWithValue("example.com/asleep", "yes")))
			g.Expect(replicas(ns, "web")(g)).To(BeEquivalentTo(5))
		})
	})
})

var _ = Describe("An autoscaler of a target that sleeps", func() {
	const policyOf = "selectPolicy"

	It("with a minimum of zero is held before the target goes to zero and released after the target is back", func() {
		clock := startManager()
		ns := newNamespace()
		web, h := deployment(ns, "web", 3), autoscaler(ns, "web", 0, 10)
		create(web, h)
		before := stored(Default, h)
		nightly(ns, "nights")
		Eventually(targetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(1)))
		target, governor := follow(web), follow(h)

		clock.SetTime(dusk)
		Eventually(func() int64 { return target.since(0, "0", "spec", "replicas") }).Should(BeNumerically(">", 0))
		asleep := target.since(0, "0", "spec", "replicas")
		// Each object has a watch of its own, so one object may be newer than the other.
		heldAt := func() int64 { return governor.since(0, "Disabled", "spec", "behavior", "scaleUp", policyOf) }
		Eventually(heldAt).Should(BeNumerically(">", 0))
		held := heldAt()
		Expect(held).To(BeNumerically("<", asleep))

		clock.SetTime(dawn)
		Eventually(func(g Gomega) map[string]any { return asIs(stored(g, h)) }).Should(Equal(asIs(before)))
		awakeAt := func() int64 { return target.since(asleep, "3", "spec", "replicas") }
		Eventually(awakeAt).Should(BeNumerically(">", 0))
		letGoAt := func() int64 { return governor.since(held, "", "spec", "behavior", "scaleUp", policyOf) }
		Eventually(letGoAt).Should(BeNumerically(">", 0))
		Expect(letGoAt()).To(BeNumerically(">", awakeAt()))
	})

	It("with a minimum of zero that appears at night is held", func() {
		startManagerAsleep()
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		nightly(ns, "nights")
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		h := autoscaler(ns, "web", 0, 10)
		create(h)
		Eventually(func(g Gomega) string { return fieldOf(stored(g, h), "spec", "behavior", "scaleUp", policyOf) }).Should(Equal("Disabled"))
	})

	It("with a higher minimum needs no change: it rests while the target is at zero", func() {
		clock := startManager()
		ns := newNamespace()
		h := autoscaler(ns, "web", 2, 10)
		create(deployment(ns, "web", 3), h)
		nightly(ns, "nights")
		Eventually(targetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(1)))
		clock.SetTime(dusk)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		clock.SetTime(dawn)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
		Expect(versionOf(h)(Default)).To(Equal(h.ResourceVersion))
	})

	It("gets the size as its bounds if some replicas are left", func() {
		clock := startManager()
		ns := newNamespace()
		web, h, two := deployment(ns, "web", 5), autoscaler(ns, "web", 3, 10), int64(2)
		create(web, h)
		before := stored(Default, h)
		nightly(ns, "nights", func(r *v1alpha1.ScheduleRules) { r.AsleepAs = &v1alpha1.AsleepAs{Replicas: &two} })
		Eventually(targetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(1)))
		clock.SetTime(dusk)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(2))
		// The minimum is written before the count of the Deployment, and the maximum after it.
		Eventually(func(g Gomega) []string {
			u := stored(g, h)
			return []string{fieldOf(u, "spec", "minReplicas"), fieldOf(u, "spec", "maxReplicas")}
		}).Should(Equal([]string{"2", "2"}))
		clock.SetTime(dawn)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(5))
		Eventually(func(g Gomega) map[string]any { return asIs(stored(g, h)) }).Should(Equal(asIs(before)))
	})
})
