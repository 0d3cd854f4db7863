package tortoise

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// kubelet makes the nodes of a namespace's pods support changes in place and carry them out, as kubelets do. It writes
// the resources of running containers, and the observed generation of each pod. KWOK does neither. It skips the pods
// for which held returns true. It ends with the spec.
func kubelet(namespace string, held func(corev1.Pod) bool) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			var list corev1.PodList
			if err := env.Client.List(ctx, &list, client.InNamespace(namespace)); err == nil {
				for _, p := range list.Items {
					if p.Status.Phase == corev1.PodRunning && p.Status.ObservedGeneration != p.Generation && !held(p) {
						look(&p)
					}
				}
			}
			select {
			case <-done:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
	}()
	DeferCleanup(func() { close(done); <-ended })
}

// look does the work of a kubelet for a pod. If the pod has changed meanwhile, this is done the next time.
func look(p *corev1.Pod) {
	next := p.DeepCopy()
	for i, c := range p.Spec.Containers {
		next.Status.ContainerStatuses[i].Resources = c.Resources.DeepCopy()
	}
	next.Status.ObservedGeneration = p.Generation
	_ = env.Client.Status().Patch(ctx, next, client.MergeFromWithOptions(p, client.MergeFromWithOptimisticLock{}))
}

func nobody(corev1.Pod) bool { return false }

// shrink makes the node of a pod of web smaller than the pod's future request. It takes a pod that remains however far
// web is scaled down. A real kubelet would keep the running pods, and so does KWOK.
func shrink(namespace string) (node string) {
	GinkgoHelper()
	for _, p := range podsOf(namespace)(Default) {
		Expect(env.Client.Patch(ctx, &p, client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"controller.kubernetes.io/pod-deletion-cost":"100"}}}`)))).To(Succeed())
		node = p.Spec.NodeName
		break
	}
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
	Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(n), n)).To(Succeed())
	allocate := func(cpu string) {
		GinkgoHelper()
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"status":{"allocatable":{"cpu":%q}}}`, cpu))
		Expect(env.Client.Status().Patch(ctx, n.DeepCopy(), patch)).To(Succeed())
	}
	DeferCleanup(allocate, n.Status.Allocatable.Cpu().String())
	allocate("10m")
	return node
}
