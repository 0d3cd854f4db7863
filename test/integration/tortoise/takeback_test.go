package tortoise

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// short is the Deployment with too little memory. Its pods use 100Mi and request 64Mi, so requests grow to 125Mi. The
// limit grows from 1Gi to 2000Mi.
var short = strings.NewReplacer("memory: 1Gi", "memory: 64Mi", "memory: 2Gi", "memory: 1Gi").Replace(deployment)

// scopedQuota creates a quota with a scope for the memory limits of pods. Flyball does not consider quotas with scopes,
// so the API server refuses pods.
func scopedQuota(ns, memory string) {
	GinkgoHelper()
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "scoped"}}
	q.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeNotTerminating}
	q.Spec.Hard = corev1.ResourceList{corev1.ResourceLimitsMemory: resource.MustParse(memory)}
	Expect(env.Client.Create(ctx, q)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(q), q)).To(Succeed())
		g.Expect(q.Status.Used).To(HaveKey(corev1.ResourceLimitsMemory))
	}).Should(Succeed())
}

// smallNode creates a node with the given memory for pods that select it. Pods without the toleration stay away: one pod of another spec
// would take the room of the last one.
func smallNode(memory string) (name string) {
	GinkgoHelper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{GenerateName: "small-", Labels: map[string]string{},
		Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "small", Effect: corev1.TaintEffectNoSchedule}}}}
	Expect(env.Client.Create(ctx, n)).To(Succeed())
	DeferCleanup(func() { suite.Remove(ctx, env, n) })
	Expect(env.Patch(ctx, n, fmt.Sprintf(`{"metadata":{"labels":{"small":%q}}}`, n.Name))).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(n), n)).To(Succeed())
		g.Expect(n.Status.Allocatable).NotTo(BeEmpty())
	}).Should(Succeed())
	patch := fmt.Appendf(nil, `{"status":{"allocatable":{"memory":%[1]q},"capacity":{"memory":%[1]q}}}`, memory)
	Expect(env.Client.Status().Patch(ctx, n, client.RawPatch("application/merge-patch+json", patch))).To(Succeed())
	return n.Name
}

// tunedWorkload is the workload that a spec tunes: its kind, and how its template and its pods are read.
type tunedWorkload struct {
	kind     string
	manifest func(ns string) string
	obstacle func(ns string)
	// why is the reason in the refusal of pods.
	why string
}

func (w tunedWorkload) read(g Gomega, ns string) (template corev1.PodSpec, available int32, obj client.Object) {
	key := client.ObjectKey{Namespace: ns, Name: "web"}
	if w.kind == "StatefulSet" {
		var s appsv1.StatefulSet
		g.Expect(env.Client.Get(ctx, key, &s)).To(Succeed())
		return s.Spec.Template.Spec, s.Status.AvailableReplicas, &s
	}
	var d appsv1.Deployment
	g.Expect(env.Client.Get(ctx, key, &d)).To(Succeed())
	return d.Spec.Template.Spec, d.Status.AvailableReplicas, &d
}

var _ = Describe("A roll-out of requests that does not become ready", func() {
	DescribeTable("is taken back after ten minutes, names the cause of the refusal, and is not tried again until the policy changes",
		func(w tunedWorkload) {
			ns := suite.Namespace(ctx, env)
			Expect(env.Apply(ctx, []byte(w.manifest(ns)))).To(Succeed())
			memory := func(g Gomega) string {
				template, _, _ := w.read(g, ns)
				return template.Containers[0].Resources.Requests.Memory().String()
			}
			available := func(g Gomega) int32 { _, n, _ := w.read(g, ns); return n }
			Eventually(available).Should(BeEquivalentTo(5))
			w.obstacle(ns)
			_, _, obj := w.read(Default, ns)
			rememberFor(v1alpha1.TunedTarget{Group: "apps", Kind: w.kind, Name: "web"}, obj, learnt(ns))
			told := func(g Gomega) v1alpha1.RecommendationStatus {
				var r v1alpha1.Recommendation
				g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: strings.ToLower(w.kind) + ".apps-web"}, &r)).To(Succeed())
				return r.Status
			}
			clock := clocktesting.NewFakeClock(noon.Add(time.Minute))
			t := newTortoise(ns, v1alpha1.TortoiseAuto, func(s *v1alpha1.TortoiseSpec) { s.Target.Kinds[0].Kind = w.kind })
			m := manage(clock, t)
			Eventually(memory).Should(Equal("125Mi"))
			Eventually(available).Should(BeNumerically("<", 5))
			By("waiting for ten minutes since the last pod became ready")
			Eventually(func(g Gomega) {
				step(clock, time.Minute)
				g.Expect(memory(g)).To(Equal("64Mi"))
			}).Should(Succeed())
			Eventually(available).Should(BeEquivalentTo(5))
			isTold := func(g Gomega) {
				st := told(g)
				g.Expect(st.TakenBack).NotTo(BeNil())
				g.Expect(st.TakenBack.Message).To(ContainSubstring(w.why))
				g.Expect(st.TakenBack.Containers).To(HaveLen(1))
				g.Expect(st.TakenBack.Containers[0].Memory.String()).To(Equal("125Mi"))
				g.Expect(readyOf(ns)(g)).To(And(HaveField("Reason", "TargetsFailed"), HaveField("Message", ContainSubstring(w.why))))
				var events eventsv1.EventList
				g.Expect(env.Client.List(ctx, &events, client.InNamespace(ns))).To(Succeed())
				g.Expect(events.Items).To(ContainElement(And(HaveField("Reason", "TakenBack"), HaveField("Note", ContainSubstring(w.why)))))
			}
			Eventually(isTold).Should(Succeed())

			By("starting another manager after a cooldown")
			Expect(m.Stop()).To(Succeed())
			m = harnessAt(clock.Now().Add(3*time.Hour), t)
			Eventually(isTold).Should(Succeed())
			Eventually(tunedMemory(m, ns, "proposed")).ShouldNot(BeEmpty()) // it has looked
			still(memory).Should(Equal("64Mi"))

			By("editing the policy")
			Expect(env.Patch(ctx, t, `{"spec":{"vertical":{"maxStepUp":"90%"}}}`)).To(Succeed())
			Eventually(func(g Gomega) { g.Expect(told(g).TakenBack).To(BeNil()) }).Should(Succeed())
		},
		Entry("a Deployment that is made anew, in a quota", tunedWorkload{
			kind: "Deployment", why: "exceeded quota: scoped", obstacle: func(ns string) { scopedQuota(ns, "5Gi") },
			manifest: func(ns string) string {
				return fmt.Sprintf(strings.Replace(short, "replicas: 5", "replicas: 5\n  strategy: {type: Recreate}", 1), ns, "web")
			},
		}),
		Entry("a StatefulSet in a quota", tunedWorkload{
			kind: "StatefulSet", why: "exceeded quota: scoped", obstacle: func(ns string) { scopedQuota(ns, "5Gi") },
			manifest: func(ns string) string {
				return fmt.Sprintf(strings.Replace(short, "kind: Deployment", "kind: StatefulSet", 1), ns, "web")
			},
		}),
		Entry("a Deployment whose node is too small", func() tunedWorkload {
			var node string
			return tunedWorkload{
				kind: "Deployment", why: "Insufficient memory", obstacle: func(string) {},
				manifest: func(ns string) string {
					node = smallNode("400Mi")
					return fmt.Sprintf(strings.Replace(short, "terminationGracePeriodSeconds: 0", "terminationGracePeriodSeconds: 0\n"+
						"      tolerations: [{key: small, operator: Exists}]\n      nodeSelector: {small: "+node+"}", 1), ns, "web")
				},
			}
		}()),
	)
})

// harnessAt calls manage with a clock that stands at an instant.
func harnessAt(now time.Time, t *v1alpha1.Tortoise) *harness.Manager {
	GinkgoHelper()
	return manage(clocktesting.NewFakeClock(now), t)
}
