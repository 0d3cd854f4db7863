package tortoise

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// replicasOf reads the replicas of the Deployment web.
func replicasOf(namespace string) func(Gomega) int32 {
	return func(g Gomega) int32 {
		var d appsv1.Deployment
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, &d)).To(Succeed())
		return *d.Spec.Replicas
	}
}

// notes lists the notes of the events about tuned objects.
func notes(namespace, reason string) func(Gomega) []string {
	return func(g Gomega) (all []string) {
		var list eventsv1.EventList
		g.Expect(env.Client.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
		for i := range list.Items {
			if e := &list.Items[i]; e.Reason == reason {
				all = append(all, e.Note)
			}
		}
		return all
	}
}

var _ = Describe("A Tortoise beside other policies", func() {
	It("lets a Trigger and a Schedule win on one autoscaler, and each restores its own changes", func() {
		ns := web()
		ownWeb := owned(&appsv1.Deployment{}, ns, "web")(Default)
		ownHPA := owned(&autoscalingv2.HorizontalPodAutoscaler{}, ns, "web")(Default)
		remember(ns, learnt(ns))
		clock := clocktesting.NewFakeClock(noon.Add(time.Minute))
		start(clock)
		t := newTortoise(ns, v1alpha1.TortoiseAuto)
		tunedTo := func(g Gomega) autoscalingv2.HorizontalPodAutoscalerSpec {
			st := recommendation(ns, "web")(g)
			g.Expect(st.Autoscaler).NotTo(BeNil())
			spec := hpa(ns)(g)
			g.Expect(spec.Metrics[0].Resource.Target.AverageUtilization).To(HaveValue(Equal(st.Autoscaler.Utilisation.Recommended)))
			return spec
		}
		asRecommended := func(g Gomega) {
			g.Expect(tunedTo(g).MaxReplicas).To(And(Equal(recommendation(ns, "web")(g).Autoscaler.Max.Recommended), BeNumerically(">=", 20)))
		}
		Eventually(asRecommended).Should(Succeed())
		Eventually(notes(ns, "Tuned")).Should(ContainElements( // two objects, written one after the other
			And(HavePrefix("Deployment.apps/"+ns+"/web: "), ContainSubstring("main memory 1Gi -> ")),
			And(HavePrefix("HorizontalPodAutoscaler.autoscaling/"+ns+"/web: "), ContainSubstring("utilisation 50 -> "))))

		trigger := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "peak"}}
		trigger.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}}
		trigger.Spec.Triggers = []v1alpha1.TimeTrigger{{Name: "noon", Window: v1alpha1.Window{From: "11:00", To: "13:00"},
			During: v1alpha1.TriggerValues{Min: ptr.To(int64(7)), Max: ptr.To(int64(9))}}}
		Expect(env.Client.Create(ctx, trigger)).To(Succeed())
		Eventually(func(g Gomega) {
			spec := tunedTo(g)
			g.Expect(spec.MinReplicas).To(HaveValue(BeEquivalentTo(7)))
			g.Expect(spec.MaxReplicas).To(BeEquivalentTo(9))
		}).Should(Succeed())

		schedule := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "noon"}}
		schedule.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
		schedule.Spec.Downscale, schedule.Spec.Upscale = "0 11 * * *", "0 18 * * *"
		Expect(env.Client.Create(ctx, schedule)).To(Succeed())
		Eventually(replicasOf(ns)).Should(BeEquivalentTo(0))
		Eventually(func(g Gomega) {
			var pods corev1.PodList
			g.Expect(env.Client.List(ctx, &pods, client.InNamespace(ns))).To(Succeed())
			var left []string
			for i := range pods.Items {
				left = append(left, fmt.Sprintf("%s, deleted %v", pods.Items[i].Name, pods.Items[i].DeletionTimestamp))
			}
			g.Expect(left).To(BeEmpty(), "the Deployment has %d replicas", replicasOf(ns)(g))
		}).Should(Succeed())
		// The manager must have seen the pods too, because missing measurements count as a loss only while there are pods.
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(schedule), schedule)).To(Succeed())
			g.Expect(schedule.Status.State).To(Equal("Asleep"))
		}).Should(Succeed())
		for range 4 {
			step(clock, time.Minute)
		}
		clock.Step(20 * time.Minute)
		still(func(g Gomega) {
			g.Expect(replicasOf(ns)(g)).To(BeEquivalentTo(0))
			g.Expect(phaseOf(ns, "web")(g)).To(Equal("Working"))
		}).Should(Succeed())

		suite.Remove(ctx, env, schedule)
		Eventually(replicasOf(ns)).Should(BeNumerically(">=", 7))
		suite.Remove(ctx, env, trigger)
		Eventually(func(g Gomega) {
			asRecommended(g)
			g.Expect(recommendation(ns, "web")(g).Autoscaler.Min.Applied).To(BeTrue())
		}).Should(Succeed())
		suite.Remove(ctx, env, t)
		Eventually(owned(&appsv1.Deployment{}, ns, "web")).Should(MatchJSON(ownWeb))
		Eventually(owned(&autoscalingv2.HorizontalPodAutoscaler{}, ns, "web")).Should(MatchJSON(ownHPA))
	})

	It("tunes a target of another Tortoise only with a higher priority, and takes over when the other is deleted", func() {
		ns := web()
		ownWeb := owned(&appsv1.Deployment{}, ns, "web")(Default)
		start(clocktesting.NewFakeClock(noon.Add(time.Minute)))
		first := newTortoise(ns, v1alpha1.TortoiseOff)
		policyOf := func(g Gomega) string {
			var r v1alpha1.Recommendation
			g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "deployment.apps-web"}, &r)).To(Succeed())
			return r.Spec.Policy
		}
		Eventually(policyOf).Should(Equal("Tortoise/" + ns + "/tuned"))
		second := tortoiseOf(ns, v1alpha1.TortoiseAuto)
		second.Name, second.Spec.Priority = "above", -50
		Expect(env.Client.Create(ctx, second)).To(Succeed())
		DeferCleanup(func() { suite.Remove(ctx, env, second) })
		Eventually(policyOf).Should(Equal("Tortoise/" + ns + "/above"))
		suite.Remove(ctx, env, second)
		Eventually(policyOf).Should(Equal("Tortoise/" + ns + "/tuned"))
		suite.Remove(ctx, env, first)
		Expect(owned(&appsv1.Deployment{}, ns, "web")(Default)).To(MatchJSON(ownWeb))
	})
})

var _ = Describe("A Tortoise with the profile Tortoise", func() {
	It("brings a Deployment and its autoscaler to the numbers of the formulas, and restores everything", func() {
		ns := web()
		ownWeb := owned(&appsv1.Deployment{}, ns, "web")(Default)
		ownHPA := owned(&autoscalingv2.HorizontalPodAutoscaler{}, ns, "web")(Default)
		t := tortoiseOf(ns, v1alpha1.TortoiseAuto)
		t.Spec.Profile = v1alpha1.ProfileTortoise
		lived := func() policy.Learner {
			learner := learnerOf(t)
			for at := noon.Add(-8 * 24 * time.Hour); !at.After(noon); at = at.Add(10 * time.Minute) {
				learner.Observe(used(at, "main"))
				learner.Decide(seen(ns, at))
			}
			return learner
		}
		remember(ns, lived())
		clock := clocktesting.NewFakeClock(noon.Add(time.Minute))
		start(clock)
		Expect(env.Client.Create(ctx, t)).To(Succeed())
		DeferCleanup(func() { suite.Remove(ctx, env, t) })
		want := lived().Decide(seen(ns, clock.Now())).Report
		Expect(want.Phase).To(Equal("Working"))
		Eventually(func(g Gomega) {
			st := recommendation(ns, "web")(g)
			g.Expect(st.Phase).To(Equal("Working"))
			g.Expect(st.Containers[0].Memory.Applied).To(BeTrue())
			g.Expect(st.Autoscaler.Min.Applied).To(BeTrue())
			g.Expect(st.Containers[0].Memory.Recommended.String()).To(Equal(want.Containers[0].Memory.Recommended.String()))
			g.Expect(st.Autoscaler.Min.Recommended).To(Equal(want.Autoscaler.Min.Recommended))
			g.Expect(st.Autoscaler.Max.Recommended).To(Equal(want.Autoscaler.Max.Recommended))
			g.Expect(st.Autoscaler.Utilisation.Recommended).To(Equal(want.Autoscaler.Utilisation.Recommended))
		}).Should(Succeed())
		Expect(hpa(ns)(Default).MinReplicas).To(HaveValue(Equal(want.Autoscaler.Min.Recommended)))
		Expect(hpa(ns)(Default).MaxReplicas).To(Equal(want.Autoscaler.Max.Recommended))
		Expect(hpa(ns)(Default).Metrics[0].Resource.Target.AverageUtilization).To(HaveValue(Equal(want.Autoscaler.Utilisation.Recommended)))
		Expect(requests(ns, "web")(Default)).To(HaveKeyWithValue("memory", want.Containers[0].Memory.Recommended.String()))
		suite.Remove(ctx, env, t)
		Eventually(owned(&appsv1.Deployment{}, ns, "web")).Should(MatchJSON(ownWeb))
		Eventually(owned(&autoscalingv2.HorizontalPodAutoscaler{}, ns, "web")).Should(MatchJSON(ownHPA))
	})
})

var _ = Describe("A Tortoise that sees pods start", func() {
	It("learns the start time", func() {
		ns := suite.Namespace(ctx, env)
		Expect(env.Apply(ctx, fmt.Appendf(nil, deployment, ns, "web"))).To(Succeed())
		clock, pods := clocktesting.NewFakeClock(noon), harness.NewLeadingClock(0)
		opts := optionsAt(clock)
		opts.PodClock = pods
		suite.Start(ctx, env, opts, adapters...)
		newTortoise(ns, v1alpha1.TortoiseOff)
		Eventually(recommendation(ns, "web")).ShouldNot(BeZero())
		pods.Step(time.Minute) // the start of pods that are created from now on counts, and all ready pods are measured
		Eventually(func(g Gomega) string {
			clock.Step(time.Second)
			return phaseOf(ns, "web")(g)
		}).Should(Equal("GatheringData"))
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
		Expect(env.Patch(ctx, d, `{"spec":{"replicas":12}}`)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
			g.Expect(d.Status.ReadyReplicas).To(BeEquivalentTo(12))
		}).Should(Succeed())
		// The observed time is shorter than the assumed time, so it counts only after a day.
		clock.Step(31 * time.Minute)
		Eventually(phaseOf(ns, "web")).Should(Equal("PartlyWorking"))
		clock.Step(25 * time.Hour)
		Eventually(func(g Gomega) { g.Expect(contains(recommendation(ns, "web")(g).Reasons, "lead: ")).To(BeTrue()) }).Should(Succeed())
	})
})

var _ = Describe("A Tortoise whose autoscaler cannot read its metrics", func() {
	It("keeps the present capacity, and does not touch a healthy target", func() {
		ns := web()
		Expect(env.Apply(ctx, fmt.Appendf(nil, deployment, ns, "plain"))).To(Succeed())
		remember(ns, learnt(ns))
		rememberOf(ns, "plain", learnt(ns))
		clock := clocktesting.NewFakeClock(noon.Add(time.Minute))
		start(clock)
		newTortoise(ns, v1alpha1.TortoiseAuto)
		Eventually(func(g Gomega) {
			st := recommendation(ns, "web")(g)
			g.Expect(st.Phase).To(Equal("Working"))
			g.Expect(st.Autoscaler.Min.Applied).To(BeTrue())
		}).Should(Succeed())
		Eventually(phaseOf(ns, "plain")).Should(Equal("Working"))

		h := &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}}
		Expect(env.Patch(ctx, h,
			`{"spec":{"metrics":[{"type":"External","external":{"metric":{"name":"queue"},"target":{"type":"AverageValue","averageValue":"30"}}}]}}`)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(h), h)).To(Succeed())
			g.Expect(h.Status.Conditions).To(ContainElement(And(HaveField("Type", autoscalingv2.ScalingActive),
				HaveField("Status", corev1.ConditionFalse))))
		}).Should(Succeed())
		Eventually(func(g Gomega) {
			step(clock, 30*time.Second) // so that there is a measurement in every minute
			g.Expect(phaseOf(ns, "web")(g)).To(Equal("Emergency"))
		}).Should(Succeed())
		Expect(phaseOf(ns, "plain")(Default)).To(Equal("Working"))
		Eventually(func(g Gomega) {
			g.Expect(*hpa(ns)(g).MinReplicas).To(BeNumerically(">=", replicasOf(ns)(g)))
		}).Should(Succeed())
		Eventually(notes(ns, "PhaseChanged")).Should(ContainElement(ContainSubstring("from Working to Emergency")))
	})
})
