package tortoise

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/tuning/measure"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/recordedtest"
)

// recordedOf returns the history of a Deployment in Prometheus: the daily load from an instant on.
func recordedOf(namespace, name string, from time.Time, silent *atomic.Bool) recordedtest.Workload {
	return recordedtest.Workload{
		Namespace: namespace, Pattern: measure.PodsOf("Deployment", name),
		Pods: func() (names []string) {
			var pods corev1.PodList
			if err := env.Client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"app": name}); err != nil {
				return nil
			}
			for i := range pods.Items {
				names = append(names, pods.Items[i].Name)
			}
			return names
		},
		Used: func(at time.Time) []workload.Sample {
			if at.Before(from) || silent.Load() {
				return nil
			}
			return []workload.Sample{used(at, "main")}
		},
	}
}

// served starts a Prometheus with the series of both Deployments. The returned function begin starts a manager that
// uses it. The time between failed reads is counted by the clock pods.
func served(fake *recordedtest.Fake, clock *clocktesting.FakeClock) (begin func() *harness.Manager, pods *harness.LeadingClock,
	host string) {
	GinkgoHelper()
	server := httptest.NewServer(fake)
	DeferCleanup(server.Close)
	opts, pods := optionsAt(clock), harness.NewLeadingClock(time.Minute)
	opts.PodClock = pods
	opts.Prometheus = app.PrometheusOptions{Address: strings.Replace(server.URL, "http://", "http://me:secret@", 1)}
	return func() *harness.Manager { return suite.Start(ctx, env, opts, adapters...) }, pods, strings.TrimPrefix(server.URL, "http://")
}

func fromPrometheus(s *v1alpha1.TortoiseSpec) { s.History.Source = v1alpha1.HistoryPrometheus }

// both creates a Deployment with an autoscaler and a Deployment without one, with their histories in a Prometheus.
func both(from time.Time, silent *atomic.Bool) (namespace string, fake *recordedtest.Fake) {
	GinkgoHelper()
	ns := web()
	Expect(env.Apply(ctx, fmt.Appendf(nil, deployment, ns, "plain"))).To(Succeed())
	fake = &recordedtest.Fake{}
	fake.Add(recordedOf(ns, "web", from, silent))
	fake.Add(recordedOf(ns, "plain", from, silent))
	return ns, fake
}

var _ = Describe("A Tortoise whose source is Prometheus", func() {
	It("brings a Deployment with an autoscaler and one without to the same numbers as the same weeks without a cluster, and reads them once",
		func() {
			ns, fake := both(noon.Add(-14*24*time.Hour), new(atomic.Bool))
			ownWeb := owned(&appsv1.Deployment{}, ns, "web")(Default)
			ownHPA := owned(&autoscalingv2.HorizontalPodAutoscaler{}, ns, "web")(Default)
			clock := clocktesting.NewFakeClock(noon)
			begin, _, _ := served(fake, clock)
			m := begin()
			t := newTortoise(ns, v1alpha1.TortoiseAuto, fromPrometheus)
			for _, name := range []string{"web", "plain"} {
				learner := learnerOf(t)
				for at := noon.Add(-14 * 24 * time.Hour); !at.After(noon); at = at.Add(time.Minute) {
					learner.Observe(used(at, "main"))
				}
				what := seen(ns, noon)
				if name == "plain" {
					what.Autoscaler = nil
				}
				want := learner.Decide(what).Report
				Expect(want.Phase).To(Equal("Working"))
				Eventually(func(g Gomega) {
					st := recommendation(ns, name)(g)
					g.Expect(st.Phase).To(Equal("Working"))
					g.Expect(st.Containers).To(HaveLen(1))
					g.Expect(st.Containers[0].CPU.Recommended.String()).To(Equal(want.Containers[0].CPU.Recommended.String()))
					g.Expect(st.Containers[0].Memory.Recommended.String()).To(Equal(want.Containers[0].Memory.Recommended.String()))
					g.Expect(st.Containers[0].Memory.Applied).To(BeTrue())
					g.Expect(requests(ns, name)(g)).To(HaveKeyWithValue("memory", want.Containers[0].Memory.Recommended.String()))
					if name == "web" {
						g.Expect(st.Autoscaler.Utilisation.Recommended).To(Equal(want.Autoscaler.Utilisation.Recommended))
						g.Expect(st.Autoscaler.Min.Recommended).To(Equal(want.Autoscaler.Min.Recommended))
						g.Expect(st.Autoscaler.Min.Applied).To(BeTrue())
					}
				}).Should(Succeed())
			}
			Expect(m.Stop()).To(Succeed())
			asked := fake.Ranges()
			m = begin()
			Eventually(func(g Gomega) { g.Expect(string(readyOf(ns)(g).Status)).To(Equal("True")) }).Should(Succeed())
			still(func(g Gomega) {
				g.Expect(phaseOf(ns, "web")(g)).To(Equal("Working"))
				g.Expect(fake.Ranges()).To(Equal(asked))
			}).Should(Succeed())
			suite.Remove(ctx, env, t)
			Eventually(owned(&appsv1.Deployment{}, ns, "web")).Should(MatchJSON(ownWeb))
			Eventually(owned(&autoscalingv2.HorizontalPodAutoscaler{}, ns, "web")).Should(MatchJSON(ownHPA))
			Expect(m.Stop()).To(Succeed())
		})

	It("takes both through all phases as the history grows, stops and goes on, and reads the samples recorded during a gap", func() {
		silent := new(atomic.Bool)
		ns, fake := both(noon.Add(-10*time.Minute), silent)
		clock := clocktesting.NewFakeClock(noon)
		begin, _, _ := served(fake, clock)
		begin()
		newTortoise(ns, v1alpha1.TortoiseAuto, fromPrometheus)
		phases := func(want string) {
			GinkgoHelper()
			for _, name := range []string{"web", "plain"} {
				Eventually(phaseOf(ns, name)).Should(Equal(want), name)
			}
		}
		// A phase may last for only one decision and not be seen in the status. The events report it nevertheless.
		enters := func(name, phase string) func(Gomega) {
			return func(g Gomega) {
				var events eventsv1.EventList
				g.Expect(env.Client.List(ctx, &events, client.InNamespace(ns))).To(Succeed())
				g.Expect(events.Items).To(ContainElement(And(HaveField("Action", "Enter"+phase), HaveField("Related", HaveField("Name", name)))))
			}
		}
		stepUntil := func(check func(Gomega)) {
			GinkgoHelper()
			Eventually(func(g Gomega) {
				step(clock, time.Minute)
				check(g)
			}).Should(Succeed())
		}
		is := func(name, want string) func(Gomega) {
			return func(g Gomega) { g.Expect(phaseOf(ns, name)(g)).To(Equal(want)) }
		}
		phases("GatheringData")
		clock.Step(31 * time.Minute)
		phases("PartlyWorking")
		clock.Step(2 * 24 * time.Hour)
		phases("Working")
		Eventually(func(g Gomega) { g.Expect(recommendation(ns, "web")(g).Autoscaler.Min.Applied).To(BeTrue()) }).Should(Succeed())
		floor := *hpa(ns)(Default).MinReplicas
		silent.Store(true)
		stepUntil(is("web", "Emergency"))
		stepUntil(is("plain", "Emergency"))
		Expect(*hpa(ns)(Default).MinReplicas).To(BeNumerically(">=", floor))
		silent.Store(false)
		// Requests do not fall before half an hour without problems.
		stepUntil(enters("web", "BackToNormal"))
		stepUntil(is("web", "Working"))
		stepUntil(is("plain", "Working"))
	})

	It("learns by the metrics API while the server is away, names it without its credentials, and takes the history over when it is back",
		func() {
			ns, fake := both(noon.Add(-3*24*time.Hour), new(atomic.Bool))
			fake.Down(true)
			clock := clocktesting.NewFakeClock(noon)
			begin, pods, host := served(fake, clock)
			begin()
			newTortoise(ns, v1alpha1.TortoiseOff, fromPrometheus)
			Eventually(readyOf(ns)).Should(And(HaveField("Status", BeEquivalentTo("False")),
				HaveField("Message", And(ContainSubstring(host), Not(ContainSubstring("secret"))))))
			Eventually(func(g Gomega) string {
				clock.Step(time.Second)
				return phaseOf(ns, "web")(g)
			}).Should(Equal("GatheringData"))
			fake.Down(false)
			pods.Step(time.Hour) // longer than the pause after a failed read
			for _, name := range []string{"web", "plain"} {
				Eventually(phaseOf(ns, name)).Should(Equal("Working"))
			}
			Eventually(readyOf(ns)).Should(HaveField("Status", BeEquivalentTo("True")))
		})

	It("reports that the manager has no server", func() {
		ns := web()
		start(clocktesting.NewFakeClock(noon))
		newTortoise(ns, v1alpha1.TortoiseOff, fromPrometheus)
		Eventually(readyOf(ns)).Should(And(HaveField("Reason", "NoPrometheus"), HaveField("Message", ContainSubstring("--prometheus"))))
	})
})
