package tortoise

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// snatch deletes a policy and removes its finalizers, so that the policy does not wait until its values are restored.
func snatch(t *v1alpha1.Tortoise) {
	GinkgoHelper()
	Expect(env.Client.Delete(ctx, t)).To(Succeed())
	Expect(client.IgnoreNotFound(env.Patch(ctx, t, `{"metadata":{"finalizers":null}}`))).To(Succeed())
	Eventually(func() error { return suite.Vanished(ctx, env, t) }).Should(Succeed())
}

// orphan deletes an object without the objects that it owns.
func orphan(obj client.Object) {
	GinkgoHelper()
	Expect(env.Client.Delete(ctx, obj, client.PropagationPolicy(metav1.DeletePropagationOrphan))).To(Succeed())
	Eventually(func() error { return suite.Vanished(ctx, env, obj) }).Should(Succeed())
}

var _ = Describe("Pods that were changed in place for a Tortoise", func() {
	givenBack := func(ns string) {
		GinkgoHelper()
		Eventually(func(g Gomega) { g.Expect(asked(ns)(g)).To(Equal(map[string]int{own: len(podsOf(ns)(g))})) }).Should(Succeed())
	}

	It("are restored after a freeze although its finalizer was removed", func() {
		ns, clock, t := begin(v1alpha1.ApplyInPlace, nobody)
		manage(clock, t)
		inPlaceOn(ns)
		sizes := frozen(ns, "sizes", v1alpha1.ActionScale)
		isKnown(sizes)
		changed := uids(ns)(Default)
		snatch(t)
		// The bounds of the autoscaler are restored meanwhile, so the autoscaler may add pods. They have the values of their
		// template.
		suite.Still(func(g Gomega) {
			for name, p := range podsOf(ns)(g) {
				if changed[name] == p.UID {
					g.Expect(p.Spec.Containers[0].Resources.Requests.Memory().String()).NotTo(Equal("1Gi"), name)
				}
			}
		}).Should(Succeed())
		suite.Remove(ctx, env, sizes)
		givenBack(ns)
	})

	It("are restored by the next manager although the policy was deleted without its finalizer while none ran", func() {
		ns, clock, t := begin(v1alpha1.ApplyInPlace, nobody)
		m := manage(clock, t)
		inPlaceOn(ns)
		Expect(m.Stop()).To(Succeed())
		snatch(t)
		manage(clock, t)
		givenBack(ns)
		Eventually(func() error {
			return suite.Vanished(ctx, env, &v1alpha1.Recommendation{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "deployment.apps-web"}})
		}).Should(Succeed())
	})

	It("wait for a freeze that begins while they are restarted one after the other, and do not go on", func() {
		ns := suite.Namespace(ctx, env)
		restarted := strings.Replace(deployment, `resources: {`,
			`resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}], resources: {`, 1)
		var released atomic.Bool
		kubelet(ns, func(p corev1.Pod) bool { return p.Generation > 1 && !released.Load() })
		Expect(env.Apply(ctx, fmt.Appendf(nil, restarted, ns, "web"))).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(asked(ns)(g)).To(HaveKeyWithValue(own, 5))
			for _, p := range podsOf(ns)(g) {
				g.Expect(p.Status.ObservedGeneration).To(Equal(p.Generation))
			}
		}).Should(Succeed())
		remember(ns, learnt(ns))
		t := newTortoise(ns, v1alpha1.TortoiseAuto, inPlace(v1alpha1.ApplyInPlace))
		manage(clocktesting.NewFakeClock(noon.Add(time.Minute)), t)
		oneChanged := And(HaveKeyWithValue(own, 4), HaveLen(2))
		Eventually(asked(ns)).Should(oneChanged)
		sizes := frozen(ns, "sizes", v1alpha1.ActionScale)
		isKnown(sizes)
		released.Store(true)
		Eventually(waits(ns)).Should(ContainElement(ContainSubstring("ChangeFreeze/" + ns + "/sizes")))
		Expect(env.Client.Delete(ctx, t)).To(Succeed())
		suite.Still(asked(ns)).Should(oneChanged)
		suite.Remove(ctx, env, sizes)
		givenBack(ns)
	})

	It("stay as they are while the adapter of a kind between them and the target is deleted", func() {
		ns, clock, t := begin(v1alpha1.ApplyInPlace, nobody)
		manage(clock, t)
		inPlaceOn(ns)
		a := &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: "replicasets.apps"}}
		DeferCleanup(func() {
			Expect(env.InstallAdapters(ctx, a.Name)).To(Succeed())
			Expect(env.AwaitAdapters(ctx, a.Name)).To(Succeed())
		})
		Expect(env.Patch(ctx, a, `{"metadata":{"finalizers":["`+v1alpha1.FinalizerRestore+`"]}}`)).To(Succeed())
		suite.Remove(ctx, env, a)
		inPlaceOn(ns)
		suite.Remove(ctx, env, t)
		givenBack(ns)
	})

	It("are reported to keep their requests if nothing owns them any more", func() {
		ns, clock, t := begin(v1alpha1.ApplyInPlace, nobody)
		m := manage(clock, t)
		inPlaceOn(ns)
		Expect(m.Stop()).To(Succeed())
		meta := metav1.ObjectMeta{Namespace: ns, Name: "web"}
		suite.Remove(ctx, env, &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: meta})
		orphan(&appsv1.Deployment{ObjectMeta: meta})
		var sets appsv1.ReplicaSetList
		Expect(env.Client.List(ctx, &sets, client.InNamespace(ns))).To(Succeed())
		for i := range sets.Items {
			orphan(&sets.Items[i])
		}
		pods := len(podsOf(ns)(Default))
		manage(clock, t)
		Eventually(notes(ns, "RequestsKept")).Should(HaveLen(pods))
		Expect(asked(ns)(Default)).NotTo(HaveKey(own))
	})
})
