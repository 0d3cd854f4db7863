package freeze

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// statusOf reads the status of a ChangeFreeze.
func statusOf(namespace, name string) func(Gomega) v1alpha1.FreezeStatus {
	return func(g Gomega) v1alpha1.FreezeStatus {
		var f v1alpha1.ChangeFreeze
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &f)).To(Succeed())
		return f.Status
	}
}

// judged returns the value of flyball_admission_requests_total for a verdict, over all kinds.
func judged(verdict string) float64 {
	GinkgoHelper()
	families, err := manager.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	var total float64
	for _, f := range families {
		if f.GetName() != "flyball_admission_requests_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			if hasLabel(m, "verdict", verdict) {
				total += m.GetCounter().GetValue()
			}
		}
	}
	return total
}

func hasLabel(m *dto.Metric, name, value string) bool {
	for _, l := range m.GetLabel() {
		if l.GetName() == name && l.GetValue() == value {
			return true
		}
	}
	return false
}

var _ = Describe("Enforcement", func() {
	var (
		ns  string
		web *unstructured.Unstructured
	)
	BeforeEach(func() {
		ns = newNamespace()
		web = deployment(ns, "web")
		Expect(env.Client.Create(ctx, web)).To(Succeed())
	})

	It("Deny counts refusals, reports them on the policy and on the object, and counts no dry run", func() {
		// While the object's controller writes, the API server may ask for a verdict on one change twice: once for the cached
		// object, and once for the stored object.
		Eventually(func(g Gomega) int64 {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(web), web)).To(Succeed())
			n, _, _ := unstructured.NestedInt64(web.Object, "status", "availableReplicas")
			return n
		}).Should(BeEquivalentTo(1))
		freezing(ns, "inventory", "Scale, RollOut")
		alice := as("alice")
		eventuallyRefused(func() error { return patch(alice, web, toTwo, client.DryRunAll) })
		before := judged("denied")
		suite.Still(statusOf(ns, "inventory")).Should(HaveField("Denied", BeNil()))
		Expect(patch(alice, web, toTwo)).To(BeRefused())
		Expect(patch(alice, web, `{"spec":{"replicas":2,`+newImage+`}}`)).To(BeRefused())
		Eventually(func() float64 { return judged("denied") - before }).Should(BeEquivalentTo(2))
		Eventually(statusOf(ns, "inventory")).Should(And(
			HaveField("Denied", HaveValue(Equal(v1alpha1.DeniedCounts{Scale: 2, RollOut: 1}))),
			HaveField("LastDenial.User", "alice"), HaveField("LastDenial.Kind", "Deployment.apps"), HaveField("LastDenial.Name", "web"),
			HaveField("LastDenial.Actions", ConsistOf(v1alpha1.ActionRollOut, v1alpha1.ActionScale)),
		))
		Eventually(eventsOn(ns, "inventory")).Should(ContainElement("Denied: Scale of Deployment.apps/" + ns + "/web by alice"))
		Eventually(eventsOn(ns, "web")).Should(ContainElement("Denied: ChangeFreeze/" + ns + "/inventory: Scale of Deployment.apps/" + ns +
			"/web by alice"))
		denials := 0
		for _, e := range eventsOn(ns, "inventory")(Default) {
			if strings.HasPrefix(e, "Denied") {
				denials++
			}
		}
		Expect(denials).To(Equal(1), "two refusals of one object are one event")
	})

	It("Warn lets through with a warning, Audit silently, and both count", func() {
		for _, mode := range []string{"Warn", "Audit"} {
			name := "only-" + strings.ToLower(mode)
			apply(`
apiVersion: flyball.dev/v1alpha1
kind: ChangeFreeze
metadata: {name: %s, namespace: %s}
spec: {startTime: 2026-03-02T12:00:00Z, endTime: 2026-03-03T12:00:00Z, deny: [Scale], enforcement: %s, message: {reason: sale}}
`, name, ns, mode)
		}
		scaleTo := func(n int) (string, error) {
			return kubectl("alice", ns, "", "scale", "deployment/web", fmt.Sprintf("--replicas=%d", n))
		}
		n := 1
		Eventually(func(g Gomega) {
			n++
			out, err := scaleTo(n)
			g.Expect(err).NotTo(HaveOccurred(), out)
			g.Expect(out).To(ContainSubstring("Warning: ChangeFreeze/" + ns + "/only-warn asks not to Scale Deployment.apps/" + ns +
				"/web now: sale"))
			g.Expect(out).NotTo(ContainSubstring("only-audit"))
			g.Expect(statusOf(ns, "only-audit")(g).Denied).NotTo(BeNil(), "the manager may see the one before the other")
		}).Should(Succeed())
		for _, name := range []string{"only-warn", "only-audit"} {
			Eventually(statusOf(ns, name)).Should(HaveField("Denied", HaveValue(HaveField("Scale", BeNumerically(">=", 1)))))
		}
	})
})

var _ = Describe("The status of a freeze", func() {
	It("has the present state and the next one, and is not rewritten as time goes by", func() {
		ns := newNamespace()
		clock.SetTime(noon.Add(-time.Hour))
		freezing(ns, "inventory", "Scale")
		read := statusOf(ns, "inventory")
		Eventually(read).Should(And(HaveField("State", "Scheduled"), HaveField("Active", false), HaveField("NextFreezeTime.UTC()", noon),
			HaveField("NextOpenTime", BeNil())))
		clock.SetTime(noon)
		Eventually(read).Should(And(HaveField("State", "Frozen"), HaveField("Active", true),
			HaveField("NextOpenTime.UTC()", noon.Add(24*time.Hour)), HaveField("NextFreezeTime", BeNil())))
		Eventually(read).Should(HaveField("Conditions",
			ContainElement(And(HaveField("Type", v1alpha1.ConditionReady), HaveField("Reason", "AsExpected")))),
			"once it is seen that changes are judged")
		version := func() string {
			var f v1alpha1.ChangeFreeze
			Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "inventory"}, &f)).To(Succeed())
			return f.ResourceVersion
		}
		suite.Settled()
		settled := version()
		for range 5 {
			clock.SetTime(clock.Now().Add(time.Hour))
			Expect(harness.Settle(ctx)).To(Succeed())
		}
		suite.Still(version).Should(Equal(settled))
		clock.SetTime(noon.Add(24 * time.Hour))
		Eventually(read).Should(And(HaveField("State", "Ended"), HaveField("Active", false), HaveField("NextTransitionTime", BeNil())))
		out, err := kubectl("alice", ns, "", "get", "changefreezes")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(And(ContainSubstring("Ended"), ContainSubstring("inventory"), Not(ContainSubstring("<invalid>"))))
	})
})

var _ = Describe("Suspension while frozen", func() {
	suspended := func(obj client.Object) func(Gomega) bool {
		return func(g Gomega) bool {
			var c batchv1.CronJob
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(obj), &c)).To(Succeed())
			return c.Spec.Suspend != nil && *c.Spec.Suspend
		}
	}
	suspending := func(ns, name, start, end string) {
		GinkgoHelper()
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ChangeFreeze
metadata: {name: %s, namespace: %s}
spec: {startTime: "%s", endTime: "%s", deny: [RollOut, Scale], suspend: [{group: batch, kind: CronJob}]}
`, name, ns, start, end)
	}

	It("counts references over overlapping freezes and restores exactly; a coming freeze touches nothing", func() {
		ns := newNamespace()
		cron := specimens()[5].made(ns, "mail")
		var original batchv1.CronJob
		Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(cron), &original)).To(Succeed())
		clock.SetTime(noon.Add(-time.Hour))
		suspending(ns, "a", "2026-03-02T12:00:00Z", "2026-03-02T14:00:00Z")
		suspending(ns, "b", "2026-03-02T13:00:00Z", "2026-03-02T16:00:00Z")
		Eventually(statusOf(ns, "b")).Should(HaveField("State", "Scheduled"))
		suite.Still(suspended(cron)).Should(BeFalse())
		clock.SetTime(noon)
		Eventually(suspended(cron)).Should(BeTrue())
		clock.SetTime(noon.Add(time.Hour))
		Eventually(statusOf(ns, "b")).Should(HaveField("State", "Frozen"))
		clock.SetTime(noon.Add(2 * time.Hour))
		Eventually(statusOf(ns, "a")).Should(HaveField("State", "Ended"))
		suite.Still(suspended(cron)).Should(BeTrue())
		clock.SetTime(noon.Add(4 * time.Hour))
		Eventually(suspended(cron)).Should(BeFalse())
		Eventually(func(g Gomega) {
			var now batchv1.CronJob
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(cron), &now)).To(Succeed())
			g.Expect(now.Spec).To(Equal(original.Spec))
			g.Expect(now.Annotations).To(Equal(original.Annotations))
		}).Should(Succeed())
	})

	It("is not undone by an Override and a schedule that never sleeps", func() {
		ns := newNamespace()
		cron := specimens()[5].made(ns, "mail")
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: Schedule
metadata: {name: never, namespace: %[1]s}
spec: {awake: [{from: "00:00", to: "24:00"}], priority: 2147483647}
---
apiVersion: flyball.dev/v1alpha1
kind: Override
metadata: {name: never, namespace: %[1]s}
spec: {effect: Awake, until: "2026-03-09T12:00:00Z", reason: demo}
`, ns)
		suspending(ns, "a", "2026-03-02T12:00:00Z", "2026-03-02T14:00:00Z")
		Eventually(suspended(cron)).Should(BeTrue())
		suite.Still(suspended(cron)).Should(BeTrue())
		clock.SetTime(noon.Add(2 * time.Hour))
		Eventually(suspended(cron)).Should(BeFalse())
	})

	It("is not left by labels of an object or its namespace, although the freeze judges other kinds", func() {
		ns, alice := newNamespace("env", "prod"), as("alice")
		mail, report := specimens()[5].made(ns, "mail"), specimens()[5].made(ns, "report")
		Expect(patch(env.Client, mail, `{"metadata":{"labels":{"tier":"mail"}}}`)).To(Succeed())
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: sleeping}
spec:
  target: {namespaces: [%s], kinds: [{group: apps, kind: Deployment}]}
  startTime: 2026-03-02T12:00:00Z
  endTime: 2026-03-03T12:00:00Z
  deny: [Delete]
  suspend:
  - {group: batch, kind: CronJob, selector: {matchLabels: {tier: mail}}}
  - {group: batch, kind: CronJob, names: [report], namespaceSelector: {matchLabels: {env: prod}}}
`, ns)
		for _, cron := range []client.Object{mail, report} {
			Eventually(suspended(cron)).Should(BeTrue())
		}
		leave := func(opts ...client.PatchOption) error {
			return patch(alice, mail, `{"metadata":{"labels":{"tier":null}}}`, opts...)
		}
		denial := BeRefused("ClusterChangeFreeze/sleeping denies an edit of labels or annotations by which the object leaves its suspend " +
			"and wakes (spec.labelChanges: Deny)")
		// An edit that is allowed too early would leave nothing to refuse later.
		Eventually(func() error { return leave(client.DryRunAll) }).Should(denial)
		Expect(leave()).To(denial)
		Expect(patch(alice, mail, `{"metadata":{"labels":{"team":"post"}}}`)).To(Succeed())
		space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
		Eventually(func() error { return patch(alice, space, `{"metadata":{"labels":{"env":"dev"}}}`, client.DryRunAll) }).Should(
			MatchError(ContainSubstring("out of ClusterChangeFreeze/sleeping, which is active; user \"alice\" needs the verb \"override\"")))
		Expect(patch(alice, space, `{"metadata":{"labels":{"team":"post"}}}`)).To(Succeed())
		for _, cron := range []client.Object{mail, report} {
			suite.Still(suspended(cron)).Should(BeTrue())
		}
	})

	It("stops GitOps controllers, each kind in its own way, and restores them exactly", func() {
		ns := newNamespace()
		kinds := []struct{ kind, object, awake, asleep string }{
			{"{group: argoproj.io, kind: Application}",
				`{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {namespace: %s, name: shop}, spec: {project: a, syncPolicy: {automated: {prune: true}}}}`,
				`{"project":"a","syncPolicy":{"automated":{"prune":true}}}`, `{"project":"a","syncPolicy":{}}`},
			{"{group: kustomize.toolkit.fluxcd.io, kind: Kustomization}",
				`{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {namespace: %s, name: shop}, spec: {path: ./a}}`,
				`{"path":"./a"}`, `{"path":"./a","suspend":true}`},
			{"{group: helm.toolkit.fluxcd.io, kind: HelmRelease}",
				`{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {namespace: %s, name: shop}, spec: {interval: 5m, suspend: false}}`,
				`{"interval":"5m","suspend":false}`, `{"interval":"5m","suspend":true}`},
		}
		var all []string
		var objects []*unstructured.Unstructured
		for _, k := range kinds {
			all = append(all, k.kind)
			objects = append(objects, object(k.object, ns))
			Expect(env.Client.Create(ctx, objects[len(objects)-1])).To(Succeed())
		}
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ChangeFreeze
metadata: {name: quiet, namespace: %s}
spec: {startTime: 2026-03-02T12:00:00Z, endTime: 2026-03-02T14:00:00Z, deny: [RollOut], suspend: [%s]}
`, ns, strings.Join(all, ", "))
		spec := func(i int) func(Gomega) string {
			return func(g Gomega) string {
				g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(objects[i]), objects[i])).To(Succeed())
				text, err := json.Marshal(objects[i].Object["spec"])
				g.Expect(err).NotTo(HaveOccurred())
				return string(text)
			}
		}
		for i, k := range kinds {
			Eventually(spec(i)).Should(MatchJSON(k.asleep), k.kind)
		}
		clock.SetTime(noon.Add(2 * time.Hour))
		for i, k := range kinds {
			Eventually(spec(i)).Should(MatchJSON(k.awake), k.kind)
			Expect(objects[i].GetAnnotations()).To(BeEmpty(), k.kind)
		}
	})

	It("ends when the freeze is deleted", func() {
		ns := newNamespace()
		cron := specimens()[5].made(ns, "mail")
		suspending(ns, "a", "2026-03-02T12:00:00Z", "2026-03-02T14:00:00Z")
		Eventually(suspended(cron)).Should(BeTrue())
		Expect(env.Client.DeleteAllOf(ctx, &v1alpha1.ChangeFreeze{}, client.InNamespace(ns))).To(Succeed())
		Eventually(suspended(cron)).Should(BeFalse())
	})
})

var _ = Describe("Flyball's own writes", func() {
	It("put to sleep and wake during a freeze, while people are refused", func() {
		ns := newNamespace()
		web := deployment(ns, "web")
		Expect(env.Client.Create(ctx, web)).To(Succeed())
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ChangeFreeze
metadata: {name: long, namespace: %[1]s}
spec: {startTime: 2026-03-01T00:00:00Z, endTime: 2026-03-20T00:00:00Z, deny: [Create, Delete, RollOut, Scale]}
---
apiVersion: flyball.dev/v1alpha1
kind: Schedule
metadata: {name: nights, namespace: %[1]s}
spec: {upscale: "0 8 * * *", downscale: "0 20 * * *"}
`, ns)
		eventuallyRefused(func() error { return patch(as("alice"), web, toTwo, client.DryRunAll) })
		replicas := func(g Gomega) int64 {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(web), web)).To(Succeed())
			n, _, _ := unstructured.NestedInt64(web.Object, "spec", "replicas")
			return n
		}
		clock.SetTime(noon.Add(8 * time.Hour))
		Eventually(replicas).Should(BeEquivalentTo(0))
		clock.SetTime(noon.Add(20 * time.Hour))
		Eventually(replicas).Should(BeEquivalentTo(1))
		own, err := client.New(flyball(), client.Options{})
		Expect(err).NotTo(HaveOccurred())
		Expect(patch(own, web, toTwo)).To(BeRefused(), "the account alone does not pass: another tool under it is judged")
	})

	It("that restart pods wait for the end of the freeze", func() {
		ns := newNamespace()
		agent := specimens()[4].made(ns, "agent")
		// With OnDelete, a waiting template takes effect when the target wakes. So the adapter says that waking is a
		// roll-out.
		Expect(patch(env.Client, agent, `{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}`)).To(Succeed())
		asleep := func(g Gomega) string {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(agent), agent)).To(Succeed())
			v, _, _ := unstructured.NestedString(agent.Object, "spec", "template", "spec", "nodeSelector", "flyball.dev/asleep")
			return v
		}
		freezing(ns, "inventory", "RollOut")
		eventuallyRefused(func() error { return patch(as("alice"), agent, specimens()[4].rollOut, client.DryRunAll) })
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: Schedule
metadata: {name: nights, namespace: %s}
spec: {target: {kinds: [{group: apps, kind: DaemonSet}]}, upscale: "0 8 * * *", downscale: "0 9 * * *"}
`, ns)
		var s v1alpha1.Schedule
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "nights"}, &s)).To(Succeed())
			g.Expect(s.Status.Targets).To(HaveValue(HaveField("Pending", BeEquivalentTo(1))))
		}).Should(Succeed())
		suite.Still(asleep).Should(BeEmpty())
		clock.SetTime(noon.Add(23*time.Hour + 59*time.Minute))
		suite.Still(asleep).Should(BeEmpty())
		clock.SetTime(noon.Add(24 * time.Hour))
		Eventually(asleep).Should(Equal("true"))
	})
})
