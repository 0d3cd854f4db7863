package tortoise

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// withPods returns the options of a manager that changes pods when they are created.
func withPods(clock *clocktesting.FakeClock) harness.Options {
	port := suite.FreePort()
	o := optionsAt(clock)
	o.Webhook = app.WebhookOptions{Enabled: true, Pods: true, Host: "127.0.0.1", Port: port, URL: fmt.Sprintf("https://127.0.0.1:%d", port),
		Secret: "tortoise-pods"}
	return o
}

// namespacesSent returns the namespaces whose new pods the API server sends to the webhook.
func namespacesSent(g Gomega) []string {
	var config admissionregistrationv1.MutatingWebhookConfiguration
	err := env.Client.Get(ctx, client.ObjectKey{Name: "flyball-pods"}, &config)
	if apierrors.IsNotFound(err) {
		return nil
	}
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(config.Webhooks).To(HaveLen(1))
	g.Expect(*config.Webhooks[0].FailurePolicy).To(Equal(admissionregistrationv1.Ignore))
	return config.Webhooks[0].NamespaceSelector.MatchExpressions[0].Values
}

// comesBack changes the webhook configuration as another writer, and waits until it is restored.
func comesBack(change func(*admissionregistrationv1.MutatingWebhookConfiguration) error) {
	GinkgoHelper()
	read := func(g Gomega) *admissionregistrationv1.MutatingWebhookConfiguration {
		config := &admissionregistrationv1.MutatingWebhookConfiguration{}
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Name: "flyball-pods"}, config)).To(Succeed())
		return config
	}
	before := read(Default)
	Expect(change(before.DeepCopy())).To(Succeed())
	Eventually(func(g Gomega) {
		after := read(g)
		g.Expect(after.ResourceVersion).NotTo(Equal(before.ResourceVersion))
		g.Expect(after.Webhooks).To(Equal(before.Webhooks))
	}).Should(Succeed())
}

// roll makes a new revision of web as its owner, and waits until all pods are new.
func roll(ns, turn string) {
	GinkgoHelper()
	before := uids(ns)(Default)
	d := &appsv1.Deployment{}
	d.Namespace, d.Name = ns, "web"
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"turn":%q}}}}}`, turn)
	Expect(env.Client.Patch(ctx, d, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
	Eventually(func(g Gomega) {
		now := uids(ns)(g)
		g.Expect(now).NotTo(BeEmpty())
		for name := range now {
			g.Expect(before).NotTo(HaveKey(name))
		}
	}).Should(Succeed())
}

// rollTuned calls roll until every new pod has an annotation of Flyball. A pod is created unchanged if the webhook does not answer within
// a second, or while the API server does not know of the webhook yet.
func rollTuned(ns, turn, annotation string) {
	GinkgoHelper()
	try := 0
	Eventually(func(g Gomega) {
		try++
		roll(ns, fmt.Sprint(turn, try))
		for name, p := range podsOf(ns)(g) {
			g.Expect(p.Annotations).To(HaveKey("flyball.dev/"+annotation), name)
		}
	}).Should(Succeed())
}

// unhook removes the webhook configurations of a manager. Otherwise API servers would refuse policies while no manager
// answers.
func unhook() {
	GinkgoHelper()
	for _, name := range []string{"flyball", "flyball-freeze"} {
		c := &admissionregistrationv1.ValidatingWebhookConfiguration{}
		c.Name = name
		Expect(client.IgnoreNotFound(env.Client.Delete(ctx, c))).To(Succeed())
	}
	pods := &admissionregistrationv1.MutatingWebhookConfiguration{}
	pods.Name = "flyball-pods"
	Expect(client.IgnoreNotFound(env.Client.Delete(ctx, pods))).To(Succeed())
}

var _ = Describe("A Tortoise whose pods are created", func() {
	It("starts them with the recommended requests and leaves running pods alone, until the policy is deleted", func() {
		ns, other := web(), web()
		// To remove replicas would make room in the quota below.
		Expect(env.Patch(ctx, &autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"}},
			`{"spec":{"behavior":{"scaleDown":{"selectPolicy":"Disabled"}}}}`)).To(Succeed())
		kubelet(ns, nobody)
		Eventually(asked(ns)).Should(HaveKeyWithValue(own, 5))
		remember(ns, learnt(ns))
		t := newTortoise(ns, v1alpha1.TortoiseAuto, inPlace(v1alpha1.ApplyOnCreate), func(s *v1alpha1.TortoiseSpec) {
			s.Runtime = v1alpha1.TunedRuntime{GoMaxProcs: true, GoMemLimit: true}
		})
		before := owned(&appsv1.Deployment{}, ns, "web")(Default)
		clock := clocktesting.NewFakeClock(noon.Add(time.Minute))
		o := withPods(clock)
		DeferCleanup(unhook)
		m := env.Start(o)
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })

		By("recommending, without a change of running pods")
		Eventually(namespacesSent).Should(Equal([]string{ns}))
		Eventually(func(g Gomega) { g.Expect(recommendation(ns, "web")(g).NewPods).NotTo(BeNil()) }).Should(Succeed())
		Expect(owned(&appsv1.Deployment{}, ns, "web")(Default)).To(Equal(before))
		still(asked(ns)).Should(onlyOwn)

		By("editing and deleting the configuration")
		comesBack(func(c *admissionregistrationv1.MutatingWebhookConfiguration) error {
			c.Webhooks[0].FailurePolicy, c.Webhooks[0].NamespaceSelector = new(admissionregistrationv1.Fail), nil
			return env.Client.Update(ctx, c)
		})
		comesBack(func(c *admissionregistrationv1.MutatingWebhookConfiguration) error { return env.Client.Delete(ctx, c) })

		By("creating pods")
		rollTuned(ns, "one", "tuned-by")
		Eventually(func(g Gomega) { g.Expect(asked(ns)(g)).To(Equal(map[string]int{tuned(g, ns): len(podsOf(ns)(g))})) }).Should(Succeed())
		Expect(resizers(ns)(Default)).To(BeEmpty())
		for _, p := range podsOf(ns)(Default) {
			Expect(p.Annotations).To(HaveKeyWithValue("flyball.dev/tuned-by", "Tortoise/"+ns+"/tuned"))
			Expect(p.Spec.Containers[0].Env).To(ConsistOf(HaveField("Name", "GOMAXPROCS"), HaveField("Name", "GOMEMLIMIT")))
		}
		Eventually(func(g Gomega) { g.Expect(recommendation(ns, "web")(g).Containers[0].CPU.Applied).To(BeTrue()) }).Should(Succeed())

		By("creating pods that only look like pods of web")
		for reason, forge := range map[string]func(*corev1.Pod){
			"labels alone":               func(p *corev1.Pod) { p.OwnerReferences = nil },
			"the name, of another UID":   func(p *corev1.Pod) { p.OwnerReferences[0].UID = "forged" },
			"an owner, no controller":    func(p *corev1.Pod) { p.OwnerReferences[0].Controller = new(false) },
			"the target, of another UID": func(p *corev1.Pod) { p.OwnerReferences[0].Kind, p.OwnerReferences[0].Name = "Deployment", "web" },
			"from another namespace":     func(p *corev1.Pod) { p.Namespace = other },
			"a node, as of static pods":  func(p *corev1.Pod) { o := &p.OwnerReferences[0]; o.APIVersion, o.Kind, o.Name = "v1", "Node", "web" },
		} {
			pod := anyPod(Default, ns)
			forge(pod)
			Expect(env.Client.Create(ctx, pod, client.DryRunAll)).To(Succeed(), reason)
			Expect(pod.Annotations).NotTo(HaveKey("flyball.dev/tuned-by"), reason)
		}

		By("creating pods whose recommended requests do not fit a LimitRange or a quota")
		least := corev1.LimitRangeItem{Type: corev1.LimitTypeContainer,
			Min: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}}
		fitsAsItIs(ns, "2Gi", &corev1.LimitRange{Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{least}}})
		most := resource.MustParse("1Mi")
		for _, p := range podsOf(ns)(Default) {
			most.Add(*p.Spec.Containers[0].Resources.Requests.Memory())
		}
		fitsAsItIs(ns, "1Mi",
			&corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceRequestsMemory: most}}})

		By("creating pods of a namespace that is not in use")
		roll(other, "one")
		Expect(asked(other)(Default)).To(onlyOwn)
		for _, p := range podsOf(other)(Default) {
			Expect(p.Annotations).NotTo(HaveKey("flyball.dev/tuned-by"))
			Expect(p.Spec.Containers[0].Env).To(BeEmpty())
		}

		By("creating pods while no manager answers")
		Expect(m.Stop()).To(Succeed())
		roll(ns, "two")
		Expect(asked(ns)(Default)).To(onlyOwn)

		By("creating pods again, and deleting the policy")
		m = env.Start(o)
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		Eventually(func(g Gomega) {
			pod := anyPod(g, ns)
			g.Expect(env.Client.Create(ctx, pod, client.DryRunAll)).To(Succeed())
			g.Expect(pod.Annotations).To(HaveKey("flyball.dev/tuned-by"))
		}).Should(Succeed())
		rollTuned(ns, "three", "tuned-by")
		Eventually(func(g Gomega) { g.Expect(asked(ns)(g)).To(Equal(map[string]int{tuned(g, ns): len(podsOf(ns)(g))})) }).Should(Succeed())
		Expect(env.Client.Delete(ctx, t)).To(Succeed())
		Eventually(func() error { return suite.Vanished(ctx, env, t) }).Should(Succeed())
		Eventually(asked(ns)).Should(onlyOwn)
		Eventually(namespacesSent).Should(BeEmpty())
		Expect(m.Stop()).To(Succeed())
	})

	It("starts pods that it changes in place with the same requests, also in a freeze that denies Scale", func() {
		ns := web()
		kubelet(ns, nobody)
		Eventually(asked(ns)).Should(HaveKeyWithValue(own, 5))
		remember(ns, learnt(ns))
		t := newTortoise(ns, v1alpha1.TortoiseAuto, inPlace(v1alpha1.ApplyInPlace))
		clock := clocktesting.NewFakeClock(noon.Add(time.Minute))
		DeferCleanup(unhook)
		m := env.Start(withPods(clock))
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		Eventually(func(g Gomega) { g.Expect(asked(ns)(g)).To(Equal(map[string]int{tuned(g, ns): len(podsOf(ns)(g))})) }).Should(Succeed())
		Eventually(namespacesSent).Should(Equal([]string{ns}))
		Eventually(func(g Gomega) {
			pod := anyPod(g, ns)
			g.Expect(env.Client.Create(ctx, pod, client.DryRunAll)).To(Succeed())
			g.Expect(pod.Annotations).To(HaveKey("flyball.dev/tuned-by"))
		}).Should(Succeed())

		freeze := &v1alpha1.ChangeFreeze{}
		freeze.Namespace, freeze.Name = ns, "still"
		Expect(env.Apply(ctx, fmt.Appendf(nil, `
apiVersion: flyball.dev/v1alpha1
kind: ChangeFreeze
metadata: {namespace: %s, name: still}
spec: {target: {kinds: [{group: apps, kind: Deployment}]}, startTime: 2037-01-05T00:00:00Z, endTime: 2037-01-20T00:00:00Z, deny: [Scale]}
`, ns))).To(Succeed())
		told := recommendation(ns, "web")(Default).NewPods
		Expect(told).NotTo(BeNil())
		rollTuned(ns, "frozen", "tuned-by")
		Expect(resizers(ns)(Default)).To(BeEmpty())
		for _, p := range podsOf(ns)(Default) {
			Expect(p.Annotations).To(HaveKey("flyball.dev/tuned-by"))
			Expect(p.Spec.Containers[0].Resources.Requests.Memory().Value()).To(Equal(told.Containers[0].Memory.Value()))
		}
		suite.Remove(ctx, env, freeze)
		suite.Remove(ctx, env, t)
		Expect(m.Stop()).To(Succeed())
	})
	It("removes the webhook configuration if no created pods are changed", func() {
		options := withPods(clocktesting.NewFakeClock(noon))
		DeferCleanup(unhook)
		for reason, webhook := range map[string]app.WebhookOptions{
			"--webhook=false": {},
			"--webhook-pods=false": {Enabled: true, Host: options.Webhook.Host, Port: options.Webhook.Port, URL: options.Webhook.URL,
				Secret: options.Webhook.Secret},
		} {
			Expect(env.Client.Create(ctx, register.PodsConfiguration(admissionregistrationv1.WebhookClientConfig{URL: &options.Webhook.URL},
				[]string{"gone"}, nil))).To(Succeed())
			o := options
			o.Webhook = webhook
			m := env.Start(o)
			DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
			Eventually(namespacesSent).Should(BeEmpty(), reason)
			Expect(m.Stop()).To(Succeed())
		}
	})
})

// fitsAsItIs creates a pod of web with the given memory in a namespace with a bound, such as a quota. The bound leaves
// no room for another amount, so the pod must stay unchanged. Without the bound the pod must be changed.
func fitsAsItIs(ns, memory string, bound client.Object) {
	GinkgoHelper()
	isChanged := func(g Gomega) bool {
		pod := anyPod(g, ns)
		pod.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = resource.MustParse(memory)
		pod.Spec.Containers[0].Resources.Limits[corev1.ResourceMemory] = resource.MustParse(memory)
		g.Expect(env.Client.Create(ctx, pod, client.DryRunAll)).To(Succeed())
		_, changed := pod.Annotations["flyball.dev/tuned-by"]
		return changed
	}
	Eventually(isChanged).Should(BeTrue())
	bound.SetNamespace(ns)
	bound.SetName("bound")
	Expect(env.Client.Create(ctx, bound)).To(Succeed())
	Eventually(func(g Gomega) {
		for range 10 { // one pod may pass unchanged if the webhook does not answer in time
			g.Expect(isChanged(g)).To(BeFalse())
		}
	}).Should(Succeed())
	suite.Remove(ctx, env, bound)
	Eventually(isChanged).Should(BeTrue())
}

// anyPod returns a pod like the pods of the newest ReplicaSet of web.
func anyPod(g Gomega, ns string) *corev1.Pod {
	for _, p := range podsOf(ns)(g) {
		next := &corev1.Pod{}
		next.Namespace, next.GenerateName, next.Labels, next.OwnerReferences = ns, "web-", p.Labels, p.OwnerReferences
		next.Spec.Containers = []corev1.Container{{Name: "main", Image: "example.com/app:1", Resources: corev1.ResourceRequirements{
			Requests: p.Spec.Containers[0].Resources.Requests.DeepCopy(), Limits: p.Spec.Containers[0].Resources.Limits.DeepCopy()}}}
		next.Spec.Containers[0].Resources.Requests[corev1.ResourceMemory] = *p.Spec.Containers[0].Resources.Limits.Memory()
		return next
	}
	g.Expect(ns).To(BeEmpty(), "there is no pod")
	return nil
}
