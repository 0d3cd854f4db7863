package integration

import (
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/customkind"
)

// pressAtNight creates a kind with an adapter, an object of the kind, and a schedule that puts the object to sleep. The
// manager can be stopped and started.
func pressAtNight() (n *night, k customkind.Kind, a *v1alpha1.Adapter, s *v1alpha1.Schedule) {
	GinkgoHelper()
	n = managerAtNight()
	ns := newNamespace()
	k = installKind()
	a = adapt(k.Adapter(".spec.replicas"))
	press(k, ns, "daily", 3)
	s = pressNights(ns, k)
	Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
	return n, k, a, s
}

// awake waits until the object of pressAtNight is as it was before the night.
func awake(k customkind.Kind, s *v1alpha1.Schedule) {
	GinkgoHelper()
	Eventually(pressCount(k, s.Namespace, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))
	Eventually(pressLedger(k, s.Namespace, "daily")).Should(BeEmpty())
}

// read returns an empty Adapter with the name of another one, for reading the stored Adapter.
func read(a *v1alpha1.Adapter) *v1alpha1.Adapter {
	return &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: a.Name}}
}

var _ = Describe("Sleeping objects of an adapter are restored", func() {
	It("when the adapter is deleted, and sleeps again when it comes back", func() {
		_, k, a, s := pressAtNight()
		Expect(env.Client.Delete(ctx, read(a))).To(Succeed())
		awake(k, s)
		Eventually(vanished(read(a))).Should(Succeed())
		Eventually(conditionOf(s.Namespace, s.Name, v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionFalse, "AdapterNotReady"))

		Expect(env.Client.Create(ctx, k.Adapter(".spec.replicas"))).To(Succeed())
		Eventually(pressCount(k, s.Namespace, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
	})

	It("when the adapter was deleted while no manager ran", func() {
		n, k, a, s := pressAtNight()
		n.stop()
		Expect(env.Client.Delete(ctx, read(a))).To(Succeed())
		Consistently(vanished(read(a))).WithTimeout(200 * time.Millisecond).ShouldNot(Succeed())
		n.start()
		awake(k, s)
		Eventually(vanished(read(a))).Should(Succeed())
	})

	It("when the adapter was deleted while no manager ran, and the adapter comes back with the installation", func() {
		n, k, a, s := pressAtNight()
		n.stop()
		Expect(env.Client.Delete(ctx, read(a))).To(Succeed())
		gone := stored(Default, a).GetUID()
		n.adapters = []string{k.Name()}
		n.start()
		Eventually(func(g Gomega) types.UID { return stored(g, a).GetUID() }).ShouldNot(Equal(gone))
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "Ready"))
		Eventually(pressCount(k, s.Namespace, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))

		By("the adapter is deleted while the manager runs")
		Expect(env.Client.Delete(ctx, read(a))).To(Succeed())
		awake(k, s)
		Eventually(vanished(read(a))).Should(Succeed())
		Consistently(vanished(read(a))).Should(Succeed())
	})

	It("when both the adapter and the schedule were deleted while no manager ran", func() {
		n, k, a, s := pressAtNight()
		n.stop()
		Expect(env.Client.Delete(ctx, read(a))).To(Succeed())
		Expect(env.Client.Delete(ctx, s)).To(Succeed())
		n.start()
		awake(k, s)
		Eventually(vanished(read(a))).Should(Succeed())
	})

	It("when the adapter is deleted after it was broken", func() {
		_, k, a, s := pressAtNight()
		Expect(env.Patch(ctx, read(a), `{"spec":{"scale":[{"name":"main","replicas":".spec.copies"}]}}`)).To(Succeed())
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(HaveField("Status", metav1.ConditionFalse))
		Expect(env.Client.Delete(ctx, read(a))).To(Succeed())
		awake(k, s)
		Eventually(vanished(read(a))).Should(Succeed())
	})

	It("when the schedule is deleted after the adapter was broken and repaired", func() {
		_, k, a, s := pressAtNight()
		Expect(env.Patch(ctx, read(a), `{"spec":{"scale":[{"name":"main","replicas":".spec.copies"}]}}`)).To(Succeed())
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(HaveField("Status", metav1.ConditionFalse))
		Expect(env.Client.Delete(ctx, s)).To(Succeed())
		Eventually(conditionOf(s.Namespace, s.Name, v1alpha1.ConditionReady)).Should(And(
			beCondition(metav1.ConditionFalse, "Restoring"), HaveField("Message", ContainSubstring("daily"))))
		Expect(env.Patch(ctx, read(a), `{"spec":{"scale":[{"name":"main","replicas":".spec.replicas"}]}}`)).To(Succeed())
		awake(k, s)
	})

	It("when the adapter is deleted after its finalizer was removed by hand: the finalizer is restored first", func() {
		n, k, a, s := pressAtNight()
		n.stop()
		Expect(env.Patch(ctx, read(a), `{"metadata":{"finalizers":null}}`)).To(Succeed())
		n.start()
		Eventually(finalizers(read(a))).Should(ContainElement(v1alpha1.FinalizerRestore))
		Expect(env.Patch(ctx, read(a), `{"metadata":{"finalizers":null}}`)).To(Succeed())
		Eventually(finalizers(read(a))).Should(ContainElement(v1alpha1.FinalizerRestore))
		Expect(env.Client.Delete(ctx, read(a))).To(Succeed())
		awake(k, s)
		Eventually(vanished(read(a))).Should(Succeed())
	})

	It("when the schedule is deleted during trouble with discovery, once that is over", func() {
		n, k, a, s := pressAtNight()
		n.stop()
		recover := breakDiscovery(k)
		Expect(env.Client.Delete(ctx, s)).To(Succeed())
		n.start()
		Eventually(adapterCondition(a.Name, v1alpha1.ConditionServed)).Should(beCondition(metav1.ConditionFalse, "Unknown"))
		Consistently(vanished(s)).WithTimeout(3 * time.Second).ShouldNot(Succeed())
		recover()
		awake(k, s)
		Eventually(vanished(s)).Should(Succeed())
	})

	It("when the schedule is deleted while discovery breaks under a running manager, once that is over", func() {
		_, k, a, s := pressAtNight()
		recover := breakDiscovery(k)
		Expect(env.Client.Delete(ctx, s)).To(Succeed())
		Consistently(vanished(s)).WithTimeout(3 * time.Second).ShouldNot(Succeed())
		Expect(finalizers(read(a))(Default)).To(ContainElement(v1alpha1.FinalizerRestore))
		recover()
		Eventually(vanished(s)).Should(Succeed())
		awake(k, s)
	})

	It("when the adapter was edited to use another field while no manager ran", func() {
		n, k, a, s := pressAtNight()
		n.stop()
		Expect(env.Patch(ctx, read(a), `{"spec":{"scale":[{"name":"main","replicas":".spec.pool.size","default":0}]}}`)).To(Succeed())
		n.start()
		awake(k, s)
		Expect(pressCount(k, s.Namespace, "daily", ".spec.pool.size")(Default)).To(BeEquivalentTo(-1), "a count that was absent is there")
	})

	It("unless the kind is removed, which blocks neither schedule nor adapter", func() {
		_, k, a, s := pressAtNight()
		Expect(k.Remove(ctx, env)).To(Succeed())
		Expect(env.Client.Delete(ctx, s)).To(Succeed())
		Expect(env.Client.Delete(ctx, read(a))).To(Succeed())
		Eventually(vanished(s)).Should(Succeed())
		Eventually(vanished(read(a))).Should(Succeed())
	})

	It("unless the kind was removed while no manager ran, which blocks neither", func() {
		n, k, a, s := pressAtNight()
		n.stop()
		Expect(env.Client.Delete(ctx, s)).To(Succeed())
		Expect(env.Client.Delete(ctx, read(a))).To(Succeed())
		Expect(k.Remove(ctx, env)).To(Succeed())
		n.start()
		Eventually(vanished(s)).Should(Succeed())
		Eventually(vanished(read(a))).Should(Succeed())
	})
})

// breakDiscovery makes the API server answer 503 to every request about the group of a kind, until the returned
// function is called. An API server does so if the server behind an aggregated API does not run.
func breakDiscovery(k customkind.Kind) (recover func()) {
	GinkgoHelper()
	service := &unstructured.Unstructured{}
	service.SetAPIVersion("apiregistration.k8s.io/v1")
	service.SetKind("APIService")
	service.SetName("v1." + k.Group)
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"kube-aggregator.kubernetes.io/automanaged": nil}},
		"spec": map[string]any{"service": map[string]any{"namespace": "default", "name": "nowhere", "port": 443},
			"insecureSkipTLSVerify": true},
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(env.Patch(ctx, service, string(body))).To(Succeed())
	reachable := func() error {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(k.Group + "/v1")
		list.SetKind("PressList")
		return env.Client.List(ctx, list)
	}
	Eventually(reachable).ShouldNot(Succeed())
	mended := false
	recover = func() {
		GinkgoHelper()
		if mended {
			return
		}
		mended = true
		// The API server creates its own APIService again, because the CustomResourceDefinition still exists.
		Expect(client.IgnoreNotFound(env.Client.Delete(ctx, service))).To(Succeed())
		Eventually(reachable).Should(Succeed())
	}
	DeferCleanup(recover)
	return recover
}

var _ = Describe("An adapter without sleeping objects", func() {
	It("can be deleted at any time", func() {
		n := managerAtNight()
		k := installKind()
		a := adapt(k.Adapter(".spec.replicas"))
		Eventually(adapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(beCondition(metav1.ConditionTrue, "Ready"))
		n.stop()
		Expect(env.Client.Delete(ctx, read(a))).To(Succeed())
		Expect(vanished(read(a))()).To(Succeed(), fmt.Sprintf("finalizers %v", a.Finalizers))
	})
})
