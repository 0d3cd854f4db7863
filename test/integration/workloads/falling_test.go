package workloads

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

var _ = Describe("A target whose pods do not end", func() {
	It("falls asleep, by name, until its last pod is gone", func() {
		clock := startManager()
		const ns = "falls"
		Expect(env.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
		Expect(env.Client.Create(ctx, workload(ns, "w", "StatefulSet"))).To(Succeed())
		Eventually(pods(ns)).Should(Equal(2))
		last := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "w-0"}}
		Expect(env.Patch(ctx, last, `{"metadata":{"finalizers":["example.com/stays"]}}`)).To(Succeed())
		s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nights"}, Spec: v1alpha1.ScheduleSpec{ScheduleRules: rules()}}
		Expect(env.Client.Create(ctx, s)).To(Succeed())

		clock.SetTime(monday.Add(9 * time.Hour))
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(last), last)).To(Succeed())
			g.Expect(last.DeletionTimestamp).NotTo(BeNil())
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
			g.Expect(s.Status.Targets).To(HaveValue(Equal(v1alpha1.TargetCounts{Total: 1, FallingAsleep: 1})))
			g.Expect(s.Status.FallingAsleep).To(HaveLen(1))
			g.Expect(s.Status.FallingAsleep[0].Message).To(Equal(
				"since 2026-03-02T20:00:00Z: .status.replicas Eq .spec.replicas does not hold: .status.replicas is 1"))
			ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
			g.Expect(ready.Reason).To(Equal("Progressing"))
			g.Expect(ready.Message).To(HavePrefix("1 of 1 target is falling asleep: StatefulSet.apps/falls/w: since"))
		}).Should(Succeed())

		Expect(env.Patch(ctx, last, `{"metadata":{"finalizers":null}}`)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
			g.Expect(s.Status.Targets).To(HaveValue(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1})))
			g.Expect(s.Status.FallingAsleep).To(BeEmpty())
			ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
			g.Expect(ready.Reason).To(Equal("AsExpected"))
		}).Should(Succeed())
	})
})
