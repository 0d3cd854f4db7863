package adapters

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/customkind"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// sleepingPress creates a kind with an adapter, an object of the kind with both counts and annotations, and a schedule
// that puts the object to sleep. The clock stands at nine in the evening.
func sleepingPress() (clock *suite.Clock, k customkind.Kind, a *v1alpha1.Adapter, ns string) {
	GinkgoHelper()
	clock = suite.NewClock(scene.Monday.Add(9 * time.Hour))
	scene.StartManagerAt(clock)
	ns = scene.NewNamespace()
	k = scene.InstallKind()
	a = scene.Adapt(k.Adapter(".spec.replicas"))
	obj := k.Object(ns, "daily", map[string]any{"replicas": int64(3), "pool": map[string]any{"size": int64(2)}})
	Expect(scene.Env.Client.Create(scene.Ctx, obj)).To(Succeed())
	scene.PressNights(ns, k)
	Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
	return clock, k, a, ns
}

var _ = Describe("An adapter that is edited while its objects sleep", func() {
	It("uses a new path and restores the old one", func() {
		clock, k, a, ns := sleepingPress()
		Expect(scene.Env.Patch(scene.Ctx, a, `{"spec":{"scale":[{"name":"main","replicas":".spec.pool.size"}]}}`)).To(Succeed())
		Eventually(scene.PressCount(k, ns, "daily", ".spec.pool.size")).Should(BeEquivalentTo(0))
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))

		clock.SetTime(scene.Monday.Add(21 * time.Hour))
		Eventually(scene.PressCount(k, ns, "daily", ".spec.pool.size")).Should(BeEquivalentTo(2))
		Eventually(scene.PressLedger(k, ns, "daily")).Should(BeEmpty())
		Expect(scene.PressCount(k, ns, "daily", ".spec.replicas")(Default)).To(BeEquivalentTo(3))
	})

	It("uses another minimum", func() {
		clock, k, a, ns := sleepingPress()
		Expect(scene.Env.Patch(scene.Ctx, a, `{"spec":{"scale":[{"name":"main","replicas":".spec.replicas","minimum":1}]}}`)).To(Succeed())
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(1))
		clock.SetTime(scene.Monday.Add(21 * time.Hour))
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))
		Eventually(scene.PressLedger(k, ns, "daily")).Should(BeEmpty())
	})

	It("reads an annotation that a new policy uses, without waking sleeping objects", func() {
		_, k, _, ns := sleepingPress()
		version := pressVersion(k, ns, "daily")(Default)
		other := scene.NewNamespace()
		for _, team := range []string{"news", "sport"} {
			obj := k.Object(other, team, map[string]any{"replicas": int64(4)})
			obj.SetAnnotations(map[string]string{"example.com/team-" + other: team})
			Expect(scene.Env.Client.Create(scene.Ctx, obj)).To(Succeed())
		}
		scene.NightlyOver(other, func(s *v1alpha1.Schedule) {
			s.Spec.Target.Annotations = map[string]string{"example.com/team-" + other: "sport"}
		})
		Eventually(scene.PressCount(k, other, "sport", ".spec.replicas")).Should(BeEquivalentTo(0))
		suite.Still(scene.PressCount(k, other, "news", ".spec.replicas")).Should(BeEquivalentTo(4))
		Expect(pressVersion(k, ns, "daily")(Default)).To(Equal(version))
	})

	DescribeTable("reports that it is broken, stops new writes, loses nothing, and restores once it is repaired",
		func(condition, reason, bad string, says ...string) {
			clock, k, a, ns := sleepingPress()
			Expect(scene.Env.Patch(scene.Ctx, a, `{"spec":{"scale":[{"name":"main","replicas":"`+bad+`"}]}}`)).To(Succeed())
			Eventually(scene.AdapterCondition(k.Name(), condition)).Should(scene.BeCondition(metav1.ConditionFalse, reason))
			for _, text := range says {
				Expect(scene.AdapterCondition(k.Name(), condition)(Default).Message).To(ContainSubstring(text))
			}
			Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(
				HaveField("Status", metav1.ConditionFalse), HaveField("Message", ContainSubstring(k.Name()))))

			scene.Press(k, ns, "weekly", 4)
			Eventually(scene.FailuresOf(ns, "nights")).Should(ContainElement(HaveField("Name", "weekly")))
			suite.Still(scene.PressCount(k, ns, "weekly", ".spec.replicas")).Should(BeEquivalentTo(4))
			clock.SetTime(scene.Monday.Add(21 * time.Hour))
			Eventually(scene.FailuresOf(ns, "nights")).Should(ConsistOf(HaveField("Name", "daily")))
			suite.Still(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))

			Expect(scene.Env.Patch(scene.Ctx, a, `{"spec":{"scale":[{"name":"main","replicas":".spec.replicas"}]}}`)).To(Succeed())
			Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))
			Eventually(scene.PressLedger(k, ns, "daily")).Should(BeEmpty())
			Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
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
		g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		return obj.GetResourceVersion()
	}
}
