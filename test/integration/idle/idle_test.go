package idle

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("A schedule with idle", Label("prometheus"), func() {
	It("puts an app behind HAProxy to sleep without requests, and wakes it at the first request", func() {
		ns := suite.Namespace(ctx, env)
		d := newApp(ns, "web")
		web := newFront(ns, "web")
		runApp(d, web)
		config := harness.Prometheus{Binary: env.Cluster.Bin("prometheus"), Config: harness.ScrapeFronts(web.Metrics)}
		url, stop := config.Start(GinkgoTB())
		manager := start(app.PrometheusOptions{Address: url})
		s := newSchedule(ns)

		By("using it until it has been there for longer than the time without use")
		request := web.get
		Eventually(request).Should(Equal("the app\n"))
		begin := time.Now()
		Eventually(func(g Gomega) time.Duration {
			g.Expect(replicas(d)(g)).To(Equal(3))
			request(g)
			return time.Since(begin)
		}).Should(BeNumerically(">", asleepAfter+5*time.Second))
		last := time.Now()

		By("leaving it alone")
		Eventually(replicas(d)).Should(Equal(0))
		AddReportEntry("asleep after the last request", time.Since(last).Round(time.Millisecond))
		Expect(time.Since(last)).To(BeNumerically(">=", asleepAfter))

		By("asking for it")
		asked := time.Now()
		Eventually(request).Should(ContainSubstring("waking up"))
		Eventually(replicas(d)).Should(Equal(3))
		AddReportEntry("awake after the first request", time.Since(asked).Round(time.Millisecond))
		Eventually(request).Should(Equal("the app\n"))
		AddReportEntry("served after the first request", time.Since(asked).Round(time.Millisecond))
		Expect(d.Annotations).NotTo(HaveKey("flyball.dev/ledger"))

		By("starting another manager while it sleeps")
		Eventually(replicas(d)).Should(Equal(0))
		Expect(manager.Stop()).To(Succeed())
		start(app.PrometheusOptions{Address: url})
		version := d.ResourceVersion
		Eventually(ready(s, &s.Status.PolicyStatus)).Should(HaveField("Status", BeEquivalentTo("True")))
		suite.Still(replicas(d)).Should(Equal(0))
		Expect(d.ResourceVersion).To(Equal(version))

		By("losing Prometheus")
		stop()
		Eventually(ready(s, &s.Status.PolicyStatus)).Should(And(HaveField("Reason", "DemandFailed"),
			HaveField("Message", ContainSubstring("ask Prometheus at"))))
		Eventually(func(g Gomega) []eventsv1.Event {
			events := &eventsv1.EventList{}
			g.Expect(env.Client.List(ctx, events)).To(Succeed())
			return events.Items
		}).Should(ContainElement(And(HaveField("Regarding.Name", s.Name), HaveField("Type", "Warning"), HaveField("Reason", "DemandFailed"))))
		suite.Still(replicas(d)).Should(Equal(0))
	})

	It("keeps the demand of a namespaced Schedule inside its namespace", func() {
		own, other := suite.Namespace(ctx, env), suite.Namespace(ctx, env)
		web, foreign := newFront(own, "web"), newFront(other, "web")
		config := harness.Prometheus{Binary: env.Cluster.Bin("prometheus"),
			Config: harness.ScrapeFronts(web.Metrics, foreign.Metrics)}
		url, _ := config.Start(GinkgoTB())
		scheduled := func(namespace, demand string) (*appsv1.Deployment, *v1alpha1.Schedule) {
			s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "idle"}}
			s.Spec.Idle = &v1alpha1.IdleRule{Demand: demand, AsleepAfter: v1alpha1.Duration(asleepAfter.String()), Interval: "2s"}
			Expect(env.Client.Create(ctx, s)).To(Succeed())
			return newApp(namespace, "web"), s
		}
		d, s := scheduled(own, harness.FrontDemand)
		// This author names the counters of the other tenant, which are quiet, in place of the author's own.
		thief, stolen := scheduled(other, fmt.Sprintf(
			`label_replace(rate(haproxy_backend_http_requests_total{tenant=%q}[10s]), "name", "web", "", "")`, own))

		By("refusing without a label that separates tenants")
		manager := start(app.PrometheusOptions{Address: url})
		Eventually(ready(s, &s.Status.PolicyStatus)).Should(HaveField("Reason", "DemandNotAllowed"))
		Expect(manager.Stop()).To(Succeed())

		By("asking with the label")
		start(app.PrometheusOptions{Address: url, TenantLabel: "tenant"})
		Eventually(replicas(d)).Should(Equal(0))
		Eventually(ready(stolen, &stolen.Status.PolicyStatus)).Should(HaveField("Reason", "DemandUnanswered"))
		suite.Still(replicas(thief)).Should(Equal(3))
	})
})
