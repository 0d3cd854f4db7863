package outage

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
)

// start runs the manager as a process; when the spec ends it is killed.
func start(args ...string) *harness.Process {
	GinkgoHelper()
	p, err := env.StartProcess(binary, args...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		p.Kill()
		if CurrentSpecReport().Failed() {
			GinkgoWriter.Println(p.Output())
		}
	})
	return p
}

var _ = Describe("A manager that is killed", func() {
	It("twenty times in the middle of transitions leaves every original intact, and the next start corrects every state", func() {
		const size, kills = 200, 20
		f := newFleet("crash", size)
		able := size - int(f.zeros())
		dice := chance()
		for round := range kills {
			// The transition is always the one with more work left.
			asleep := f.marked() < able/2
			f.turn(asleep)
			p := start()
			if round%3 == 2 {
				// The transition is reversed in the middle, so that a running manager has to handle this too.
				Eventually(f.changed(asleep, able)).Should(BeNumerically(">", able*3/4))
				asleep = !asleep
				f.turn(asleep)
			}
			done := f.changed(asleep, able)()
			reached := able
			if left := able - done; left > 0 { // otherwise the manager was faster than this process
				reached = done + 1 + dice.IntN(left)
			}
			By(fmt.Sprintf("round %d: asleep %t, %d of %d done, killed at %d", round+1, asleep, done, able, reached))
			Eventually(f.changed(asleep, able)).WithPolling(2 * time.Millisecond).Should(BeNumerically(">=", reached))
			p.Kill()
			f.allRestorable(Default)
		}

		start()
		f.turn(true)
		Eventually(f.allAsleep).Should(Succeed())
		Eventually(f.counts).Should(Equal(v1alpha1.TargetCounts{Total: size, Asleep: size - f.zeros(), AlreadyAsleep: f.zeros()}))
		f.turn(false)
		Eventually(f.allAwake).Should(Succeed())
		Eventually(f.counts).Should(Equal(v1alpha1.TargetCounts{Total: size, Awake: size}))
	})
})

// changed counts the workloads that are already in the state that the transition asks for.
func (f *fleet) changed(asleep bool, able int) func() int {
	return func() int {
		if asleep {
			return f.marked()
		}
		return able - f.marked()
	}
}

var _ = Describe("A manager that is asked to stop", func() {
	It("finishes the writes in flight, begins no others, and ends without an error", func() {
		const size = 200
		f := newFleet("sigterm", size)
		able := size - int(f.zeros())
		// The manager is so slow that the signal comes in the middle, even if this process does not run for some seconds.
		p := start("--kube-api-qps=10", "--kube-api-burst=10")
		f.turn(true)
		Eventually(f.changed(true, able)).WithPolling(5 * time.Millisecond).Should(BeNumerically(">=", 10))
		Expect(p.Terminate()).To(Succeed())

		Expect(f.changed(true, able)()).To(BeNumerically("<", able))
		for _, obj := range f.list(Default) {
			Expect(f.restorable(obj)).To(Succeed())
			if obj.GetAnnotations()[v1alpha1.AnnotationLedger] != "" {
				Expect(state(obj)).To(BeZero(), "%s %s: only half of it was written", obj.GetKind(), obj.GetName())
			}
		}
		start()
		Eventually(f.allAsleep).Should(Succeed())
		f.turn(false)
		Eventually(f.allAwake).Should(Succeed())
	})
})

var _ = Describe("Two managers", func() {
	It("work one at a time: the other takes over when the leader is killed, and at once when it is asked to stop", func() {
		f := newFleet("leader", 20)
		first := start("--leader-elect=true")
		f.turn(true)
		Eventually(f.allAsleep).Should(Succeed())
		second := start("--leader-elect=true")
		f.turn(false)
		Eventually(f.allAwake).Should(Succeed())

		first.Kill()
		f.turn(true)
		// A lease lasts 15 s.
		Eventually(f.allAsleep).Should(Succeed())

		start("--leader-elect=true")
		Expect(second.Terminate()).To(Succeed())
		f.turn(false)
		Eventually(f.allAwake).Should(Succeed())
	})
})
