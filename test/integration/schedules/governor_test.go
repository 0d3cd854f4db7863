package schedules

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// queueScaler creates an autoscaler of the Deployment web that may take it to zero.
func queueScaler(namespace string) {
	GinkgoHelper()
	none, each := int32(0), resource.MustParse("10")
	Expect(scene.Env.Client.Create(scene.Ctx, &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MinReplicas:    &none, MaxReplicas: 5,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
				Metric: autoscalingv2.MetricIdentifier{Name: "jobs-waiting"},
				Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: &each},
			}}},
		},
	})).To(Succeed())
}

// behavior reads the behavior of the autoscaler of queueScaler. It is nil if the autoscaler has none.
func behavior(namespace string) func(Gomega) *autoscalingv2.HorizontalPodAutoscalerBehavior {
	return func(g Gomega) *autoscalingv2.HorizontalPodAutoscalerBehavior {
		var h autoscalingv2.HorizontalPodAutoscaler
		g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, &h)).To(Succeed())
		return h.Spec.Behavior
	}
}

// In these specs a transition does not change the Deployment itself, because it already has zero replicas.
var _ = Describe("An autoscaler with a minimum of zero whose Deployment is at zero", func() {
	deploymentsOnly := func(s *v1alpha1.Schedule) {
		s.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
	}

	It("is held from the transition at which the Deployment would sleep, and released at the next", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		Expect(scene.Env.Client.Create(scene.Ctx, scene.Deployment(ns, "web", 0))).To(Succeed())
		queueScaler(ns)
		scene.NightlyOver(ns, deploymentsOnly)
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
		Expect(behavior(ns)(Default)).To(BeNil())

		clock.SetTime(scene.Monday.Add(9 * time.Hour))
		Eventually(behavior(ns)).ShouldNot(BeNil())
		clock.SetTime(scene.Monday.Add(21 * time.Hour))
		Eventually(behavior(ns)).Should(BeNil())
	})

	It("keeps an edit of its behavior at night, and scales again in the morning", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		Expect(scene.Env.Client.Create(scene.Ctx, scene.Deployment(ns, "web", 0))).To(Succeed())
		queueScaler(ns)
		scene.NightlyOver(ns, deploymentsOnly)
		clock.SetTime(scene.Monday.Add(9 * time.Hour))
		Eventually(behavior(ns)).ShouldNot(BeNil())
		scene.Patch(&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}},
			`{"spec":{"behavior":{"scaleDown":{"stabilizationWindowSeconds":60}}}}`)
		clock.SetTime(scene.Monday.Add(21 * time.Hour))
		Eventually(behavior(ns)).Should(And(
			HaveField("ScaleUp.SelectPolicy", HaveValue(Equal(autoscalingv2.MaxChangePolicySelect))),
			HaveField("ScaleDown.SelectPolicy", HaveValue(Equal(autoscalingv2.MaxChangePolicySelect))),
			HaveField("ScaleDown.StabilizationWindowSeconds", HaveValue(BeEquivalentTo(60)))))
	})

	It("is held when a schedule is created, and released when the schedule is deleted", func() {
		scene.StartManagerAt(suite.NewClock(scene.Monday.Add(9 * time.Hour)))
		ns := scene.NewNamespace()
		Expect(scene.Env.Client.Create(scene.Ctx, scene.Deployment(ns, "web", 0))).To(Succeed())
		queueScaler(ns)
		suite.Still(behavior(ns)).Should(BeNil())
		s := scene.NightlyOver(ns, deploymentsOnly)
		Eventually(behavior(ns)).ShouldNot(BeNil())
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		Eventually(behavior(ns)).Should(BeNil())
		Eventually(scene.Vanished(s)).Should(Succeed())
	})
})
