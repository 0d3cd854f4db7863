package tortoise

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// injecting adds a container to all pods of namespaces with a label, as a service mesh does. The container comes before
// the containers of the template.
const injecting = `
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: inject}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    namespaceSelector: {matchLabels: {inject: "yes"}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: '[JSONPatch{op: "add", path: "/spec/containers/0", value: Object.spec.containers{
        name: "a-proxy", image: "example.com/proxy:1",
        resources: Object.spec.containers.resources{requests: {"cpu": "100m", "memory": "64Mi"}}}}]'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: inject}
spec: {policyName: inject}
`

var _ = Describe("Sidecars of a target that is tuned in place", func() {
	It("are tuned if they belong to the template, and left alone if they were injected", func() {
		ns := suite.Namespace(ctx, env, "inject", "yes")
		Expect(env.Apply(ctx, []byte(injecting))).To(Succeed())
		DeferCleanup(func() {
			Expect(env.Client.Delete(ctx,
				&admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "inject"}})).To(Succeed())
			Expect(env.Client.Delete(ctx,
				&admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "inject"}})).To(Succeed())
		})
		Eventually(func(g Gomega) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "probe"}}
			pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "example.com/app:1"}}
			g.Expect(env.Client.Create(ctx, pod, client.DryRunAll)).To(Succeed())
			g.Expect(pod.Spec.Containers).To(HaveLen(2))
		}).Should(Succeed())
		both := strings.Replace(deployment, `      containers:`,
			`      initContainers: [{name: side, restartPolicy: Always, image: "example.com/side:1", resources: {requests: {cpu: 200m, memory: 256Mi}, limits: {cpu: 400m}}}]
      containers:`, 1)
		kubelet(ns, nobody)
		Expect(env.Apply(ctx, fmt.Appendf(nil, both, ns, "web"))).To(Succeed())
		// resources counts the pods of web by the resources of their containers.
		resources := func(g Gomega) map[string]int {
			count := map[string]int{}
			for _, p := range podsOf(ns)(g) {
				has := map[string]corev1.ResourceRequirements{}
				for _, c := range append(p.Spec.Containers, p.Spec.InitContainers...) {
					has[c.Name] = c.Resources
				}
				text, err := json.Marshal(has)
				g.Expect(err).NotTo(HaveOccurred())
				count[string(text)]++
			}
			return count
		}
		Eventually(func(g Gomega) {
			g.Expect(resources(g)).To(And(HaveLen(1), ContainElement(5)))
			for _, p := range podsOf(ns)(g) {
				g.Expect(p.Status.ObservedGeneration).To(Equal(p.Generation))
			}
		}).Should(Succeed())
		before := resources(Default)
		learner := learnt(ns)
		for at := noon.Add(-4 * 24 * time.Hour); !at.After(noon); at = at.Add(2 * time.Minute) {
			learner.Observe(used(at, "side"), used(at, "a-proxy"))
		}
		remember(ns, learner)
		t := newTortoise(ns, v1alpha1.TortoiseAuto, inPlace(v1alpha1.ApplyInPlace))
		manage(clocktesting.NewFakeClock(noon.Add(time.Minute)), t)
		Eventually(func(g Gomega) {
			st := recommendation(ns, "web")(g)
			g.Expect(st.Containers).To(ConsistOf(HaveField("Name", "main"), HaveField("Name", "side")))
			g.Expect(st.Containers).To(HaveEach(HaveField("Memory.Applied", true)))
			for _, p := range podsOf(ns)(g) {
				g.Expect(p.Spec.InitContainers[0].Resources.Requests.Memory().String()).NotTo(Equal("256Mi"))
				injected := p.Spec.Containers[0].Resources.Requests
				g.Expect([]string{p.Spec.Containers[0].Name, injected.Cpu().String(),
					injected.Memory().String()}).To(Equal([]string{"a-proxy", "100m", "64Mi"}))
			}
		}).Should(Succeed())
		suite.Remove(ctx, env, t)
		Expect(resources(Default)).To(Equal(before))
	})
})
