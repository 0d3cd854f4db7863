package freeze

import (
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

// grant gives a group verbs on resources of flyball.dev. They hold in one namespace or, if namespace is empty, in all
// namespaces.
func grant(name, group, namespace, resources, verbs string) {
	GinkgoHelper()
	kind, meta := "ClusterRole", "{name: "+name+"}"
	binding := "ClusterRoleBinding"
	if namespace != "" {
		kind, binding, meta = "Role", "RoleBinding", "{name: "+name+", namespace: "+namespace+"}"
	}
	apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: %[1]s
metadata: %[2]s
rules: [{apiGroups: [flyball.dev], resources: [%[3]s], verbs: [%[4]s]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: %[5]s
metadata: %[2]s
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: %[1]s, name: %[6]s}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: Group, name: %[7]s}]
`, kind, meta, resources, verbs, binding, name, group)
}

// eventsOn lists the reasons and notes of the events about an object.
func eventsOn(namespace, name string) func(Gomega) []string {
	return func(g Gomega) []string {
		var list eventsv1.EventList
		g.Expect(env.Client.List(ctx, &list)).To(Succeed())
		var out []string
		for _, e := range list.Items {
			if e.Regarding.Namespace == namespace && e.Regarding.Name == name {
				out = append(out, e.Reason+": "+e.Note)
			}
		}
		return out
	}
}

// refusedDeletions counts the refused deletions of a resource by a user in a namespace.
func refusedDeletions(user, resource, namespace string) (int, error) {
	all, err := env.Cluster.Audit()
	n := 0
	for _, r := range all {
		if r.User.Username == user && r.Verb == "delete" && r.Response.Code == http.StatusForbidden && r.Object != nil &&
			r.Object.Resource == resource && r.Object.Namespace == namespace {
			n++
		}
	}
	return n, err
}

var _ = Describe("An active freeze", func() {
	var (
		ns    string
		alice client.Client
		frz   *v1alpha1.ChangeFreeze
	)
	BeforeEach(func() {
		ns, alice = newNamespace(), as("alice")
		freezing(ns, "inventory", "Scale")
		frz = &v1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "inventory"}}
	})

	It("is deleted, shortened, reselected and weakened only with the verb override", func() {
		weaker := map[string]string{
			"shorter":      `{"spec":{"endTime":"2026-03-02T13:00:00Z"}}`,
			"later":        `{"spec":{"startTime":"2026-03-02T12:30:00Z"}}`,
			"another aim":  `{"spec":{"target":{"names":["nobody"]}}}`,
			"less":         `{"spec":{"deny":["Create"]}}`,
			"only a hint":  `{"spec":{"enforcement":"Warn"}}`,
			"all excluded": `{"spec":{"target":{"exclude":{"matchExpressions":[{"key":"x","operator":"DoesNotExist"}]}}}}`,
		}
		for name, body := range weaker {
			Expect(patch(alice, frz, body, client.DryRunAll)).To(MatchError(ContainSubstring(`user "alice" needs the verb "override"`)), name)
		}
		Expect(alice.Delete(ctx, frz.DeepCopy())).To(MatchError(ContainSubstring(`needs the verb "override"`)))
		Expect(alice.DeleteAllOf(ctx, &v1alpha1.ChangeFreeze{},
			client.InNamespace(ns))).To(MatchError(ContainSubstring(`needs the verb "override"`)))
		for name, body := range map[string]string{
			"longer": `{"spec":{"endTime":"2026-03-05T12:00:00Z"}}`, "more": `{"spec":{"deny":["Scale","RollOut"]}}`,
			"message": `{"spec":{"message":{"reason":"audit"}}}`, "labels": `{"metadata":{"labels":{"a":"b"}}}`,
		} {
			Expect(patch(alice, frz, body)).To(Succeed(), name)
		}

		grant("override", "oncall", ns, "changefreezes", "override")
		carol := as("carol", "oncall")
		Eventually(func() error { return patch(carol, frz, weaker["shorter"]) }).Should(Succeed())
		Eventually(eventsOn(ns, "inventory")).Should(ContainElement("Overridden: changed in spec.endTime by carol"))
		// This comes right after another note, so that the freeze is deleted by the time this note is written.
		Expect(patch(carol, frz, `{"spec":{"endTime":"2026-03-02T12:30:00Z"}}`)).To(Succeed())
		Expect(carol.Delete(ctx, frz.DeepCopy())).To(Succeed())
		Eventually(eventsOn(ns, "inventory")).Should(ContainElement("Overridden: deleted by carol"))
	})

	It("is a maintenance window too, while it is closed and from guardAhead before", func() {
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: MaintenanceWindow
metadata: {name: mornings, namespace: %s}
spec: {windows: [{from: "08:00", to: "10:00"}], deny: [Scale]}
`, ns)
		window := &v1alpha1.MaintenanceWindow{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "mornings"}}
		wider := `{"spec":{"windows":[{"from":"08:00","to":"20:00"}]}}`
		Eventually(func() error { return patch(alice, window, wider, client.DryRunAll) }).Should(
			MatchError(ContainSubstring(`user "alice" needs the verb "override"`)))
		Expect(alice.Delete(ctx, window.DeepCopy(), client.DryRunAll)).To(MatchError(ContainSubstring(`needs the verb "override"`)))

		clock.SetTime(time.Date(2026, 3, 3, 8, 30, 0, 0, time.UTC)) // it is open
		for _, body := range []string{wider, `{"spec":{"guardAhead":"1h"}}`} {
			Expect(patch(alice, window, body,
				client.DryRunAll)).To(MatchError(ContainSubstring(`it begins 2026-03-03T10:00:00Z (spec.guardAhead) and would be changed`)), body)
		}
		Expect(alice.Delete(ctx, window.DeepCopy(), client.DryRunAll)).To(MatchError(ContainSubstring(`needs the verb "override"`)))
		Expect(patch(env.Client, window, `{"spec":{"guardAhead":"1h"}}`)).To(Succeed())
		Eventually(func() error { return patch(alice, window, wider, client.DryRunAll) }).Should(Succeed())
		clock.SetTime(time.Date(2026, 3, 3, 9, 0, 0, 0, time.UTC))
		Expect(patch(alice, window, wider, client.DryRunAll)).To(MatchError(ContainSubstring(`needs the verb "override"`)))
	})

	It("reports the namespaces that are never frozen", func() {
		out, err := kubectl("alice", ns, `
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: all}
spec: {target: {namespaces: [kube-system, shop]}, startTime: 2026-03-02T12:00:00Z, endTime: 2026-03-03T12:00:00Z}
`, "create", "--dry-run=server", "-f", "-")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(out).To(ContainSubstring("Warning: nothing in namespace kube-system is ever frozen"))
	})

	It("is guarded from guardAhead before it begins", func() {
		clock.SetTime(noon.Add(-24 * time.Hour))
		Expect(alice.Delete(ctx, frz.DeepCopy())).To(MatchError(ContainSubstring(
			`it begins 2026-03-02T12:00:00Z (spec.guardAhead) and would be deleted; user "alice" needs the verb "override"`)))
		for _, body := range []string{`{"spec":{"endTime":"2026-03-02T13:00:00Z"}}`, `{"spec":{"startTime":"2026-03-02T18:00:00Z"}}`,
			`{"spec":{"guardAhead":"1h"}}`} {
			Expect(patch(alice, frz, body, client.DryRunAll)).To(MatchError(ContainSubstring(`needs the verb "override"`)), body)
		}
		clock.SetTime(noon.Add(-24*time.Hour - time.Second))
		Expect(patch(alice, frz, `{"spec":{"guardAhead":"0s"}}`)).To(Succeed())
		clock.SetTime(noon.Add(-time.Second))
		Expect(alice.Delete(ctx, frz.DeepCopy())).To(Succeed())
	})

	It("needs no right long before it begins and after it has ended", func() {
		clock.SetTime(noon.Add(-25 * time.Hour))
		Expect(patch(alice, frz, `{"spec":{"endTime":"2026-03-02T14:00:00Z"}}`)).To(Succeed())
		clock.SetTime(noon.Add(48 * time.Hour))
		Expect(alice.Delete(ctx, frz.DeepCopy())).To(Succeed())
	})

	It("is not left to the garbage collector, and is deleted with its namespace", func() {
		Expect(patch(alice, frz,
			`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"gone"}]}}`)).To(Succeed())
		Eventually(refusedDeletions).WithArguments("system:serviceaccount:kube-system:generic-garbage-collector", "changefreezes",
			ns).Should(BeNumerically(">", 0))
		Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(frz), frz)).To(Succeed())
		Expect(frz.DeletionTimestamp).To(BeNil())

		Expect(env.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
		Eventually(func() error { return env.Client.Get(ctx, client.ObjectKeyFromObject(frz), frz) }).Should(Satisfy(apierrors.IsNotFound))
	})

	It("guards its adapter, if it is a Cluster freeze", func() {
		grant("patch-all", "patchers", "", "adapters", "get, update, patch, delete")
		eve := as("eve", "patchers")
		press := &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: "deployments.apps"}}
		away := `{"spec":{"changes":{"ignore":[".spec.replicas"]}}}`
		Eventually(func() error { return eve.Delete(ctx, press.DeepCopy(), client.DryRunAll) }).Should(Succeed(), "by a freeze of one namespace")
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: inventory}
spec: {target: {namespaces: [%s]}, startTime: 2026-03-02T12:00:00Z, endTime: 2026-03-03T12:00:00Z, deny: [Scale]}
`, ns)
		Eventually(func() error { return patch(eve, press, away, client.DryRunAll) }).Should(
			MatchError(ContainSubstring(`ClusterChangeFreeze/inventory: the ` +
				`adapter deployments.apps, on which it depends, is edited or deleted; user "eve" needs the verb "override"`)))
		Expect(eve.Delete(ctx, press.DeepCopy(), client.DryRunAll)).To(MatchError(ContainSubstring(`needs the verb "override"`)))
		Expect(patch(eve, press, `{"metadata":{"labels":{"a":"b"}}}`, client.DryRunAll)).To(Succeed())

		scaler := &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: "horizontalpodautoscalers.autoscaling"}}
		Expect(eve.Delete(ctx, scaler, client.DryRunAll)).To(MatchError(ContainSubstring(`needs the verb "override"`)), "autoscalers scale too")

		clock.SetTime(noon.Add(-time.Hour))
		Expect(eve.Delete(ctx, press.DeepCopy(), client.DryRunAll)).To(MatchError(ContainSubstring(`needs the verb "override"`)),
			"it begins soon")
		clock.SetTime(noon.Add(-25 * time.Hour))
		Expect(eve.Delete(ctx, press.DeepCopy(), client.DryRunAll)).To(Succeed())
	})
})
