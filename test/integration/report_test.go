package integration

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// reasons returns the number of events about an object, by reason.
func reasons(namespace, name string) func(Gomega) map[string]int {
	return func(g Gomega) map[string]int {
		var list eventsv1.EventList
		g.Expect(env.Client.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
		out := map[string]int{}
		for i := range list.Items {
			if e := &list.Items[i]; e.Regarding.Name == name {
				out[e.Reason]++
				if e.Series != nil {
					out[e.Reason] += int(e.Series.Count) - 1
				}
			}
		}
		return out
	}
}

// kubectl runs kubectl against the cluster and returns the fields of each printed line.
func kubectl(args ...string) [][]string {
	GinkgoHelper()
	out, err := exec.Command(env.Cluster.Bin("kubectl"), append([]string{"--kubeconfig", env.Cluster.Kubeconfig}, args...)...).CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	var lines [][]string
	for line := range strings.Lines(string(out)) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

var _ = Describe("The report of a schedule", func() {
	It("counts its targets by state", func() {
		clock := startManager()
		ns := newNamespace()
		manual := deployment(ns, "manual", 2)
		create(manual, deployment(ns, "web", 3), deployment(ns, "zero", 0), cronJob(ns, "report", nil))
		kept := deployment(ns, "kept", 1)
		kept.Annotations = map[string]string{v1alpha1.AnnotationAwakeUntil: "2027-01-01T00:00:00Z"}
		create(kept)
		nightly(ns, "nights")
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 5, Awake: 5}))
		clock.SetTime(dusk)
		Eventually(replicas(ns, "manual")).Should(BeEquivalentTo(0))
		scale(ns, "manual", 1)
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 5, Asleep: 2, Awake: 1, AlreadyAsleep: 1, Overridden: 1}))
		Expect(env.Client.Delete(ctx, manual)).To(Succeed())
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 4, Asleep: 2, Awake: 1, AlreadyAsleep: 1}))
	})

	It("sends an event on a transition and at no other time", func() {
		clock := suite.NewClock(monday)
		manager := env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
		DeferCleanup(func() { Expect(manager.Stop()).To(Succeed()) })
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		nightly(ns, "nights")
		Eventually(targetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(1)))
		clock.SetTime(dusk)
		Eventually(reasons(ns, "nights")).Should(HaveKeyWithValue("Asleep", 1))

		By("new targets, the passing of time, and a restart")
		create(deployment(ns, "late", 1))
		Eventually(targetsOf(ns, "nights")).Should(HaveField("Asleep", BeEquivalentTo(2)))
		clock.SetTime(dusk.Add(1e9 * 3600))
		Expect(manager.Stop()).To(Succeed())
		manager = env.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
		create(deployment(ns, "later", 1))
		Eventually(targetsOf(ns, "nights")).Should(HaveField("Asleep", BeEquivalentTo(3)))
		Consistently(reasons(ns, "nights")).Should(HaveKeyWithValue("Asleep", 1))

		awake := reasons(ns, "nights")(Default)["Awake"]
		clock.SetTime(dawn)
		Eventually(reasons(ns, "nights")).Should(And(HaveKeyWithValue("Awake", awake+1), HaveKeyWithValue("Asleep", 1)))
	})

	It("warns with an event when a conflict with another begins", func() {
		startManagerAsleep()
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		nightly(ns, "asleep", always)
		nightly(ns, "awake", never)
		Eventually(reasons(ns, "asleep")).Should(HaveKeyWithValue("Conflicting", 1))
		Eventually(reasons(ns, "awake")).Should(HaveKeyWithValue("Conflicting", 1))
	})

	It("prints its readiness, its state, and the time of the next change", func() {
		clock := startManager()
		ns := newNamespace()
		create(deployment(ns, "web", 3), deployment(ns, "zero", 0))
		nightly(ns, "nights")
		clock.SetTime(dusk)
		Eventually(func() [][]string { return kubectl("get", "fsch", "-n", ns) }).Should(HaveExactElements(
			Equal([]string{"NAME", "STATE", "READY", "TARGETS", "ASLEEP", "AWAKE", "FAILED", "NEXT", "AGE"}),
			HaveExactElements("nights", "Asleep", "True", "2", "1", "0", "0", "2026-03-03T08:00:00Z", Not(BeEmpty())),
		))
		Expect(kubectl("get", "flyball", "-n", ns)).To(ContainElement(ContainElement("schedule.flyball.dev/nights")))
	})

	It("keeps its conditions still while nothing happens", func() {
		clock := startManager()
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		s := nightly(ns, "nights")
		clock.SetTime(dusk)
		Eventually(targetsOf(ns, "nights")).Should(HaveField("Asleep", BeEquivalentTo(1)))
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
		version := versionOf(s)(Default)
		clock.SetTime(dusk.Add(3600e9))
		patch(deployment(ns, "web", 0), label("release", "7"))
		Consistently(versionOf(s)).Should(Equal(version))
	})
})

var _ = Describe("A schedule that is deleted", func() {
	It("is deleted although another part of it changes at the same time", func() {
		startManagerAsleep()
		ns := newNamespace()
		create(deployment(ns, "web", 3))
		for i := range 5 {
			s := nightly(ns, fmt.Sprintf("nights-%d", i))
			Eventually(func(g Gomega) []string { return stored(g, s).GetFinalizers() }).Should(ConsistOf(v1alpha1.FinalizerRestore))
			Expect(env.Client.Delete(ctx, s)).To(Succeed())
			for n := range 50 {
				// A new label is no reason to process the policy again, but it makes the manager's copy of the policy outdated.
				if env.Patch(ctx, s, label("n", strconv.Itoa(n))) != nil {
					break // gone
				}
			}
			remove(s)
		}
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
	})
})
