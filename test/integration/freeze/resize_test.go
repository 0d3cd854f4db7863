package freeze

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("A change of a pod in place", func() {
	// running creates a Deployment and returns its pod. The pod's node can change pods in place.
	running := func(ns string) *corev1.Pod {
		GinkgoHelper()
		apply(`
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %s, name: sized}
spec:
  replicas: 1
  selector: {matchLabels: {app: sized}}
  template:
    metadata: {labels: {app: sized}}
    spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: "example.com/app:1", resources: {requests: {cpu: 100m}}}]}
`, ns)
		var pods corev1.PodList
		Eventually(func(g Gomega) {
			g.Expect(env.Client.List(ctx, &pods, client.InNamespace(ns), client.MatchingLabels{"app": "sized"})).To(Succeed())
			g.Expect(pods.Items).To(HaveLen(1))
			g.Expect(pods.Items[0].Status.Phase).To(Equal(corev1.PodRunning))
		}).Should(Succeed())
		pod := &pods.Items[0]
		Expect(env.Client.Status().Patch(ctx, pod, client.RawPatch(types.StrategicMergePatchType,
			[]byte(`{"status":{"containerStatuses":[{"name":"main","resources":{"requests":{"cpu":"100m"}}}]}}`)))).To(Succeed())
		return pod
	}
	resize := func(pod *corev1.Pod, cpu string, opts ...client.SubResourcePatchOption) error {
		patch := fmt.Appendf(nil, `{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":%q}}}]}}`, cpu)
		return as("alice").SubResource("resize").Patch(ctx, pod.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, patch), opts...)
	}

	It("scales the pod's owner, and is no roll-out of it", func() {
		ns := newNamespace()
		pod := running(ns)
		freezing(ns, "releases", "RollOut")
		Eventually(configuration).ShouldNot(BeNil())
		Expect(resize(pod, "200m")).To(Succeed())
		freezing(ns, "sizes", "Scale")
		eventuallyRefused(func() error { return resize(pod, "300m", client.DryRunAll) })
		Expect(resize(pod, "300m")).To(BeRefused("ChangeFreeze/" + ns + "/sizes denies Scale"))
		Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		Expect(pod.Spec.Containers[0].Resources.Requests.Cpu().String()).To(Equal("200m"))
	})
})
