package failures

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// kubectl runs kubectl against the cluster and returns the fields of each printed line.
func kubectl(args ...string) [][]string {
	GinkgoHelper()
	out, err := exec.Command(scene.Env.Cluster.Bin("kubectl"),
		append([]string{"--kubeconfig", scene.Env.Cluster.Kubeconfig}, args...)...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	var lines [][]string
	for line := range strings.Lines(string(out)) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

var _ = Describe("The report of a schedule", func() {
	It("counts its targets by state", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		manual := scene.Deployment(ns, "manual", 2)
		scene.Create(manual, scene.Deployment(ns, "web", 3), scene.Deployment(ns, "zero", 0), scene.CronJob(ns, "report", nil))
		scene.Create(scene.Deployment(ns, "kept", 1), scene.Override(ns, "kept", v1alpha1.OverrideAwake, "2037-01-01T00:00:00Z", "kept"))
		scene.Nightly(ns, "nights")
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 5, Awake: 5}))
		clock.SetTime(scene.Dusk)
		Eventually(scene.Replicas(ns, "manual")).Should(BeEquivalentTo(0))
		scene.Scale(ns, "manual", 1)
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 5, Asleep: 2, Awake: 1, AlreadyAsleep: 1,
			Overridden: 1}))
		Expect(scene.Env.Client.Delete(scene.Ctx, manual)).To(Succeed())
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 4, Asleep: 2, Awake: 1, AlreadyAsleep: 1}))
	})

	It("sends an event on a transition and at no other time", func() {
		clock := suite.NewClock(scene.Monday)
		manager := scene.Env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
		DeferCleanup(func() { Expect(manager.Stop()).To(Succeed()) })
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.Nightly(ns, "nights")
		Eventually(scene.TargetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(1)))
		clock.SetTime(scene.Dusk)
		Eventually(scene.Reasons(ns, "nights")).Should(HaveKeyWithValue("Asleep", 1))

		By("new targets, the passing of time, and a restart")
		scene.Create(scene.Deployment(ns, "late", 1))
		Eventually(scene.TargetsOf(ns, "nights")).Should(HaveField("Asleep", BeEquivalentTo(2)))
		clock.SetTime(scene.Dusk.Add(1e9 * 3600))
		Expect(manager.Stop()).To(Succeed())
		manager = scene.Env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
		scene.Create(scene.Deployment(ns, "later", 1))
		Eventually(scene.TargetsOf(ns, "nights")).Should(HaveField("Asleep", BeEquivalentTo(3)))
		suite.Still(scene.Reasons(ns, "nights")).Should(HaveKeyWithValue("Asleep", 1))

		awake := scene.Reasons(ns, "nights")(Default)["Awake"]
		clock.SetTime(scene.Dawn)
		Eventually(scene.Reasons(ns, "nights")).Should(And(HaveKeyWithValue("Awake", awake+1), HaveKeyWithValue("Asleep", 1)))
	})

	It("warns with an event when a conflict with another begins", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.Nightly(ns, "asleep", scene.Always)
		scene.Nightly(ns, "awake", scene.Never)
		Eventually(scene.Reasons(ns, "asleep")).Should(HaveKeyWithValue("Conflicting", 1))
		Eventually(scene.Reasons(ns, "awake")).Should(HaveKeyWithValue("Conflicting", 1))
	})

	It("prints its readiness, its state, and the time of the next change", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3), scene.Deployment(ns, "zero", 0))
		scene.Nightly(ns, "nights")
		clock.SetTime(scene.Dusk)
		Eventually(func() [][]string { return kubectl("get", "fsch", "-n", ns) }).Should(HaveExactElements(
			Equal([]string{"NAME", "STATE", "READY", "TARGETS", "ASLEEP", "AWAKE", "FAILED", "NEXT", "AGE"}),
			HaveExactElements("nights", "Asleep", "True", "2", "1", "0", "0", "2026-03-03T08:00:00Z", Not(BeEmpty())),
		))
		Expect(kubectl("get", "flyball", "-n", ns)).To(ContainElement(ContainElement("schedule.flyball.dev/nights")))
	})

	It("keeps its conditions still while nothing happens", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		s := scene.Nightly(ns, "nights")
		clock.SetTime(scene.Dusk)
		Eventually(scene.TargetsOf(ns, "nights")).Should(HaveField("Asleep", BeEquivalentTo(1)))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
		version := scene.VersionOf(s)(Default)
		clock.SetTime(scene.Dusk.Add(3600e9))
		scene.Patch(scene.Deployment(ns, "web", 0), scene.LabelPatch("release", "7"))
		suite.Still(scene.VersionOf(s)).Should(Equal(version))
	})
})

var _ = Describe("A schedule that is deleted", func() {
	It("is deleted although another part of it changes at the same time", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		for i := range 5 {
			s := scene.Nightly(ns, fmt.Sprintf("nights-%d", i))
			Eventually(func(g Gomega) []string { return scene.Stored(g, s).GetFinalizers() }).Should(ConsistOf(v1alpha1.FinalizerRestore))
			Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
			for n := range 50 {
				// A new label is no reason to process the policy again, but it makes the manager's copy of the policy outdated.
				if scene.Env.Patch(scene.Ctx, s, scene.LabelPatch("n", strconv.Itoa(n))) != nil {
					break // gone
				}
			}
			scene.Remove(s)
		}
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
	})
})
