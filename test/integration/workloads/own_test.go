package workloads

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("Flyball's own Deployment", func() {
	It("is changed by no policy, nor is its autoscaler, and status has the reason", func() {
		ns := harness.Namespace
		err := env.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
		Expect(err == nil || apierrors.IsAlreadyExists(err)).To(BeTrue())
		own, other := workload(ns, "flyball", "Deployment"), workload(ns, "other", "Deployment")
		scaler, err := harness.Objects(fmt.Appendf(nil,
			`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {namespace: %s, name: flyball},
  spec: {minReplicas: 2, maxReplicas: 5, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: flyball}}}`, ns))
		Expect(err).NotTo(HaveOccurred())
		asleep := func(name string, as *v1alpha1.AsleepAs, kinds ...v1alpha1.KindRef) *v1alpha1.Schedule {
			s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
			s.Spec.Target.Kinds = kinds
			s.Spec.AsleepAs = as
			s.Spec.Asleep = []v1alpha1.Window{{From: "00:00", To: "24:00"}}
			return s
		}
		everything := asleep("everything", nil)
		bounds := asleep("bounds", &v1alpha1.AsleepAs{Bounds: &v1alpha1.BoundsValue{Max: new(int64(2))}},
			v1alpha1.KindRef{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"})
		for _, obj := range []client.Object{own, other, scaler[0]} {
			Expect(env.Client.Create(ctx, obj)).To(Succeed())
			DeferCleanup(func() { Expect(client.IgnoreNotFound(env.Client.Delete(ctx, obj))).To(Succeed()) })
		}
		var pod corev1.PodList
		Eventually(func(g Gomega) {
			g.Expect(env.Client.List(ctx, &pod, client.InNamespace(ns), client.MatchingLabels{"app": "flyball"})).To(Succeed())
			g.Expect(pod.Items).NotTo(BeEmpty())
		}).Should(Succeed())
		suite.Start(ctx, env, harness.Options{Clock: clocktesting.NewFakeClock(monday), Pod: pod.Items[0].Name})
		for _, s := range []*v1alpha1.Schedule{everything, bounds} {
			Expect(env.Client.Create(ctx, s)).To(Succeed())
			DeferCleanup(func() {
				Expect(client.IgnoreNotFound(env.Client.Delete(ctx, s))).To(Succeed())
				Eventually(vanished(s)).Should(Succeed())
			})
		}

		replicas := func(name string) func(Gomega) int32 {
			return func(g Gomega) int32 {
				var d appsv1.Deployment
				g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, &d)).To(Succeed())
				return *d.Spec.Replicas
			}
		}
		Eventually(replicas("other")).Should(BeZero())
		for s, want := range map[*v1alpha1.Schedule]string{everything: "Flyball itself runs in it", bounds: "it governs Deployment.apps/" + ns +
			"/flyball, in which Flyball itself runs"} {
			Eventually(func(g Gomega) {
				g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
				g.Expect(s.Status.Targets).To(HaveValue(HaveField("Unable", BeEquivalentTo(1))))
				g.Expect(s.Status.Targets.Pending).To(BeZero())
				g.Expect(s.Status.Conditions).To(ContainElement(And(HaveField("Type", v1alpha1.ConditionReady),
					HaveField("Message", ContainSubstring(want)))))
			}).Should(Succeed())
		}
		Expect(replicas("flyball")(Default)).To(BeNumerically(">=", 2))
		Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(scaler[0]), scaler[0])).To(Succeed())
		Expect(scaler[0].GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationLedger))
	})
})
