package freeze

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

var _ = Describe("The Calendar of a freeze", func() {
	It("is applied after its includes, and keeps them", func() {
		ns, alice := newNamespace(), as("alice")
		inner := object(`{apiVersion: flyball.dev/v1alpha1, kind: Calendar, metadata: {name: inner}, spec: {dates: [{date: "2026-12-25"}]}}`)
		outer := object(`{apiVersion: flyball.dev/v1alpha1, kind: Calendar, metadata: {name: outer}, spec: {include: [inner]}}`)
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ChangeFreeze
metadata: {name: holidays, namespace: %s}
spec: {calendars: [{name: outer, effect: Frozen}], deny: [Scale]}
`, ns)
		Eventually(func() error { return alice.Create(ctx, outer.DeepCopy(), client.DryRunAll) }).Should(MatchError(ContainSubstring(
			`spec.include[0]: Invalid value: "inner": there is no valid Calendar of this name, and ChangeFreeze/` + ns +
				`/holidays, which uses outer, would refuse changes until there is one: apply that Calendar first`)))
		Expect(alice.Create(ctx, inner.DeepCopy())).To(Succeed())
		Expect(alice.Create(ctx, outer.DeepCopy())).To(Succeed(), "right after its include")
		Eventually(statusOf(ns, "holidays")).Should(And(HaveField("State", "Scheduled"), HaveField("NextFreezeTime", Not(BeNil()))))

		Expect(alice.Delete(ctx, inner.DeepCopy())).To(MatchError(ContainSubstring("ChangeFreeze/" + ns +
			"/holidays uses the Calendar outer, which includes this one, and would refuse changes without it: take inner out of spec.include first")))
		Expect(alice.Delete(ctx, outer.DeepCopy())).To(Succeed())
		Expect(alice.Delete(ctx, inner.DeepCopy())).To(Succeed(), "right after the Calendar with the include")
	})

	It("is named at apply if it cannot be read", func() {
		ns := newNamespace()
		broken := &v1alpha1.Calendar{}
		broken.Name, broken.Spec.Include = "broken", []string{"nowhere"}
		Expect(env.Client.Create(ctx, broken)).To(Succeed())
		DeferCleanup(func() { Expect(env.Client.Delete(ctx, broken)).To(Succeed()) })
		Eventually(func(g Gomega) string {
			out, err := kubectl("alice", ns, `
apiVersion: flyball.dev/v1alpha1
kind: ChangeFreeze
metadata: {name: holidays}
spec: {calendars: [{name: broken, effect: Frozen}], deny: [Scale]}
`, "create", "--dry-run=server", "-f", "-")
			g.Expect(err).NotTo(HaveOccurred(), out)
			return out
		}).Should(ContainSubstring("calendars: Calendar broken cannot be read, as its status says; where this matters, it cannot be " +
			"said whether changes are frozen, and the policy denies them"))
	})
})
