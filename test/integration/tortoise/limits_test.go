package tortoise

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// limited sets how a Tortoise handles limits.
func limited(limits v1alpha1.VerticalLimits) func(*v1alpha1.TortoiseSpec) {
	return func(s *v1alpha1.TortoiseSpec) { s.Vertical.Limits = limits }
}

var _ = Describe("A Tortoise whose limits do not follow requests", func() {
	It("keeps them in a template whose namespace allows no larger ones, removes them on request, and restores them", func() {
		ns := suite.Namespace(ctx, env)
		most := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "most"}}
		most.Spec.Limits = []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer,
			Max: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}}
		Expect(env.Client.Create(ctx, most)).To(Succeed())
		short := strings.NewReplacer("memory: 1Gi", "memory: 64Mi", "memory: 2Gi", "memory: 1Gi").Replace(deployment)
		Expect(env.Apply(ctx, fmt.Appendf(nil, short, ns, "web"))).To(Succeed())
		Eventually(func(g Gomega) { g.Expect(podsOf(ns)(g)).To(HaveLen(5)) }).Should(Succeed())
		before := owned(&appsv1.Deployment{}, ns, "web")(Default)
		remember(ns, learnt(ns))
		t := newTortoise(ns, v1alpha1.TortoiseAuto, limited(v1alpha1.LimitsKeep))
		manage(clocktesting.NewFakeClock(noon.Add(time.Minute)), t)
		Eventually(requests(ns, "web")).Should(And(HaveKeyWithValue("memory", "125Mi"), HaveKeyWithValue("limit", "1Gi")))
		Eventually(func(g Gomega) {
			memory := recommendation(ns, "web")(g).Containers[0].Memory
			g.Expect(memory.Applied).To(BeTrue())
			g.Expect(memory.Reason).To(HaveSuffix("; its limit stays 1Gi (vertical.limits is Keep)"))
		}).Should(Succeed())

		By("removing them")
		suite.Remove(ctx, env, most) // it demands a limit
		Eventually(func() error {
			if err := env.Client.Get(ctx, client.ObjectKeyFromObject(t), t); err != nil {
				return err
			}
			t.Spec.Vertical.Limits = v1alpha1.LimitsNone
			return env.Client.Update(ctx, t)
		}).Should(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(requests(ns, "web")(g)).To(And(HaveKeyWithValue("memory", "125Mi"), HaveKeyWithValue("limit", "0")))
			for _, p := range podsOf(ns)(g) {
				g.Expect(p.Spec.Containers[0].Resources.Limits).To(BeEmpty())
			}
		}).Should(Succeed())

		By("refusing a setting that running pods cannot have")
		Expect(env.Patch(ctx, t,
			`{"spec":{"vertical":{"apply":"InPlace"}}}`)).To(MatchError(
			ContainSubstring("vertical.limits None needs vertical.apply RollOut or OnCreate")))

		By("ending")
		Expect(env.Client.Delete(ctx, t)).To(Succeed())
		Eventually(func() error { return suite.Vanished(ctx, env, t) }).Should(Succeed())
		Expect(owned(&appsv1.Deployment{}, ns, "web")(Default)).To(Equal(before))
	})

	It("keeps them on running and on created pods, and creates pods without them", func() {
		ns := web()
		kubelet(ns, nobody)
		Eventually(asked(ns)).Should(HaveKeyWithValue(own, 5))
		remember(ns, learnt(ns))
		t := newTortoise(ns, v1alpha1.TortoiseAuto, inPlace(v1alpha1.ApplyInPlace), limited(v1alpha1.LimitsKeep))
		DeferCleanup(unhook)
		m := env.Start(withPods(clocktesting.NewFakeClock(noon.Add(time.Minute))))
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		to := func(g Gomega, limit string) map[string]int {
			c := recommendation(ns, "web")(g).Containers
			g.Expect(c).To(HaveLen(1))
			return map[string]int{fmt.Sprintf("%s %s limit %s", c[0].CPU.Recommended.String(), c[0].Memory.Recommended.String(),
				limit): len(podsOf(ns)(g))}
		}
		Eventually(func(g Gomega) { g.Expect(asked(ns)(g)).To(Equal(to(g, "2Gi"))) }).Should(Succeed())
		Eventually(namespacesSent).Should(Equal([]string{ns}))
		roll(ns, "one")
		Eventually(func(g Gomega) {
			g.Expect(asked(ns)(g)).To(Equal(to(g, "2Gi")))
			g.Expect(recommendation(ns, "web")(g).NewPods.Limits).To(Equal(v1alpha1.LimitsKeep))
		}).Should(Succeed())

		By("removing them as pods are created")
		Eventually(func() error {
			if err := env.Client.Get(ctx, client.ObjectKeyFromObject(t), t); err != nil {
				return err
			}
			t.Spec.Vertical.Apply, t.Spec.Vertical.Limits = v1alpha1.ApplyOnCreate, v1alpha1.LimitsNone
			return env.Client.Update(ctx, t)
		}).Should(Succeed())
		Eventually(func(g Gomega) { g.Expect(recommendation(ns, "web")(g).NewPods.Limits).To(Equal(v1alpha1.LimitsNone)) }).Should(Succeed())
		Eventually(func(g Gomega) {
			pod := anyPod(g, ns)
			g.Expect(env.Client.Create(ctx, pod, client.DryRunAll)).To(Succeed())
			g.Expect(pod.Spec.Containers[0].Resources.Limits).To(BeEmpty())
		}).Should(Succeed())
		suite.Remove(ctx, env, t)
		Expect(m.Stop()).To(Succeed())
	})
})
