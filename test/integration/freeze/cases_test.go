package freeze

import (
	"fmt"
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

const everything = "Create, Delete, RollOut, Scale"

var _ = Describe("In a freeze of everything", func() {
	var (
		ns    string
		web   *unstructured.Unstructured
		alice client.Client
	)
	// begin freezes everything in the namespace after the spec has created its objects.
	begin := func() {
		GinkgoHelper()
		freezing(ns, "inventory", everything)
		eventuallyRefused(func() error { return patch(alice, web, toTwo, client.DryRunAll) })
	}
	BeforeEach(func() {
		ns, alice = newNamespace(), as("alice")
		web = deployment(ns, "web")
		web.SetFinalizers([]string{"example.com/hold"})
		Expect(env.Client.Create(ctx, web)).To(Succeed())
		DeferCleanup(func() {
			Expect(client.IgnoreNotFound(patch(env.Client, web, `{"metadata":{"finalizers":null}}`))).To(Succeed())
		})
	})

	It("refuses an object with a generated name, and names the policy", func() {
		begin()
		job := object(
			`{apiVersion: batch/v1, kind: Job, metadata: {namespace: %s, generateName: once-}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}`, ns)
		Expect(alice.Create(ctx, job)).To(BeRefused("Job.batch/"+ns+"/once-", "denies Create"))
	})

	It("lets only a server-side apply without changes pass", func() {
		same := object(`{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: %s, name: web}, spec: {replicas: 1}}`, ns)
		applyAs := func(obj *unstructured.Unstructured) error {
			return alice.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj.DeepCopy()), client.FieldOwner("ci"), client.ForceOwnership)
		}
		Expect(applyAs(same)).To(Succeed())
		begin()
		Expect(applyAs(same)).To(Succeed())
		Expect(unstructured.SetNestedField(same.Object, int64(2), "spec", "replicas")).To(Succeed())
		Expect(applyAs(same)).To(BeRefused("denies Scale"))
	})

	It("refuses kubectl replace --force and every kubectl rollout", func() {
		begin()
		for _, line := range []string{"rollout restart deployment/web", "rollout pause deployment/web", "set image deployment/web a=b",
			"scale deployment/web --replicas=3", "delete deployment/web --wait=false"} {
			out, err := kubectl("alice", ns, "", strings.Fields(line)...)
			Expect(err).To(HaveOccurred(), line)
			Expect(out).To(ContainSubstring("ChangeFreeze/"+ns+"/inventory denies"), line)
		}
		manifest := fmt.Sprintf(
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":%q,"name":"web"},"spec":{"selector":{"matchLabels":{"app":"a"}},"template":{"metadata":{"labels":{"app":"a"}},"spec":{"containers":[{"name":"a","image":"x"}]}}}}`, ns)
		out, err := kubectl("alice", ns, manifest, "replace", "--force", "-f", "-")
		Expect(err).To(HaveOccurred())
		Expect(out).To(ContainSubstring("denies Delete"))
		Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(web), web)).To(Succeed())
		Expect(web.GetDeletionTimestamp()).To(BeNil())
	})

	It("refuses to undo and to resume a roll-out", func() {
		revisions := func() int {
			var sets appsv1.ReplicaSetList
			Expect(env.Client.List(ctx, &sets, client.InNamespace(ns))).To(Succeed())
			return len(sets.Items)
		}
		Eventually(revisions).Should(Equal(1))
		Expect(patch(env.Client, web, `{"spec":{`+newImage+`}}`)).To(Succeed())
		Eventually(revisions).Should(Equal(2))
		Expect(patch(env.Client, web, `{"spec":{"paused":true}}`)).To(Succeed())
		begin()
		out, err := kubectl("alice", ns, "", "rollout", "resume", "deployment/web")
		Expect(err).To(HaveOccurred())
		Expect(out).To(ContainSubstring("denies RollOut"))
		thaw()
		Expect(patch(env.Client, web, `{"spec":{"paused":false}}`)).To(Succeed())
		begin()
		out, err = kubectl("alice", ns, "", "rollout", "undo", "deployment/web")
		Expect(err).To(HaveOccurred())
		Expect(out).To(ContainSubstring("denies RollOut"))
	})

	It("refuses a deletion of a collection", func() {
		begin()
		err := alice.DeleteAllOf(ctx, &appsv1.Deployment{}, client.InNamespace(ns))
		Expect(err).To(BeRefused("Deployment.apps/"+ns+"/web", "denies Delete"))
	})

	It("refuses a StatefulSet's partition and lets its labels pass", func() {
		db := specimens()[1].made(ns, "db")
		begin()
		Expect(patch(alice, db,
			`{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":1}}}}`)).To(BeRefused("denies RollOut"))
		Expect(patch(alice, db, `{"metadata":{"labels":{"a":"b"},"annotations":{"a":"b"}}}`)).To(Succeed())
	})

	It("judges requests of another API version of the kind", func() {
		hpa := object(specimens()[7].object, ns, "hpa")
		Expect(env.Client.Create(ctx, hpa)).To(Succeed())
		es := object(specimens()[8].object, ns, "es")
		Expect(env.Client.Create(ctx, es)).To(Succeed())
		begin()
		old := &autoscalingv1.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "hpa"}}
		Expect(patch(alice, old, `{"spec":{"minReplicas":2}}`)).To(BeRefused("denies Scale"))
		Expect(patch(alice, old, `{"metadata":{"labels":{"a":"b"}}}`)).To(Succeed())
		beta := object(`{apiVersion: elasticsearch.k8s.elastic.co/v1beta1, kind: Elasticsearch, metadata: {namespace: %s, name: es}}`, ns)
		Expect(patch(alice, beta, `{"spec":{"version":"9.1.0"}}`)).To(BeRefused("Elasticsearch.elasticsearch.k8s.elastic.co/"+ns+"/es",
			"denies RollOut"))
		Expect(patch(alice, beta, `{"metadata":{"labels":{"a":"b"}}}`)).To(Succeed())
	})

	It("lets status pass", func() {
		begin()
		body := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"observedGeneration":7}}`))
		Expect(alice.Status().Patch(ctx, web.DeepCopy(), body)).To(Succeed())
	})

	It("refuses a roll-back by a status, and lets harmless metadata pass with a status", func() {
		begin()
		rollback := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"deprecated.deployment.rollback.to":"1"}}}`))
		Expect(patch(alice, web, `{"metadata":{"annotations":{"deprecated.deployment.rollback.to":"1"}}}`)).To(BeRefused("denies RollOut"))
		Expect(alice.Status().Patch(ctx, web.DeepCopy(), rollback)).To(Succeed(),
			"the API server takes it for a part of the spec, which a status does not change")
		Expect(alice.Status().Patch(ctx, web.DeepCopy(), client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"a":"b"}}}`)))).To(Succeed())
		Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(web), web)).To(Succeed())
		Expect(web.GetAnnotations()).To(And(HaveKeyWithValue("a", "b"), Not(HaveKey("deprecated.deployment.rollback.to"))))
	})

	It("lets finalizers be removed, so that an earlier deletion ends", func() {
		Expect(env.Client.Delete(ctx, web)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(web), web)).To(Succeed())
			g.Expect(web.GetDeletionTimestamp()).NotTo(BeNil())
		}).Should(Succeed())
		db := specimens()[1].made(ns, "db")
		freezing(ns, "inventory", everything)
		eventuallyRefused(func() error { return patch(alice, db, toTwo, client.DryRunAll) })
		Expect(alice.Delete(ctx, web.DeepCopy())).To(Succeed(), "deleting again what is being deleted")
		Expect(patch(alice, web, `{"metadata":{"finalizers":null}}`)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(env.Client.Get(ctx, client.ObjectKeyFromObject(web), web))
		}).Should(BeTrue())
	})

	It("lets the garbage collector take the children of an owner that is deleted", func() {
		owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "owner"}}
		Expect(env.Client.Create(ctx, owner)).To(Succeed())
		child := deployment(ns, "child")
		child.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.UID}})
		Expect(env.Client.Create(ctx, child)).To(Succeed())
		begin()
		Expect(alice.Delete(ctx, child.DeepCopy())).To(BeRefused("denies Delete"))
		Expect(alice.Delete(ctx, owner)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(env.Client.Get(ctx, client.ObjectKeyFromObject(child), child))
		}).Should(BeTrue())
	})

	It("lets a namespace be deleted with its objects", func() {
		Expect(patch(env.Client, web, `{"metadata":{"finalizers":null}}`)).To(Succeed())
		begin()
		Expect(env.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(env.Client.Get(ctx, client.ObjectKey{Name: ns}, &corev1.Namespace{}))
		}).WithTimeout(2 * harness.Patience).Should(BeTrue()) // its controller looks again after half of what pods have to end
	})

	It("lets the autoscaler's controller scale, and no person, nor edit its minimum", func() {
		freezing(ns, "inventory", "Scale")
		eventuallyRefused(func() error { return patch(alice, web, toTwo, client.DryRunAll) })
		hpa := object(
			`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {namespace: %s, name: hpa}, spec: {minReplicas: 3, maxReplicas: 6, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`, ns)
		Expect(alice.Create(ctx, hpa.DeepCopy())).To(BeRefused("Deployment.apps/"+ns+"/web", "denies Scale"),
			"an autoscaler is a way to scale, though Create is not denied")
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: FreezeException
metadata: {namespace: %s, name: tuning}
spec: {activeFrom: 2026-03-01T00:00:00Z, activeTo: 2026-03-04T00:00:00Z, target: {kinds: [{group: apps, kind: Deployment}]}, allow: [Scale], constraints: {allowedUsers: [kubernetes-admin]}, reason: tuning}
`, ns)
		Eventually(func() error { return env.Client.Create(ctx, hpa) }).Should(Succeed(), "who holds an exception for the target may make one")
		Eventually(func(g Gomega) int64 {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(web), web)).To(Succeed())
			n, _, _ := unstructured.NestedInt64(web.Object, "spec", "replicas")
			return n
		}).Should(BeEquivalentTo(3), "kube-controller-manager lifts it to the minimum")
		Expect(patchScale(alice, web, `{"spec":{"replicas":4}}`)).To(BeRefused("denies Scale"))
		Expect(patch(alice, hpa, `{"spec":{"minReplicas":2}}`)).To(BeRefused("HorizontalPodAutoscaler.autoscaling/"+ns+"/hpa", "denies Scale"))
	})

	It("refuses a ledger that would have Flyball make the change", func() {
		begin()
		forged := `{"metadata":{"annotations":{"flyball.dev/ledger":"{\"/spec/replicas\":{\"was\":9,\"set\":1,\"by\":\"Schedule/x/y\"}}"}}}`
		Expect(patch(alice, web, forged)).To(BeRefused("denies RollOut and Scale"))
		Expect(patch(alice, web, `{"metadata":{"annotations":{"note":"flyball.dev/ledger"}}}`)).To(Succeed())
	})

	It("lets pods be deleted and evicted", func() {
		begin()
		for _, name := range []string{"one", "two"} {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}}
			// A namespace gets the account of its pods a moment after it was made.
			Eventually(func() error { return alice.Create(ctx, pod) }).Should(Succeed())
			if name == "one" {
				Expect(alice.Delete(ctx, pod)).To(Succeed())
				continue
			}
			Expect(alice.SubResource("eviction").Create(ctx, pod,
				&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}})).To(Succeed())
		}
	})

	It("judges an object of a megabyte", func() {
		big := object(specimens()[8].object, ns, "big")
		var texts []any
		for range 10 {
			texts = append(texts, strings.Repeat("y", 100<<10))
		}
		Expect(unstructured.SetNestedSlice(big.Object, texts, "spec", "texts")).To(Succeed())
		Expect(env.Client.Create(ctx, big)).To(Succeed())
		begin()
		Expect(patch(alice, big, `{"spec":{"version":"9.9.9"}}`)).To(BeRefused("denies RollOut"))
		Expect(patch(alice, big, `{"metadata":{"labels":{"a":"b"}}}`)).To(Succeed())
	})
})

var _ = Describe("Labels", func() {
	It("take an object neither out of a freeze nor into an exception in the same edit", func() {
		ns := newNamespace()
		alice := as("alice")
		front := deployment(ns, "front")
		front.SetLabels(map[string]string{"tier": "front"})
		back := deployment(ns, "back")
		for _, obj := range []client.Object{front, back} {
			Expect(env.Client.Create(ctx, obj)).To(Succeed())
		}
		freezing(ns, "inventory", everything, "  target: {selector: {matchLabels: {tier: front}}}")
		eventuallyRefused(func() error { return patch(alice, front, toTwo, client.DryRunAll) })
		Expect(patch(alice, front, `{"metadata":{"labels":{"tier":null}},"spec":{"replicas":2}}`)).To(BeRefused())
		Expect(patch(alice, front, `{"metadata":{"labels":{"flyball.dev/exclude":"true"}},"spec":{"replicas":2}}`)).To(BeRefused())
		Expect(patch(alice, back, `{"metadata":{"labels":{"tier":"front"}},"spec":{"replicas":2}}`)).To(BeRefused())
		Expect(patch(alice, back, toTwo)).To(Succeed())

		apply(`
apiVersion: flyball.dev/v1alpha1
kind: FreezeException
metadata: {name: fast, namespace: %s}
spec: {activeFrom: 2026-03-02T11:00:00Z, activeTo: 2026-03-02T13:00:00Z, allow: [Scale], constraints: {requireLabels: {fast: lane}}, reason: a test}
`, ns)
		suite.Still(func() error {
			return patch(alice, front, `{"metadata":{"labels":{"fast":"lane"}},"spec":{"replicas":2}}`, client.DryRunAll)
		}).Should(BeRefused())
		Expect(patch(alice, front, `{"metadata":{"labels":{"fast":"lane"}}}`)).To(Succeed())
		Eventually(func() error { return patch(alice, front, toTwo, client.DryRunAll) }).Should(Succeed())
		Expect(patchScale(alice, front, toTwo)).To(Succeed(), "the labels of the object count for /scale too")
	})

	It("of other policies do not lift a freeze that does not select by them", func() {
		ns, alice := newNamespace(), as("alice")
		out := deployment(ns, "out")
		out.SetLabels(map[string]string{v1alpha1.LabelExclude: "true"})
		Expect(env.Client.Create(ctx, out)).To(Succeed())
		freezing(ns, "inventory", everything)
		eventuallyRefused(func() error { return patch(alice, out, toTwo, client.DryRunAll) })
		made := deployment(ns, "made")
		made.SetLabels(out.GetLabels())
		Expect(alice.Create(ctx, made)).To(BeRefused("denies Create"))
	})

	It("take nothing out of a cluster freeze that selects by them, also where it denies no update", func() {
		ns, alice := newNamespace(), as("alice")
		front := deployment(ns, "front")
		front.SetLabels(map[string]string{"tier": "front"})
		Expect(env.Client.Create(ctx, front)).To(Succeed())
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: front}
spec: {target: {namespaces: [%s], selector: {matchLabels: {tier: front}}}, startTime: 2026-03-02T12:00:00Z, endTime: 2026-03-03T12:00:00Z, deny: [Delete]}
`, ns)
		leave := func() error { return patch(alice, front, `{"metadata":{"labels":{"tier":null}}}`, client.DryRunAll) }
		Eventually(leave).Should(BeRefused("ClusterChangeFreeze/front denies an edit of labels or annotations by which the object leaves it " +
			"(spec.labelChanges: Deny)"))
		Expect(patch(alice, front, `{"metadata":{"labels":{"tier":null}}}`)).To(BeRefused())
		Eventually(eventsOn("", "front")).Should(ContainElement(ContainSubstring("Denied: Relabel of Deployment.apps/" + ns + "/front by alice")))
		var events eventsv1.EventList
		Expect(env.Client.List(ctx, &events, client.InNamespace("kube-system"))).To(Succeed())
		Expect(events.Items).To(ContainElement(And(HaveField("Regarding.Name", "front"), HaveField("Reason", "Denied"))),
			"not in the namespace default, where many may read")
		Eventually(func(g Gomega) {
			var frz v1alpha1.ClusterChangeFreeze
			g.Expect(env.Client.Get(ctx, client.ObjectKey{Name: "front"}, &frz)).To(Succeed())
			g.Expect(frz.Status.LastDenial).NotTo(BeNil())
			g.Expect(frz.Status.LastDenial.Actions).To(BeEmpty())
			g.Expect(frz.Status.LastDenial.User).To(Equal("alice"))
		}).Should(Succeed())
		Expect(patch(alice, front, restart)).To(Succeed(), "what is not denied goes on")
		Expect(patch(env.Client, &v1alpha1.ClusterChangeFreeze{ObjectMeta: metav1.ObjectMeta{Name: "front"}},
			`{"spec":{"labelChanges":"Warn"}}`)).To(Succeed())
		Eventually(leave).Should(Succeed())
	})

	It("of a namespace count at once, and take it out of a freeze only with the right to override", func() {
		ns, other := newNamespace("env", "prod"), newNamespace("env", "dev")
		web, dev := deployment(ns, "web"), deployment(other, "web")
		for _, obj := range []client.Object{web, dev} {
			Expect(env.Client.Create(ctx, obj)).To(Succeed())
		}
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: prod}
spec: {target: {namespaceSelector: {matchLabels: {env: prod}}}, startTime: 2026-03-02T12:00:00Z, endTime: 2026-03-03T12:00:00Z, deny: [Scale]}
`)
		alice := as("alice")
		frozen := func(obj client.Object) func() error {
			return func() error { return patch(alice, obj, toTwo, client.DryRunAll) }
		}
		Eventually(frozen(web)).Should(BeRefused())
		Expect(frozen(dev)()).To(Succeed())

		namespace := func(name string) client.Object {
			return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		}
		Expect(patch(alice, namespace(ns), `{"metadata":{"labels":{"env":"dev"}}}`)).To(MatchError(ContainSubstring(`would take namespace ` + ns +
			` out of ClusterChangeFreeze/prod`)))
		Expect(patch(alice, namespace(ns), `{"metadata":{"labels":{"team":"a"}}}`)).To(Succeed())
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterFreezeException
metadata: {name: hotfix}
spec: {target: {namespaceSelector: {matchLabels: {hotfix: "yes"}}}, activeFrom: 2026-03-02T11:00:00Z, activeTo: 2026-03-03T13:00:00Z, allow: [Scale], reason: a test}
`)
		hotfix := `{"metadata":{"labels":{"hotfix":"yes"}}}`
		Eventually(func() error { return patch(alice, namespace(ns), hotfix, client.DryRunAll) }).Should(
			MatchError(ContainSubstring(`would take namespace ` + ns +
				` into ClusterFreezeException/hotfix; user "alice" needs the verb "except" on it`)))
		Expect(frozen(web)()).To(BeRefused())
		Expect(patch(alice, namespace(other), `{"metadata":{"labels":{"env":"prod"}}}`)).To(Succeed())
		Eventually(frozen(dev)).Should(BeRefused())
		Expect(patch(env.Client, namespace(ns), `{"metadata":{"labels":{"env":"dev"}}}`)).To(Succeed())
		Eventually(frozen(web)).Should(Succeed())
	})
})

// kubectl runs kubectl as a user in a namespace.
func kubectl(user, namespace, input string, args ...string) (output string, err error) {
	GinkgoHelper()
	args = append([]string{"--kubeconfig", env.Cluster.Kubeconfig, "--as", user, "--as-group", "people", "--as-group", "system:authenticated",
		"-n", namespace}, args...)
	cmd := exec.CommandContext(ctx, env.Cluster.Bin("kubectl"), args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
