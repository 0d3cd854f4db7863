package failures

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// panics returns the number of panics that a manager has caught: on targets, and in controllers since the process
// began.
func panics(m *harness.Manager) func(Gomega) float64 {
	return func(g Gomega) float64 {
		own, err := m.Registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		controllers, err := metrics.Registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		sum, families := 0.0, 0
		for _, f := range append(append([]*dto.MetricFamily(nil), own...), controllers...) {
			if f.GetName() != "flyball_panics_total" && f.GetName() != "controller_runtime_reconcile_panics_total" {
				continue
			}
			families++
			for _, s := range f.GetMetric() {
				sum += s.GetCounter().GetValue()
			}
		}
		g.Expect(families).To(BeNumerically(">=", 2), "a metric of faults is missing")
		return sum
	}
}

var _ = Describe("A start at which the namespaces are slow to come", func() {
	It("does not crash on policies and adapters that come and go meanwhile, and works once they are there", func() {
		namespaces := &gate{match: reads("namespaces")}
		namespaces.close()
		var m *harness.Manager
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) }) // after the policies have gone
		DeferCleanup(namespaces.open)
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.Nightly(ns, "nights")
		gone := scene.Nightly(ns, "gone")
		config := rest.CopyConfig(scene.Env.Config)
		config.Wrap(namespaces.wrap)
		m = scene.Env.Start(harness.Options{Clock: suite.NewClock(scene.Dusk.Add(1)), Config: config, Log: GinkgoWriter})

		k := scene.InstallKind()
		scene.Adapt(k.Adapter(".spec.replicas"))
		scene.Press(k, ns, "daily", 2)
		scene.Nightly(ns, "late")
		Expect(scene.Env.Client.Delete(scene.Ctx, gone)).To(Succeed())
		scene.Annotate(ns, "web", "example.com/touched", "yes")
		Consistently(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3)) // the manager does not work on targets yet

		namespaces.open()
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		Eventually(scene.Vanished(gone)).Should(Succeed())
		Expect(panics(m)(Default)).To(BeZero())
	})
})
