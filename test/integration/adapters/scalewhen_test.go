package adapters

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
)

var _ = Describe("A count that an adapter allows to be changed on some objects only", func() {
	It("is left alone on the others, for as long as their owner has it so", func() {
		scene.ManagerAtNight()
		ns := scene.NewNamespace()
		k := scene.InstallKind()
		a := k.Adapter(".spec.replicas")
		none, keep := apiextensionsv1.JSON{Raw: []byte(`"none"`)}, apiextensionsv1.JSON{Raw: []byte(`"keep"`)}
		a.Spec.Scale[0].When = []v1alpha1.Predicate{{Path: ".spec.note", Default: &none, Op: v1alpha1.OpNe, Value: &keep}}
		scene.Adapt(a)
		kept := k.Object(ns, "kept", map[string]any{"replicas": int64(4), "note": "keep"})
		scene.Create(kept)
		scene.Press(k, ns, "free", 4)
		half := int32(50)
		scene.NightlyOn(ns, "nights", v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{k.Ref()}},
			func(r *v1alpha1.ScheduleRules) { r.AsleepAs = &v1alpha1.AsleepAs{Percent: &half} })

		count := func(name string) func(Gomega) int64 { return scene.PressCount(k, ns, name, ".spec.replicas") }
		Eventually(count("free")).Should(BeEquivalentTo(2))
		Eventually(scene.Targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 2, Asleep: 1, Unable: 1}))
		Expect(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)(Default)).To(And(scene.BeCondition(metav1.ConditionTrue, "AsExpected"),
			HaveField("Message", ContainSubstring(`kept: main must not be scaled: .spec.note is "keep"`))))
		Expect(scene.VersionOf(kept)(Default)).To(Equal(kept.GetResourceVersion()))

		scene.Patch(k.Object(ns, "free", nil), `{"spec":{"note":"keep"}}`)
		Eventually(count("free")).Should(BeEquivalentTo(4))
		Eventually(scene.PressLedger(k, ns, "free")).Should(BeEmpty())
		scene.Patch(k.Object(ns, "kept", nil), `{"spec":{"note":"not any more"}}`)
		Eventually(count("kept")).Should(BeEquivalentTo(2))
	})

	DescribeTable("is selected by predicates that the schema checks",
		func(component, field, message string) {
			obj := scene.Object("Adapter", "", "presses.example.com", `{target: {group: example.com, kind: Press, versions: [v1]}, scale: [`+
				component+
				`]}`)
			err := scene.Env.Client.Create(scene.Ctx, obj, client.FieldValidation(metav1.FieldValidationStrict), client.DryRunAll)
			if message == "" {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(And(ContainSubstring(field), ContainSubstring(message))))
		},
		Entry("none", `{name: main, replicas: .spec.replicas, when: []}`, "", ""),
		Entry("one", `{name: main, replicas: .spec.replicas, when: [{path: .spec.note, op: NotExists}]}`, "", ""),
		Entry("beside each", `{each: ".spec.pools[*]", nameFrom: .name, replicas: .n, when: [{path: .spec.note, op: Exists}]}`,
			"spec.scale[0]", "when cannot be used with each"),
		Entry("an unknown op", `{name: main, replicas: .spec.replicas, when: [{path: .spec.note, op: Like}]}`, "spec.scale[0].when[0].op",
			"Like"),
		Entry("a value too many", `{name: main, replicas: .spec.replicas, when: [{path: .spec.note, op: Exists, valueFrom: .spec.x}]}`,
			"spec.scale[0].when[0]", "Exists and NotExists take no value"),
	)
})
