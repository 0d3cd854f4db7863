// Package tortoise tests the tuning of requests, bounds and target utilisation from simulated usage. It runs the
// metrics server and the HorizontalPodAutoscaler controller of Kubernetes.
package tortoise

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

var (
	env *harness.Env
	ctx context.Context
	// binary is the path of the manager's program.
	binary string
	// realMetrics leads the metrics API to the metrics server, until the returned function is called.
	realMetrics func(context.Context) (back func() error, err error)
)

func TestTortoise(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(3 * harness.Patience)
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	RunSpecs(t, "Tortoise")
}

var adapters = []string{
	"deployments.apps", "replicasets.apps", "statefulsets.apps", "horizontalpodautoscalers.autoscaling", "rollouts.argoproj.io",
	"clusters.postgresql.cnpg.io",
}

var _ = BeforeSuite(func() {
	ctx = context.Background()
	env = suite.Up(ctx, local.Options{Level: local.LevelMetrics, Nodes: 12, With: []string{"prometheus", "promtool"}})
	for _, kind := range []string{"argoproj.io Rollout rollouts v1alpha1", "postgresql.cnpg.io Cluster clusters v1"} {
		Expect(env.Apply(ctx, openCRD(strings.Fields(kind)))).To(Succeed())
	}
	Expect(env.AwaitCRDs(ctx)).To(Succeed())
	Expect(env.InstallAdapters(ctx, adapters...)).To(Succeed())
	usage, err := env.ServeUsage(ctx)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(usage.Close)
	realMetrics = usage.Real
	binary, err = env.Build(ctx, GinkgoT().TempDir())
	Expect(err).NotTo(HaveOccurred())
})

// The workloads of a spec go after its managers and policies. Otherwise the autoscaler's controller would look at those of all specs every
// two seconds, and each measurement would be of all their pods.
var _ = BeforeEach(func() {
	DeferCleanup(func() {
		if CurrentSpecReport().IsInOrderedContainer {
			return // the next spec uses the same objects
		}
		autoscalers, deployments, sets := &autoscalingv2.HorizontalPodAutoscalerList{}, &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}
		for _, left := range []client.ObjectList{autoscalers, deployments, sets} {
			Expect(env.Client.List(ctx, left)).To(Succeed())
			Expect(meta.EachListItem(left, func(obj runtime.Object) error {
				return client.IgnoreNotFound(env.Client.Delete(ctx, obj.(client.Object), client.PropagationPolicy(metav1.DeletePropagationBackground)))
			})).To(Succeed())
		}
	})
})

// openCRD returns the CustomResourceDefinition of a kind that accepts any fields, given by group, kind, plural and
// version. The kind has no controller.
func openCRD(kind []string) []byte {
	group, name, plural, version := kind[0], kind[1], kind[2], kind[3]
	return fmt.Appendf(nil,
		`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %[3]s.%[1]s}, spec: {group: %[1]s, scope: Namespaced,
  names: {kind: %[2]s, listKind: %[2]sList, plural: %[3]s, singular: %[4]s},
  versions: [{name: %[5]s, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`,
		group, name, plural, strings.ToLower(name), version)
}

// noon is the instant at which the clocks of managers begin, on a Monday.
var noon = time.Date(2037, 1, 5, 12, 0, 0, 0, time.UTC)

// start runs a manager that measures five times a second and whose clock stands still.
func start(clock *clocktesting.FakeClock) *harness.Manager {
	GinkgoHelper()
	return suite.Start(ctx, env, optionsAt(clock), adapters...)
}

// deployment is a Deployment. Each of its pods uses 300m of 1000m CPU and 100Mi of 1Gi memory.
const deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %[1]s, name: %[2]s}
spec:
  replicas: 5
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata:
      labels: {app: %[2]s}
      annotations: {kwok.x-k8s.io/usage-cpu: 300m, kwok.x-k8s.io/usage-memory: 100Mi}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "example.com/app:1", resources: {requests: {cpu: "1", memory: 1Gi}, limits: {memory: 2Gi}}}]
`

// autoscaler keeps five replicas at the usage above.
const autoscaler = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {namespace: %[1]s, name: %[2]s}
spec:
  minReplicas: 5
  maxReplicas: 20
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %[2]s}
  behavior: {scaleDown: {stabilizationWindowSeconds: 7}}
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 50}}}]
`

// web creates a Deployment with an autoscaler in a new namespace.
func web() (namespace string) {
	GinkgoHelper()
	ns := suite.Namespace(ctx, env)
	Expect(env.Apply(ctx, fmt.Appendf(nil, deployment, ns, "web"))).To(Succeed())
	Expect(env.Apply(ctx, fmt.Appendf(nil, autoscaler, ns, "web"))).To(Succeed())
	return ns
}

// newTortoise creates a Tortoise for all Deployments of a namespace.
func newTortoise(namespace string, mode v1alpha1.TortoiseMode, edit ...func(*v1alpha1.TortoiseSpec)) *v1alpha1.Tortoise {
	GinkgoHelper()
	t := tortoiseOf(namespace, mode)
	for _, e := range edit {
		e(&t.Spec)
	}
	Expect(env.Client.Create(ctx, t)).To(Succeed())
	DeferCleanup(func() { suite.Remove(ctx, env, t) })
	return t
}

func tortoiseOf(namespace string, mode v1alpha1.TortoiseMode) *v1alpha1.Tortoise {
	t := &v1alpha1.Tortoise{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "tuned"}}
	t.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
	t.Spec.Mode = mode
	return t
}

// recommendation reads the status of the Recommendation for a Deployment.
func recommendation(namespace, name string) func(Gomega) v1alpha1.RecommendationStatus {
	return func(g Gomega) v1alpha1.RecommendationStatus {
		var r v1alpha1.Recommendation
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "deployment.apps-" + name}, &r)).To(Succeed())
		return r.Status
	}
}

func phaseOf(namespace, name string) func(Gomega) string {
	return func(g Gomega) string { return recommendation(namespace, name)(g).Phase }
}

// owned returns the parts of an object that its owner has set. They must be the same after everything is restored.
func owned(obj client.Object, namespace, name string) func(Gomega) string {
	return func(g Gomega) string {
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, obj)).To(Succeed())
		raw, err := json.Marshal(obj)
		g.Expect(err).NotTo(HaveOccurred())
		fields := map[string]any{}
		g.Expect(json.Unmarshal(raw, &fields)).To(Succeed())
		annotations := map[string]string{}
		maps.Copy(annotations, obj.GetAnnotations())
		delete(annotations, "deployment.kubernetes.io/revision")
		// The autoscaler controller scales within the bounds.
		spec, _ := fields["spec"].(map[string]any)
		delete(spec, "replicas")
		text, err := json.Marshal([]any{spec, obj.GetLabels(), annotations})
		g.Expect(err).NotTo(HaveOccurred())
		return string(text)
	}
}

// writers lists the field managers that have written an object.
func writers(obj client.Object) (names []string) {
	for _, m := range obj.GetManagedFields() {
		names = append(names, m.Manager)
	}
	return names
}

func readyOf(namespace string) func(Gomega) metav1.Condition {
	return func(g Gomega) metav1.Condition {
		var t v1alpha1.Tortoise
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "tuned"}, &t)).To(Succeed())
		for _, c := range t.Status.Conditions {
			if c.Type == v1alpha1.ConditionReady {
				return c
			}
		}
		return metav1.Condition{}
	}
}

func hpa(namespace string) func(Gomega) autoscalingv2.HorizontalPodAutoscalerSpec {
	return func(g Gomega) autoscalingv2.HorizontalPodAutoscalerSpec {
		var h autoscalingv2.HorizontalPodAutoscaler
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, &h)).To(Succeed())
		return h.Spec
	}
}

func requests(namespace, name string) func(Gomega) map[string]string {
	return func(g Gomega) map[string]string {
		var d appsv1.Deployment
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &d)).To(Succeed())
		r := d.Spec.Template.Spec.Containers[0].Resources
		return map[string]string{"cpu": r.Requests.Cpu().String(), "memory": r.Requests.Memory().String(), "limit": r.Limits.Memory().String()}
	}
}

// seen returns a learner's observation of the Deployment with the autoscaler.
func seen(namespace string, now time.Time) policy.Seen {
	return policy.Seen{Now: now, Since: now, Replicas: 5, Ready: 5,
		Own: workload.Allocations{{Component: "main", Requests: workload.Requests{MilliCPU: 1000, MemoryBytes: 1 << 30},
			Limits: workload.Requests{MemoryBytes: 2 << 30}}},
		Autoscaler: &policy.SeenAutoscaler{
			Ref:         workload.Ref{Namespace: namespace, Name: "web"},
			Bounds:      workload.Bounds{Min: ptr.To(int64(5)), Max: ptr.To(int64(20))},
			Utilisation: []workload.Utilisation{{Resource: workload.CPU, Percent: 50}},
		},
	}
}

// learnt returns a learner that has seen four days of a daily load up to noon. The last sample equals the usage of the
// pods in the cluster.
func learnt(namespace string) policy.Learner {
	GinkgoHelper()
	return learntUntil(namespace, noon)
}

// learntUntil returns such a learner that has seen the load up to another instant. At this instant the load is that of
// noon.
func learntUntil(namespace string, end time.Time) policy.Learner { return learntOf(namespace, end, 5) }

// learntOf returns such a learner for the given number of pods.
func learntOf(namespace string, end time.Time, pods int) policy.Learner {
	GinkgoHelper()
	learner := learnerOf(tortoiseOf(namespace, v1alpha1.TortoiseAuto))
	for ago := 4 * 24 * time.Hour; ago >= 0; ago -= 2 * time.Minute {
		sample := used(noon.Add(-ago), "main")
		sample.At, sample.Replicas = end.Add(-ago), pods
		learner.Observe(sample)
	}
	return learner
}

// learnerOf returns the learner of a policy that has learnt nothing yet.
func learnerOf(t *v1alpha1.Tortoise) policy.Learner {
	GinkgoHelper()
	compiled, errs := tortoise.Compile(t, tortoise.Context{})
	Expect(errs).To(BeEmpty())
	learner, err := compiled.Tuner.NewLearner(nil)
	Expect(err).NotTo(HaveOccurred())
	return learner
}

// used returns the usage of a container at an instant of the daily load.
func used(at time.Time, container string) workload.Sample {
	day := 2 * math.Pi * float64(at.Hour()*60+at.Minute()) / 1440
	return workload.Sample{At: at, Container: container, CPU: 200 - 100*math.Cos(day), Memory: 100 << 20, Replicas: 5}
}

// remember stores the learnt usage of the Deployment web in a checkpoint that the manager reads.
func remember(namespace string, learner policy.Learner) {
	GinkgoHelper()
	rememberOf(namespace, "web", learner)
}

// rememberOf does what remember does for another Deployment.
func rememberOf(namespace, name string, learner policy.Learner) {
	GinkgoHelper()
	var d appsv1.Deployment
	Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &d)).To(Succeed())
	rememberFor(v1alpha1.TunedTarget{Group: "apps", Kind: "Deployment", Name: name}, &d, learner)
}

// rememberFor does what remember does for an object of any kind.
func rememberFor(target v1alpha1.TunedTarget, obj client.Object, learner policy.Learner) {
	GinkgoHelper()
	rememberBy("tuned", target, obj, learner)
}

// rememberBy does what rememberFor does for a Tortoise with the given name.
func rememberBy(name string, target v1alpha1.TunedTarget, obj client.Object, learner policy.Learner) {
	GinkgoHelper()
	Expect(env.Client.Create(ctx, &v1alpha1.UsageCheckpoint{
		ObjectMeta: metav1.ObjectMeta{Namespace: obj.GetNamespace(), Name: strings.ToLower(target.Kind) + "." + target.Group + "-" + target.Name},
		Spec: v1alpha1.UsageCheckpointSpec{
			Target: target, Policy: "Tortoise/" + obj.GetNamespace() + "/" + name, TargetUID: string(obj.GetUID()),
			Data: base64.StdEncoding.EncodeToString(learner.Keep()),
		},
	})).To(Succeed())
}

// withoutMetrics removes the metrics API until the returned function is called.
func withoutMetrics() (back func()) {
	GinkgoHelper()
	service := &unstructured.Unstructured{}
	service.SetAPIVersion("apiregistration.k8s.io/v1")
	service.SetKind("APIService")
	Expect(env.Client.Get(ctx, client.ObjectKey{Name: "v1beta1.metrics.k8s.io"}, service)).To(Succeed())
	Expect(env.Client.Delete(ctx, service)).To(Succeed())
	gone := true
	back = func() {
		if !gone {
			return
		}
		gone = false
		service.SetResourceVersion("")
		service.SetUID("")
		unstructured.RemoveNestedField(service.Object, "status")
		Expect(env.Client.Create(ctx, service)).To(Succeed())
	}
	DeferCleanup(func() { back() })
	return back
}

func contains(all []string, part string) bool {
	for _, s := range all {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

// optionsAt returns the options of a manager that measures five times a second and whose clock stands still. Pods that are
// ready count as ready for long, so their usage counts at once.
func optionsAt(clock *clocktesting.FakeClock) harness.Options {
	return harness.Options{Clock: clock, PodClock: harness.NewLeadingClock(time.Minute), UsageResolution: 200 * time.Millisecond,
		Log: GinkgoWriter}
}

// measured waits until the manager has measured and used the usage of pods since the call.
func measured() {
	GinkgoHelper()
	Expect(harness.Measured(ctx)).To(Succeed())
}

// step moves a clock, and waits until the manager has measured and used the usage of pods since.
func step(clock *clocktesting.FakeClock, d time.Duration) {
	GinkgoHelper()
	clock.Step(d)
	measured()
}

// still checks a state once the manager has measured, has decided for all that is stored, and has nothing to do.
func still(actual any) AsyncAssertion {
	GinkgoHelper()
	measured()
	return suite.Still(actual)
}
