package admission

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/engine/policy/override"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = DescribeTable("An invalid spec that only code detects is refused, with the field",
	func(kind, spec, field, message string) {
		name := "wrong"
		if kind == "Adapter" {
			name = presses.Name()
			spec = strings.ReplaceAll(spec, "TARGET", "target: {group: "+presses.Group+", kind: Press, versions: [v1]}")
		}
		err := env.Client.Create(ctx, object(kind, name, spec), client.DryRunAll)
		Expect(err).To(MatchError(And(ContainSubstring(field), ContainSubstring(message))))
		Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%v", err)
	},
	Entry("an unknown time zone", "Schedule", `{`+pair+`, timeZone: Europe/Atlantis}`, "spec.timeZone", "Europe/Atlantis"),
	Entry("a cron expression", "Schedule", `{upscale: 0 8 * * *, downscale: 61 20 * * *}`, "spec.downscale", "61"),
	Entry("a cron expression that never fires", "Schedule", `{upscale: 0 8 * * *, downscale: 0 20 31 2 *}`, "spec.downscale", "0 20 31 2 *"),
	Entry("a range that ends before it starts", "Schedule", `{asleep: [{start: "2026-03-02", end: "2026-03-01"}]}`, "spec.asleep[0]",
		"2026-03-0"),
	Entry("a window without a length", "Schedule", `{asleep: [{cron: "0 2 * * 6", duration: 0s}]}`, "spec.asleep[0].duration",
		"how long the window stays open"),
	Entry("a pause of nothing", "Schedule", `{`+pair+`, upscaleRateLimit: {batchSize: 1, delayBetweenBatches: 0s}}`,
		"spec.upscaleRateLimit.delayBetweenBatches", "0s"),
	Entry("an operator of a selector", "Schedule", `{`+pair+`, target: {selector: {matchExpressions: [{key: a, operator: Near}]}}}`,
		"spec.target.selector", "Near"),
	Entry("a kind that is listed twice", "Schedule", `{`+pair+
		`, target: {kinds: [{group: apps, kind: Deployment}, {group: apps, kind: Deployment}]}}`, "spec.target.kinds[1]", "Duplicate"),
	Entry("a cluster policy that names no namespaces", "ClusterSchedule", `{`+pair+`, target: {names: [web]}}`, "spec.target.namespaces",
		"namespaceSelector"),
	Entry("a day that is in no year", "Calendar", `{yearly: [{month: 4, day: 31}]}`, "spec.yearly[0]", "31"),
	Entry("two Easters in one entry", "Calendar", `{yearly: [{easter: 1, orthodoxEaster: 1}]}`, "spec.yearly[0]",
		"exactly one of the fields in [month easter orthodoxEaster] must be set"),
	Entry("a country that the library does not have", "Calendar", `{holidays: {country: XX}}`, "spec.holidays.country", "there are AR, AT"),
	Entry("a subdivision by its name", "Calendar", `{holidays: {country: DE, subdivisions: [Bayern]}}`, "spec.holidays.subdivisions[0]",
		"there are BB, BE, BW, BY"),
	Entry("a holiday that is misspelt", "Calendar", `{holidays: {country: DE, only: [Karfreitg]}}`, "spec.holidays.only[0]",
		"did you mean Karfreitag?"),
	Entry("a file that is no calendar", "Calendar", `{ics: {inline: hello}}`, "spec.ics.inline", "is no calendar file of RFC 5545"),
	Entry("a date that is none", "Calendar", `{dates: [{date: "2026-02-30"}]}`, "spec.dates[0].date", "2026-02-30"),
	Entry("a path with recursion", "Adapter", `{TARGET, scale: [{name: main, replicas: .spec..replicas}]}`, "spec.scale[0].replicas",
		"column"),
	Entry("a path with a script", "Adapter", `{TARGET, scale: [{name: main, replicas: ".spec.pools[(@.length-1)].n"}]}`,
		"spec.scale[0].replicas", "column"),
	Entry("a write to many places", "Adapter", `{TARGET, suspend: [{set: [{path: ".spec.pools[*].on", value: false}]}]}`,
		"spec.suspend[0].set[0].path", "[*]"),
	Entry("a comparison with nothing", "Adapter", `{TARGET, ready: [{path: .status.replicas, op: Ge}]}`, "spec.ready[0]", "value"),
	Entry("a trigger's unknown time zone", "Trigger", `{timeZone: Europe/Atlantis, `+hpas+`, triggers: [{name: peak, `+morning+
		`, during: {min: 2}}]}`, "spec.timeZone", "Europe/Atlantis"),
	Entry("a trigger's empty window", "Trigger", `{`+hpas+
		`, triggers: [{name: peak, window: {from: "08:00", to: "08:00"}, during: {min: 2}}]}`, "spec.triggers[0].window", "08:00"),
	Entry("a trigger's max of 0 on an autoscaler, which wants at least 1", "Trigger", `{`+hpas+`, triggers: [{name: peak, `+morning+
		`, during: {max: 0}}]}`, "spec.triggers[0].during.max", "0"),
	Entry("a cluster trigger that names no namespaces", "ClusterTrigger", `{`+hpas+`, triggers: [{name: peak, `+morning+
		`, during: {min: 2}}]}`, "spec.target.namespaces", "namespaceSelector"),
	Entry("two components of one name", "Adapter",
		`{TARGET, scale: [{name: a, replicas: .spec.replicas}, {name: a, replicas: .spec.pool.size}]}`, "spec.scale[1].name", "Duplicate"),
)

// hpas and morning are parts of a Trigger's spec.
const (
	hpas    = `target: {kinds: [{group: autoscaling, kind: HorizontalPodAutoscaler}]}`
	morning = `window: {from: "08:00", to: "11:00"}`
)

var _ = Describe("The manager's webhook", func() {
	It("lets a valid spec through and refuses an edit that makes it invalid", func() {
		s := object("Schedule", "good", `{`+pair+`, timeZone: Europe/Skopje}`)
		Expect(env.Client.Create(ctx, s)).To(Succeed())
		err := env.Patch(ctx, s, `{"spec":{"timeZone":"Europe/Atlantis"}}`)
		Expect(err).To(MatchError(ContainSubstring("spec.timeZone")))
		Expect(env.Patch(ctx, s, `{"spec":{"timeZone":"Asia/Tokyo"}}`)).To(Succeed())
		Expect(env.Client.Delete(ctx, s)).To(Succeed())
	})

	It("refuses an adapter with another name than that of its kind", func() {
		err := env.Client.Create(ctx, object("Adapter", "press."+presses.Group,
			`{target: {group: `+presses.Group+`, kind: Press, versions: [v1]}, scale: [{name: main, replicas: .spec.replicas}]}`), client.DryRunAll)
		Expect(err).To(MatchError(And(ContainSubstring("metadata.name"), ContainSubstring(presses.Name()))))
	})

	It("lets invalid objects from before its start be deleted", func() {
		s := object("Schedule", "slipped", `{}`)
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
			g.Expect(s.GetFinalizers()).NotTo(BeEmpty())
		}).Should(Succeed())
		Expect(env.Client.Patch(ctx, s, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"team":"news"}}}`)))).To(Succeed())
		Expect(env.Client.Delete(ctx, s)).To(Succeed())
		Eventually(func() error { return env.Client.Get(ctx, client.ObjectKeyFromObject(s), s) }).Should(MatchError(apierrors.IsNotFound,
			"not found"))
	})
})

// writer may write adapters; a right to patch presses is not part of it.
const writer = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: adapter-writer}
rules: [{apiGroups: [flyball.dev], resources: [adapters], verbs: [get, create, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: press-writer}
rules: [{apiGroups: [presses.example.com], resources: [presses], verbs: [patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: adapter-writer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: adapter-writer}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: alice}, {apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: press-writer}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: press-writer}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: bob}]
`

var _ = Describe("The author of an adapter", func() {
	It("must be allowed to patch its kind in the whole cluster, and its /scale if that is used", func() {
		Expect(env.Apply(ctx, []byte(writer))).To(Succeed())
		try := func(user, via string) error {
			as, err := client.New(env.Cluster.ConfigFor(user), client.Options{})
			Expect(err).NotTo(HaveOccurred())
			return as.Create(ctx, object("Adapter", presses.Name(),
				`{target: {group: `+presses.Group+`, kind: Press, versions: [v1]}, scale: [{name: main, replicas: .spec.replicas, via: `+via+`}]}`),
				client.DryRunAll)
		}
		Eventually(func() error { return try("bob", "Patch") }).Should(Succeed())
		Expect(try("alice", "Patch")).To(MatchError(And(ContainSubstring("alice"),
			ContainSubstring("must be allowed to patch presses.presses.example.com"))))
		Expect(try("bob", "Scale")).To(MatchError(ContainSubstring("presses/scale")))
	})
})

var _ = It("refuses a Notification above the limit of its namespace", func() {
	in := func(namespace, name string) *unstructured.Unstructured {
		n := object("Notification", name, `{events: [Failed], to: {service: {type: Slack, urlFrom: {secretKeyRef: {name: chat, key: url}}}}}`)
		n.SetNamespace(namespace)
		return n
	}
	ns := suite.Namespace(ctx, env)
	first := in(ns, "a")
	Expect(env.Client.Create(ctx, first)).To(Succeed())
	Expect(env.Client.Create(ctx, in(ns, "b"))).To(Succeed())
	Eventually(func() error { return env.Client.Create(ctx, in(ns, "c"), client.DryRunAll) }).Should(And(Satisfy(apierrors.IsForbidden),
		MatchError(ContainSubstring("has more than 2 Notifications, and only the oldest 2 send messages"))))
	Expect(env.Client.Create(ctx, in(suite.Namespace(ctx, env), "c"), client.DryRunAll)).To(Succeed(), "in another namespace")
	edit := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"suspend":true}}`))
	Expect(env.Client.Patch(ctx, first, edit)).To(Succeed(), "those that exist can be edited")
})

var _ = It("refuses an Override above the limit of its namespace, new or begun again by an edit", func() {
	in := func(namespace, name, until string) *unstructured.Unstructured {
		o := object("Override", name, `{effect: Awake, until: "`+until+`", reason: a demo}`)
		o.SetNamespace(namespace)
		return o
	}
	// An Override that is over stays for a day.
	over, coming := time.Now().UTC().Add(-time.Hour).Format(time.RFC3339), "2090-01-01T00:00:00Z"
	ns := suite.Namespace(ctx, env)
	past := in(ns, "past", over)
	Expect(env.Client.Create(ctx, past)).To(Succeed())
	for i := range override.MostInForce {
		Expect(env.Client.Create(ctx, in(ns, fmt.Sprint("order-", i), coming))).To(Succeed())
	}
	beRefused := And(Satisfy(apierrors.IsForbidden), MatchError(ContainSubstring("has 100 Overrides that are not over: delete one first")))
	Eventually(func() error { return env.Client.Create(ctx, in(ns, "more", coming), client.DryRunAll) }).Should(beRefused)
	again := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"until":"`+coming+`"}}`))
	Expect(env.Client.Patch(ctx, past, again, client.DryRunAll)).To(beRefused)
	Expect(env.Client.Create(ctx, in(ns, "over", over), client.DryRunAll)).To(Succeed())
	Expect(env.Client.Create(ctx, in(suite.Namespace(ctx, env), "more", coming), client.DryRunAll)).To(Succeed(), "in another namespace")
	for i := range 9*override.MostInForce - 1 { // with the one of the past and a hundred in force, a thousand
		Expect(env.Client.Create(ctx, in(ns, fmt.Sprint("past-", i), over))).To(Succeed())
	}
	tooMany := And(Satisfy(apierrors.IsForbidden), MatchError(ContainSubstring("Overrides, with those that are over: delete some first")))
	Eventually(func() error { return env.Client.Create(ctx, in(ns, "over", over), client.DryRunAll) }).Should(tooMany)
	longer := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"until":"2091-01-01T00:00:00Z"}}`))
	Expect(env.Client.Patch(ctx, in(ns, "order-0", coming), longer, client.DryRunAll)).To(Succeed(), "those in force can be edited")
})
