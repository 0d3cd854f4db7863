package freeze

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

var _ = Describe("The Calendar of a freeze", func() {
	It("is applied after its includes, and keeps them", func() {
		ns, alice := newNamespace(), as("alice")
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: holidays}
spec: {target: {namespaces: [%s]}, calendars: [{name: outer, effect: Frozen}], deny: [Scale]}
`, ns)
		inner := object(`{apiVersion: flyball.dev/v1alpha1, kind: Calendar, metadata: {name: inner}, spec: {dates: [{date: "2026-12-25"}]}}`)
		outer := object(`{apiVersion: flyball.dev/v1alpha1, kind: Calendar, metadata: {name: outer}, spec: {include: [inner]}}`)
		Eventually(func() error { return alice.Create(ctx, outer.DeepCopy(), client.DryRunAll) }).Should(MatchError(ContainSubstring(
			`spec.include[0]: Invalid value: "inner": there is no valid Calendar of this name, and ClusterChangeFreeze/holidays, ` +
				`which uses outer, would refuse changes until there is one: apply that Calendar first`)))
		Expect(alice.Create(ctx, inner.DeepCopy())).To(Succeed())
		Expect(alice.Create(ctx, outer.DeepCopy())).To(Succeed(), "right after its include")
		Eventually(func(g Gomega) v1alpha1.FreezeStatus {
			var f v1alpha1.ClusterChangeFreeze
			g.Expect(env.Client.Get(ctx, client.ObjectKey{Name: "holidays"}, &f)).To(Succeed())
			return f.Status
		}).Should(And(HaveField("State", "Scheduled"), HaveField("NextFreezeTime", Not(BeNil())), HaveField("Announced", BeNil())))

		Expect(alice.Delete(ctx, inner.DeepCopy())).To(MatchError(ContainSubstring("ClusterChangeFreeze/holidays " +
			"uses the Calendar outer, which includes this one, and would refuse changes without it: take inner out of spec.include first")))
		Expect(alice.Delete(ctx, outer.DeepCopy())).To(Succeed())
		Expect(alice.Delete(ctx, inner.DeepCopy())).To(Succeed(), "right after the Calendar with the include")
	})

	It("is the cluster's: a freeze of one namespace keeps its denial, and stops no editor of Calendars", func() {
		ns, alice := newNamespace(), as("alice")
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ChangeFreeze
metadata: {name: party, namespace: %s}
spec: {calendars: [{name: party, effect: Frozen}], deny: [Scale]}
`, ns)
		Expect(env.Client.Create(ctx, deployment(ns, "web"))).To(Succeed())
		Expect(alice.Create(ctx, object(`{apiVersion: flyball.dev/v1alpha1, kind: Calendar, metadata: {name: party},
spec: {dates: [{start: "2026-03-02", end: "2026-03-03"}]}}`))).To(Succeed())
		Eventually(statusOf(ns, "party")).Should(And(HaveField("State", "Frozen"), HaveField("Announced", Not(BeNil()))))
		scale := func() error { return patch(as("bob"), deployment(ns, "web"), toTwo, client.DryRunAll) }
		eventuallyRefused(scale)

		party := &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Name: "party"}}
		Expect(patch(alice, party, `{"spec":{"dates":[{"date":"2026-03-20"}]}}`)).To(Succeed())
		keeps := HaveField("Conditions", ContainElement(HaveField("Message",
			ContainSubstring("it keeps this denial, and its Calendars have changed since"))))
		Eventually(statusOf(ns, "party")).Should(And(HaveField("State", "Frozen"), keeps))
		Expect(alice.Delete(ctx, party)).To(Succeed())
		Eventually(statusOf(ns, "party")).Should(HaveField("Conditions", ContainElement(HaveField("Message",
			ContainSubstring("there is no Calendar party")))))
		Expect(scale()).To(BeRefused("Next allowed: 2026-03-04T00:00:00Z"))

		frz := &v1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "party"}}
		forged := client.RawPatch(types.MergePatchType, []byte(`{"status":{"announced":null}}`))
		Expect(alice.Status().Patch(ctx, frz.DeepCopy(), forged)).To(MatchError(ContainSubstring(
			"status.announced can be written only by Flyball")))
		Expect(patch(alice, frz, `{"spec":{"message":{"reason":"party"}}}`)).To(MatchError(ContainSubstring(
			`would be changed, and take up the present days of its Calendars; user "alice" needs the verb "override"`)))
		grant("override", "oncall", ns, "changefreezes", "override")
		carol := as("carol", "oncall")
		Eventually(func() error { return patch(carol, frz, `{"spec":{"message":{"reason":"party"}}}`) }).Should(Succeed())
		Eventually(statusOf(ns, "party")).Should(And(HaveField("State", "Scheduled"), HaveField("Announced", BeNil())))
		Eventually(scale).Should(Succeed())
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
