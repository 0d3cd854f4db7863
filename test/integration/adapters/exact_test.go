package adapters

import (
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/customkind"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// adaptWith installs a kind with an adapter, which the function change completes. A schedule puts the kind's objects in
// the namespace to sleep at night.
func adaptWith(ns string, change func(*v1alpha1.AdapterSpec)) customkind.Kind {
	GinkgoHelper()
	k := scene.InstallKind()
	a := k.Adapter(".spec.replicas")
	a.Spec.Scale = nil
	change(&a.Spec)
	scene.Adapt(a)
	scene.PressNights(ns, k)
	Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "Ready"))
	return k
}

// scaleOne sets one count in an adapter. If the count is absent in an object, it means 2.
func scaleOne(path v1alpha1.Path) func(*v1alpha1.AdapterSpec) {
	two := int64(2)
	return func(s *v1alpha1.AdapterSpec) {
		s.Scale = []v1alpha1.ScaleComponent{{Name: "main", Replicas: path, Default: &two, Via: v1alpha1.ViaPatch}}
	}
}

// scaleEach sets a count in each element of a list in an adapter.
func scaleEach(list string) func(*v1alpha1.AdapterSpec) {
	return func(s *v1alpha1.AdapterSpec) {
		s.Scale = []v1alpha1.ScaleComponent{{Each: v1alpha1.Path(list + "[*]"), NameFrom: ".name", Replicas: ".count"}}
	}
}

// setOf returns a suspend variant that writes one field.
func setOf(path v1alpha1.Path, value string) []v1alpha1.Variant {
	return []v1alpha1.Variant{{Set: []v1alpha1.Write{{Path: path, Value: apiextensionsv1.JSON{Raw: []byte(value)}}}}}
}

// pressWith creates an object with a spec in JSON.
func pressWith(k customkind.Kind, ns, name, spec string) *unstructured.Unstructured {
	GinkgoHelper()
	var fields map[string]any
	Expect(json.Unmarshal([]byte(spec), &fields)).To(Succeed())
	obj := k.Object(ns, name, fields)
	Expect(scene.Env.Client.Create(scene.Ctx, obj)).To(Succeed())
	return obj
}

// specOfPress reads the spec of an object as JSON with sorted keys, without the part that every object has by default.
func specOfPress(k customkind.Kind, ns, name string) func(Gomega) string {
	return func(g Gomega) string {
		obj := scene.Stored(g, k.Object(ns, name, nil))
		if turns := scene.FieldOf(obj, "spec", "valve", "turns"); turns == "4" && scene.FieldOf(obj, "spec", "valve", "open") == "" {
			unstructured.RemoveNestedField(obj.Object, "spec", "valve")
		}
		spec, err := json.Marshal(obj.Object["spec"])
		g.Expect(err).NotTo(HaveOccurred())
		return string(spec)
	}
}

var _ = Describe("A list that its owner edits while it sleeps", func() {
	const two = `{"pools":[{"name":"hot","count":3},{"name":"cold","count":5}]}`
	DescribeTable("gets every original back that can still be identified",
		func(edit, restored string) {
			clock := scene.StartManagerAsleep()
			ns := scene.NewNamespace()
			k := adaptWith(ns, scaleEach(".spec.pools"))
			obj := pressWith(k, ns, "daily", two)
			Eventually(specOfPress(k, ns, "daily")).Should(MatchJSON(`{"pools":[{"name":"hot","count":0},{"name":"cold","count":0}]}`))
			scene.Patch(obj, edit)
			clock.SetTime(scene.Dawn)
			Eventually(specOfPress(k, ns, "daily")).Should(MatchJSON(restored))
			Eventually(scene.PressLedger(k, ns, "daily")).Should(BeEmpty())
		},
		Entry("the order", `{"spec":{"pools":[{"name":"cold","count":0},{"name":"new","count":1},{"name":"hot","count":0}]}}`,
			`{"pools":[{"name":"cold","count":5},{"name":"new","count":1},{"name":"hot","count":3}]}`),
		Entry("one that went", `{"spec":{"pools":[{"name":"cold","count":0}]}}`, `{"pools":[{"name":"cold","count":5}]}`),
		Entry("one that was written as a text", `{"spec":{"pools":[{"name":"hot","count":"0"},{"name":"cold","count":0}]}}`,
			`{"pools":[{"name":"hot","count":3},{"name":"cold","count":5}]}`),
	)

	DescribeTable("keeps the original of an element that does not occur exactly once, and names the command that drops it",
		func(edit, dawned string) {
			clock := scene.StartManagerAsleep()
			ns := scene.NewNamespace()
			k := adaptWith(ns, scaleEach(".spec.pools"))
			obj := pressWith(k, ns, "daily", two)
			Eventually(specOfPress(k, ns, "daily")).Should(MatchJSON(`{"pools":[{"name":"hot","count":0},{"name":"cold","count":0}]}`))
			scene.Patch(obj, edit)
			Eventually(scene.Targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Failed: 1}))
			clock.SetTime(scene.Dawn)
			Eventually(specOfPress(k, ns, "daily")).Should(MatchJSON(dawned))
			Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(scene.BeCondition(metav1.ConditionFalse,
				"TargetsFailed"),
				HaveField("Message", And(ContainSubstring("daily"), ContainSubstring("exactly one element hot"), ContainSubstring("it was 3"),
					ContainSubstring("kubectl annotate "), ContainSubstring("flyball.dev/ledger-")))))
			Expect(scene.PressLedger(k, ns, "daily")(Default)).To(ContainSubstring(`"was":3`))

			scene.Patch(obj, `{"metadata":{"annotations":{"flyball.dev/ledger":null}}}`) // the command does the same
			Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
			Expect(specOfPress(k, ns, "daily")(Default)).To(MatchJSON(dawned))
		},
		Entry("renamed", `{"spec":{"pools":[{"name":"warm","count":0},{"name":"cold","count":0}]}}`,
			`{"pools":[{"name":"warm","count":0},{"name":"cold","count":5}]}`),
		Entry("there twice", `{"spec":{"pools":[{"name":"hot","count":0},{"name":"cold","count":0},{"name":"hot","count":2}]}}`,
			`{"pools":[{"name":"hot","count":0},{"name":"cold","count":5},{"name":"hot","count":2}]}`),
	)

	It("gets the original back once the list is as it was", func() {
		clock := scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		k := adaptWith(ns, scaleEach(".spec.pools"))
		obj := pressWith(k, ns, "daily", two)
		Eventually(specOfPress(k, ns, "daily")).Should(MatchJSON(`{"pools":[{"name":"hot","count":0},{"name":"cold","count":0}]}`))
		scene.Patch(obj, `{"spec":{"pools":[{"name":"new","count":1},{"name":"warm","count":0},{"name":"cold","count":0}]}}`)
		Eventually(scene.Targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Failed: 1}))
		clock.SetTime(scene.Dawn)
		Eventually(specOfPress(k, ns,
			"daily")).Should(MatchJSON(`{"pools":[{"name":"new","count":1},{"name":"warm","count":0},{"name":"cold","count":5}]}`))
		scene.Patch(obj, `{"spec":{"pools":[{"name":"new","count":1},{"name":"hot","count":0},{"name":"cold","count":5}]}}`)
		Eventually(specOfPress(k, ns,
			"daily")).Should(MatchJSON(`{"pools":[{"name":"new","count":1},{"name":"hot","count":3},{"name":"cold","count":5}]}`))
		Eventually(scene.PressLedger(k, ns, "daily")).Should(BeEmpty())
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
	})
})

var _ = Describe("A list of counts", func() {
	DescribeTable("sleeps as a whole and wakes byte for byte",
		func(list, spec, asleep string) {
			clock := scene.StartManagerAsleep()
			ns := scene.NewNamespace()
			k := adaptWith(ns, scaleEach(list))
			pressWith(k, ns, "daily", spec)
			Eventually(specOfPress(k, ns, "daily")).Should(MatchJSON(asleep))
			Eventually(scene.Targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
			clock.SetTime(scene.Dawn)
			Eventually(specOfPress(k, ns, "daily")).Should(MatchJSON(spec))
			Eventually(scene.PressLedger(k, ns, "daily")).Should(BeEmpty())
		},
		Entry("of quantities", ".spec.pools", `{"pools":[{"name":"a","count":"40Gi"},{"name":"b","count":"1500m"},{"name":"c","count":2}]}`,
			`{"pools":[{"name":"a","count":0},{"name":"b","count":0},{"name":"c","count":0}]}`),
		Entry("without names", ".spec.pools", `{"pools":[{"role":"x","count":2},{"role":"y","count":"3"}]}`,
			`{"pools":[{"role":"x","count":0},{"role":"y","count":0}]}`),
		Entry("with names as keys", ".spec.keyed", `{"keyed":[{"name":"a","count":2},{"name":"b","count":4}]}`,
			`{"keyed":[{"name":"a","count":0},{"name":"b","count":0}]}`),
	)

	It("is left alone if one of the counts cannot be handled, and that count is named", func() {
		scene.ManagerAtNight()
		ns := scene.NewNamespace()
		k := adaptWith(ns, scaleEach(".spec.pools"))
		const twins = `{"pools":[{"name":"a","count":3},{"name":"twin","count":2},{"name":"twin","count":1}]}`
		obj := pressWith(k, ns, "twins", twins)
		const share = `{"pools":[{"name":"a","count":3},{"name":"b","count":"30%"}]}`
		pressWith(k, ns, "share", share)
		Eventually(scene.Targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 2, Unable: 2}))
		Expect(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)(Default)).To(HaveField("Message", And(
			ContainSubstring("two elements of the list have the name twin"), ContainSubstring(`the count of b is "30%"`))))
		Expect(specOfPress(k, ns, "twins")(Default)).To(MatchJSON(twins))
		Expect(specOfPress(k, ns, "share")(Default)).To(MatchJSON(share))

		scene.Patch(obj, `{"spec":{"pools":[{"name":"a","count":3},{"name":"twin","count":2},{"name":"other","count":1}]}}`)
		Eventually(specOfPress(k, ns,
			"twins")).Should(MatchJSON(`{"pools":[{"name":"a","count":0},{"name":"twin","count":0},{"name":"other","count":0}]}`))
	})

	It("without names is refused if the API server identifies the elements by keys", func() {
		scene.ManagerAtNight()
		k := scene.InstallKind()
		a := k.Adapter(".spec.replicas")
		a.Spec.Scale = []v1alpha1.ScaleComponent{{Each: ".spec.keyed[*]", Replicas: ".count"}}
		scene.Adapt(a)
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionSchemaMatched)).Should(And(scene.BeCondition(metav1.ConditionFalse,
			"PathNotInSchema"),
			HaveField("Message", ContainSubstring("spec.scale[0].each: the elements of .spec.keyed are known by name, and not by their places"))))
	})
})

var _ = Describe("A count that its owner has set to null, although an absent count has a default", func() {
	DescribeTable("wakes as null",
		func(spec, asleep string, change func(*v1alpha1.AdapterSpec)) {
			clock := scene.StartManagerAsleep()
			ns := scene.NewNamespace()
			k := adaptWith(ns, change)
			before := scene.AsOwned(pressWith(k, ns, "daily", spec))
			Eventually(specOfPress(k, ns, "daily")).Should(MatchJSON(asleep))
			clock.SetTime(scene.Dawn)
			Eventually(scene.PressLedger(k, ns, "daily")).Should(BeEmpty())
			Expect(scene.AsOwned(scene.Stored(Default, k.Object(ns, "daily", nil)))).To(Equal(before))
		},
		Entry("alone", `{"motor":{"speed":null,"running":true}}`, `{"motor":{"speed":0,"running":true}}`, scaleOne(".spec.motor.speed")),
		Entry("in elements of a list", `{"motors":[{"name":"a","speed":null},{"name":"b","speed":4}]}`,
			`{"motors":[{"name":"a","speed":0,"running":true},{"name":"b","speed":0,"running":true}]}`,
			func(s *v1alpha1.AdapterSpec) {
				two := int64(2)
				s.Scale = []v1alpha1.ScaleComponent{{Each: ".spec.motors[*]", NameFrom: ".name", Replicas: ".speed", Default: &two}}
			}),
		Entry("by a switch", `{"motor":{"running":null}}`, `{"motor":{"speed":2,"running":false}}`,
			func(s *v1alpha1.AdapterSpec) { s.Suspend = setOf(".spec.motor.running", "false") }),
	)
})

var _ = Describe("A part that an object does not have and that has defaults", func() {
	DescribeTable("is removed together with Flyball's value",
		func(path v1alpha1.Path, asleep string) {
			clock := scene.StartManagerAsleep()
			ns := scene.NewNamespace()
			k := adaptWith(ns, func(s *v1alpha1.AdapterSpec) { s.Suspend = setOf(path, "false") })
			before := scene.AsOwned(pressWith(k, ns, "daily", `{"note":"x"}`))
			Eventually(specOfPress(k, ns, "daily")).Should(MatchJSON(asleep))
			clock.SetTime(scene.Dawn)
			Eventually(scene.PressLedger(k, ns, "daily")).Should(BeEmpty())
			Expect(scene.AsOwned(scene.Stored(Default, k.Object(ns, "daily", nil)))).To(Equal(before))
		},
		Entry("made by the write", v1alpha1.Path(".spec.power['on']"),
			`{"note":"x","power":{"on":false,"level":3,"fan":{"speed":2}}}`),
		Entry("made by the API server itself", v1alpha1.Path(".spec.valve.open"), `{"note":"x","valve":{"open":false,"turns":4}}`),
	)

	It("stays if its owner has set a field in it", func() {
		clock := scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		k := adaptWith(ns, func(s *v1alpha1.AdapterSpec) { s.Suspend = setOf(".spec.power['on']", "false") })
		obj := pressWith(k, ns, "daily", `{"note":"x"}`)
		Eventually(specOfPress(k, ns, "daily")).Should(ContainSubstring(`"on":false`))
		scene.Patch(obj, `{"spec":{"power":{"level":7}}}`)
		clock.SetTime(scene.Dawn)
		Eventually(scene.PressLedger(k, ns, "daily")).Should(BeEmpty())
		Expect(specOfPress(k, ns, "daily")(Default)).To(MatchJSON(`{"note":"x","power":{"level":7,"fan":{"speed":2}}}`))
	})
})

var _ = Describe("The last word of an owner while the object sleeps", func() {
	It("is the original: a CronJob that is resumed and suspended again stays so", func() {
		n := scene.ManagerAtNight()
		ns := scene.NewNamespace()
		no := false
		report := scene.CronJob(ns, "report", &no)
		scene.Create(report)
		scene.Nightly(ns, "nights")
		suspended := func(g Gomega) string { return scene.FieldOf(scene.Stored(g, report), "spec", "suspend") }
		Eventually(suspended).Should(Equal("true"))
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
		n.Stop() // so that no manager sees the two edits
		scene.Patch(report, `{"spec":{"suspend":false}}`)
		scene.Patch(report, `{"spec":{"suspend":true}}`)
		n.Start()
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, AlreadyAsleep: 1}))
		n.Clock.SetTime(scene.Dawn)
		Eventually(func(g Gomega) map[string]string {
			return scene.Stored(g,
				report).GetAnnotations()
		}).ShouldNot(HaveKey(v1alpha1.AnnotationLedger))
		Expect(suspended(Default)).To(Equal("true"))
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Awake: 1}))
	})

	It("counts also if it is applied without a change of the object", func() {
		clock := scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		k := adaptWith(ns, func(s *v1alpha1.AdapterSpec) { s.Suspend = setOf(".spec.suspend", "true") })
		pressWith(k, ns, "daily", `{"suspend":false}`)
		Eventually(specOfPress(k, ns, "daily")).Should(ContainSubstring(`"suspend":true`))
		applied := fmt.Appendf(nil, `{"apiVersion":"%s/v1","kind":"Press","metadata":{"name":"daily","namespace":%q},"spec":{"suspend":true}}`,
			k.Group, ns)
		Expect(scene.Env.Client.Patch(scene.Ctx, k.Object(ns, "daily", nil), client.RawPatch(types.ApplyPatchType, applied),
			client.FieldOwner("team"))).To(Succeed())
		Eventually(scene.Targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, AlreadyAsleep: 1}))
		clock.SetTime(scene.Dawn)
		Eventually(scene.PressLedger(k, ns, "daily")).Should(BeEmpty())
		Expect(specOfPress(k, ns, "daily")(Default)).To(ContainSubstring(`"suspend":true`))
	})

	It("is distinguished from Flyball's own second write, and from a restored backup", func() {
		n := scene.ManagerAtNight()
		ns := scene.NewNamespace()
		k := adaptWith(ns, func(s *v1alpha1.AdapterSpec) {
			s.Scale = []v1alpha1.ScaleComponent{{Name: "main", Replicas: ".spec.replicas"}}
		})
		obj := scene.Press(k, ns, "daily", 6)
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		half := `{"spec":{"asleepAs":{"percent":50}}}`
		scene.Patch(&v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nights"}}, half)
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))
		scene.Patch(&v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nights"}}, `{"spec":{"asleepAs":null}}`)
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		Eventually(scene.Targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))

		backup := scene.Stored(Default, obj)
		Expect(scene.Env.Client.Delete(scene.Ctx, backup.DeepCopy())).To(Succeed())
		for _, field := range []string{"resourceVersion", "uid", "managedFields", "creationTimestamp"} {
			unstructured.RemoveNestedField(backup.Object, "metadata", field)
		}
		scene.Create(backup)
		Eventually(scene.Targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
		n.Clock.SetTime(scene.Dawn)
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(6))
		Eventually(scene.PressLedger(k, ns, "daily")).Should(BeEmpty())
	})
})

var _ = Describe("A copy of an object that slept", func() {
	DescribeTable("is not woken, and is reported as a copy",
		func(name string, elsewhere bool) {
			n := scene.ManagerAtNight()
			ns := scene.NewNamespace()
			scene.Create(scene.Deployment(ns, "web", 3))
			scene.Nightly(ns, "nights")
			Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
			Eventually(scene.Ledger(ns, "web")).ShouldNot(BeEmpty())
			home := ns
			if elsewhere {
				home = scene.NewNamespace()
				scene.Nightly(home, "nights")
			}
			asleep := scene.Stored(Default, scene.Deployment(ns, "web", 0))
			twin := scene.Deployment(home, name, 0)
			twin.Annotations = map[string]string{v1alpha1.AnnotationLedger: asleep.GetAnnotations()[v1alpha1.AnnotationLedger]}
			scene.Create(twin)
			n.Clock.SetTime(scene.Dawn)
			Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
			Eventually(scene.ConditionOf(home, "nights", v1alpha1.ConditionReady)).Should(And(scene.BeCondition(metav1.ConditionFalse,
				"TargetsFailed"),
				HaveField("Message", And(ContainSubstring(name), ContainSubstring("this is a copy of Deployment "+ns+"/web")))))
			suite.Still(scene.Replicas(home, name)).Should(BeEquivalentTo(0))
			scene.Scale(home, name, 2)
			Eventually(scene.ConditionOf(home, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
		},
		Entry("under another name", "web-2", false),
		Entry("in another namespace", "web", true),
	)
})

var _ = Describe("An entry of a ledger that no adapter could have written", func() {
	It("is dropped, never carried out, and reported", func() {
		scene.ManagerAtNight()
		ns := scene.NewNamespace()
		scene.Nightly(ns, "nights")
		web := scene.Deployment(ns, "web", 3)
		web.Annotations = map[string]string{v1alpha1.AnnotationLedger: `{"/metadata/finalizers":{"was":["x/y"],"by":"Schedule/x/y"},"of":"Deployment/web"}`}
		scene.Create(web)
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(scene.Ledger(ns, "web")).ShouldNot(ContainSubstring("finalizers"))
		Eventually(scene.Reasons(ns, "nights")).Should(HaveKeyWithValue("LedgerEntryDropped", 1))
		Expect(scene.Stored(Default, web).GetFinalizers()).To(BeEmpty())
	})
})

var _ = Describe("An adapter on the schema of another release", func() {
	It("judges the fields that exist, and names the missing ones", func() {
		scene.ManagerAtNight()
		k := scene.InstallKind()
		a := k.Adapter(".spec.replicas")
		a.Spec.Changes = &v1alpha1.Changes{Rollout: []v1alpha1.Path{".spec.note", ".spec.notes"}}
		scene.Adapt(a)
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "Ready"))
		Expect(scene.AdapterCondition(k.Name(), v1alpha1.ConditionSchemaMatched)(Default)).To(And(scene.BeCondition(metav1.ConditionTrue,
			"Matched"),
			HaveField("Message", ContainSubstring("Without effect: spec.changes.rollout[1]: .spec.notes is not in the schema"))))
		Expect(scene.Env.Patch(scene.Ctx, scene.Read(a),
			`{"spec":{"suspend":[{"set":[{"path":".spec.power.mode","value":"suspnded"}]}]}}`)).To(Succeed())
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionSchemaMatched)).Should(And(scene.BeCondition(metav1.ConditionFalse,
			"PathNotInSchema"),
			HaveField("Message", ContainSubstring(`did you mean "suspended"?`))))
	})

	DescribeTable("is refused by the schema of adapters",
		func(spec, message string) {
			obj := scene.Object("Adapter", "", "presses.example.com", spec)
			Expect(scene.Env.Client.Create(scene.Ctx, obj, client.DryRunAll)).To(MatchError(ContainSubstring(message)))
		},
		Entry("of a kind of Flyball's", `{target: {group: flyball.dev, kind: Schedule, versions: [v1alpha1]}}`,
			"must not be Flyball's own group"),
		Entry("with names without a list",
			`{target: {group: example.com, kind: Press, versions: [v1]}, bounds: {nameFrom: .name, min: {path: .spec.min}}}`,
			"nameFrom goes together with each"),
	)
})
