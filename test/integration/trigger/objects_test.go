package trigger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

func n(i int64) *int64 { return &i }

func values(low, high int64) v1alpha1.TriggerValues {
	return v1alpha1.TriggerValues{Min: &low, Max: &high}
}

// daily returns a trigger whose window is open every day.
func daily(name string, priority int32, from, to string, during v1alpha1.TriggerValues) v1alpha1.TimeTrigger {
	return v1alpha1.TimeTrigger{Name: name, Priority: priority, Window: v1alpha1.Window{From: from, To: to}, During: during}
}

func with(t v1alpha1.TimeTrigger, change func(*v1alpha1.TimeTrigger)) v1alpha1.TimeTrigger {
	change(&t)
	return t
}

var (
	autoscalers = v1alpha1.KindRef{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}
	deployments = v1alpha1.KindRef{Group: "apps", Kind: "Deployment"}
)

// trigger returns a Trigger for one kind. It does not create it.
func trigger(namespace string, kind v1alpha1.KindRef, all ...v1alpha1.TimeTrigger) *v1alpha1.Trigger {
	t := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "peaks"}}
	t.Spec.Target.Kinds = []v1alpha1.KindRef{kind}
	t.Spec.Triggers = all
	return t
}

// create creates objects. Policies are removed at the end of the spec.
func create(objs ...client.Object) {
	GinkgoHelper()
	for _, obj := range objs {
		Expect(env.Client.Create(ctx, obj)).To(Succeed())
		switch obj.(type) {
		case *v1alpha1.Trigger, *v1alpha1.ClusterTrigger, *v1alpha1.Schedule:
			DeferCleanup(remove, obj)
		}
	}
}

// remove deletes an object and waits until its finalizer has let it go.
func remove(obj client.Object) {
	GinkgoHelper()
	suite.Remove(ctx, env, obj)
}

// edit changes the spec of a Trigger as it is now.
func edit(t *v1alpha1.Trigger, change func(*v1alpha1.TriggerSpec)) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(t), t)).To(Succeed())
		change(&t.Spec)
		g.Expect(env.Client.Update(ctx, t)).To(Succeed())
	}).Should(Succeed())
}

func autoscaler(namespace string, low, high int32) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			MinReplicas: &low, MaxReplicas: high,
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
		},
	}
}

func deployment(namespace string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}}},
			},
		},
	}
}

// bounds reads an autoscaler's min and max; call it from Eventually or Consistently.
func bounds(namespace string) func(Gomega) [2]int32 {
	return func(g Gomega) [2]int32 {
		var hpa autoscalingv2.HorizontalPodAutoscaler
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, &hpa)).To(Succeed())
		return boundsOf(&hpa)
	}
}

// sizesSeen follows the count of a Deployment and the bounds of its autoscaler. The returned function returns each
// combination that has existed, in the order of the resourceVersions.
func sizesSeen(namespace string) func(Gomega) []string {
	GinkgoHelper()
	watcher, err := client.NewWithWatch(env.Config, client.Options{Scheme: env.Client.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	var mu sync.Mutex
	versions := map[uint64]client.Object{}
	for _, list := range []client.ObjectList{&appsv1.DeploymentList{}, &autoscalingv2.HorizontalPodAutoscalerList{}} {
		events, err := watcher.Watch(ctx, list, client.InNamespace(namespace))
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(events.Stop)
		go func() {
			for event := range events.ResultChan() {
				if obj, ok := event.Object.(client.Object); ok {
					version, _ := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
					mu.Lock()
					versions[version] = obj
					mu.Unlock()
				}
			}
		}()
	}
	return func(Gomega) []string {
		mu.Lock()
		defer mu.Unlock()
		var pairs []string
		var count, within string
		for _, version := range slices.Sorted(maps.Keys(versions)) {
			switch obj := versions[version].(type) {
			case *appsv1.Deployment:
				count = fmt.Sprint(*obj.Spec.Replicas)
			case *autoscalingv2.HorizontalPodAutoscaler:
				within = fmt.Sprintf("%d..%d", *obj.Spec.MinReplicas, obj.Spec.MaxReplicas)
			}
			if pair := count + " in " + within; count != "" && within != "" && !slices.Contains(pairs, pair) {
				pairs = append(pairs, pair)
			}
		}
		return pairs
	}
}

func boundsOf(hpa *autoscalingv2.HorizontalPodAutoscaler) [2]int32 {
	return [2]int32{*hpa.Spec.MinReplicas, hpa.Spec.MaxReplicas}
}

func replicas(namespace string) func(Gomega) int32 {
	return func(g Gomega) int32 {
		var d appsv1.Deployment
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, &d)).To(Succeed())
		return *d.Spec.Replicas
	}
}

// ledger reads an object's ledger annotation; empty if there is none.
func ledger(obj client.Object) func(Gomega) string {
	return func(g Gomega) string {
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		return obj.GetAnnotations()[v1alpha1.AnnotationLedger]
	}
}

// scale sets a Deployment's count as an autoscaler or a person would.
func scale(namespace string, count int) {
	GinkgoHelper()
	Expect(env.Patch(ctx, deployment(namespace, 0), fmt.Sprintf(`{"spec":{"replicas":%d}}`, count))).To(Succeed())
}

// statusOf reads a Trigger's status.
func statusOf(t *v1alpha1.Trigger) func(Gomega) v1alpha1.TriggerStatus {
	return func(g Gomega) v1alpha1.TriggerStatus {
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(t), t)).To(Succeed())
		return t.Status
	}
}

// shown reads a Trigger's state and active trigger.
func shown(t *v1alpha1.Trigger) func(Gomega) [2]string {
	return func(g Gomega) [2]string {
		s := statusOf(t)(g)
		return [2]string{s.State, s.ActiveTrigger}
	}
}

// conditionOf reads the status, reason and message of a condition.
func conditionOf(t *v1alpha1.Trigger, kind string) func(Gomega) []string {
	return func(g Gomega) []string {
		for _, c := range statusOf(t)(g).Conditions {
			if c.Type == kind {
				return []string{string(c.Status), c.Reason, c.Message}
			}
		}
		return nil
	}
}

// reasons counts the events about an object by reason.
func reasons(obj client.Object) func(Gomega) map[string]int {
	return func(g Gomega) map[string]int {
		var list eventsv1.EventList
		g.Expect(env.Client.List(ctx, &list, client.InNamespace(obj.GetNamespace()))).To(Succeed())
		out := map[string]int{}
		for i := range list.Items {
			if e := &list.Items[i]; e.Regarding.UID == obj.GetUID() {
				out[e.Reason]++
			}
		}
		return out
	}
}

// film records every state of an autoscaler's bounds from now on, one after the other.
type film struct {
	mu   sync.Mutex
	seen [][2]int32
}

func record(namespace string) *film {
	GinkgoHelper()
	c, err := client.NewWithWatch(env.Config, client.Options{Scheme: app.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	watching, stop := context.WithCancel(ctx)
	w, err := c.Watch(watching, &autoscalingv2.HorizontalPodAutoscalerList{}, client.InNamespace(namespace))
	Expect(err).NotTo(HaveOccurred())
	f, done := &film{}, make(chan struct{})
	go func() {
		defer close(done)
		for event := range w.ResultChan() {
			if hpa, ok := event.Object.(*autoscalingv2.HorizontalPodAutoscaler); ok {
				f.add(boundsOf(hpa))
			}
		}
	}()
	DeferCleanup(func() {
		stop()
		w.Stop()
		<-done
	})
	return f
}

func (f *film) add(b [2]int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.seen) == 0 || f.seen[len(f.seen)-1] != b {
		f.seen = append(f.seen, b)
	}
}

func (f *film) states() [][2]int32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([][2]int32{}, f.seen...)
}

// externalMetric lets an autoscaler have a minimum of 0.
func externalMetric() []autoscalingv2.MetricSpec {
	return []autoscalingv2.MetricSpec{{Type: autoscalingv2.ExternalMetricSourceType, External: &autoscalingv2.ExternalMetricSource{
		Metric: autoscalingv2.MetricIdentifier{Name: "queue"},
		Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: resource.NewQuantity(5, resource.DecimalSI)},
	}}}
}

// cpuMetric returns a metric that has no value while there are no pods.
func cpuMetric() []autoscalingv2.MetricSpec {
	return []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
		Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType,
			AverageUtilization: new(int32(50))}}}}
}
