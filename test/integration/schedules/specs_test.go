package schedules

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

const pair = `upscale: 0 8 * * *, downscale: 0 20 * * *`

// The table needs no manager: the API server itself refuses.
var _ = DescribeTable("An invalid spec is refused by its schema, with the field",
	func(kind, spec, field, message string) {
		namespace := ""
		if kind == "Schedule" {
			namespace = "default"
		}
		obj := scene.Object(kind, namespace, "presses.example.com", spec)
		err := scene.Env.Client.Create(scene.Ctx, obj, client.FieldValidation(metav1.FieldValidationStrict), client.DryRunAll)
		Expect(err).To(MatchError(And(ContainSubstring(field), ContainSubstring(message))))
		Expect(apierrors.IsInvalid(err) || apierrors.IsBadRequest(err)).To(BeTrue(), "%v", err)
	},
	Entry("an unknown field", "Schedule", `{`+pair+`, timezone: UTC}`, "spec.timezone", "unknown field"),
	Entry("namespaces in a namespaced policy", "Schedule", `{`+pair+`, target: {namespaces: [other]}}`, "spec.target.namespaces",
		"unknown field"),
	Entry("a weekday", "Schedule", `{asleep: [{days: [Mon, Funday], from: "20:00", to: "08:00"}]}`, "spec.asleep[0].days[1]", "Funday"),
	Entry("an hour", "Schedule", `{asleep: [{from: "25:00", to: "08:00"}]}`, "spec.asleep[0].from", "25:00"),
	Entry("both a pair and windows", "Schedule", `{`+pair+`, asleep: [{from: "20:00", to: "08:00"}]}`, "spec",
		"give exactly one of: downscale with or without upscale, asleep, awake"),
	Entry("half a pair", "Schedule", `{upscale: 0 8 * * *}`, "spec", "upscale needs downscale"),
	Entry("neither form", "Schedule", `{timeZone: UTC}`, "spec",
		"only age and idle may stand without them"),
	Entry("idle with a downscale alone", "Schedule", `{downscale: "0 20 * * *", idle: {demand: up, asleepAfter: 2h}}`, "spec",
		"idle needs upscale too"),
	Entry("a demand of no length", "Schedule", `{idle: {demand: "", asleepAfter: 2h}}`, "spec.idle.demand", "at least 1"),
	Entry("two forms of a window", "Schedule", `{awake: [{from: "20:00", to: "08:00", cron: "0 2 * * 6", duration: 4h}]}`, "spec.awake[0]",
		"cron does not go with"),
	Entry("a percentage over 100", "Schedule", `{`+pair+`, asleepAs: {percent: 101}}`, "spec.asleepAs.percent", "100"),
	Entry("a negative count", "Schedule", `{`+pair+`, asleepAs: {replicas: -1}}`, "spec.asleepAs.replicas", "0"),
	Entry("two levels", "Schedule", `{`+pair+`, asleepAs: {replicas: 1, percent: 50}}`, "spec.asleepAs", "give exactly one of"),
	Entry("bounds the wrong way round", "Schedule", `{`+pair+`, asleepAs: {bounds: {min: 5, max: 2}}}`, "spec.asleepAs.bounds",
		"min must not be above max"),
	Entry("an empty batch", "Schedule", `{`+pair+`, downscaleRateLimit: {batchSize: 0, delayBetweenBatches: 5s}}`,
		"spec.downscaleRateLimit.batchSize", "1"),
	Entry("an unknown answer to manual changes", "Schedule", `{`+pair+`, onManualChange: Ignore}`, "spec.onManualChange", "Ignore"),
	Entry("a cluster policy without a target", "ClusterSchedule", `{`+pair+`}`, "spec.target", "Required"),
	Entry("a date", "Calendar", `{dates: [{date: 25-12-2026}]}`, "spec.dates[0].date", "25-12-2026"),
	Entry("a calendar of nothing", "Calendar", `{}`, "spec", "give dates, yearly, holidays, ics, include or several of them"),
	Entry("a file from two places", "Calendar", `{ics: {inline: a, configMap: {namespace: a, name: a}}}`, "spec.ics",
		"give inline or configMap, and not both"),
	Entry("age with a downscale alone", "Schedule", `{downscale: "0 20 * * *", age: {asleepAfter: 48h}}`, "spec",
		"age does not go with downscale alone"),
	Entry("a month", "Calendar", `{yearly: [{month: 13, day: 1}]}`, "spec.yearly[0].month", "12"),
	Entry("an unnamed component", "Adapter",
		`{target: {group: example.com, kind: Press, versions: [v1]}, scale: [{replicas: .spec.replicas}]}`, "spec.scale[0]", "name is required"),
	Entry("names of elements without each", "Adapter",
		`{target: {group: example.com, kind: Press, versions: [v1]}, scale: [{name: a, nameFrom: .name, replicas: .n}]}`, "spec.scale[0]",
		"nameFrom goes together with each"),
	Entry("each through /scale", "Adapter",
		`{target: {group: example.com, kind: Press, versions: [v1]}, scale: [{each: ".spec.pools[*]", nameFrom: .name, replicas: .n, via: Scale}]}`, "spec.scale[0]", "via: Scale cannot be used with each"),
	Entry("an adapter without a version", "Adapter", `{target: {group: example.com, kind: Press, versions: []}}`, "spec.target.versions", "1"),
)

var _ = DescribeTable("An invalid spec that passes admission is reported in status and neither puts to sleep nor wakes",
	func(kind, spec, field string) {
		night := scene.ManagerAtNight()
		ns := scene.NewNamespace("spec", "slips-past")
		Expect(scene.Env.Client.Create(scene.Ctx, scene.Deployment(ns, "web", 3))).To(Succeed())
		namespace := ""
		if kind == "Schedule" {
			namespace = ns
		}
		name := "broken-" + ns
		good := scene.Object(kind, namespace, name, `{`+pair+`, target: {`+targetOf(kind, ns)+`}}`)
		Expect(scene.Env.Client.Create(scene.Ctx, good)).To(Succeed())
		DeferCleanup(scene.Remove, good.DeepCopy())
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))

		bad := scene.Object(kind, namespace, name, spec)
		Eventually(func(g Gomega) { // the manager writes its status at the same time
			g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(good), good)).To(Succeed())
			bad.SetResourceVersion(good.GetResourceVersion())
			bad.SetFinalizers(good.GetFinalizers())
			g.Expect(scene.Env.Client.Update(scene.Ctx, bad)).To(Succeed())
		}).Should(Succeed())
		ready := func(g Gomega) metav1.Condition {
			g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(good), good)).To(Succeed())
			return readyOf(g, good)
		}
		Eventually(ready).Should(And(scene.BeCondition(metav1.ConditionFalse, "InvalidSpec"), HaveField("Message", ContainSubstring(field))))
		Expect(scene.Env.Client.Create(scene.Ctx, scene.Deployment(ns, "late", 2))).To(Succeed())
		suite.Still(scene.Replicas(ns, "late")).Should(BeEquivalentTo(2))
		Expect(scene.Replicas(ns, "web")(Default)).To(BeEquivalentTo(0))

		night.Stop()
		night.Start()
		suite.Still(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
	},
	Entry("an unknown time zone", "Schedule", `{`+pair+`, timeZone: Europe/Atlantis}`, "spec.timeZone"),
	Entry("a cron expression", "Schedule", `{upscale: 0 8 * * *, downscale: 0 99 * * *}`, "spec.downscale"),
	Entry("a calendar that is not there", "Schedule", `{`+pair+`, calendars: [{name: nowhere, effect: Asleep}]}`, "spec.calendars[0].name"),
	Entry("a date that is none", "Schedule", `{asleep: [{start: "2026-02-30", end: "2026-03-01"}]}`, "spec.asleep[0].start"),
	Entry("a selector operator", "Schedule", `{`+pair+`, target: {selector: {matchExpressions: [{key: a, operator: Near}]}}}`,
		"spec.target.selector"),
	Entry("a cluster policy that names no namespaces", "ClusterSchedule", `{`+pair+`, target: {}}`, "spec.target.namespaces"),
)

// targetOf returns the target of a policy that selects one namespace. The policy may be namespaced or cluster-scoped.
func targetOf(kind, namespace string) string {
	if kind == "Schedule" {
		return ""
	}
	return "namespaces: [" + namespace + "]"
}

// readyOf reads the condition Ready of a policy, once it is about the present spec.
func readyOf(g Gomega, obj *unstructured.Unstructured) metav1.Condition {
	list, _, err := unstructured.NestedSlice(obj.Object, "status", "conditions")
	g.Expect(err).NotTo(HaveOccurred())
	for _, item := range list {
		c := item.(map[string]any)
		if c["type"] == v1alpha1.ConditionReady {
			g.Expect(c["observedGeneration"]).To(Equal(obj.GetGeneration()))
			return metav1.Condition{Status: metav1.ConditionStatus(c["status"].(string)), Reason: c["reason"].(string),
				Message: c["message"].(string)}
		}
	}
	g.Expect(list).To(ContainElement(HaveKeyWithValue("type", v1alpha1.ConditionReady)))
	return metav1.Condition{}
}
