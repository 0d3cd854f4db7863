package outage

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/integration/zones"
)

// costed has the pods of one ReplicaSet in several zones. Some pods have a deletion cost of another writer.
type costed struct {
	*zones.Cluster
	namespace string
	foreign   map[string]string
}

// newCosted creates n ready pods without a controller. Every tenth pod has a foreign deletion cost.
func newCosted(n int) *costed {
	GinkgoHelper()
	c := &costed{&zones.Cluster{Env: env, ZoneOf: map[string]string{}}, suite.Namespace(ctx, env), map[string]string{}}
	for i := range 6 {
		name, zone := fmt.Sprint("node-", i), fmt.Sprint("zone-", i%3)
		c.ZoneOf[name] = zone
		Expect(env.Client.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name,
			Labels: map[string]string{zones.NodeLabel: zone}}})).To(Succeed())
	}
	objs, err := harness.Objects(fmt.Appendf(nil,
		`{apiVersion: apps/v1, kind: ReplicaSet, metadata: {namespace: %s, name: web}, spec: {replicas: %d, selector: {matchLabels: {app: `+
			`web}}, template: %s}}`,
		c.namespace, n, `{metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: "example.com/app:1"}]}}`))
	Expect(err).NotTo(HaveOccurred())
	Expect(env.Client.Create(ctx, objs[0])).To(Succeed())
	owner := *metav1.NewControllerRef(objs[0], objs[0].GroupVersionKind())
	var group errgroup.Group
	group.SetLimit(8)
	for i := range n {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: fmt.Sprint("web-", i), Labels: map[string]string{"app": "web"},
				OwnerReferences: []metav1.OwnerReference{owner}},
			Spec: corev1.PodSpec{NodeName: fmt.Sprint("node-", i*i%6), TerminationGracePeriodSeconds: ptr.To[int64](0),
				Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}}},
		}
		if i%10 == 0 {
			pod.Annotations = map[string]string{workload.CostAnnotation: fmt.Sprint(i - n/2)}
			c.foreign[pod.Name] = pod.Annotations[workload.CostAnnotation]
		}
		group.Go(func() error {
			if err := env.Client.Create(ctx, pod, client.FieldOwner("karpenter")); err != nil {
				return err
			}
			return env.Client.Status().Patch(ctx, pod, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil,
				`{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":%q}]}}`,
				time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))))
		})
	}
	Expect(group.Wait()).To(Succeed())
	return c
}

// own counts the pods that have a deletion cost of Flyball. It also checks that every other cost is unchanged.
func (c *costed) own(g Gomega) (n int, list []*corev1.Pod) {
	var all corev1.PodList
	g.Expect(env.Client.List(ctx, &all, client.InNamespace(c.namespace))).To(Succeed())
	for i := range all.Items {
		p := &all.Items[i]
		cost, has := p.Annotations[workload.CostAnnotation]
		theirs, foreign := c.foreign[p.Name]
		ExpectWithOffset(1, has || !foreign).To(BeTrue(), "%s has lost the cost of somebody else", p.Name)
		switch {
		case foreign:
			ExpectWithOffset(1, cost).To(Equal(theirs), p.Name)
			ExpectWithOffset(1, zones.Writer(p)).To(Equal("karpenter"), p.Name)
		case has:
			n++
		}
		list = append(list, p)
	}
	return n, list
}

var _ = Describe("A manager that is killed in the middle of deletion costs", func() {
	It("loses no foreign cost, and the next start sets or removes every cost of Flyball", func() {
		const size, kills = 150, 10
		c := newCosted(size)
		policy := zones.Policy(c.namespace, "zones")
		policy.Spec.Suspend = true
		Expect(env.Client.Create(ctx, policy)).To(Succeed())
		_, list := c.own(Default)
		able, dice := len(c.Plan(list)), chance()
		Expect(able).To(BeNumerically(">", size/2))
		suspended := true
		turn := func(suspend bool) {
			GinkgoHelper()
			suspended = suspend
			Expect(env.Patch(ctx, policy.DeepCopy(), fmt.Sprintf(`{"spec":{"suspend":%t}}`, suspend))).To(Succeed())
		}
		for round := range kills {
			n, _ := c.own(Default)
			turn(n > able/2)
			left := able - n // still to be set
			if suspended {
				left = n // still to be removed
			}
			done := 1 + dice.IntN(left)
			By(fmt.Sprintf("round %d: suspended %t, %d have a cost, killed once %d more are done", round+1, suspended, n, done))
			p := start("--kube-api-qps=200", "--kube-api-burst=1")
			Eventually(func(g Gomega) int {
				now, _ := c.own(g)
				return max(now-n, n-now)
			}).WithPolling(2 * time.Millisecond).Should(BeNumerically(">=", done))
			p.Kill()
			c.own(Default)
		}

		By("the last start")
		p := start()
		turn(false)
		Eventually(func(g Gomega) {
			_, list := c.own(g)
			g.Expect(len(c.Plan(list))).To(BeZero())
		}).Should(Succeed())

		By("the policy is deleted, and the manager killed while the costs go")
		Expect(env.Client.Delete(ctx, policy)).To(Succeed())
		Eventually(func(g Gomega) int { n, _ := c.own(g); return n }).WithPolling(time.Millisecond).Should(BeNumerically("<", able))
		p.Kill()
		start()
		Eventually(func() error { return suite.Vanished(ctx, env, policy) }).Should(Succeed())
		n, _ := c.own(Default)
		Expect(n).To(BeZero())
	})
})
