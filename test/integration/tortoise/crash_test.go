package tortoise

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// run runs the manager as a process. It measures every second by the machine's clock. It is killed at the end of the
// spec.
func run(args ...string) *harness.Process {
	GinkgoHelper()
	p, err := env.StartProcess(binary, append([]string{"--usage-resolution=1s"}, args...)...)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		p.Kill()
		if CurrentSpecReport().Failed() {
			GinkgoWriter.Println(p.Output())
		}
	})
	return p
}

// owner has the values that the owners of pods and of their templates have set before any tuning. At the end all of
// these values must be restored.
type owner struct {
	namespace string
	// pods are the resources and annotations of each pod, by its UID.
	pods map[types.UID]string
	// objects has the owners' values in other objects.
	objects map[string]string
}

func ownerOf(namespace string) owner {
	GinkgoHelper()
	o := owner{namespace: namespace, pods: map[types.UID]string{}, objects: objectsOf(namespace)(Default)}
	for _, p := range living(namespace)(Default) {
		o.pods[p.UID] = textOf(&p)
	}
	return o
}

// living returns the pods of a namespace that are not being deleted. It leaves out the pods of the Deployment rolled.
func living(namespace string) func(Gomega) []corev1.Pod {
	return func(g Gomega) (pods []corev1.Pod) {
		var list corev1.PodList
		g.Expect(env.Client.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
		for _, p := range list.Items {
			if p.DeletionTimestamp == nil && p.Labels["app"] != "rolled" {
				pods = append(pods, p)
			}
		}
		return pods
	}
}

// textOf returns the requests of a pod and its annotations, as text.
func textOf(p *corev1.Pod) string {
	GinkgoHelper()
	all := []any{p.Annotations}
	for _, c := range append(p.Spec.InitContainers, p.Spec.Containers...) {
		all = append(all, c.Name, c.Resources)
	}
	text, err := json.Marshal(all)
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// objectsOf returns the owners' values in the Deployments and autoscalers of a namespace.
func objectsOf(namespace string) func(Gomega) map[string]string {
	return func(g Gomega) map[string]string {
		all := map[string]string{}
		var deployments appsv1.DeploymentList
		g.Expect(env.Client.List(ctx, &deployments, client.InNamespace(namespace))).To(Succeed())
		for i := range deployments.Items {
			name := deployments.Items[i].Name
			all["Deployment "+name] = owned(&appsv1.Deployment{}, namespace, name)(g)
		}
		var autoscalers autoscalingv2.HorizontalPodAutoscalerList
		g.Expect(env.Client.List(ctx, &autoscalers, client.InNamespace(namespace))).To(Succeed())
		for i := range autoscalers.Items {
			name := autoscalers.Items[i].Name
			all["HorizontalPodAutoscaler "+name] = owned(&autoscalingv2.HorizontalPodAutoscaler{}, namespace, name)(g)
		}
		return all
	}
}

// changed counts the pods that do not have their first values.
func (o owner) changed() int {
	GinkgoHelper()
	count := 0
	for _, p := range living(o.namespace)(Default) {
		if had, known := o.pods[p.UID]; known && textOf(&p) != had {
			count++
		}
	}
	return count
}

// keeps checks three things: pods were replaced only by roll-outs, no pod has half of a change, and every changed field
// of another object has its original in the ledger.
func (o owner) keeps(g Gomega) {
	for name, is := range objectsOf(o.namespace)(g) {
		if !strings.HasSuffix(name, " rolled") || !strings.Contains(is, v1alpha1.AnnotationLedger) {
			g.Expect(is).To(Equal(o.objects[name]), name)
		}
	}
	for _, p := range living(o.namespace)(g) {
		g.Expect(o.pods).To(HaveKey(p.UID), "%s was replaced", p.Name)
		for _, c := range p.Spec.Containers {
			r := c.Resources
			g.Expect(r.Limits.Memory().Value()).To(Equal(2*r.Requests.Memory().Value()), "%s has half of a change", p.Name)
		}
	}
}

// hasAll checks that all values are as at first, and that nothing of the Tortoise is left.
func (o owner) hasAll(g Gomega) {
	g.Expect(objectsOf(o.namespace)(g)).To(Equal(o.objects))
	pods := map[types.UID]string{}
	for _, p := range living(o.namespace)(g) {
		pods[p.UID] = textOf(&p)
	}
	g.Expect(pods).To(Equal(o.pods))
	var told v1alpha1.RecommendationList
	g.Expect(env.Client.List(ctx, &told, client.InNamespace(o.namespace))).To(Succeed())
	g.Expect(told.Items).To(BeEmpty())
	var kept v1alpha1.UsageCheckpointList
	g.Expect(env.Client.List(ctx, &kept, client.InNamespace(o.namespace))).To(Succeed())
	g.Expect(kept.Items).To(BeEmpty())
}

// many creates three Deployments. The Deployment web has the given number of pods. The containers of press restart when
// their memory changes, one pod after the other. The Deployment rolled has an autoscaler.
func many(ns string, pods int) {
	GinkgoHelper()
	web := strings.Replace(deployment, "replicas: 5", fmt.Sprintf("replicas: %d", pods), 1)
	press := strings.Replace(deployment, `resources: {`,
		`resizePolicy: [{resourceName: memory, restartPolicy: RestartContainer}], resources: {`, 1)
	Expect(env.Apply(ctx, fmt.Appendf(nil, web, ns, "web"))).To(Succeed())
	Expect(env.Apply(ctx, fmt.Appendf(nil, press, ns, "press"))).To(Succeed())
	kubelet(ns, nobody)
	Eventually(func(g Gomega) {
		all := living(ns)(g)
		g.Expect(all).To(HaveLen(pods + 5))
		for _, p := range all {
			g.Expect(p.Status.Phase).To(Equal(corev1.PodRunning))
			g.Expect(p.Status.ObservedGeneration).To(Equal(p.Generation))
		}
	}).Should(Succeed())
	for _, name := range []string{"web", "press"} {
		rememberOf(ns, name, learntUntil(ns, time.Now()))
	}
	Expect(env.Apply(ctx, fmt.Appendf(nil, deployment, ns, "rolled"))).To(Succeed())
	Expect(env.Apply(ctx, fmt.Appendf(nil, autoscaler, ns, "rolled"))).To(Succeed())
	d := &appsv1.Deployment{}
	Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "rolled"}, d)).To(Succeed())
	rememberBy("rolled", v1alpha1.TunedTarget{Group: "apps", Kind: "Deployment", Name: "rolled"}, d, learntUntil(ns, time.Now()))
}

var _ = Describe("A manager that is killed", func() {
	It("while it changes or restores pods in place leaves no pod half changed and loses no original", func() {
		const size, kills = 60, 8
		ns := suite.Namespace(ctx, env)
		many(ns, size)
		before := ownerOf(ns)
		all := len(before.pods)
		policies := []*v1alpha1.Tortoise{tortoiseOf(ns, v1alpha1.TortoiseOff), tortoiseOf(ns, v1alpha1.TortoiseOff)}
		policies[0].Spec.Vertical.Apply, policies[0].Spec.Target.Names = v1alpha1.ApplyInPlace, []string{"web", "press"}
		policies[1].Name, policies[1].Spec.Target.Names = "rolled", []string{"rolled"}
		for _, t := range policies {
			t.Spec.Vertical.Cooldown = "1s" // there is always something to change
			Expect(env.Client.Create(ctx, t)).To(Succeed())
		}
		seed := uint64(GinkgoRandomSeed())
		dice := rand.New(rand.NewPCG(seed, seed))
		// turn sets the mode of the policies: Auto, so that all pods have to change, or Off, so that they are restored.
		turn := func(up bool) {
			GinkgoHelper()
			mode := map[bool]v1alpha1.TortoiseMode{true: v1alpha1.TortoiseAuto, false: v1alpha1.TortoiseOff}[up]
			for _, t := range policies {
				Expect(env.Patch(ctx, t.DeepCopy(), fmt.Sprintf(`{"spec":{"mode":%q}}`, mode))).To(Succeed())
			}
		}
		// done counts the pods that already have the values of a turn.
		done := func(up bool) int {
			if n := before.changed(); up {
				return n
			} else {
				return all - n
			}
		}
		// killed kills a manager at a random point of its work. It reports whether the work was half done.
		killed := func(p *harness.Process, up bool) bool {
			GinkgoHelper()
			reached := all
			if now := done(up); now < all {
				reached = now + 1 + dice.IntN(all-now)
			}
			Eventually(done).WithArguments(up).WithPolling(2 * time.Millisecond).Should(BeNumerically(">=", reached))
			p.Kill()
			at := done(up)
			By(fmt.Sprintf("up %t: to be killed at %d of %d, and killed at %d", up, reached, all, at))
			before.keeps(Default)
			return at < all
		}
		middle := 0
		for round := range kills {
			up := before.changed() < all/2 // always the direction with more work left
			turn(up)
			p := run()
			if round%3 == 2 { // reverses the direction while the manager works
				Eventually(done).WithArguments(up).WithPolling(2 * time.Millisecond).Should(BeNumerically(">", all*3/4))
				up = !up
				turn(up)
			}
			if killed(p, up) {
				middle++
			}
		}
		Expect(middle).To(BeNumerically(">", 0))

		By("deleting the policies")
		turn(true)
		p := run()
		Eventually(before.changed).Should(Equal(all))
		Eventually(objectsOf(ns)).Should(And(HaveKeyWithValue("Deployment rolled", ContainSubstring(v1alpha1.AnnotationLedger)),
			HaveKeyWithValue("HorizontalPodAutoscaler rolled", ContainSubstring(v1alpha1.AnnotationLedger))))
		for _, t := range policies {
			Expect(env.Client.Delete(ctx, t)).To(Succeed())
		}
		for before.changed() > 0 {
			killed(p, false)
			p = run()
		}
		for _, t := range policies {
			Eventually(func() error { return suite.Vanished(ctx, env, t) }).Should(Succeed())
		}
		Eventually(before.hasAll).Should(Succeed())
		p.Kill()
	})
})
