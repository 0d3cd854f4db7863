package workloads

import (
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("A manager that is killed in every wave", func() {
	It("goes on at the next start with the wave that is open, and since when", func() {
		const (
			nowhere  = `{"spec":{"template":{"spec":{"nodeSelector":{"example.com/nowhere":"here"}}}}}`
			anywhere = `{"spec":{"template":{"spec":{"nodeSelector":null}}}}`
		)
		binary, err := env.Build(ctx, GinkgoT().TempDir())
		Expect(err).NotTo(HaveOccurred())
		start := func() interface{ Kill() } {
			p, err := env.StartProcess(binary)
			Expect(err).NotTo(HaveOccurred())
			DeferCleanup(p.Kill)
			return p
		}
		ns := suite.Namespace(ctx, env)
		names := []string{"db", "cache", "web"}
		for _, name := range names {
			d := workload(ns, name, "Deployment")
			d.Object["spec"].(map[string]any)["replicas"] = int64(1)
			Expect(env.Client.Create(ctx, d)).To(Succeed())
		}
		Eventually(pods(ns)).Should(Equal(len(names)))
		counts := func(g Gomega) (all []int32) {
			for _, name := range names {
				var d appsv1.Deployment
				g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, &d)).To(Succeed())
				all = append(all, *d.Spec.Replicas)
			}
			return all
		}
		// The process uses the machine's clock, so an edit of the schedule makes night into day.
		s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nights"}}
		s.Spec.Asleep = []v1alpha1.Window{{From: "00:00", To: "24:00"}}
		s.Spec.Order = []v1alpha1.Wave{{Name: "first", Names: names[:1], Timeout: "1h"}, {Name: "second", Names: names[1:2], Timeout: "1h"}}
		Expect(env.Client.Create(ctx, s)).To(Succeed())
		order := func(g Gomega) *v1alpha1.OrderStatus {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
			return s.Status.Order
		}
		manager := start()
		Eventually(counts).Should(Equal([]int32{0, 0, 0}))
		for _, name := range names {
			Expect(env.Patch(ctx, workload(ns, name, "Deployment"), nowhere)).To(Succeed())
		}

		Expect(env.Patch(ctx, s, `{"spec":{"asleep":null,"awake":[{"from":"00:00","to":"24:00"}]}}`)).To(Succeed())
		for i, wave := range []string{"first", "second"} {
			open := slices.Repeat([]int32{1}, i+1)
			open = append(open, slices.Repeat([]int32{0}, len(names)-i-1)...)
			By(fmt.Sprintf("killed in the wave %s", wave))
			Eventually(counts).Should(Equal(open))
			Eventually(order).Should(HaveField("Wave", wave))
			since := order(Default).Since
			manager.Kill()
			// Only a manager that has processed the policy again corrects this value.
			Expect(env.Client.Status().Patch(ctx, s, client.RawPatch(types.MergePatchType, []byte(`{"status":{"order":{"waiting":77}}}`)))).
				To(Succeed())
			manager = start()
			Eventually(order).Should(And(HaveField("Wave", wave), HaveField("Waiting", BeEquivalentTo(len(names)-i-1)),
				HaveField("Since", Equal(since))))
			Consistently(counts).Should(Equal(open))
			manager.Kill() // and while nobody looks the wave becomes ready
			Expect(env.Patch(ctx, workload(ns, names[i], "Deployment"), anywhere)).To(Succeed())
			Eventually(pods(ns)).Should(Equal(i + 1))
			manager = start()
		}
		Eventually(counts).Should(Equal([]int32{1, 1, 1}))
		Eventually(order).Should(BeNil())
		suite.Remove(ctx, env, s)
	})
})
