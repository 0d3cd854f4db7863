package workloads

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("A manager that is killed in every wave", func() {
	const (
		nowhere  = `{"spec":{"template":{"spec":{"nodeSelector":{"example.com/nowhere":"here"}}}}}`
		anywhere = `{"spec":{"template":{"spec":{"nodeSelector":null}}}}`
	)
	names := []string{"db", "cache", "web"}
	var binary, ns, kind string
	var s *v1alpha1.Schedule
	start := func() interface{ Kill() } {
		GinkgoHelper()
		p, err := env.StartProcess(binary)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(p.Kill)
		return p
	}
	// create makes workloads of one pod, and a schedule in which db is first and web is last. The process uses the
	// machine's clock, so an edit of the schedule makes day into night.
	create := func(of string, change func(*unstructured.Unstructured), rules v1alpha1.ScheduleRules) {
		GinkgoHelper()
		var err error
		binary, err = env.Build(ctx, GinkgoT().TempDir())
		Expect(err).NotTo(HaveOccurred())
		ns, kind = suite.Namespace(ctx, env), of
		for _, name := range names {
			obj := workload(ns, name, kind)
			Expect(unstructured.SetNestedField(obj.Object, int64(1), "spec", "replicas")).To(Succeed())
			change(obj)
			Expect(env.Client.Create(ctx, obj)).To(Succeed())
		}
		Eventually(pods(ns)).Should(Equal(len(names)))
		s = &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nights"}, Spec: v1alpha1.ScheduleSpec{ScheduleRules: rules}}
		s.Spec.Order = &v1alpha1.Order{Waves: []v1alpha1.Wave{{Name: "first", Names: names[:1], Timeout: "1h"},
			{Name: "second", Names: names[1:2], Timeout: "1h"}}}
		Expect(env.Client.Create(ctx, s)).To(Succeed())
	}
	counts := func(g Gomega) (all []int64) {
		for _, name := range names {
			obj := workload(ns, name, kind)
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
			n, _, err := unstructured.NestedInt64(obj.Object, "spec", "replicas")
			g.Expect(err).NotTo(HaveOccurred())
			all = append(all, n)
		}
		return all
	}
	order := func(g Gomega) *v1alpha1.OrderStatus {
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
		return s.Status.Order
	}
	// killInWaves kills the manager twice in each wave: while the wave is not finished, and before finish makes it so. open
	// has the counts while a wave is open.
	killInWaves := func(manager interface{ Kill() }, waves []string, open [][]int64, finish func(i int)) {
		GinkgoHelper()
		for i, wave := range waves {
			By(fmt.Sprintf("killed in the wave %s", wave))
			Eventually(counts).Should(Equal(open[i]))
			Eventually(order).Should(HaveField("Wave", wave))
			since := order(Default).Since
			manager.Kill()
			// Only a manager that has processed the policy again corrects this value.
			Expect(env.Client.Status().Patch(ctx, s, client.RawPatch(types.MergePatchType, []byte(`{"status":{"order":{"waiting":77}}}`)))).
				To(Succeed())
			manager = start()
			Eventually(order).Should(And(HaveField("Wave", wave), HaveField("Waiting", BeEquivalentTo(len(names)-i-1)),
				HaveField("Since", Equal(since))))
			manager.Kill()
			Expect(counts(Default)).To(Equal(open[i]))
			// While nobody looks the wave is finished.
			finish(i)
			manager = start()
		}
	}

	It("goes on at the next start with the wave that is open, and since when", func() {
		create("Deployment", func(*unstructured.Unstructured) {}, v1alpha1.ScheduleRules{Asleep: []v1alpha1.Window{{From: "00:00", To: "24:00"}}})
		manager := start()
		Eventually(counts).Should(Equal([]int64{0, 0, 0}))
		for _, name := range names {
			Expect(env.Patch(ctx, workload(ns, name, kind), nowhere)).To(Succeed())
		}
		Expect(env.Patch(ctx, s, `{"spec":{"asleep":null,"awake":[{"from":"00:00","to":"24:00"}]}}`)).To(Succeed())
		killInWaves(manager, []string{"first", "second"}, [][]int64{{1, 0, 0}, {1, 1, 0}}, func(i int) {
			Expect(env.Patch(ctx, workload(ns, names[i], kind), anywhere)).To(Succeed())
			Eventually(pods(ns)).Should(Equal(i + 1))
		})
		Eventually(counts).Should(Equal([]int64{1, 1, 1}))
		Eventually(order).Should(BeNil())
		suite.Remove(ctx, env, s)
	})

	It("goes on so too on the way to sleep, in reverse", func() {
		// A finalizer keeps the pod that goes to sleep, and a StatefulSet counts it.
		const stay = "example.com/stay"
		create("StatefulSet", func(obj *unstructured.Unstructured) {
			Expect(unstructured.SetNestedStringSlice(obj.Object, []string{stay}, "spec", "template", "metadata", "finalizers")).To(Succeed())
		}, v1alpha1.ScheduleRules{Awake: []v1alpha1.Window{{From: "00:00", To: "24:00"}}})
		free := func(i int) {
			GinkgoHelper()
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: names[i] + "-0"}}
			Eventually(func() error {
				err := env.Patch(ctx, pod, `{"metadata":{"finalizers":null}}`)
				return client.IgnoreNotFound(err)
			}).Should(Succeed())
			Eventually(vanished(pod)).Should(Succeed())
		}
		manager := start()
		Eventually(func(g Gomega) v1alpha1.PolicyStatus {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
			return s.Status.PolicyStatus
		}).Should(HaveField("Targets", HaveField("Awake", BeEquivalentTo(len(names)))))
		Expect(env.Patch(ctx, s, `{"spec":{"awake":null,"asleep":[{"from":"00:00","to":"24:00"}]}}`)).To(Succeed())
		killInWaves(manager, []string{"the rest", "second"}, [][]int64{{1, 1, 0}, {1, 0, 0}}, func(i int) { free(len(names) - 1 - i) })
		Eventually(counts).Should(Equal([]int64{0, 0, 0}))
		free(0)
		Eventually(order).Should(BeNil())
		for _, name := range names { // so that the pods that wake can be deleted
			Expect(env.Patch(ctx, workload(ns, name, kind), `{"spec":{"template":{"metadata":{"finalizers":null}}}}`)).To(Succeed())
		}
		suite.Remove(ctx, env, s)
	})
})
