package failures

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// twin creates a Deployment and its autoscaler. They look the same in every namespace.
func twin(namespace string) {
	GinkgoHelper()
	d := scene.Deployment(namespace, "web", 3, "tier", "front")
	d.Annotations = map[string]string{"example.com/nights": "off"}
	Expect(scene.Env.Client.Create(scene.Ctx, d)).To(Succeed())
	least := int32(2)
	Expect(scene.Env.Client.Create(scene.Ctx, &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", Labels: d.Labels, Annotations: d.Annotations},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MinReplicas:    &least, MaxReplicas: 5,
		},
	})).To(Succeed())
}

// autoscalerVersion reads the version of the autoscaler that twin made.
func autoscalerVersion(namespace string) string {
	GinkgoHelper()
	var h autoscalingv2.HorizontalPodAutoscaler
	Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, &h)).To(Succeed())
	return h.ResourceVersion
}

// autoscalerBounds reads the bounds of the autoscaler that twin made.
func autoscalerBounds(namespace string) func(Gomega) []int32 {
	return func(g Gomega) []int32 {
		var h autoscalingv2.HorizontalPodAutoscaler
		g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, &h)).To(Succeed())
		return []int32{*h.Spec.MinReplicas, h.Spec.MaxReplicas}
	}
}

var _ = DescribeTable("A policy of one namespace touches nothing in another",
	func(change func(own, other string, s *v1alpha1.ScheduleSpec)) {
		scene.ManagerAtNight()
		own, other := scene.NewNamespace("env", "dev"), scene.NewNamespace("env", "dev")
		twin(own)
		twin(other)
		before, autoscaler := scene.ResourceVersion(other, "web")(Default), autoscalerVersion(other)
		s := scene.NightlyOver(own, func(s *v1alpha1.Schedule) { change(own, other, &s.Spec) })
		// Its own namespace shows that the manager works.
		Eventually(func(g Gomega) bool {
			bounds := autoscalerBounds(own)(g)
			return scene.Replicas(own, "web")(g) != 3 || bounds[1] != 5 || scene.Ledger(own, "web")(g) != ""
		}).Should(BeTrue())
		suite.Still(scene.ResourceVersion(other, "web")).Should(Equal(before))

		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		Eventually(scene.Vanished(s)).Should(Succeed())
		Expect(scene.ResourceVersion(other, "web")(Default)).To(Equal(before))
		Expect(autoscalerVersion(other)).To(Equal(autoscaler))
	},
	Entry("with an empty target", func(_, _ string, s *v1alpha1.ScheduleSpec) {}),
	Entry("by name", func(_, _ string, s *v1alpha1.ScheduleSpec) { s.Target.Names = []string{"web"} }),
	Entry("by a name with the namespace in it", func(_, other string, s *v1alpha1.ScheduleSpec) {
		s.Target.Names = []string{"web", other + "/web"}
	}),
	Entry("by kind", func(_, _ string, s *v1alpha1.ScheduleSpec) {
		s.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
	}),
	Entry("by labels", func(_, _ string, s *v1alpha1.ScheduleSpec) {
		s.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}
	}),
	Entry("by a selector that matches everything", func(_, _ string, s *v1alpha1.ScheduleSpec) {
		s.Target.Selector = &metav1.LabelSelector{}
		s.Target.Exclude = &metav1.LabelSelector{}
	}),
	Entry("by the absence of a label", func(_, _ string, s *v1alpha1.ScheduleSpec) {
		s.Target.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "nobody-has-it",
			Operator: metav1.LabelSelectorOpDoesNotExist}}}
	}),
	Entry("by the name of the other namespace as a label", func(own, _ string, s *v1alpha1.ScheduleSpec) {
		s.Target.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "kubernetes.io/metadata.name",
			Operator: metav1.LabelSelectorOpNotIn, Values: []string{own}}}}
	}),
	Entry("by annotations", func(_, _ string, s *v1alpha1.ScheduleSpec) {
		s.Target.Annotations = map[string]string{"example.com/nights": "off"}
	}),
	Entry("with the highest priority, enforced", func(_, _ string, s *v1alpha1.ScheduleSpec) {
		s.Priority, s.OnManualChange = 1<<30, v1alpha1.ManualEnforce
	}),
	Entry("through autoscalers", func(_, _ string, s *v1alpha1.ScheduleSpec) {
		one := int64(2)
		s.AsleepAs = &v1alpha1.AsleepAs{Bounds: &v1alpha1.BoundsValue{Max: &one}}
	}),
	Entry("by annotations that it sets", func(_, _ string, s *v1alpha1.ScheduleSpec) {
		s.AsleepAs = &v1alpha1.AsleepAs{Annotations: map[string]string{"example.com/quiet": "true"}}
	}),
	Entry("when it is deleted and orphans its own", func(_, _ string, s *v1alpha1.ScheduleSpec) {
		s.DeletionPolicy = v1alpha1.DeletionOrphan
	}),
)
