package tortoise

import (
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// inPlace has a Tortoise change pods.
func inPlace(apply v1alpha1.VerticalApply) func(*v1alpha1.TortoiseSpec) {
	return func(s *v1alpha1.TortoiseSpec) { s.Vertical.Apply = apply }
}

// podsOf are the pods of web that live, by name.
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

// asked is what the containers of all pods of web ask for: one text where that is the same for all.
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

// uids are those of the pods of web.
func uids(namespace string) func(Gomega) map[string]types.UID {
	return func(g Gomega) map[string]types.UID {
		all := map[string]types.UID{}
		for name, p := range podsOf(namespace)(g) {
			all[name] = p.UID
		}
		return all
	}
}

// own is what the template of web asks for.
const own = "1 1Gi limit 2Gi"

// sayOf has the node of a pod say something of a change in place, as its kubelet would.
func sayOf(namespace, pod string, kind corev1.PodConditionType, reason, message string) {
	GinkgoHelper()
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
		"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": "2037-01-05T12:00:00Z"}}}})
	Expect(err).NotTo(HaveOccurred())
	p := &corev1.Pod{}
	p.Namespace, p.Name = namespace, pod
	Expect(env.Client.Status().Patch(ctx, p, client.RawPatch(types.StrategicMergePatchType, patch))).To(Succeed())
}

// resized is what a Recommendation tells of pods.
func resized(namespace string) func(Gomega) v1alpha1.ResizedPods {
	return func(g Gomega) v1alpha1.ResizedPods {
		st := recommendation(namespace, "web")(g)
		g.Expect(st.Pods).NotTo(BeNil())
		return *st.Pods
	}
}

// tuned is what all pods are to ask for by the Recommendation of web.
func tuned(g Gomega, namespace string) string {
	st := recommendation(namespace, "web")(g)
	g.Expect(st.Containers).To(HaveLen(1))
	memory := st.Containers[0].Memory.Recommended
	limit := memory.DeepCopy()
	limit.Add(memory)
	return fmt.Sprintf("%s %s limit %s", st.Containers[0].CPU.Recommended.String(), memory.String(), limit.String())
}

var _ = Describe("A Tortoise that changes pods in place", func() {
	// steady has a manager tune web by four days of history; a policy is there already.
	begin := func(apply v1alpha1.VerticalApply) (ns string, clock *clocktesting.FakeClock, t *v1alpha1.Tortoise) {
		GinkgoHelper()
		ns = web()
		Eventually(asked(ns)).Should(HaveKeyWithValue(own, 5))
		remember(ns, learnt(ns))
		clock = clocktesting.NewFakeClock(noon.Add(time.Minute))
		t = newTortoise(ns, v1alpha1.TortoiseAuto, inPlace(apply))
		return ns, clock, t
	}
	inPlaceOn := func(ns string) {
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

	It("changes those that run, leaves the template alone, and gives back what the template asks for when it is deleted", func() {
		ns, clock, t := begin(v1alpha1.ApplyInPlace)
		before := owned(&appsv1.Deployment{}, ns, "web")(Default)
		first := uids(ns)(Default)
		m := env.Start(optionsAt(clock))
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
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

		By("resizing a pod that comes")
		for name := range first {
			Expect(env.Client.Delete(ctx, &corev1.Pod{ObjectMeta: podsOf(ns)(Default)[name].ObjectMeta})).To(Succeed())
			break
		}
		Eventually(func(g Gomega) { g.Expect(uids(ns)(g)).NotTo(Equal(first)) }).Should(Succeed())
		inPlaceOn(ns)

		By("writing no pod twice")
		versions := func(g Gomega) map[string]string {
			all := map[string]string{}
			for name, p := range podsOf(ns)(g) {
				for _, f := range p.ManagedFields {
					if f.Subresource == "resize" {
						all[name] = f.Manager + f.Time.String()
					}
				}
			}
			return all
		}
		wrote := versions(Default)
		Consistently(versions).WithTimeout(3 * time.Second).Should(Equal(wrote))

		By("deleting it while no manager runs")
		Expect(m.Stop()).To(Succeed())
		Expect(env.Client.Delete(ctx, t)).To(Succeed())
		m = env.Start(optionsAt(clock))
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		Eventually(func() error { return suite.Vanished(ctx, env, t) }).Should(Succeed())
		Expect(asked(ns)(Default)).To(Equal(map[string]int{own: len(podsOf(ns)(Default))}))
		Expect(owned(d, ns, "web")(Default)).To(Equal(before))
		Expect(m.Stop()).To(Succeed())
	})

	It("tells what nodes say, and rolls nothing out for it", func() {
		ns, clock, _ := begin(v1alpha1.ApplyInPlace)
		m := env.Start(optionsAt(clock))
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
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
		Expect(m.Stop()).To(Succeed())
	})

	It("changes the template where a node cannot, and stays with that", func() {
		ns, clock, _ := begin(v1alpha1.ApplyInPlaceOrRollOut)
		m := env.Start(optionsAt(clock))
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
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
		m = env.Start(optionsAt(clock))
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		Eventually(func(g Gomega) { g.Expect(string(readyOf(ns)(g).Status)).To(Equal("True")) }).Should(Succeed())
		Consistently(inTemplate).WithTimeout(5 * time.Second).Should(Succeed())
		Expect(m.Stop()).To(Succeed())
	})

	It("gives pods back with mode Off, and where it selects them no more", func() {
		ns, clock, t := begin(v1alpha1.ApplyInPlace)
		m := env.Start(optionsAt(clock))
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
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
		Expect(m.Stop()).To(Succeed())
	})
})
