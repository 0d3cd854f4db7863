package tortoise

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("A Tortoise over several targets", func() {
	It("rolls out one after the other, continues when one takes too long, and reports it", func() {
		ns := suite.Namespace(ctx, env)
		names := []string{"a", "b", "c"}
		pause := func(name, paused string) {
			GinkgoHelper()
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
			Expect(env.Patch(ctx, d, `{"spec":{"paused":`+paused+`}}`)).To(Succeed())
		}
		for _, name := range names {
			Expect(env.Apply(ctx, fmt.Appendf(nil, deployment, ns, name))).To(Succeed())
			rememberOf(ns, name, learnt(ns))
		}
		for _, name := range names {
			Eventually(func(g Gomega) {
				var d appsv1.Deployment
				g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, &d)).To(Succeed())
				g.Expect(d.Status.AvailableReplicas).To(BeEquivalentTo(5))
			}).Should(Succeed())
			pause(name, "true") // so that a roll-out does not begin
		}
		changed := func(g Gomega) (which []string) {
			for _, name := range names {
				if requests(ns, name)(g)["memory"] != "1Gi" {
					which = append(which, name)
				}
			}
			return which
		}
		clock := clocktesting.NewFakeClock(noon.Add(time.Minute))
		m := start(clock)
		tuned := newTortoise(ns, v1alpha1.TortoiseAuto)
		Eventually(changed).Should(HaveLen(1))
		const others = "waits for other targets to roll out"
		Eventually(func(g Gomega) {
			for _, name := range names {
				st := recommendation(ns, name)(g)
				g.Expect(st.Containers).To(HaveLen(1))
				g.Expect(st.Containers[0].Memory.Applied).To(BeFalse())
				if name == changed(g)[0] {
					g.Expect(st.Waiting).To(Equal("5 of 5 pods have other requests than were set: the roll-out has not come to them, or is paused"))
				} else {
					g.Expect(st.Waiting).To(ContainSubstring(others))
				}
			}
			g.Expect(readyOf(ns)(g).Message).To(ContainSubstring(others))
		}).Should(Succeed())
		first := changed(Default)
		Expect(first).To(HaveLen(1))
		By("counting nothing as applied or saved before a pod has it")
		var t v1alpha1.Tortoise
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "tuned"}, &t)).To(Succeed())
			g.Expect(t.Status.Saved).NotTo(BeNil()) // it is told once a round is over
		}).Should(Succeed())
		Expect(t.Status.Saved.Memory.IsZero()).To(BeTrue())
		Expect(tunedMemory(m, ns, "applied")(Default)).To(BeEmpty())

		pause(first[0], "false")
		Eventually(changed).Should(HaveLen(2))
		still(changed).Should(HaveLen(2))

		clock.Step(10 * time.Minute)
		Eventually(changed).Should(HaveLen(3))
		Eventually(readyOf(ns)).Should(And(HaveField("Reason", "TargetsFailed"),
			HaveField("Message", ContainSubstring("its pods with other requests are not ready after 10m0s"))))

		By("taking no second step before all pods have had the first, also after a restart")
		Expect(m.Stop()).To(Succeed())
		m = manage(clocktesting.NewFakeClock(noon.Add(3*time.Hour)), tuned)
		Eventually(tunedMemory(m, ns, "proposed")).Should(HaveLen(len(names))) // it has looked at all of them
		still(func(g Gomega) {
			for _, name := range names {
				if name != first[0] {
					g.Expect(requests(ns, name)(g)).To(HaveKeyWithValue("memory", "820Mi"), name)
				}
			}
		}).Should(Succeed())
		for _, name := range names {
			pause(name, "false")
		}
		Eventually(readyOf(ns)).Should(HaveField("Status", metav1.ConditionTrue))
		Eventually(func(g Gomega) {
			less := int64(0)
			for _, name := range names {
				st := recommendation(ns, name)(g)
				g.Expect(st.Containers).To(HaveLen(1))
				g.Expect(st.Containers[0].Memory.Applied).To(BeTrue())
				g.Expect(st.Waiting).To(BeEmpty())
				memory := resource.MustParse(requests(ns, name)(g)["memory"])
				less += 5 * (1<<30 - memory.Value()) // 1Gi for each of five pods is what the owner asks for
			}
			g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "tuned"}, &t)).To(Succeed())
			g.Expect(t.Status.Saved).NotTo(BeNil())
			// The request is 820Mi, or less if pods have had that request for a long time.
			g.Expect(t.Status.Saved.Memory.Value()).To(And(Equal(less), BeNumerically(">=", 3*5*204<<20)))
		}).Should(Succeed())
	})

	It("restarts pods in place target by target, and pod by pod, also for the restore", func() {
		ns := suite.Namespace(ctx, env)
		names := []string{"a", "b"}
		restarted := strings.Replace(deployment, `resources: {`,
			`resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}], resources: {`, 1)
		var released atomic.Bool
		kubelet(ns, func(p corev1.Pod) bool { return p.Generation > 1 && !released.Load() })
		for _, name := range names {
			Expect(env.Apply(ctx, fmt.Appendf(nil, restarted, ns, name))).To(Succeed())
			rememberOf(ns, name, learnt(ns))
		}
		all := func(g Gomega) []corev1.Pod {
			var list corev1.PodList
			g.Expect(env.Client.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
			return list.Items
		}
		Eventually(func(g Gomega) {
			pods := all(g)
			g.Expect(pods).To(HaveLen(10))
			for _, p := range pods {
				g.Expect(p.Status.ObservedGeneration).To(Equal(p.Generation))
				g.Expect(p.Status.ContainerStatuses).NotTo(BeEmpty())
				g.Expect(p.Status.ContainerStatuses[0].Resources).NotTo(BeNil())
			}
		}).Should(Succeed())
		// changed lists the targets whose pods have other requests than their template.
		changed := func(g Gomega) (which []string) {
			for _, p := range all(g) {
				if p.Spec.Containers[0].Resources.Requests.Memory().String() != "1Gi" {
					which = append(which, p.Labels["app"])
				}
			}
			return which
		}
		t := newTortoise(ns, v1alpha1.TortoiseAuto, inPlace(v1alpha1.ApplyInPlace))
		clock := clocktesting.NewFakeClock(noon.Add(time.Minute))
		m := manage(clock, t)
		Eventually(changed).Should(HaveLen(1))
		first := changed(Default)[0]
		second := names[1-slices.Index(names, first)]
		const others = "waits for other targets to roll out"
		Eventually(func(g Gomega) {
			g.Expect(recommendation(ns, second)(g).Waiting).To(ContainSubstring(others))
			g.Expect(waits(ns)(g)).To(ContainElement(ContainSubstring(others)))
		}).Should(Succeed())
		still(changed).Should(Equal([]string{first}))

		By("restarting the manager while the node changes a pod")
		Expect(m.Stop()).To(Succeed())
		manage(clock, t)
		Eventually(func(g Gomega) { g.Expect(recommendation(ns, second)(g).Waiting).To(ContainSubstring(others)) }).Should(Succeed())
		still(changed).Should(Equal([]string{first}))

		By("letting the nodes continue")
		released.Store(true)
		Eventually(changed).Should(HaveLen(10))
		Eventually(func(g Gomega) { g.Expect(readyOf(ns)(g).Status).To(Equal(metav1.ConditionTrue)) }).Should(Succeed())

		By("restoring")
		released.Store(false)
		Expect(env.Client.Delete(ctx, t)).To(Succeed())
		Eventually(changed).Should(HaveLen(8))
		suite.Still(changed).Should(And(HaveLen(8), ContainElements("a", "b")))
		released.Store(true)
		Eventually(func() error { return suite.Vanished(ctx, env, t) }).Should(Succeed())
		Expect(changed(Default)).To(BeEmpty())
	})

	It("waits for PodDisruptionBudgets of its pods that allow nothing, by name, in roll-outs and restarts in place", func() {
		ns := suite.Namespace(ctx, env)
		budget := func(name, app string, unavailable int) *policyv1.PodDisruptionBudget {
			GinkgoHelper()
			b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
			b.Spec.MaxUnavailable = ptr.To(intstr.FromInt32(int32(unavailable)))
			b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
			Expect(env.Client.Create(ctx, b)).To(Succeed())
			return b
		}
		kubelet(ns, nobody)
		restarted := strings.Replace(deployment, `resources: {`,
			`resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}], resources: {`, 1)
		for name, manifest := range map[string]string{"a": deployment, "web": restarted} {
			Expect(env.Apply(ctx, fmt.Appendf(nil, manifest, ns, name))).To(Succeed())
			rememberOf(ns, name, learnt(ns))
		}
		Eventually(func(g Gomega) {
			for _, p := range podsOf(ns)(g) {
				g.Expect(p.Status.ObservedGeneration).To(Equal(p.Generation))
			}
			g.Expect(asked(ns)(g)).To(HaveKeyWithValue(own, 5))
		}).Should(Succeed())
		none, open := budget("none", "a", 0), budget("open", "web", 1)
		budget("other", "nobody", 0)
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(none), none)).To(Succeed())
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(open), open)).To(Succeed())
			g.Expect(none.Status.ExpectedPods).To(BeEquivalentTo(5))
			g.Expect(open.Status.DisruptionsAllowed).To(BeEquivalentTo(1))
		}).Should(Succeed())
		inTemplate := func(g Gomega) string { return requests(ns, "a")(g)["memory"] }

		By("rolling out")
		t := newTortoise(ns, v1alpha1.TortoiseAuto, func(s *v1alpha1.TortoiseSpec) { s.Target.Names = []string{"a"} })
		manage(clocktesting.NewFakeClock(noon.Add(time.Minute)), t)
		waited := ContainSubstring("waits for PodDisruptionBudget " + ns + "/none, which allows no disruption, however healthy its pods are")
		Eventually(func(g Gomega) {
			g.Expect(recommendation(ns, "a")(g).Waiting).To(waited)
			g.Expect(waits(ns)(g)).To(ContainElement(waited))
		}).Should(Succeed())
		still(inTemplate).Should(Equal("1Gi"))
		Expect(env.Patch(ctx, none, `{"spec":{"maxUnavailable":1}}`)).To(Succeed())
		Eventually(inTemplate).ShouldNot(Equal("1Gi"))
		Eventually(func(g Gomega) { g.Expect(waits(ns)(g)).To(BeEmpty()) }).Should(Succeed())

		By("restarting in place")
		Expect(env.Patch(ctx, open, `{"spec":{"maxUnavailable":0}}`)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(open), open)).To(Succeed())
			g.Expect(open.Status.ObservedGeneration).To(Equal(open.Generation))
		}).Should(Succeed())
		Eventually(func() error {
			if err := env.Client.Get(ctx, client.ObjectKeyFromObject(t), t); err != nil {
				return err
			}
			t.Spec.Target.Names, t.Spec.Vertical.Apply = []string{"web"}, v1alpha1.ApplyInPlace
			return env.Client.Update(ctx, t)
		}).Should(Succeed())
		waited = ContainSubstring("waits for PodDisruptionBudget " + ns + "/open, which allows no disruption, however healthy its pods are")
		Eventually(func(g Gomega) {
			g.Expect(recommendation(ns, "web")(g).Waiting).To(waited)
			g.Expect(waits(ns)(g)).To(ContainElement(waited))
		}).Should(Succeed())
		still(asked(ns)).Should(Equal(map[string]int{own: 5}))
		Expect(env.Client.Delete(ctx, open)).To(Succeed())
		Eventually(asked(ns)).ShouldNot(HaveKey(own))

		By("ending, without a wait for budgets")
		budget("late", "web", 0)
		Expect(env.Client.Delete(ctx, t)).To(Succeed())
		Eventually(func() error { return suite.Vanished(ctx, env, t) }).Should(Succeed())
		Expect(asked(ns)(Default)).To(Equal(map[string]int{own: 5}))
	})
})
