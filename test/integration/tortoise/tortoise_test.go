package tortoise

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/resource"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("A Tortoise with mode Off", func() {
	It("recommends for a Deployment with an autoscaler and for one without, and writes neither", func() {
		By("reading the metrics server of Kubernetes, unlike the other specs")
		back, err := realMetrics(ctx)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(back()).To(Succeed()) })
		ns := web()
		Expect(env.Apply(ctx, fmt.Appendf(nil, deployment, ns, "plain"))).To(Succeed())
		before := map[string]string{}
		for _, name := range []string{"web", "plain"} {
			before[name] = owned(&appsv1.Deployment{}, ns, name)(Default)
		}
		before["hpa"] = owned(&autoscalingv2.HorizontalPodAutoscaler{}, ns, "web")(Default)
		clock := clocktesting.NewFakeClock(noon)
		opts := optionsAt(clock)
		opts.PodClock = nil // pods count once they have been ready for half a minute
		suite.Start(ctx, env, opts, adapters...)
		t := newTortoise(ns, v1alpha1.TortoiseOff)

		for _, name := range []string{"web", "plain"} {
			Eventually(func(g Gomega) string {
				clock.Step(time.Second)
				return phaseOf(ns, name)(g)
			}).Should(Equal("GatheringData"))
		}
		clock.Step(31 * time.Minute)
		for _, name := range []string{"web", "plain"} {
			Eventually(func(g Gomega) {
				st := recommendation(ns, name)(g)
				g.Expect(st.Phase).To(Equal("PartlyWorking"))
				g.Expect(st.Containers).To(HaveLen(1))
				c := st.Containers[0]
				g.Expect(c.Memory.Own).To(HaveValue(Equal(resource.MustParse("1Gi"))))
				g.Expect(c.Memory.Recommended.Cmp(resource.MustParse("1Gi"))).To(Equal(-1), "%s", c.Memory.Recommended.String())
				g.Expect(c.Memory.Reason).To(ContainSubstring("MiB were used"))
				g.Expect(c.Memory.Applied).To(BeFalse())
			}).Should(Succeed())
		}
		Expect(recommendation(ns, "web")(Default).Autoscaler.Name).To(Equal("web"))
		Expect(recommendation(ns, "plain")(Default).Autoscaler.Name).To(BeEmpty())
		Expect(recommendation(ns, "plain")(Default).Autoscaler.Min.Reason).To(ContainSubstring("no autoscaler governs it"))
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(t), t)).To(Succeed())
			g.Expect(t.Status.State).To(Equal("Off"))
			g.Expect(t.Status.Phase).To(Equal("PartlyWorking"))
			g.Expect(t.Status.Saved).NotTo(BeNil())
			g.Expect(t.Status.Saved.Memory.Sign()).To(Equal(1))
			g.Expect(string(readyOf(ns)(g).Status)).To(Equal("True"))
		}).Should(Succeed())

		for _, name := range []string{"web", "plain"} {
			d := &appsv1.Deployment{}
			Expect(owned(d, ns, name)(Default)).To(Equal(before[name]))
			Expect(writers(d)).NotTo(ContainElement("flyball"))
			Expect(d.Generation).To(BeNumerically("==", d.Status.ObservedGeneration))
		}
		h := &autoscalingv2.HorizontalPodAutoscaler{}
		Expect(owned(h, ns, "web")(Default)).To(Equal(before["hpa"]))
		Expect(writers(h)).NotTo(ContainElement("flyball"))

		suite.Remove(ctx, env, t)
		Eventually(func() error {
			r := &v1alpha1.Recommendation{}
			r.Namespace, r.Name = ns, "deployment.apps-web"
			return suite.Vanished(ctx, env, r)
		}).Should(Succeed())
	})
})

var _ = Describe("A Tortoise with mode Auto", Ordered, func() {
	var (
		ns             string
		clock          *clocktesting.FakeClock
		ownWeb, ownHPA string
		t              *v1alpha1.Tortoise
	)

	BeforeAll(func() {
		ns = web()
		ownWeb = owned(&appsv1.Deployment{}, ns, "web")(Default)
		ownHPA = owned(&autoscalingv2.HorizontalPodAutoscaler{}, ns, "web")(Default)
		remember(ns, learnt(ns))
		clock = clocktesting.NewFakeClock(noon.Add(time.Minute))
		t = newTortoise(ns, v1alpha1.TortoiseAuto)
	})

	It("brings a Deployment and its autoscaler to the same numbers as the same history without a cluster", func() {
		m := env.Start(optionsAt(clock))
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		Eventually(phaseOf(ns, "web")).Should(Equal("Working"))
		want := learnt(ns).Decide(seen(ns, clock.Now())).Report
		Eventually(func(g Gomega) {
			st := recommendation(ns, "web")(g)
			g.Expect(st.Containers).To(HaveLen(1))
			g.Expect(st.Containers[0].CPU.Recommended.String()).To(Equal(want.Containers[0].CPU.Recommended.String()))
			g.Expect(st.Containers[0].Memory.Recommended.String()).To(Equal(want.Containers[0].Memory.Recommended.String()))
			g.Expect(st.Autoscaler.Utilisation.Recommended).To(Equal(want.Autoscaler.Utilisation.Recommended))
			g.Expect(st.Containers[0].Memory.Applied).To(BeTrue())
			g.Expect(st.Autoscaler.Min.Applied).To(BeTrue())
			g.Expect(st.Autoscaler.Utilisation.Applied).To(BeTrue())
			g.Expect(st.Autoscaler.MinByHour).To(HaveLen(24))
			g.Expect(contains(st.Reasons, "min: ")).To(BeTrue())
		}).Should(Succeed())
		var st v1alpha1.RecommendationStatus
		Eventually(func(g Gomega) {
			st = recommendation(ns, "web")(g)
			g.Expect(requests(ns, "web")(g)).To(And(
				HaveKeyWithValue("cpu", st.Containers[0].CPU.Recommended.String()),
				HaveKeyWithValue("memory", st.Containers[0].Memory.Recommended.String())))
			spec := hpa(ns)(g)
			g.Expect(spec.MinReplicas).To(HaveValue(Equal(st.Autoscaler.Min.Recommended)))
			g.Expect(spec.Metrics[0].Resource.Target.AverageUtilization).To(HaveValue(Equal(st.Autoscaler.Utilisation.Recommended)))
			g.Expect(spec.MaxReplicas).To(Equal(st.Autoscaler.Max.Recommended))
			g.Expect(int64(spec.MaxReplicas)*st.Containers[0].CPU.Recommended.MilliValue()).To(BeNumerically(">=", 20_000),
				"what the owner's 20 pods of 1000m reach")
		}).Should(Succeed())
		Expect(st.Containers[0].Memory.Recommended.Cmp(resource.MustParse("1Gi"))).To(Equal(-1))
		// The limit follows by the ratio that the owner has set.
		limit, memory := resource.MustParse(requests(ns, "web")(Default)["limit"]), st.Containers[0].Memory.Recommended
		Expect(limit.Value()).To(Equal(2 * memory.Value()))
		Expect(m.Stop()).To(Succeed())
	})

	It("loses nothing by a restart", func() {
		numbers := recommendation(ns, "web")(Default)
		var d appsv1.Deployment
		Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "web"}, &d)).To(Succeed())
		template, set := d.Spec.Template, hpa(ns)(Default)
		clock.Step(20 * time.Minute) // long enough for lost metrics, if a restart counted as that
		m := env.Start(optionsAt(clock))
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		Eventually(func(g Gomega) {
			g.Expect(string(readyOf(ns)(g).Status)).To(Equal("True"))
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(t), t)).To(Succeed())
			g.Expect(t.Status.Phase).To(Equal("Working"))
		}).Should(Succeed())
		still(func(g Gomega) {
			st := recommendation(ns, "web")(g)
			g.Expect(st.Phase).To(Equal("Working"))
			g.Expect(st.Containers[0].Memory.Recommended).To(Equal(numbers.Containers[0].Memory.Recommended))
			g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "web"}, &d)).To(Succeed())
			g.Expect(d.Spec.Template).To(Equal(template)) // the autoscaler sets the replicas
			g.Expect(hpa(ns)(g).Metrics).To(Equal(set.Metrics))
		}).Should(Succeed())
		Expect(m.Stop()).To(Succeed())
	})

	It("never reduces capacity while the metrics server is away, and reports it", func() {
		m := env.Start(optionsAt(clock))
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		Eventually(func(g Gomega) { g.Expect(string(readyOf(ns)(g).Status)).To(Equal("True")) }).Should(Succeed())
		floor, request := *hpa(ns)(Default).MinReplicas, requests(ns, "web")(Default)
		back := withoutMetrics()
		Eventually(readyOf(ns)).Should(And(HaveField("Reason", "NoMetrics"), HaveField("Message", ContainSubstring("metrics.k8s.io"))))
		// The time without a measurement counts from the instant when this manager first saw the pods. This may still be to
		// come.
		Eventually(func(g Gomega) {
			step(clock, time.Minute)
			g.Expect(phaseOf(ns, "web")(g)).To(Equal("Emergency"))
		}).Should(Succeed())
		for range 12 { // into the night, when the history needs less
			clock.Step(time.Hour)
			Eventually(func(g Gomega) {
				g.Expect(*hpa(ns)(g).MinReplicas).To(BeNumerically(">=", floor))
				g.Expect(*hpa(ns)(g).MinReplicas).To(BeNumerically("<=", hpa(ns)(g).MaxReplicas))
				g.Expect(requests(ns, "web")(g)).To(Equal(request))
			}).Should(Succeed())
			floor = *hpa(ns)(Default).MinReplicas
		}
		back()
		Eventually(readyOf(ns)).Should(HaveField("Reason", Not(Equal("NoMetrics"))))
		Expect(*hpa(ns)(Default).MinReplicas).To(BeNumerically(">=", floor))
		Expect(m.Stop()).To(Succeed())
	})

	It("restores everything when it is deleted, also while no manager runs, and leaves nothing behind", func() {
		Expect(env.Client.Delete(ctx, t)).To(Succeed())
		m := env.Start(optionsAt(clock))
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		Eventually(func() error { return suite.Vanished(ctx, env, t) }).Should(Succeed())
		Eventually(func() error {
			r := &v1alpha1.Recommendation{}
			r.Namespace, r.Name = ns, "deployment.apps-web"
			return suite.Vanished(ctx, env, r)
		}).Should(Succeed())
		Eventually(owned(&appsv1.Deployment{}, ns, "web")).Should(MatchJSON(ownWeb))
		Eventually(owned(&autoscalingv2.HorizontalPodAutoscaler{}, ns, "web")).Should(MatchJSON(ownHPA))
		Expect(m.Stop()).To(Succeed())
	})
})

var _ = Describe("An invalid Tortoise", func() {
	DescribeTable("is refused by the API server, which names the field",
		func(edit func(*v1alpha1.TortoiseSpec), message string) {
			t := tortoiseOf("default", v1alpha1.TortoiseOff)
			edit(&t.Spec)
			Expect(env.Client.Create(ctx, t)).To(MatchError(ContainSubstring(message)))
		},
		Entry("a minimum above the maximum", func(s *v1alpha1.TortoiseSpec) {
			s.Replicas.Min, s.Replicas.Max = ptr.To[int32](5),
				ptr.To[int32](4)
		}, "replicas.min must not be above replicas.max"),
		Entry("a negative percentage", func(s *v1alpha1.TortoiseSpec) { s.Vertical.MaxStepDown = "-20%" }, "spec.vertical.maxStepDown"),
		Entry("a mode that there is not", func(s *v1alpha1.TortoiseSpec) { s.Mode = "On" }, "spec.mode"),
		Entry("memory by replicas", func(s *v1alpha1.TortoiseSpec) {
			s.Resources = []v1alpha1.TunedResources{{Container: "main", Memory: "Horizontal"}}
		}, "spec.resources[0].memory"),
		Entry("an autoscaler for targets that are not named", func(s *v1alpha1.TortoiseSpec) {
			making("", v1alpha1.KeepAutoscaler)(s)
			s.Target.Names = nil
		}, "autoscaler needs a target of one kind and one name"),
		Entry("an autoscaler without a maximum", func(s *v1alpha1.TortoiseSpec) {
			making("", v1alpha1.KeepAutoscaler)(s)
			s.Replicas.Max = nil
		}, "autoscaler needs replicas.max"),
		Entry("an autoscaler that is not to be made", func(s *v1alpha1.TortoiseSpec) {
			making("", v1alpha1.KeepAutoscaler)(s)
			s.Autoscaler.Create = false
		}, "leave autoscaler out"),
		Entry("a share of targets that is none", func(s *v1alpha1.TortoiseSpec) { s.Guard.MaxDisruption = "some" }, "spec.guard.maxDisruption"),
		Entry("none of the targets", func(s *v1alpha1.TortoiseSpec) { s.Guard.MaxDisruption = "0%" }, "must be from 1% to 100%"),
		Entry("a change that there is not", func(s *v1alpha1.TortoiseSpec) { s.Vertical.Apply = "Evict" }, "spec.vertical.apply"),
		Entry("another source", func(s *v1alpha1.TortoiseSpec) { s.History.Source = "Thanos" }, "spec.history.source"),
		Entry("a VerticalPodAutoscaler for another source", func(s *v1alpha1.TortoiseSpec) { s.History.Create = true },
			"history.create is for the source VerticalPodAutoscaler"),
		Entry("a history of the metrics API", func(s *v1alpha1.TortoiseSpec) { s.History.Window = "7d" },
			"history.window is for the source Prometheus"),
	)

	It("is reported in its status if only the cluster shows the error", func() {
		ns := web()
		start(clocktesting.NewFakeClock(noon))
		newTortoise(ns, v1alpha1.TortoiseAuto, func(s *v1alpha1.TortoiseSpec) {
			s.Resources = []v1alpha1.TunedResources{{Container: "side", CPU: v1alpha1.ScaleOff}}
		})
		Eventually(readyOf(ns)).Should(And(HaveField("Reason", "TargetsFailed"),
			HaveField("Message", ContainSubstring("container side, which it does not have"))))
	})
})
