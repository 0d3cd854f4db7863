package tortoise

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("A Tortoise with a boost for the start of pods", func() {
	DescribeTable("creates them with more CPU, and lowers it in place once they are ready", func(apply v1alpha1.VerticalApply) {
		ns := web()
		kubelet(ns, nobody)
		Eventually(asked(ns)).Should(HaveKeyWithValue(own, 5))
		remember(ns, learnt(ns))
		t := newTortoise(ns, v1alpha1.TortoiseAuto, inPlace(apply), func(s *v1alpha1.TortoiseSpec) {
			s.Vertical.StartupBoost = &v1alpha1.StartupBoost{CPU: "2x"}
		})
		DeferCleanup(unhook)
		m := env.Start(withPods(clocktesting.NewFakeClock(noon.Add(time.Minute))))
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		Eventually(namespacesSent).Should(Equal([]string{ns}))
		Eventually(func(g Gomega) {
			told := recommendation(ns, "web")(g).NewPods
			g.Expect(told).NotTo(BeNil())
			g.Expect(told.Boost).NotTo(BeNil())
			g.Expect(told.Boost.Until).To(Equal("Ready"))
		}).Should(Succeed())

		By("creating one")
		cpu := func(g Gomega) resource.Quantity { return recommendation(ns, "web")(g).Containers[0].CPU.Recommended }
		boosted := func(g Gomega, p *corev1.Pod) bool {
			_, noted := p.Annotations["flyball.dev/startup-boost"]
			usual := cpu(g)
			return noted && p.Spec.Containers[0].Resources.Requests.Cpu().MilliValue() > usual.MilliValue()
		}
		Eventually(func(g Gomega) {
			pod := anyPod(g, ns)
			g.Expect(env.Client.Create(ctx, pod, client.DryRunAll)).To(Succeed())
			g.Expect(boosted(g, pod)).To(BeTrue())
		}).Should(Succeed())

		By("rolling out")
		rollTuned(ns, "one", "startup-boost")
		Eventually(func(g Gomega) {
			pods := podsOf(ns)(g)
			g.Expect(asked(ns)(g)).To(Equal(map[string]int{tuned(g, ns): len(pods)}))
			for name, p := range pods {
				g.Expect(p.Annotations).To(HaveKey("flyball.dev/startup-boost"), name)
				g.Expect(p.Status.ContainerStatuses[0].RestartCount).To(BeZero(), name)
			}
			st := recommendation(ns, "web")(g)
			g.Expect(st.Containers[0].CPU.Applied).To(BeTrue())
			g.Expect(resizers(ns)(g)).To(HaveLen(len(pods)))
		}).Should(Succeed())

		By("leaving no room for a boost in the namespace")
		most := &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "most"}}
		usual := cpu(Default)
		most.Spec.Limits = []corev1.LimitRangeItem{{Type: corev1.LimitTypePod, Max: corev1.ResourceList{corev1.ResourceCPU: usual}}}
		most.Spec.Limits = append(most.Spec.Limits, corev1.LimitRangeItem{Type: corev1.LimitTypeContainer,
			Default: corev1.ResourceList{corev1.ResourceCPU: usual}})
		Expect(env.Client.Create(ctx, most)).To(Succeed())
		Eventually(func(g Gomega) {
			pod := anyPod(g, ns)
			pod.Spec.Containers[0].Resources.Limits[corev1.ResourceCPU] = usual
			pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = usual
			g.Expect(env.Client.Create(ctx, pod, client.DryRunAll)).To(Succeed())
			g.Expect(boosted(g, pod)).To(BeFalse())
		}).Should(Succeed())
		suite.Remove(ctx, env, most)
		suite.Remove(ctx, env, t)
		Expect(m.Stop()).To(Succeed())
	},
		Entry("pods that are changed in place", v1alpha1.ApplyInPlace),
		Entry("pods that are created", v1alpha1.ApplyOnCreate),
		Entry("the template", v1alpha1.ApplyRollOut),
	)

	It("reports that it could not be taken back, and refuses invalid values", func() {
		ns := web()
		remember(ns, learnt(ns))
		t := newTortoise(ns, v1alpha1.TortoiseAuto, func(s *v1alpha1.TortoiseSpec) {
			s.Vertical.StartupBoost = &v1alpha1.StartupBoost{CPU: "2x", Until: "60s"}
		})
		manage(clocktesting.NewFakeClock(noon.Add(time.Minute)), t) // it serves no webhook
		Eventually(readyOf(ns)).Should(HaveField("Message",
			ContainSubstring("pods start without spec.vertical.startupBoost: this manager serves no webhook for pods")))
		for field, boost := range map[string]v1alpha1.StartupBoost{"startupBoost.cpu": {CPU: "1x"},
			"startupBoost.until": {CPU: "2x", Until: "tomorrow"}} {
			other := tortoiseOf(ns, v1alpha1.TortoiseAuto)
			other.Name, other.Spec.Vertical.StartupBoost = "other-"+strings.ToLower(fmt.Sprint(len(field))), &boost
			Expect(env.Client.Create(ctx, other)).To(MatchError(ContainSubstring(field)))
		}
	})
})
