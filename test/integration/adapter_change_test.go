package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/customkind"
	"flyball.dev/flyball/test/integration/suite"
)

// sleepingPress creates a kind with an adapter, an object of the kind with both counts and annotations, and a schedule
// that puts the object to sleep. The clock stands at nine in the evening.
func sleepingPress() (clock *suite.Clock, k customkind.Kind, a *v1alpha1.Adapter, ns string) {
	GinkgoHelper()
	clock = suite.NewClock(monday.Add(9 * time.Hour))
	startManagerAt(clock)
	ns = newNamespace()
	k = installKind()
	a = adapt(k.Adapter(".spec.replicas"))
	obj := k.Object(ns, "daily", map[string]any{"replicas": int64(3), "pool": map[string]any{"size": int64(2)}})
	Expect(env.Client.Create(ctx, obj)).To(Succeed())
	pressNights(ns, k)
	Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
	return clock, k, a, ns
}

var _ = Describe("An adapter that is edited while its objects sleep", func() {
	It("uses a new path and restores the old one", func() {
		clock, k, a, ns := sleepingPress()
		Expect(env.Patch(ctx, a, `{"spec":{"scale":[{"name":"main","replicas":".spec.pool.size"}]}}`)).To(Succeed())
		Eventually(pressCount(k, ns, "daily", ".spec.pool.size")).Should(BeEquivalentTo(0))
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))

		clock.SetTime(monday.Add(21 * time.Hour))
		Eventually(pressCount(k, ns, "daily", ".spec.pool.size")).Should(BeEquivalentTo(2))
		Eventually(pressLedger(k, ns, "daily")).Should(BeEmpty())
		Expect(pressCount(k, ns, "daily", ".spec.replicas")(Default)).To(BeEquivalentTo(3))
	})

	It("uses another minimum", func() {
		clock, k, a, ns := sleepingPress()
		Expect(env.Patch(ctx, a, `{"spec":{"scale":[{"name":"main","replicas":".spec.replicas","minimum":1}]}}`)).To(Succeed())
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(1))
		clock.SetTime(monday.Add(21 * time.Hour))
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))
		Eventually(pressLedger(k, ns, "daily")).Should(BeEmpty())
	})

	It("reads an annotation that a new policy uses, without waking sleeping objects", func() {
		_, k, _, ns := sleepingPress()
		version := pressVersion(k, ns, "daily")(Default)
		other := newNamespace()
		for _, team := range []string{"news", "sport"} {
			obj := k.Object(other, team, map[string]any{"replicas": int64(4)})
			obj.SetAnnotations(map[string]string{"example.com/team-" + other: team})
			Expect(env.Client.Create(ctx, obj)).To(Succeed())
		}
		nightlyOver(other, func(s *v1alpha1.Schedule) {
			s.Spec.Target.Annotations = map[string]string{"example.com/team-" + other: "sport"}
		})
		Eventually(pressCount(k, other, "sport", ".spec.replicas")).Should(BeEquivalentTo(0))
		Consistently(pressCount(k, other, "news", ".spec.replicas")).Should(BeEquivalentTo(4))
		Expect(pressVersion(k, ns, "daily")(Default)).To(Equal(version))
	})

	DescribeTable("reports that it is broken, stops new writes, loses nothing, and restores once it is repaired",
		func(condition, reason, bad string, says ...string) {
			clock, k, a, ns := sleepingPress()
			Expect(env.Patch(ctx, a, `{"spec":{"scale":[{"name":"main","replicas":"`+bad+`"}]}}`)).To(Succeed())
			Eventually(adapterCondition(k.Name(), condition)).Should(beCondition(metav1.ConditionFalse, reason))
			for _, text := range says {
				Expect(adapterCondition(k.Name(), condition)(Default).Message).To(ContainSubstring(text))
			}
			Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(
				HaveField("Status", metav1.ConditionFalse), HaveField("Message", ContainSubstring(k.Name()))))

			press(k, ns, "weekly", 4)
			Eventually(failuresOf(ns, "nights")).Should(ContainElement(HaveField("Name", "weekly")))
			Consistently(pressCount(k, ns, "weekly", ".spec.replicas")).Should(BeEquivalentTo(4))
			clock.SetTime(monday.Add(21 * time.Hour))
			Eventually(failuresOf(ns, "nights")).Should(ConsistOf(HaveField("Name", "daily")))
			Consistently(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))

			Expect(env.Patch(ctx, a, `{"spec":{"scale":[{"name":"main","replicas":".spec.replicas"}]}}`)).To(Succeed())
			Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))
			Eventually(pressLedger(k, ns, "daily")).Should(BeEmpty())
			Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
		},
		Entry("by a path that does not parse", v1alpha1.ConditionAccepted, "InvalidSpec", ".spec..replicas", "spec.scale[0].replicas", "column"),
		Entry("by a path that is not in the schema", v1alpha1.ConditionSchemaMatched, "PathNotInSchema", ".spec.copies", "spec.scale[0].replicas",
			".spec.copies"),
	)
})

// pressVersion reads the version of an object of a kind.
func pressVersion(k customkind.Kind, namespace, name string) func(Gomega) string {
	return func(g Gomega) string {
		obj := k.Object(namespace, name, nil)
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		return obj.GetResourceVersion()
	}
}
