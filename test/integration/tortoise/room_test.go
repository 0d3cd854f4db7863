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

var _ = Describe("A Tortoise whose namespace has bounds", func() {
	It("writes no template whose pods a LimitRange or a ResourceQuota would refuse, names the object, and continues once there is room",
		func() {
			ns := suite.Namespace(ctx, env)
			memory := func(of string) corev1.ResourceList {
				return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(of)}
			}
			most := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "most"}}
			most.Spec.Limits = []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer, Max: memory("1Gi")}}
			Expect(env.Client.Create(ctx, most)).To(Succeed())
			// Pods use 100Mi and request 64Mi, so requests grow to 125Mi. The limit of 1Gi grows by the same ratio, which is 16.
			short := strings.NewReplacer("replicas: 5", "replicas: 5\n  strategy: {type: Recreate}", "memory: 1Gi", "memory: 64Mi", "memory: 2Gi",
				"memory: 1Gi").Replace(deployment)
			Expect(env.Apply(ctx, fmt.Appendf(nil, short, ns, "web"))).To(Succeed())
			available := func(g Gomega) int32 {
				var d appsv1.Deployment
				g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "web"}, &d)).To(Succeed())
				return d.Status.AvailableReplicas
			}
			Eventually(available).Should(BeEquivalentTo(5))
			remember(ns, learnt(ns))
			before := uids(ns)(Default)
			start(clocktesting.NewFakeClock(noon.Add(time.Minute)))
			newTortoise(ns, v1alpha1.TortoiseAuto)
			waitsFor := func(why string) {
				GinkgoHelper()
				Eventually(func(g Gomega) {
					st := recommendation(ns, "web")(g)
					g.Expect(st.Waiting).To(ContainSubstring(why))
					g.Expect(st.Containers).To(HaveLen(1))
					g.Expect(st.Containers[0].Memory.Applied).To(BeFalse())
					var t v1alpha1.Tortoise
					g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "tuned"}, &t)).To(Succeed())
					g.Expect(t.Status.Waiting).To(ContainElement(And(HaveField("Name", "web"), HaveField("Message", ContainSubstring(why)))))
				}).Should(Succeed())
				still(func(g Gomega) {
					g.Expect(requests(ns, "web")(g)).To(And(HaveKeyWithValue("memory", "64Mi"), HaveKeyWithValue("limit", "1Gi")))
					g.Expect(uids(ns)(g)).To(Equal(before))
				}).Should(Succeed())
			}
			waitsFor("container main: 125Mi of memory, limited to 2000Mi, above the 1Gi of LimitRange most")

			By("replacing it by a quota for the present pods")
			share := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "share"}}
			share.Spec.Hard = corev1.ResourceList{corev1.ResourceLimitsMemory: resource.MustParse("6Gi")}
			Expect(env.Client.Create(ctx, share)).To(Succeed())
			Eventually(func(g Gomega) {
				g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(share), share)).To(Succeed())
				g.Expect(share.Status.Used).To(HaveKey(corev1.ResourceLimitsMemory))
			}).Should(Succeed())
			suite.Remove(ctx, env, most)
			waitsFor("ResourceQuota share has 1Gi of limits.memory left, and 4880Mi more would be needed for 5 pods")

			By("making room")
			Expect(env.Patch(ctx, share, `{"spec":{"hard":{"limits.memory":"10Gi"}}}`)).To(Succeed())
			Eventually(requests(ns, "web")).Should(And(HaveKeyWithValue("memory", "125Mi"), HaveKeyWithValue("limit", "2000Mi")))
			Eventually(func(g Gomega) {
				g.Expect(available(g)).To(BeEquivalentTo(5))
				st := recommendation(ns, "web")(g)
				g.Expect(st.Containers[0].Memory.Applied).To(BeTrue())
				g.Expect(st.Waiting).To(BeEmpty())
			}).Should(Succeed())
		})

	It("writes no template of a StatefulSet with limits too far above the requests", func() {
		ns := suite.Namespace(ctx, env)
		ratio := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "ratio"}}
		ratio.Spec.Limits = []corev1.LimitRangeItem{{Type: corev1.LimitTypeContainer,
			MaxLimitRequestRatio: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2")}}}
		Expect(env.Client.Create(ctx, ratio)).To(Succeed())
		Expect(env.Apply(ctx, fmt.Appendf(nil, strings.Replace(deployment, "kind: Deployment", "kind: StatefulSet", 1), ns, "web"))).To(Succeed())
		var s appsv1.StatefulSet
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "web"}, &s)).To(Succeed())
			g.Expect(s.Status.AvailableReplicas).To(BeEquivalentTo(5))
		}).Should(Succeed())
		before := uids(ns)(Default)
		rememberFor(v1alpha1.TunedTarget{Group: "apps", Kind: "StatefulSet", Name: "web"}, &s, learnt(ns))
		t := newTortoise(ns, v1alpha1.TortoiseAuto, limited(v1alpha1.LimitsKeep),
			func(s *v1alpha1.TortoiseSpec) { s.Target.Kinds[0].Kind = "StatefulSet" })
		manage(clocktesting.NewFakeClock(noon.Add(time.Minute)), t)
		Eventually(waits(ns)).Should(ContainElement(ContainSubstring("container main: 820Mi of memory, limited to 2Gi, more than 2 times " +
			"that, which LimitRange ratio allows")))
		still(uids(ns)).Should(Equal(before))

		By("letting limits follow")
		Expect(env.Patch(ctx, t, `{"spec":{"vertical":{"limits":"Ratio"}}}`)).To(Succeed())
		Eventually(func(g Gomega) {
			pods := podsOf(ns)(g)
			g.Expect(pods).To(HaveLen(5))
			for _, p := range pods {
				g.Expect(p.Spec.Containers[0].Resources.Limits.Memory().String()).To(Equal("1640Mi"))
			}
		}).Should(Succeed())
	})
})
