package trigger

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

const hpaTemplate = `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"web","labels":{"made":"yes"}},
"spec":{"minReplicas":1,"maxReplicas":%d,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"}}}`

func templated(namespace string, kind v1alpha1.KindRef, template string, all ...v1alpha1.TimeTrigger) *v1alpha1.Trigger {
	t := trigger(namespace, kind, all...)
	t.Spec.Template = &runtime.RawExtension{Raw: []byte(template)}
	return t
}

// label reads a label of the autoscaler.
func label(namespace, key string) func(Gomega) string {
	return func(g Gomega) string {
		hpa := autoscaler(namespace, 0, 0)
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(hpa), hpa)).To(Succeed())
		return hpa.Labels[key]
	}
}

// vanished returns a check that an object no longer exists.
func vanished(obj client.Object) func() error {
	return func() error { return suite.Vanished(ctx, env, obj) }
}

var _ = Describe("A template", func() {
	peak := daily("peak", 1, "08:00", "11:00", values(5, 20))

	It("creates the missing object, owned by the Trigger, and deletes it with the Trigger", func() {
		clock := start(7)
		ns := newNamespace()
		t := templated(ns, autoscalers, fmt.Sprintf(hpaTemplate, 4), peak)
		create(t)
		Eventually(bounds(ns)).Should(Equal([2]int32{1, 4}))
		hpa := autoscaler(ns, 0, 0)
		Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(hpa), hpa)).To(Succeed())
		Expect(hpa.OwnerReferences).To(HaveExactElements(And(
			HaveField("Kind", "Trigger"), HaveField("UID", t.UID), HaveField("Controller", HaveValue(BeTrue())))))
		clock.SetTime(hour(8))
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
		remove(t)
		Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(hpa), hpa)).To(MatchError(ContainSubstring("not found")))
	})

	It("keeps its own fields in place, and leaves the triggers' fields to them", func() {
		clock := start(7)
		ns := newNamespace()
		t := templated(ns, autoscalers, fmt.Sprintf(hpaTemplate, 4), peak)
		create(t)
		Eventually(bounds(ns)).Should(Equal([2]int32{1, 4}))
		By("drift outside a window")
		Expect(env.Patch(ctx, autoscaler(ns, 0, 0), `{"metadata":{"labels":{"made":"no"}},"spec":{"maxReplicas":9}}`)).To(Succeed())
		Eventually(bounds(ns)).Should(Equal([2]int32{1, 4}))
		Eventually(label(ns, "made")).Should(Equal("yes"))
		By("drift inside a window")
		f := record(ns)
		clock.SetTime(hour(8))
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
		Expect(env.Patch(ctx, autoscaler(ns, 0, 0), `{"metadata":{"labels":{"made":"no"}}}`)).To(Succeed())
		Eventually(label(ns, "made")).Should(Equal("yes"))
		By("an edit of the template inside a window")
		edit(t, func(s *v1alpha1.TriggerSpec) { s.Template.Raw = []byte(fmt.Sprintf(hpaTemplate, 6)) })
		suite.Still(bounds(ns)).Should(Equal([2]int32{5, 20}))
		clock.SetTime(hour(11))
		Eventually(bounds(ns)).Should(Equal([2]int32{1, 6}))
		suite.Still(bounds(ns)).Should(Equal([2]int32{1, 6}))
		Eventually(func() int { return len(f.states()) }).Should(BeNumerically(">=", 2))
		Expect(f.states()[:2]).To(Equal([][2]int32{{1, 4}, {5, 20}}), "no state in between")
	})

	It("creates the object again after its deletion, and after a restart", func() {
		ns := newNamespace()
		t := templated(ns, autoscalers, fmt.Sprintf(hpaTemplate, 4), peak)
		Expect(env.Client.Create(ctx, t)).To(Succeed())
		m := runOnce(9)
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
		Expect(env.Client.Delete(ctx, autoscaler(ns, 0, 0))).To(Succeed())
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
		Expect(m.Stop()).To(Succeed())
		Expect(env.Client.Delete(ctx, autoscaler(ns, 0, 0))).To(Succeed())
		start(9)
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
		remove(t)
	})

	It("deletes its object once it names another object or is removed, also after a restart", func() {
		ns := newNamespace()
		t := templated(ns, autoscalers, fmt.Sprintf(hpaTemplate, 4), peak)
		t.Spec.Target.Names = nil
		Expect(env.Client.Create(ctx, t)).To(Succeed())
		m := runOnce(7)
		Eventually(bounds(ns)).Should(Equal([2]int32{1, 4}))
		other := autoscaler(ns, 0, 0)
		other.Name = "other"
		edit(t, func(s *v1alpha1.TriggerSpec) {
			s.Template.Raw = []byte(strings.Replace(fmt.Sprintf(hpaTemplate, 4), `"metadata":{"name":"web"`, `"metadata":{"name":"other"`, 1))
		})
		Eventually(vanished(autoscaler(ns, 0, 0))).Should(Succeed())
		Eventually(func() error { return env.Client.Get(ctx, client.ObjectKeyFromObject(other), other) }).Should(Succeed())
		By("an edit while no manager runs")
		Expect(m.Stop()).To(Succeed())
		edit(t, func(s *v1alpha1.TriggerSpec) { s.Template = nil })
		start(7)
		Eventually(vanished(other)).Should(Succeed())
		remove(t)
	})

	It("uses an existing object as it is, and leaves it when the Trigger is deleted", func() {
		start(9)
		ns := newNamespace()
		create(autoscaler(ns, 2, 3))
		t := templated(ns, autoscalers, fmt.Sprintf(hpaTemplate, 4), peak)
		create(t)
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
		suite.Still(label(ns, "made")).Should(BeEmpty())
		remove(t)
		Expect(bounds(ns)(Default)).To(Equal([2]int32{2, 3}))
	})

	It("leaves the count of a Deployment to its autoscaler", func() {
		start(7)
		ns := newNamespace()
		t := templated(ns, deployments,
			`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web"}},
"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"main","image":"example.com/app:1"}]}}}}`, daily("peak", 1, "08:00", "11:00", size(6)))
		create(t)
		Eventually(func(g Gomega) {
			var d appsv1.Deployment
			g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "web"}, &d)).To(Succeed())
		}).Should(Succeed())
		scale(ns, 5)
		Eventually(replicas(ns)).Should(BeEquivalentTo(3), "nothing governs it: the template's count")
		create(autoscaler(ns, 1, 10))
		image := func(g Gomega) string {
			var d appsv1.Deployment
			g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "web"}, &d)).To(Succeed())
			return d.Spec.Template.Spec.Containers[0].Image
		}
		Eventually(func(g Gomega) { // until the manager knows the autoscaler; it has looked once another field that drifts is as it was
			scale(ns, 5)
			g.Expect(env.Patch(ctx, deployment(ns, 0),
				`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"example.com/app:2"}]}}}}`)).To(Succeed())
			g.Eventually(image).ShouldNot(Equal("example.com/app:2"))
			g.Expect(replicas(ns)(g)).To(BeEquivalentTo(5))
		}).Should(Succeed())
		suite.Still(replicas(ns)).Should(BeEquivalentTo(5))
	})

	It("that is invalid is refused with the field", func() {
		start(9)
		for field, text := range map[string]string{
			"spec.template.spec: Required value":          `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"web"},"spec":{"maxReplicas":4}}`,
			"spec.template.kind: Invalid value":           `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"}}`,
			"spec.template.apiVersion: Invalid value":     `{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"web"}}`,
			"spec.template.metadata.name: Required value": `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler"}`,
		} {
			ns := newNamespace()
			t := templated(ns, autoscalers, text, peak)
			create(t)
			Eventually(conditionOf(t, v1alpha1.ConditionReady)).Should(HaveExactElements("False", "InvalidSpec", ContainSubstring(field)))
			Expect(vanished(autoscaler(ns, 0, 0))()).To(Succeed())
		}
	})

	It("of an autoscaler that cannot scale to zero refuses a minimum of 0 with the field, and the others take it", func() {
		start(9)
		ns := newNamespace()
		t := templated(ns, autoscalers, fmt.Sprintf(hpaTemplate, 4), with(peak, func(t *v1alpha1.TimeTrigger) { t.During = values(0, 4) }))
		create(t)
		Eventually(conditionOf(t, v1alpha1.ConditionReady)).Should(HaveExactElements("False", "InvalidSpec",
			ContainSubstring("spec.triggers[0].during.min: Invalid value: 0: the template has no metric of type Object or External")))
		Expect(vanished(autoscaler(ns, 0, 0))()).To(Succeed())
		edit(t, func(s *v1alpha1.TriggerSpec) { s.Template.Raw = []byte(quantities) })
		Eventually(bounds(ns)).Should(Equal([2]int32{0, 4}))
	})

	It("that the API server refuses is reported with the reason, and its object is created once the error is fixed", func() {
		start(9)
		ns := newNamespace()
		t := templated(ns, autoscalers, fmt.Sprintf(hpaTemplate, 0), peak)
		create(t)
		Eventually(conditionOf(t, v1alpha1.ConditionReady)).Should(HaveExactElements("False", "TargetsFailed",
			ContainSubstring("spec.maxReplicas")))
		edit(t, func(s *v1alpha1.TriggerSpec) { s.Template.Raw = []byte(fmt.Sprintf(hpaTemplate, 4)) })
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
		Eventually(conditionOf(t, v1alpha1.ConditionReady)).Should(HaveExactElements("True", "AsExpected", Not(BeEmpty())))
	})

	It("is not created again while its Trigger is being deleted", func() {
		start(9)
		ns := newNamespace()
		create(deployment(ns, 3))
		t := templated(ns, autoscalers, fmt.Sprintf(hpaTemplate, 4), peak)
		create(t)
		Eventually(bounds(ns)).Should(Equal([2]int32{5, 20}))
		remove(t)
		suite.Still(func(g Gomega) {
			var list autoscalingv2.HorizontalPodAutoscalerList
			g.Expect(env.Client.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
			g.Expect(list.Items).To(BeEmpty())
		}).Should(Succeed())
	})
})
