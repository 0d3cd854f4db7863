package integration

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
)

// adaptWith installs a kind with an adapter, which the function change completes. A schedule puts the kind's objects in
// the namespace to sleep at night.
func adaptWith(ns string, change func(*v1alpha1.AdapterSpec)) customkind.Kind {
	GinkgoHelper()
	k := installKind()
	a := k.Adapter(".spec.replicas")
	a.Spec.Scale = nil
	change(&a.Spec)
	adapt(a)
	pressNights(ns, k)
	Eventually(adapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "Ready"))
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
	Expect(env.Client.Create(ctx, obj)).To(Succeed())
	return obj
}

// specOfPress reads the spec of an object as JSON with sorted keys, without the part that every object has by default.
func specOfPress(k customkind.Kind, ns, name string) func(Gomega) string {
	return func(g Gomega) string {
		obj := stored(g, k.Object(ns, name, nil))
		if turns := fieldOf(obj, "spec", "valve", "turns"); turns == "4" && fieldOf(obj, "spec", "valve", "open") == "" {
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
			clock := startManagerAsleep()
			ns := newNamespace()
			k := adaptWith(ns, scaleEach(".spec.pools"))
			obj := pressWith(k, ns, "daily", two)
			Eventually(specOfPress(k, ns, "daily")).Should(MatchJSON(`{"pools":[{"name":"hot","count":0},{"name":"cold","count":0}]}`))
			patch(obj, edit)
			clock.SetTime(dawn)
			Eventually(specOfPress(k, ns, "daily")).Should(MatchJSON(restored))
			Eventually(pressLedger(k, ns, "daily")).Should(BeEmpty())
		},
		Entry("the order", `{"spec":{"pools":[{"name":"cold","count":0},{"name":"new","count":1},{"name":"hot","count":0}]}}`,
			`{"pools":[{"name":"cold","count":5},{"name":"new","count":1},{"name":"hot","count":3}]}`),
		Entry("one that went", `{"spec":{"pools":[{"name":"cold","count":0}]}}`, `{"pools":[{"name":"cold","count":5}]}`),
		Entry("one that was written as a text", `{"spec":{"pools":[{"name":"hot","count":"0"},{"name":"cold","count":0}]}}`,
			`{"pools":[{"name":"hot","count":3},{"name":"cold","count":5}]}`),
	)

	DescribeTable("keeps the original of an element that does not occur exactly once, and names the command that drops it",
		func(edit, dawned string) {
			clock := startManagerAsleep()
			ns := newNamespace()
			k := adaptWith(ns, scaleEach(".spec.pools"))
			obj := pressWith(k, ns, "daily", two)
			Eventually(specOfPress(k, ns, "daily")).Should(MatchJSON(`{"pools":[{"name":"hot","count":0},{"name":"cold","count":0}]}`))
			patch(obj, edit)
			Eventually(targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Failed: 1}))
			clock.SetTime(dawn)
			Eventually(specOfPress(k, ns, "daily")).Should(MatchJSON(dawned))
			Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(beCondition(metav1.ConditionFalse, "TargetsFailed"),
				HaveField("Message", And(ContainSubstring("daily"), ContainSubstring("exactly one element hot"), ContainSubstring("it was 3"),
					ContainSubstring("kubectl annotate "), ContainSubstring("flyball.dev/ledger-")))))
			Expect(pressLedger(k, ns, "daily")(Default)).To(ContainSubstring(`"was":3`))

			patch(obj, `{"metadata":{"annotations":{"flyball.dev/ledger":null}}}`) // the command does the same
			Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
			Expect(specOfPress(k, ns, "daily")(Default)).To(MatchJSON(dawned))
		},
		Entry("renamed", `{"spec":{"pools":[{"name":"warm","count":0},{"name":"cold","count":0}]}}`,
			`{"pools":[{"name":"warm","count":0},{"name":"cold","count":5}]}`),
		Entry("there twice", `{"spec":{"pools":[{"name":"hot","count":0},{"name":"cold","count":0},{"name":"hot","count":2}]}}`,
			`{"pools":[{"name":"hot","count":0},{"name":"cold","count":5},{"name":"hot","count":2}]}`),
	)

	It("gets the original back once the list is as it was", func() {
		clock := startManagerAsleep()
		ns := newNamespace()
		k := adaptWith(ns, scaleEach(".spec.pools"))
		obj := pressWith(k, ns, "daily", two)
		Eventually(specOfPress(k, ns, "daily")).Should(MatchJSON(`{"pools":[{"name":"hot","count":0},{"name":"cold","count":0}]}`))
		patch(obj, `{"spec":{"pools":[{"name":"new","count":1},{"name":"warm","count":0},{"name":"cold","count":0}]}}`)
		Eventually(targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Failed: 1}))
		clock.SetTime(dawn)
		Eventually(specOfPress(k, ns,
			"daily")).Should(MatchJSON(`{"pools":[{"name":"new","count":1},{"name":"warm","count":0},{"name":"cold","count":5}]}`))
		patch(obj, `{"spec":{"pools":[{"name":"new","count":1},{"name":"hot","count":0},{"name":"cold","count":5}]}}`)
		Eventually(specOfPress(k, ns,
			"daily")).Should(MatchJSON(`{"pools":[{"name":"new","count":1},{"name":"hot","count":3},{"name":"cold","count":5}]}`))
		Eventually(pressLedger(k, ns, "daily")).Should(BeEmpty())
		Eventually(conditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
	})
})

var _ = Describe("A list of counts", func() {
	DescribeTable("sleeps as a whole and wakes byte for byte",
		func(list, spec, asleep string) {
			clock := startManagerAsleep()
			ns := newNamespace()
			k := adaptWith(ns, scaleEach(list))
			pressWith(k, ns, "daily", spec)
			Eventually(specOfPress(k, ns, "daily")).Should(MatchJSON(asleep))
			Eventually(targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
			clock.SetTime(dawn)
			Eventually(specOfPress(k, ns, "daily")).Should(MatchJSON(spec))
			Eventually(pressLedger(k, ns, "daily")).Should(BeEmpty())
		},
		Entry("of quantities", ".spec.pools", `{"pools":[{"name":"a","count":"40Gi"},{"name":"b","count":"1500m"},{"name":"c","count":2}]}`,
			`{"pools":[{"name":"a","count":0},{"name":"b","count":0},{"name":"c","count":0}]}`),
		Entry("without names", ".spec.pools", `{"pools":[{"role":"x","count":2},{"role":"y","count":"3"}]}`,
			`{"pools":[{"role":"x","count":0},{"role":"y","count":0}]}`),
		Entry("with names as keys", ".spec.keyed", `{"keyed":[{"name":"a","count":2},{"name":"b","count":4}]}`,
			`{"keyed":[{"name":"a","count":0},{"name":"b","count":0}]}`),
	)

	It("is left alone if one of the counts cannot be handled, and that count is named", func() {
		managerAtNight()
		ns := newNamespace()
		k := adaptWith(ns, scaleEach(".spec.pools"))
		const twins = `{"pools":[{"name":"a","count":3},{"name":"twin","count":2},{"name":"twin","count":1}]}`
		obj := pressWith(k, ns, "twins", twins)
		const share = `{"pools":[{"name":"a","count":3},{"name":"b","count":"30%"}]}`
		pressWith(k, ns, "share", share)
		Eventually(targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 2, Unable: 2}))
		Expect(conditionOf(ns, "nights", v1alpha1.ConditionReady)(Default)).To(HaveField("Message", And(
			ContainSubstring("two elements of the list have the name twin"), ContainSubstring(`the count of b is "30%"`))))
		Expect(specOfPress(k, ns, "twins")(Default)).To(MatchJSON(twins))
		Expect(specOfPress(k, ns, "share")(Default)).To(MatchJSON(share))

		patch(obj, `{"spec":{"pools":[{"name":"a","count":3},{"name":"twin","count":2},{"name":"other","count":1}]}}`)
		Eventually(specOfPress(k, ns,
			"twins")).Should(MatchJSON(`{"pools":[{"name":"a","count":0},{"name":"twin","count":0},{"name":"other","count":0}]}`))
	})

	It("without names is refused if the API server identifies the elements by keys", func() {
		managerAtNight()
		k := installKind()
		a := k.Adapter(".spec.replicas")
		a.Spec.Scale = []v1alpha1.ScaleComponent{{Each: ".spec.keyed[*]", Replicas: ".count"}}
		adapt(a)
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionSchemaMatched)).Should(And(beCondition(metav1.ConditionFalse, "PathNotInSchema"),
			HaveField("Message", ContainSubstring("spec.scale[0].each: the elements of .spec.keyed are known by name, and not by their places"))))
	})
})

var _ = Describe("A count that its owner has set to null, although an absent count has a default", func() {
	DescribeTable("wakes as null",
		func(spec, asleep string, change func(*v1alpha1.AdapterSpec)) {
			clock := startManagerAsleep()
			ns := newNamespace()
			k := adaptWith(ns, change)
			before := asOwned(pressWith(k, ns, "daily", spec))
			Eventually(specOfPress(k, ns, "daily")).Should(MatchJSON(asleep))
			clock.SetTime(dawn)
			Eventually(pressLedger(k, ns, "daily")).Should(BeEmpty())
			Expect(asOwned(stored(Default, k.Object(ns, "daily", nil)))).To(Equal(before))
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
			clock := startManagerAsleep()
			ns := newNamespace()
			k := adaptWith(ns, func(s *v1alpha1.AdapterSpec) { s.Suspend = setOf(path, "false") })
			before := asOwned(pressWith(k, ns, "daily", `{"note":"x"}`))
			Eventually(specOfPress(k, ns, "daily")).Should(MatchJSON(asleep))
			clock.SetTime(dawn)
			Eventually(pressLedger(k, ns, "daily")).Should(BeEmpty())
			Expect(asOwned(stored(Default, k.Object(ns, "daily", nil)))).To(Equal(before))
		},
		Entry("made by the write", v1alpha1.Path(".spec.power['on']"),
			`{"note":"x","power":{"on":false,"level":3,"fan":{"speed":2}}}`),
		Entry("made by the API server itself", v1alpha1.Path(".spec.valve.open"), `{"note":"x","valve":{"open":false,"turns":4}}`),
	)

	It("stays if its owner has set a field in it", func() {
		clock := startManagerAsleep()
		ns := newNamespace()
		k := adaptWith(ns, func(s *v1alpha1.AdapterSpec) { s.Suspend = setOf(".spec.power['on']", "false") })
		obj := pressWith(k, ns, "daily", `{"note":"x"}`)
		Eventually(specOfPress(k, ns, "daily")).Should(ContainSubstring(`"on":false`))
		patch(obj, `{"spec":{"power":{"level":7}}}`)
		clock.SetTime(dawn)
		Eventually(pressLedger(k, ns, "daily")).Should(BeEmpty())
		Expect(specOfPress(k, ns, "daily")(Default)).To(MatchJSON(`{"note":"x","power":{"level":7,"fan":{"speed":2}}}`))
	})
})

var _ = Describe("The last word of an owner while the object sleeps", func() {
	It("is the original: a CronJob that is resumed and suspended again stays so", func() {
		n := managerAtNight()
		ns := newNamespace()
		no := false
		report := cronJob(ns, "report", &no)
		create(report)
		nightly(ns, "nights")
		suspended := func(g Gomega) string { return fieldOf(stored(g, report), "spec", "suspend") }
		Eventually(suspended).Should(Equal("true"))
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
		n.stop() // so that no manager sees the two edits
		patch(report, `{"spec":{"suspend":false}}`)
		patch(report, `{"spec":{"suspend":true}}`)
		n.start()
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, AlreadyAsleep: 1}))
		n.clock.SetTime(dawn)
		Eventually(func(g Gomega) map[string]string { return stored(g, report).GetAnnotations() }).ShouldNot(HaveKey(v1alpha1.AnnotationLedger))
		Expect(suspended(Default)).To(Equal("true"))
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Awake: 1}))
	})

	It("counts also if it is applied without a change of the object", func() {
		clock := startManagerAsleep()
		ns := newNamespace()
		k := adaptWith(ns, func(s *v1alpha1.AdapterSpec) { s.Suspend = setOf(".spec.suspend", "true") })
		pressWith(k, ns, "daily", `{"suspend":false}`)
		Eventually(specOfPress(k, ns, "daily")).Should(ContainSubstring(`"suspend":true`))
		applied := fmt.Appendf(nil, `{"apiVersion":"%s/v1","kind":"Press","metadata":{"name":"daily","namespace":%q},"spec":{"suspend":true}}`,
			k.Group, ns)
		Expect(env.Client.Patch(ctx, k.Object(ns, "daily", nil), client.RawPatch(types.ApplyPatchType, applied),
			client.FieldOwner("team"))).To(Succeed())
		Eventually(targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, AlreadyAsleep: 1}))
		clock.SetTime(dawn)
		Eventually(pressLedger(k, ns, "daily")).Should(BeEmpty())
		Expect(specOfPress(k, ns, "daily")(Default)).To(ContainSubstring(`"suspend":true`))
	})

	It("is distinguished from Flyball's own second write, and from a restored backup", func() {
		n := managerAtNight()
		ns := newNamespace()
		k := adaptWith(ns, func(s *v1alpha1.AdapterSpec) {
			s.Scale = []v1alpha1.ScaleComponent{{Name: "main", Replicas: ".spec.replicas"}}
		})
		obj := press(k, ns, "daily", 6)
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		half := `{"spec":{"asleepAs":{"percent":50}}}`
		patch(&v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nights"}}, half)
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))
		patch(&v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nights"}}, `{"spec":{"asleepAs":null}}`)
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		Eventually(targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))

		backup := stored(Default, obj)
		Expect(env.Client.Delete(ctx, backup.DeepCopy())).To(Succeed())
		for _, field := range []string{"resourceVersion", "uid", "managedFields", "creationTimestamp"} {
			unstructured.RemoveNestedField(backup.Object, "metadata", field)
		}
		create(backup)
		Eventually(targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
		n.clock.SetTime(dawn)
		Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(6))
		Eventually(pressLedger(k, ns, "daily")).Should(BeEmpty())
	})
})

var _ = Describe("A copy of an object that slept", func() {
	DescribeTable("is not woken, and is reported as a copy",
		func(name string, elsewhere bool) {
			n := managerAtNight()
			ns := newNamespace()
			create(deployment(ns, "web", 3))
			nightly(ns, "nights")
			Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
			Eventually(ledger(ns, "web")).ShouldNot(BeEmpty())
			home := ns
			if elsewhere {
				home = newNamespace()
				nightly(home, "nights")
			}
			asleep := stored(Default, deployment(ns, "web", 0))
			twin := deployment(home, name, 0)
			twin.Annotations = map[string]string{v1alpha1.AnnotationLedger: asleep.GetAnnotations()[v1alpha1.AnnotationLedger]}
			create(twin)
			n.clock.SetTime(dawn)
			Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
			Eventually(conditionOf(home, "nights", v1alpha1.ConditionReady)).Should(And(beCondition(metav1.ConditionFalse, "TargetsFailed"),
				HaveField("Message", And(ContainSubstring(name), ContainSubstring("this is a copy of Deployment "+ns+"/web")))))
			Consistently(replicas(home, name)).Should(BeEquivalentTo(0))
			scale(home, name, 2)
			Eventually(conditionOf(home, "nights", v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "AsExpected"))
		},
		Entry("under another name", "web-2", false),
		Entry("in another namespace", "web", true),
	)
})

var _ = Describe("An entry of a ledger that no adapter could have written", func() {
	It("is dropped, never carried out, and reported", func() {
		managerAtNight()
		ns := newNamespace()
		nightly(ns, "nights")
		web := deployment(ns, "web", 3)
		web.Annotations = map[string]string{v1alpha1.AnnotationLedger: `{"/metadata/finalizers":{"was":["x/y"],"by":"Schedule/x/y"},"of":"Deployment/web"}`}
		create(web)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(ledger(ns, "web")).ShouldNot(ContainSubstring("finalizers"))
		Eventually(reasons(ns, "nights")).Should(HaveKeyWithValue("LedgerEntryDropped", 1))
		Expect(stored(Default, web).GetFinalizers()).To(BeEmpty())
	})
})

var _ = Describe("An adapter on the schema of another release", func() {
	It("judges the fields that exist, and names the missing ones", func() {
		managerAtNight()
		k := installKind()
		a := k.Adapter(".spec.replicas")
		a.Spec.Changes = &v1alpha1.Changes{Rollout: []v1alpha1.Path{".spec.note", ".spec.notes"}}
		adapt(a)
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "Ready"))
		Expect(adapterCondition(k.Name(), v1alpha1.ConditionSchemaMatched)(Default)).To(And(beCondition(metav1.ConditionTrue, "Matched"),
			HaveField("Message", ContainSubstring("Without effect: spec.changes.rollout[1]: .spec.notes is not in the schema"))))
		Expect(env.Patch(ctx, read(a), `{"spec":{"suspend":[{"set":[{"path":".spec.power.mode","value":"suspnded"}]}]}}`)).To(Succeed())
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionSchemaMatched)).Should(And(beCondition(metav1.ConditionFalse, "PathNotInSchema"),
			HaveField("Message", ContainSubstring(`did you mean "suspended"?`))))
	})

	DescribeTable("is refused by the schema of adapters",
		func(spec, message string) {
			obj := object("Adapter", "", "presses.example.com", spec)
			Expect(env.Client.Create(ctx, obj, client.DryRunAll)).To(MatchError(ContainSubstring(message)))
		},
		Entry("of a kind of Flyball's", `{target: {group: flyball.dev, kind: Schedule, versions: [v1alpha1]}}`,
			"must not be Flyball's own group"),
		Entry("with names without a list",
			`{target: {group: example.com, kind: Press, versions: [v1]}, bounds: {nameFrom: .name, min: {path: .spec.min}}}`,
			"nameFrom goes together with each"),
	)
})
