package tortoise

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// inPlace sets the way in which a Tortoise changes pods.
func inPlace(apply v1alpha1.VerticalApply) func(*v1alpha1.TortoiseSpec) {
	return func(s *v1alpha1.TortoiseSpec) { s.Vertical.Apply = apply }
}

// podsOf returns the pods of web that are not being deleted, by name.
func podsOf(namespace string) func(Gomega) map[string]corev1.Pod {
	return func(g Gomega) map[string]corev1.Pod {
		var list corev1.PodList
		g.Expect(env.Client.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{"app": "web"})).To(Succeed())
		pods := map[string]corev1.Pod{}
		for _, p := range list.Items {
			if p.DeletionTimestamp == nil {
				pods[p.Name] = p
			}
		}
		return pods
	}
}

// asked counts the pods of web by the requests of their containers.
func asked(namespace string) func(Gomega) map[string]int {
	return func(g Gomega) map[string]int {
		count := map[string]int{}
		for _, p := range podsOf(namespace)(g) {
			r := p.Spec.Containers[0].Resources
			count[fmt.Sprintf("%s %s limit %s", r.Requests.Cpu(), r.Requests.Memory(), r.Limits.Memory())]++
		}
		return count
	}
}

// uids returns the UIDs of the pods of web, by name.
func uids(namespace string) func(Gomega) map[string]types.UID {
	return func(g Gomega) map[string]types.UID {
		all := map[string]types.UID{}
		for name, p := range podsOf(namespace)(g) {
			all[name] = p.UID
		}
		return all
	}
}

// own has the requests in the template of web, as text. onlyOwn matches pods that all have them, whose number an autoscaler may change.
const own = "1 1Gi limit 2Gi"

var onlyOwn = And(HaveLen(1), HaveKey(own))

// sayOf sets a condition of a pod about a change in place, as the kubelet of its node would.
func sayOf(namespace, pod string, kind corev1.PodConditionType, reason, message string) {
	GinkgoHelper()
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
		"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": "2037-01-05T12:00:00Z"}}}})
	Expect(err).NotTo(HaveOccurred())
	p := &corev1.Pod{}
	p.Namespace, p.Name = namespace, pod
	Expect(env.Client.Status().Patch(ctx, p, client.RawPatch(types.StrategicMergePatchType, patch))).To(Succeed())
}

// resized reads what a Recommendation reports about changes of pods.
func resized(namespace string) func(Gomega) v1alpha1.ResizedPods {
	return func(g Gomega) v1alpha1.ResizedPods {
		st := recommendation(namespace, "web")(g)
		g.Expect(st.Pods).NotTo(BeNil())
		return *st.Pods
	}
}

// tuned returns the requests that the Recommendation of web wants for all pods, as text.
func tuned(g Gomega, namespace string) string {
	st := recommendation(namespace, "web")(g)
	g.Expect(st.Containers).To(HaveLen(1))
	memory := st.Containers[0].Memory.Recommended
	limit := memory.DeepCopy()
	limit.Add(memory)
	return fmt.Sprintf("%s %s limit %s", st.Containers[0].CPU.Recommended.String(), memory.String(), limit.String())
}

// resizers returns, for each pod of web, the field manager that has changed the pod in place, and the pod's present
// generation.
func resizers(namespace string) func(Gomega) map[string]string {
	return func(g Gomega) map[string]string {
		all := map[string]string{}
		for name, p := range podsOf(namespace)(g) {
			for _, f := range p.ManagedFields {
				if f.Subresource == "resize" {
					all[name] = fmt.Sprintf("%s %d", f.Manager, p.Generation)
				}
			}
		}
		return all
	}
}

// waits lists the reasons in the Tortoise's status for which its targets wait.
func waits(namespace string) func(Gomega) []string {
	return func(g Gomega) (all []string) {
		var t v1alpha1.Tortoise
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "tuned"}, &t)).To(Succeed())
		for _, w := range t.Status.Waiting {
			all = append(all, w.Message)
		}
		return all
	}
}

// manage runs a manager until the end of the spec. The end of the spec deletes the Tortoise before it stops the
// manager.
func manage(clock *clocktesting.FakeClock, t *v1alpha1.Tortoise) *harness.Manager {
	GinkgoHelper()
	m := env.Start(optionsAt(clock))
	DeferCleanup(func() {
		suite.Remove(ctx, env, t)
		Expect(m.Stop()).To(Succeed())
	})
	return m
}

// begin starts a manager that tunes web from four days of history. The policy exists before the manager starts. Nodes
// carry out changes in place, except for pods for which held returns true.
func begin(apply v1alpha1.VerticalApply, held func(corev1.Pod) bool) (ns string, clock *clocktesting.FakeClock, t *v1alpha1.Tortoise) {
	GinkgoHelper()
	ns = web()
	kubelet(ns, held)
	Eventually(func(g Gomega) {
		g.Expect(asked(ns)(g)).To(HaveKeyWithValue(own, 5))
		for _, p := range podsOf(ns)(g) {
			g.Expect(p.Status.ObservedGeneration == p.Generation || held(p)).To(BeTrue())
		}
	}).Should(Succeed())
	remember(ns, learnt(ns))
	clock = clocktesting.NewFakeClock(noon.Add(time.Minute))
	t = newTortoise(ns, v1alpha1.TortoiseAuto, inPlace(apply))
	return ns, clock, t
}

// inPlaceOn waits until all pods of web are changed and the Recommendation reports this.
func inPlaceOn(ns string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		pods := len(podsOf(ns)(g))
		g.Expect(asked(ns)(g)).To(HaveKeyWithValue(tuned(g, ns), pods))
		g.Expect(resized(ns)(g)).To(Equal(v1alpha1.ResizedPods{Total: int32(pods), Resized: int32(pods)}))
		st := recommendation(ns, "web")(g)
		g.Expect(st.Containers[0].Memory.Applied).To(BeTrue())
		g.Expect(st.Containers[0].CPU.Applied).To(BeTrue())
	}).Should(Succeed())
}

// frozen creates a freeze in a namespace that denies an action, on some kinds or on all.
func frozen(ns, name string, deny v1alpha1.Action, kinds ...v1alpha1.KindRef) *v1alpha1.ChangeFreeze {
	GinkgoHelper()
	f := &v1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	f.Spec.StartTime, f.Spec.EndTime, f.Spec.Deny = metav1.NewTime(noon.Add(-time.Hour)), metav1.NewTime(noon.Add(24*time.Hour)),
		[]v1alpha1.Action{deny}
	f.Spec.Target.Kinds = kinds
	Expect(env.Client.Create(ctx, f)).To(Succeed())
	DeferCleanup(func() { suite.Remove(ctx, env, f) })
	return f
}

// isKnown waits until a manager knows a freeze.
func isKnown(f *v1alpha1.ChangeFreeze) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(f), f)).To(Succeed())
		g.Expect(f.Status.ObservedGeneration).To(Equal(f.Generation))
	}).Should(Succeed())
}

var _ = Describe("A Tortoise that changes pods in place", func() {
	It("changes running pods, leaves the template alone, and restores the template's requests when it is deleted", func() {
		ns, clock, t := begin(v1alpha1.ApplyInPlace, nobody)
		before := owned(&appsv1.Deployment{}, ns, "web")(Default)
		first := uids(ns)(Default)
		m := manage(clock, t)
		inPlaceOn(ns)
		d := &appsv1.Deployment{}
		Expect(owned(d, ns, "web")(Default)).To(Equal(before))
		Expect(writers(d)).NotTo(ContainElement("flyball"))
		for name, uid := range uids(ns)(Default) {
			if had, old := first[name]; old {
				Expect(uid).To(Equal(had))
			}
		}
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(t), t)).To(Succeed())
			g.Expect(t.Status.Pods).NotTo(BeNil())
			g.Expect(t.Status.Pods.Resized).To(Equal(t.Status.Pods.Total))
		}).Should(Succeed())

		By("resizing a new pod")
		// The autoscaler removes pods meanwhile, because its minimum is lower than before. No pod then replaces a removed
		// pod.
		Eventually(func(g Gomega) {
			var old corev1.Pod
			for name, pod := range podsOf(ns)(g) {
				if old = pod; first[name] != pod.UID {
					return
				}
			}
			g.Expect(client.IgnoreNotFound(env.Client.Delete(ctx, &old))).To(Succeed())
			g.Expect(old.Name).To(BeEmpty(), "no pod has come")
		}).WithPolling(2 * time.Second).Should(Succeed())
		inPlaceOn(ns)

		By("writing no pod twice")
		wrote := resizers(ns)(Default)
		still(func(g Gomega) {
			by, here := resizers(ns)(g), podsOf(ns)(g)
			for name, had := range wrote {
				g.Expect(by[name] == had || here[name].Name == "").To(BeTrue(), name)
			}
		}).Should(Succeed())

		By("deleting it while no manager runs")
		Expect(m.Stop()).To(Succeed())
		Expect(env.Client.Delete(ctx, t)).To(Succeed())
		manage(clock, t)
		Eventually(func() error { return suite.Vanished(ctx, env, t) }).Should(Succeed())
		Expect(asked(ns)(Default)).To(onlyOwn)
		Expect(owned(d, ns, "web")(Default)).To(Equal(before))
	})

	It("reports the nodes' answers, without a roll-out", func() {
		ns, clock, t := begin(v1alpha1.ApplyInPlace, nobody)
		manage(clock, t)
		inPlaceOn(ns)
		var names []string
		for name := range podsOf(ns)(Default) {
			names = append(names, name)
		}
		sayOf(ns, names[0], "PodResizePending", "Deferred", "Node didn't have enough resource: cpu")
		sayOf(ns, names[1], "PodResizePending", "Infeasible", "Node didn't have enough capacity: memory")
		sayOf(ns, names[2], "PodResizeInProgress", "", "")
		Eventually(resized(ns)).Should(And(HaveField("Deferred", BeEquivalentTo(1)), HaveField("Infeasible", BeEquivalentTo(1)),
			HaveField("InProgress", BeEquivalentTo(1)), HaveField("Message", ContainSubstring("Node didn't have enough"))))
		Expect(recommendation(ns, "web")(Default).Containers[0].CPU.Applied).To(BeFalse())
		Expect(requests(ns, "web")(Default)).To(HaveKeyWithValue("memory", "1Gi"))
	})

	It("changes the template if a node cannot change a pod, and stays with the template", func() {
		ns, clock, t := begin(v1alpha1.ApplyInPlaceOrRollOut, nobody)
		m := manage(clock, t)
		inPlaceOn(ns)
		Expect(requests(ns, "web")(Default)).To(HaveKeyWithValue("memory", "1Gi"))
		for name := range podsOf(ns)(Default) {
			sayOf(ns, name, "PodResizePending", "Infeasible", "Node didn't have enough capacity: memory")
			break
		}
		inTemplate := func(g Gomega) {
			st := recommendation(ns, "web")(g)
			g.Expect(requests(ns, "web")(g)).To(And(HaveKeyWithValue("cpu", st.Containers[0].CPU.Recommended.String()),
				HaveKeyWithValue("memory", st.Containers[0].Memory.Recommended.String())))
			g.Expect(st.Containers[0].Memory.Applied).To(BeTrue())
			g.Expect(st.Pods).To(BeNil())
		}
		Eventually(inTemplate).Should(Succeed())
		Eventually(func(g Gomega) { g.Expect(asked(ns)(g)).To(HaveKeyWithValue(tuned(g, ns), len(podsOf(ns)(g)))) }).Should(Succeed())
		Expect(m.Stop()).To(Succeed())

		By("restarting")
		manage(clock, t)
		Eventually(func(g Gomega) { g.Expect(string(readyOf(ns)(g).Status)).To(Equal("True")) }).Should(Succeed())
		still(inTemplate).Should(Succeed())
	})

	It("restores pods with mode Off, and when it no longer selects them", func() {
		ns, clock, t := begin(v1alpha1.ApplyInPlace, nobody)
		manage(clock, t)
		inPlaceOn(ns)
		edit := func(change func(*v1alpha1.TortoiseSpec)) {
			GinkgoHelper()
			Eventually(func() error {
				if err := env.Client.Get(ctx, client.ObjectKeyFromObject(t), t); err != nil {
					return err
				}
				change(&t.Spec)
				return env.Client.Update(ctx, t)
			}).Should(Succeed())
		}
		back := func(g Gomega) { g.Expect(asked(ns)(g)).To(Equal(map[string]int{own: len(podsOf(ns)(g))})) }
		edit(func(s *v1alpha1.TortoiseSpec) { s.Mode = v1alpha1.TortoiseOff })
		Eventually(back).Should(Succeed())
		edit(func(s *v1alpha1.TortoiseSpec) { s.Mode = v1alpha1.TortoiseAuto })
		inPlaceOn(ns)
		edit(func(s *v1alpha1.TortoiseSpec) {
			s.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "StatefulSet"}}
		})
		Eventually(back).Should(Succeed())
	})

	It("names pods whose nodes do not support it, and changes the template if the spec asks for it", func() {
		ns, clock, t := begin(v1alpha1.ApplyInPlace, func(corev1.Pod) bool { return true })
		manage(clock, t)
		Eventually(resized(ns)).Should(And(HaveField("Infeasible", BeNumerically(">", 0)), HaveField("Resized", BeZero()),
			HaveField("Waiting", BeZero()),
			HaveField("Message", ContainSubstring("its node does not support changes in place"))))
		Eventually(waits(ns)).Should(ContainElement(And(ContainSubstring("cannot be changed in place"),
			ContainSubstring("its node does not support"))))
		Expect(requests(ns, "web")(Default)).To(HaveKeyWithValue("memory", "1Gi"))
		Expect(asked(ns)(Default)).To(onlyOwn)
		Eventually(func() error {
			if err := env.Client.Get(ctx, client.ObjectKeyFromObject(t), t); err != nil {
				return err
			}
			t.Spec.Vertical.Apply = v1alpha1.ApplyInPlaceOrRollOut
			return env.Client.Update(ctx, t)
		}).Should(Succeed())
		Eventually(func(g Gomega) { g.Expect(asked(ns)(g)).To(HaveKeyWithValue(tuned(g, ns), len(podsOf(ns)(g)))) }).Should(Succeed())
		Expect(requests(ns, "web")(Default)).NotTo(HaveKeyWithValue("memory", "1Gi"))
	})

	It("names pods that the API server refuses to change, changes all others, and is deleted without them", func() {
		ns, clock, t := begin(v1alpha1.ApplyInPlace, nobody)
		small := shrink(ns)
		manage(clock, t)
		Eventually(func(g Gomega) {
			held, pods := 0, podsOf(ns)(g)
			for _, p := range pods {
				if p.Spec.NodeName == small {
					held++
				}
			}
			g.Expect(held).To(BeNumerically(">", 0))
			g.Expect(asked(ns)(g)).To(And(HaveKeyWithValue(own, held), HaveKeyWithValue(tuned(g, ns), len(pods)-held)))
			g.Expect(resized(ns)(g)).To(And(HaveField("Infeasible", BeEquivalentTo(held)), HaveField("Resized", BeEquivalentTo(len(pods)-held))))
			g.Expect(waits(ns)(g)).To(ContainElement(ContainSubstring("the API server refuses the change")))
		}).Should(Succeed())
		Expect(requests(ns, "web")(Default)).To(HaveKeyWithValue("memory", "1Gi"))
		Expect(env.Client.Delete(ctx, t)).To(Succeed())
		Eventually(func() error { return suite.Vanished(ctx, env, t) }).Should(Succeed())
		Expect(asked(ns)(Default)).To(onlyOwn)
	})

	It("knows the outstanding work of nodes, also after a restart", func() {
		var released atomic.Bool
		ns, clock, t := begin(v1alpha1.ApplyInPlace, func(p corev1.Pod) bool { return p.Generation > 1 && !released.Load() })
		m := manage(clock, t)
		inProgress := func(g Gomega) {
			pods := len(podsOf(ns)(g))
			g.Expect(asked(ns)(g)).To(HaveKeyWithValue(tuned(g, ns), pods))
			got := resized(ns)(g)
			got.Message = ""
			g.Expect(got).To(Equal(v1alpha1.ResizedPods{Total: int32(pods), InProgress: int32(pods)}))
			g.Expect(recommendation(ns, "web")(g).Containers[0].Memory.Applied).To(BeFalse())
		}
		Eventually(inProgress).Should(Succeed())
		wrote := resizers(ns)(Default)
		Expect(m.Stop()).To(Succeed())
		manage(clock, t)
		Eventually(func(g Gomega) { g.Expect(string(readyOf(ns)(g).Status)).To(Equal("True")) }).Should(Succeed())
		Eventually(inProgress).Should(Succeed())
		for name, by := range resizers(ns)(Default) {
			if _, old := wrote[name]; old {
				Expect(by).To(Equal(wrote[name]))
			}
		}
		released.Store(true)
		inPlaceOn(ns)
	})

	It("waits only for a freeze that denies Scale, with changes and with the restore", func() {
		ns, clock, t := begin(v1alpha1.ApplyInPlace, nobody)
		frozen(ns, "releases", v1alpha1.ActionRollOut)
		sizes := frozen(ns, "sizes", v1alpha1.ActionScale)
		manage(clock, t)
		Eventually(waits(ns)).Should(ContainElement(ContainSubstring("ChangeFreeze/" + ns + "/sizes")))
		Expect(asked(ns)(Default)).To(onlyOwn)
		Expect(env.Client.Delete(ctx, sizes)).To(Succeed())
		inPlaceOn(ns)

		By("deleting it during the next one")
		// The freeze names only Deployments. But the originals of pods come from the template of their ReplicaSet.
		sizes = frozen(ns, "more-sizes", v1alpha1.ActionScale, v1alpha1.KindRef{Group: "apps", Kind: "Deployment"})
		isKnown(sizes)
		Expect(env.Client.Delete(ctx, t)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(t), t)).To(Succeed())
			g.Expect(readyOf(ns)(g).Message).To(ContainSubstring("ChangeFreeze/" + ns + "/more-sizes"))
		}).Should(Succeed())
		Expect(env.Client.Delete(ctx, sizes)).To(Succeed())
		Eventually(func() error { return suite.Vanished(ctx, env, t) }).Should(Succeed())
		Expect(asked(ns)(Default)).To(onlyOwn)
	})
})
