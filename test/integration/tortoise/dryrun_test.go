package tortoise

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("A Tortoise with mode Auto in a dry run", func() {
	It("says which numbers would be in force, and writes neither the Deployment, its autoscaler nor its pods", func() {
		ns := web()
		before, beforeHPA := owned(&appsv1.Deployment{}, ns, "web")(Default), owned(&autoscalingv2.HorizontalPodAutoscaler{}, ns, "web")(Default)
		remember(ns, learnt(ns))
		clock := clocktesting.NewFakeClock(noon.Add(time.Minute))
		t := newTortoise(ns, v1alpha1.TortoiseAuto)
		opts := optionsAt(clock)
		opts.DryRun = true
		m := env.Start(opts)
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		Eventually(phaseOf(ns, "web")).Should(Equal("Working"))
		Eventually(func(g Gomega) {
			st := recommendation(ns, "web")(g)
			g.Expect(st.Containers).To(HaveLen(1))
			g.Expect(st.Containers[0].Memory.Recommended).NotTo(BeNil())
			g.Expect(st.Autoscaler.Min.Applied).To(BeTrue())
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(t), t)).To(Succeed())
			g.Expect(meta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ConditionDryRun)).To(BeTrue())
		}).Should(Succeed())
		suite.Still(func(g Gomega) {
			d, h := &appsv1.Deployment{}, &autoscalingv2.HorizontalPodAutoscaler{}
			g.Expect(owned(d, ns, "web")(g)).To(Equal(before))
			g.Expect(owned(h, ns, "web")(g)).To(Equal(beforeHPA))
			g.Expect(append(writers(d), writers(h)...)).NotTo(ContainElement("flyball"))
			var pods corev1.PodList
			g.Expect(env.Client.List(ctx, &pods, client.InNamespace(ns))).To(Succeed())
			for i := range pods.Items {
				g.Expect(writers(&pods.Items[i])).NotTo(ContainElement("flyball"))
			}
		}).Should(Succeed())

		By("the same in earnest")
		Expect(m.Stop()).To(Succeed())
		start(clock)
		Eventually(func(g Gomega) {
			st := recommendation(ns, "web")(g)
			g.Expect(requests(ns, "web")(g)).To(HaveKeyWithValue("memory", st.Containers[0].Memory.Recommended.String()))
		}).Should(Succeed())
		suite.Remove(ctx, env, t) // while a manager runs
	})
})
