package admission

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/customkind"
	"flyball.dev/flyball/test/integration/suite"
)

// shipped are the adapters that the chart turns on.
var shipped = []string{"deployments.apps", "statefulsets.apps", "daemonsets.apps", "replicasets.apps", "cronjobs.batch", "jobs.batch",
	"horizontalpodautoscalers.autoscaling"}

// allow gives a user the rights in some rules. They hold in one namespace or, if namespace is empty, in all namespaces.
func allow(user, name, namespace, rules string) {
	GinkgoHelper()
	kind, binding, meta := "ClusterRole", "ClusterRoleBinding", "{name: "+name+"}"
	if namespace != "" {
		kind, binding, meta = "Role", "RoleBinding", "{name: "+name+", namespace: "+namespace+"}"
	}
	Expect(env.Apply(ctx, fmt.Appendf(nil, `
apiVersion: rbac.authorization.k8s.io/v1
kind: %[1]s
metadata: %[2]s
rules: %[3]s
---
apiVersion: rbac.authorization.k8s.io/v1
kind: %[4]s
metadata: %[2]s
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %[1]s, name: %[5]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[6]s}]
`, kind, meta, rules, binding, name, user))).To(Succeed())
}

// editor gives a user the rights of the cluster role edit and of the chart's role, in one namespace. No controller
// aggregates roles here, so the two roles are bound separately.
func editor(user, namespace string) {
	GinkgoHelper()
	Expect(env.Apply(ctx, fmt.Appendf(nil, `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: %[1]s-edit, namespace: %[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: system:aggregate-to-edit}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]
`, user, namespace))).To(Succeed())
	planner(user, namespace)
}

// planner gives a user only the right to write policies in one namespace.
func planner(user, namespace string) {
	GinkgoHelper()
	allow(user, user+"-policies", namespace,
		`[{apiGroups: [flyball.dev], resources: [schedules, triggers, changefreezes, maintenancewindows, deletioncosts], verbs: [get, create, update, patch, delete]}]`)
}

func as(user string) client.Client {
	GinkgoHelper()
	c, err := client.New(env.Cluster.Impersonate(user, "system:authenticated"), client.Options{})
	Expect(err).NotTo(HaveOccurred())
	return c
}

// in puts an object into a namespace.
func in(namespace string, obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj.SetNamespace(namespace)
	return obj
}

// schedule returns a Schedule with a cron pair and the additional spec fields more.
func schedule(namespace, more string) *unstructured.Unstructured {
	GinkgoHelper()
	return in(namespace, object("Schedule", "nights", `{`+pair+more+`}`))
}

// try returns a function that tries to create an object as a user, in a dry run.
func try(user string, obj *unstructured.Unstructured) func() error {
	c := as(user)
	return func() error { return c.Create(ctx, obj.DeepCopy(), client.DryRunAll) }
}

// BeLacking matches the refusal of a policy that needs rights which its author does not have.
func BeLacking(texts ...string) OmegaMatcher {
	matchers := []OmegaMatcher{Satisfy(apierrors.IsForbidden), MatchError(ContainSubstring("this policy would have Flyball do it"))}
	for _, text := range texts {
		matchers = append(matchers, MatchError(ContainSubstring(text)))
	}
	return And(matchers...)
}

const listed = `, target: {kinds: [{group: %s, kind: %s}]}`

var (
	deployments     = fmt.Sprintf(listed, "apps", "Deployment")
	deploymentsOnly = `{target: {kinds: [{group: apps, kind: Deployment}]}}`
	hpaTrigger      = `{` + hpas + `, triggers: [{name: peak, ` + morning + `, during: {min: 2}}]%s}`
	template        = `, template: {apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`
)

var _ = Describe("The author of a policy", func() {
	var ns string
	BeforeEach(func() { ns = suite.Namespace(ctx, env) })

	It("needs no more than edit for the kinds that the chart turns on, with none listed", func() {
		editor("ed", ns)
		Eventually(try("ed", schedule(ns, ""))).Should(Succeed())
		Expect(try("ed", in(ns, object("Trigger", "peaks", fmt.Sprintf(hpaTrigger, template))))()).To(Succeed())
		Expect(try("ed", in(ns, object("ChangeFreeze", "calm",
			`{startTime: 2026-03-02T12:00:00Z, endTime: 2026-03-03T12:00:00Z, suspend: [{group: batch, kind: CronJob}]}`)))()).To(Succeed())
		Expect(try("ed", schedule(ns, `, asleepAs: {annotations: {example.com/quiet: "yes"}}`))()).To(Succeed())
		Expect(as("ed").Create(ctx, schedule(ns, ""))).To(Succeed())
	})

	It("changes no requests by the verb use, which covers sleep and not tuning", func() {
		planner("una", ns)
		allow("una", "una-tortoises", ns,
			`[{apiGroups: [flyball.dev], resources: [tortoises], verbs: [create]}, {apiGroups: [flyball.dev], resources: [adapters], verbs: [use]}]`)
		tortoise := func(mode string) *unstructured.Unstructured {
			return in(ns, object("Tortoise", "tuned", `{mode: "`+mode+`", target: {kinds: [{group: apps, kind: Deployment}]}}`))
		}
		Eventually(try("una", schedule(ns, deployments))).Should(Succeed())
		Expect(try("una", tortoise("Off"))()).To(Succeed(), "it only recommends")
		Expect(try("una", tortoise("Auto"))()).To(And(
			BeLacking("may not patch deployments.apps in namespace "+ns, "may not patch horizontalpodautoscalers.autoscaling",
				"or be granted that right"),
			Not(MatchError(ContainSubstring(`"use"`)))))
		allow("una", "una-patches", ns, `[{apiGroups: [apps, autoscaling], resources: [deployments, horizontalpodautoscalers], verbs: [patch]}]`)
		Eventually(try("una", tortoise("Auto"))).Should(Succeed())
	})

	It("is refused actions without their own rights, with the kinds and the remedies", func() {
		planner("pat", ns)
		Eventually(try("pat", schedule(ns, ""))).Should(BeLacking(
			`schedules.flyball.dev "nights" is forbidden: user "pat" may not patch cronjobs.batch, daemonsets.apps, deployments.apps, jobs.batch, replicasets.apps, statefulsets.apps in namespace `+ns,
			`: list the kinds you mean in spec.target.kinds, or be granted the verb "use" on adapters.flyball.dev cronjobs.batch, daemonsets.apps, deployments.apps, `))
		Expect(try("pat", schedule(ns, deployments))()).To(BeLacking(
			`may not patch deployments.apps in namespace `+ns,
			`: list only kinds that you may patch in spec.target.kinds, or be granted the verb "use" on adapters.flyball.dev deployments.apps`))
		allow("pat", "pat-deployments", ns, `[{apiGroups: [apps], resources: [deployments], verbs: [patch]}]`)
		Eventually(try("pat", schedule(ns, deployments))).Should(Succeed())
		Expect(try("pat", schedule(ns, ""))()).To(And(BeLacking("statefulsets.apps"), Not(MatchError(ContainSubstring("deployments.apps")))))
		Expect(try("pat", in(ns, object("Trigger", "peaks",
			fmt.Sprintf(hpaTrigger, ""))))()).To(BeLacking("may not patch horizontalpodautoscalers.autoscaling"))
		Expect(try("pat", in(ns, object("DeletionCost", "even", deploymentsOnly)))()).To(BeLacking(
			"may not patch pods in namespace "+ns, "this policy would have Flyball do it"))
		Expect(try("pat", in(ns, object("DeletionCost", "even", `{suspend: true}`)))()).To(Succeed(), "it does nothing")
		allow("pat", "pat-pods", ns, `[{apiGroups: [""], resources: [pods], verbs: [patch]}]`)
		Eventually(try("pat", in(ns, object("DeletionCost", "even", deploymentsOnly)))).Should(Succeed())
		freeze := `{startTime: 2026-03-02T12:00:00Z, endTime: 2026-03-03T12:00:00Z%s}`
		Expect(try("pat", in(ns, object("ChangeFreeze", "calm", fmt.Sprintf(freeze, ""))))()).To(Succeed(), "it denies, and changes nothing")
		Expect(try("pat", in(ns, object("ChangeFreeze", "calm", fmt.Sprintf(freeze, `, suspend: [{group: batch, kind: CronJob}]`))))()).To(
			BeLacking("may not patch cronjobs.batch", "list only kinds that you may patch in spec.suspend"))
	})

	It("is asked only for edits of its effect", func() {
		// The API server learns of the bindings in this order, so that a first success shows that it knows both.
		allow("paul", "paul-deployments", ns, `[{apiGroups: [apps], resources: [deployments], verbs: [patch]}]`)
		planner("paul", ns)
		s := schedule(ns, "")
		Expect(env.Client.Create(ctx, s)).To(Succeed())
		edit := func(body string) error {
			return as("paul").Patch(ctx, s.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(body)))
		}
		Eventually(func() error {
			return edit(`{"metadata":{"labels":{"a":"b"},"annotations":{"example.com/a":"b"}}}`)
		}).Should(Succeed())
		for _, body := range []string{`{"spec":{"priority":5}}`, `{"spec":{"downscale":"0 21 * * *"}}`, `{"spec":{"target":{"names":["web"]}}}`,
			`{"spec":{"target":{"kinds":[{"group":"apps","kind":"Deployment"},{"group":"batch","kind":"CronJob"}]}}}`} {
			Expect(edit(body)).To(BeLacking("cronjobs.batch"), body)
		}
		applied := schedule(ns, "")
		applied.Object["spec"] = map[string]any{"priority": int64(6)}
		Expect(as("paul").Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("paul"),
			client.ForceOwnership)).To(BeLacking("cronjobs.batch"), "one field, applied")
		Expect(edit(`{"spec":{"suspend":true}}`)).To(Succeed())
		Expect(edit(`{"spec":{"deletionPolicy":"Orphan"}}`)).To(BeLacking("statefulsets.apps"), "of one that is suspended")
		Expect(edit(`{"spec":{"suspend":false}}`)).To(BeLacking("statefulsets.apps"))
		Expect(edit(`{"spec":{"suspend":false,"target":{"kinds":[{"group":"apps","kind":"Deployment"}]}}}`)).To(Succeed())
		Expect(as("paul").Delete(ctx, s.DeepCopy())).To(Succeed())
	})

	It("of deletion costs is asked for every change, because Flyball patches pods by it", func() {
		planner("dora", ns)
		d := in(ns, object("DeletionCost", "even", deploymentsOnly))
		Expect(env.Client.Create(ctx, d)).To(Succeed())
		edit := func(body string) func() error {
			return func() error {
				return as("dora").Patch(ctx, d.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(body)))
			}
		}
		Eventually(edit(`{"metadata":{"labels":{"a":"b"}}}`)).Should(Succeed())
		for _, body := range []string{`{"spec":{"algorithm":"Oldest"}}`, `{"spec":{"spreadBy":"kubernetes.io/hostname"}}`,
			`{"spec":{"priority":5}}`, `{"spec":{"duringRollOut":true}}`,
			`{"spec":{"writesPerSecond":1000}}`, `{"spec":{"target":{"kinds":[{"group":"apps","kind":"ReplicaSet"}]}}}`} {
			Expect(edit(body)()).To(BeLacking("may not patch pods in namespace "+ns), body)
		}
		Expect(edit(`{"spec":{"suspend":true}}`)()).To(Succeed(), "what is set is removed")
		Expect(edit(`{"spec":{"algorithm":"Oldest"}}`)()).To(Succeed(), "of one that is suspended")
		Expect(edit(`{"spec":{"suspend":false}}`)()).To(BeLacking("may not patch pods in namespace " + ns))
		Expect(as("dora").Delete(ctx, d.DeepCopy())).To(Succeed())
	})

	It("needs the rights on orphaned objects, too", func() {
		planner("ruth", ns)
		allow("ruth", "ruth-deployments", ns, `[{apiGroups: [apps], resources: [deployments], verbs: [patch]}]`)
		s := schedule(ns, `, target: {kinds: [{group: apps, kind: Deployment}, {group: batch, kind: CronJob}]}`)
		Expect(env.Client.Create(ctx, s)).To(Succeed())
		edit := func(body string) func() error {
			return func() error {
				return as("ruth").Patch(ctx, s.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(body)), client.DryRunAll)
			}
		}
		Eventually(edit(`{"spec":{"target":{"kinds":[{"group":"apps","kind":"Deployment"}]}}}`)).Should(Succeed())
		Expect(edit(`{"spec":{"deletionPolicy":"Orphan","target":{"kinds":[{"group":"apps","kind":"Deployment"}]}}}`)()).To(
			BeLacking("may not patch cronjobs.batch"))
	})

	It("of a cluster kind needs the rights in all namespaces", func() {
		allow("cora", "cora-policies", "", `[{apiGroups: [flyball.dev], resources: [clusterschedules, clustertriggers], verbs: [create]}]`)
		allow("cora", "cora-deployments", ns, `[{apiGroups: [apps], resources: [deployments], verbs: [patch]}]`)
		nights := object("ClusterSchedule", "nights", `{`+pair+`, target: {namespaces: [`+ns+`], kinds: [{group: apps, kind: Deployment}]}}`)
		Eventually(try("cora",
			nights)).Should(BeLacking(
			`clusterschedules.flyball.dev "nights" is forbidden: user "cora" may not patch deployments.apps in all namespaces`))
		allow("cora", "cora-deployments", "", `[{apiGroups: [apps], resources: [deployments], verbs: [patch]}]`)
		Eventually(try("cora", nights)).Should(Succeed())
	})

	It("with a template needs the rights to create, patch and delete its object", func() {
		planner("tess", ns)
		const hpa = `[{apiGroups: [autoscaling], resources: [horizontalpodautoscalers], verbs: [%s]}]`
		allow("tess", "tess-hpas", ns, fmt.Sprintf(hpa, "patch"))
		trigger := in(ns, object("Trigger", "peaks", fmt.Sprintf(hpaTrigger, template)))
		Eventually(try("tess", in(ns, object("Trigger", "peaks", fmt.Sprintf(hpaTrigger, ""))))).Should(Succeed())
		Expect(try("tess", trigger)()).To(BeLacking("may not create horizontalpodautoscalers.autoscaling",
			"may not delete horizontalpodautoscalers.autoscaling",
			"leave out spec.template, or be granted that right"))
		allow("tess", "tess-hpas", ns, fmt.Sprintf(hpa, "create, delete"))
		allow("tess", "tess-use", ns, `[{apiGroups: [flyball.dev], resources: [adapters], verbs: [use]}]`)
		Eventually(try("tess", trigger)).Should(And(BeLacking("may not patch horizontalpodautoscalers.autoscaling"),
			Not(MatchError(ContainSubstring("may not create")))),
			"what a template says is not the adapter's")
		allow("tess", "tess-hpas", ns, fmt.Sprintf(hpa, "create, patch, delete"))
		Eventually(try("tess", trigger)).Should(Succeed())
	})
})

var _ = Describe("The author of a policy for own kinds", Ordered, func() {
	looms := customkind.Kind{Group: "looms.example.com", Scale: true}
	ghosts := customkind.Kind{Group: "ghosts.example.com"}
	var ns, loom, ghost string
	BeforeAll(func() {
		Expect(looms.Install(ctx, env)).To(Succeed())
		through := looms.Adapter(".spec.replicas")
		through.Spec.Scale[0].Via = v1alpha1.ViaScale
		through.Spec.Changes = &v1alpha1.Changes{Rollout: []v1alpha1.Path{".metadata.annotations['looms.example.com/restart']"}}
		for _, a := range []*v1alpha1.Adapter{through, ghosts.Adapter(".spec.replicas")} {
			Expect(env.Client.Create(ctx, a)).To(Succeed())
			DeferCleanup(func() { suite.Remove(ctx, env, a) })
		}
		ns = suite.Namespace(ctx, env)
		loom, ghost = fmt.Sprintf(listed, looms.Group, "Press"), fmt.Sprintf(listed, ghosts.Group, "Press")
	})

	It("lists the kinds, or is refused", func() {
		editor("eva", ns)
		Eventually(try("eva", schedule(ns, ""))).Should(BeLacking(`may not patch presses.looms.example.com in namespace ` + ns +
			`, and this policy would have Flyball do it: list the kinds you mean in spec.target.kinds, or be granted the verb "use" on adapters.flyball.dev presses.looms.example.com`))
		Expect(try("eva", schedule(ns, ""))()).NotTo(MatchError(ContainSubstring(ghosts.Group)), "a kind that is not served is not in reach")
		Expect(try("eva", schedule(ns, deployments))()).To(Succeed())
		Expect(try("eva", schedule(ns, loom))()).To(BeLacking("list only kinds that you may patch in spec.target.kinds"))
	})

	It("is refused listed kinds that are not served yet", func() {
		editor("finn", ns)
		Eventually(try("finn", schedule(ns, ghost))).Should(BeLacking("may not patch presses.ghosts.example.com"))
		nowhere := fmt.Sprintf(listed, "nowhere.example.com", "Press")
		Expect(try("finn", schedule(ns, nowhere))()).To(BeLacking("may not patch Press.nowhere.example.com (neither served nor adapted yet)"))
		Expect(try("finn", schedule(ns, fmt.Sprintf(listed, "", "ConfigMap")))()).To(Succeed(), "served, and not adapted yet")
		Expect(try("finn", schedule(ns, fmt.Sprintf(listed, "", "Namespace")))()).To(Succeed(), "outside namespaces, and so out of reach")
		Expect(env.Client.Create(ctx, schedule(ns, nowhere), client.DryRunAll)).To(Succeed())
	})

	It("may hold only the right on /scale if nothing else is written", func() {
		planner("sue", ns)
		allow("sue", "sue-scale", ns,
			`[{apiGroups: [looms.example.com], resources: [presses/scale], verbs: [patch]}, {apiGroups: [apps], resources: [deployments/scale], verbs: [patch]}]`)
		Eventually(try("sue", schedule(ns, loom))).Should(Succeed())
		Expect(try("sue", schedule(ns, loom+`, asleepAs: {replicas: 1}`))()).To(Succeed())
		Expect(try("sue", schedule(ns, loom+`, asleepAs: {annotations: {a: b}}`))()).To(BeLacking("presses.looms.example.com"))
		Expect(try("sue", schedule(ns, deployments))()).To(BeLacking("deployments.apps"), "its adapter writes the object")
	})

	It("may hold the verb use on the adapter instead, which is no right on the objects", func() {
		planner("una", ns)
		other := suite.Namespace(ctx, env)
		planner("una", other)
		allow("una", "una-use", ns,
			`[{apiGroups: [flyball.dev], resources: [adapters], resourceNames: [presses.looms.example.com], verbs: [use]}]`)
		Eventually(try("una", schedule(ns, loom))).Should(Succeed())
		Expect(try("una", schedule(ns, deployments))()).To(BeLacking("deployments.apps"), "another adapter")
		Expect(try("una", schedule(other, loom))()).To(BeLacking("presses.looms.example.com"), "another namespace")
		Expect(try("una", schedule(ns, loom+`, asleepAs: {annotations: {a: b}}`))()).To(
			BeLacking("may not patch presses.looms.example.com", "or be granted that right"), "an annotation is the author's own choice")
		press := looms.Object(ns, "a", nil)
		Expect(env.Client.Create(ctx, press)).To(Succeed())
		Expect(as("una").Patch(ctx, press, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"note":"x"}}`)))).NotTo(Succeed())
	})

	It("needs override for annotations that are orders", func() {
		editor("olga", ns)
		allow("olga", "olga-looms", ns, `[{apiGroups: [looms.example.com], resources: [presses], verbs: [patch]}]`)
		order := func(kinds, key string) *unstructured.Unstructured {
			return schedule(ns, kinds+`, asleepAs: {annotations: {`+key+`: x}}`)
		}
		const restart, kubernetes, own = "looms.example.com/restart", "kubectl.kubernetes.io/restartedAt", "flyball.dev/tuned-by"
		Eventually(try("olga", order(loom, restart))).Should(MatchError(And(
			ContainSubstring(
				`spec.asleepAs.annotations[looms.example.com/restart]: Forbidden: it is a change by the adapters presses.looms.example.com (RollOut)`),
			ContainSubstring(`user "olga" needs the verb "override" on Schedule/`+ns+`/nights`))))
		Expect(try("olga", order("", restart))()).To(MatchError(ContainSubstring("it is a change by the adapters presses.looms.example.com")),
			"with no kinds listed")
		Expect(try("olga", order(deployments, restart))()).To(Succeed(), "no order to the kinds listed")
		Expect(try("olga", order(deployments, kubernetes))()).To(MatchError(ContainSubstring("keys under kubernetes.io make Kubernetes act")))
		Expect(try("olga", order(deployments, own))()).To(MatchError(ContainSubstring("keys under flyball.dev are not for schedules to set")))

		allow("olga", "olga-override", ns, `[{apiGroups: [flyball.dev], resources: [schedules], resourceNames: [nights], verbs: [override]}]`)
		Eventually(try("olga", order(loom, restart))).Should(Succeed())
		Expect(try("olga", order(deployments, kubernetes))()).To(Succeed())
		Expect(try("olga", order(deployments, own))()).To(MatchError(ContainSubstring("keys under flyball.dev are not for schedules to set")))
		days := order(loom, restart)
		days.SetName("days")
		Expect(try("olga", days)()).To(MatchError(ContainSubstring(`on Schedule/`+ns+`/days`)), "the verb is on one schedule")
		Expect(as("olga").Create(ctx, order(deployments, kubernetes))).To(Succeed())
		Eventually(func(g Gomega) []string {
			var list eventsv1.EventList
			g.Expect(env.Client.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
			var notes []string
			for _, e := range list.Items {
				notes = append(notes, e.Regarding.Name+" "+e.Reason+": "+e.Note)
			}
			return notes
		}).Should(ContainElement("nights Overridden: sets annotations that controllers act on: kubectl.kubernetes.io/restartedAt by olga"))
		made := schedule(ns, "")
		Eventually(func(g Gomega) string {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(made), made)).To(Succeed())
			state, _, _ := unstructured.NestedString(made.Object, "status", "state")
			return state
		}).Should(BeElementOf("Awake", "Asleep"), "it is in force")
	})
})
