package adapters

import (
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/customkind"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// pressAtNight creates a kind with an adapter, an object of the kind, and a schedule that puts the object to sleep. The
// manager can be stopped and started.
func pressAtNight() (n *scene.Night, k customkind.Kind, a *v1alpha1.Adapter, s *v1alpha1.Schedule) {
	GinkgoHelper()
	n = scene.ManagerAtNight()
	ns := scene.NewNamespace()
	k = scene.InstallKind()
	a = scene.Adapt(k.Adapter(".spec.replicas"))
	scene.Press(k, ns, "daily", 3)
	s = scene.PressNights(ns, k)
	Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
	return n, k, a, s
}

// awake waits until the object of pressAtNight is as it was before the night.
func awake(k customkind.Kind, s *v1alpha1.Schedule) {
	GinkgoHelper()
	Eventually(scene.PressCount(k, s.Namespace, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))
	Eventually(scene.PressLedger(k, s.Namespace, "daily")).Should(BeEmpty())
}

var _ = Describe("Sleeping objects of an adapter are restored", func() {
	It("when the adapter is deleted, and sleeps again when it comes back", func() {
		_, k, a, s := pressAtNight()
		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Read(a))).To(Succeed())
		awake(k, s)
		Eventually(scene.Vanished(scene.Read(a))).Should(Succeed())
		Eventually(scene.ConditionOf(s.Namespace, s.Name, v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionFalse,
			"AdapterNotReady"))

		Expect(scene.Env.Client.Create(scene.Ctx, k.Adapter(".spec.replicas"))).To(Succeed())
		Eventually(scene.PressCount(k, s.Namespace, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
	})

	It("when the adapter was deleted while no manager ran", func() {
		n, k, a, s := pressAtNight()
		n.Stop()
		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Read(a))).To(Succeed())
		Expect(scene.Vanished(scene.Read(a))()).NotTo(Succeed())
		n.Start()
		awake(k, s)
		Eventually(scene.Vanished(scene.Read(a))).Should(Succeed())
	})

	It("when both the adapter and the schedule were deleted while no manager ran", func() {
		n, k, a, s := pressAtNight()
		n.Stop()
		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Read(a))).To(Succeed())
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		n.Start()
		awake(k, s)
		Eventually(scene.Vanished(scene.Read(a))).Should(Succeed())
	})

	It("when the adapter is deleted after it was broken", func() {
		_, k, a, s := pressAtNight()
		Expect(scene.Env.Patch(scene.Ctx, scene.Read(a), `{"spec":{"scale":[{"name":"main","replicas":".spec.copies"}]}}`)).To(Succeed())
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(HaveField("Status", metav1.ConditionFalse))
		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Read(a))).To(Succeed())
		awake(k, s)
		Eventually(scene.Vanished(scene.Read(a))).Should(Succeed())
	})

	It("when the schedule is deleted after the adapter was broken and repaired", func() {
		_, k, a, s := pressAtNight()
		Expect(scene.Env.Patch(scene.Ctx, scene.Read(a), `{"spec":{"scale":[{"name":"main","replicas":".spec.copies"}]}}`)).To(Succeed())
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(HaveField("Status", metav1.ConditionFalse))
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		Eventually(scene.ConditionOf(s.Namespace, s.Name, v1alpha1.ConditionReady)).Should(And(
			scene.BeCondition(metav1.ConditionFalse, "Restoring"), HaveField("Message", ContainSubstring("daily"))))
		Expect(scene.Env.Patch(scene.Ctx, scene.Read(a), `{"spec":{"scale":[{"name":"main","replicas":".spec.replicas"}]}}`)).To(Succeed())
		awake(k, s)
	})

	It("when the adapter is deleted after its finalizer was removed by hand: the finalizer is restored first", func() {
		n, k, a, s := pressAtNight()
		n.Stop()
		Expect(scene.Env.Patch(scene.Ctx, scene.Read(a), `{"metadata":{"finalizers":null}}`)).To(Succeed())
		n.Start()
		Eventually(scene.Finalizers(scene.Read(a))).Should(ContainElement(v1alpha1.FinalizerRestore))
		Expect(scene.Env.Patch(scene.Ctx, scene.Read(a), `{"metadata":{"finalizers":null}}`)).To(Succeed())
		Eventually(scene.Finalizers(scene.Read(a))).Should(ContainElement(v1alpha1.FinalizerRestore))
		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Read(a))).To(Succeed())
		awake(k, s)
		Eventually(scene.Vanished(scene.Read(a))).Should(Succeed())
	})

	It("when the schedule is deleted during trouble with discovery, once that is over", func() {
		n, k, a, s := pressAtNight()
		n.Stop()
		recover := breakDiscovery(k)
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		n.Start()
		Eventually(scene.AdapterCondition(a.Name, v1alpha1.ConditionServed)).Should(scene.BeCondition(metav1.ConditionFalse, "Unknown"))
		suite.Still(scene.Vanished(s)).ShouldNot(Succeed())
		recover()
		awake(k, s)
		Eventually(scene.Vanished(s)).Should(Succeed())
	})

	It("when the schedule is deleted while discovery breaks under a running manager, once that is over", func() {
		_, k, a, s := pressAtNight()
		recover := breakDiscovery(k)
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		suite.Still(scene.Vanished(s)).ShouldNot(Succeed())
		Expect(scene.Finalizers(scene.Read(a))(Default)).To(ContainElement(v1alpha1.FinalizerRestore))
		recover()
		Eventually(scene.Vanished(s)).Should(Succeed())
		awake(k, s)
	})

	It("when the adapter was edited to use another field while no manager ran", func() {
		n, k, a, s := pressAtNight()
		n.Stop()
		Expect(scene.Env.Patch(scene.Ctx, scene.Read(a),
			`{"spec":{"scale":[{"name":"main","replicas":".spec.pool.size","default":0}]}}`)).To(Succeed())
		n.Start()
		awake(k, s)
		Expect(scene.PressCount(k, s.Namespace, "daily", ".spec.pool.size")(Default)).To(BeEquivalentTo(-1), "a count that was absent is there")
	})

	It("unless the kind is removed, which blocks neither schedule nor adapter", func() {
		_, k, a, s := pressAtNight()
		Expect(k.Remove(scene.Ctx, scene.Env)).To(Succeed())
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Read(a))).To(Succeed())
		Eventually(scene.Vanished(s)).Should(Succeed())
		Eventually(scene.Vanished(scene.Read(a))).Should(Succeed())
	})

	It("unless the kind was removed while no manager ran, which blocks neither", func() {
		n, k, a, s := pressAtNight()
		n.Stop()
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Read(a))).To(Succeed())
		Expect(k.Remove(scene.Ctx, scene.Env)).To(Succeed())
		n.Start()
		Eventually(scene.Vanished(s)).Should(Succeed())
		Eventually(scene.Vanished(scene.Read(a))).Should(Succeed())
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
	Expect(scene.Env.Patch(scene.Ctx, service, string(body))).To(Succeed())
	reachable := func() error {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(k.Group + "/v1")
		list.SetKind("PressList")
		return scene.Env.Client.List(scene.Ctx, list)
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
		Expect(client.IgnoreNotFound(scene.Env.Client.Delete(scene.Ctx, service))).To(Succeed())
		Eventually(reachable).Should(Succeed())
	}
	DeferCleanup(recover)
	return recover
}

var _ = Describe("An adapter without sleeping objects", func() {
	It("can be deleted at any time", func() {
		n := scene.ManagerAtNight()
		k := scene.InstallKind()
		a := scene.Adapt(k.Adapter(".spec.replicas"))
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "Ready"))
		n.Stop()
		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Read(a))).To(Succeed())
		Expect(scene.Vanished(scene.Read(a))()).To(Succeed(), fmt.Sprintf("finalizers %v", a.Finalizers))
	})
})
