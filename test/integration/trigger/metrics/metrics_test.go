// Package metrics tests triggers beside the real HorizontalPodAutoscaler controller of Kubernetes, on simulated usage.
package metrics

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

// period is the interval at which the autoscaler's controller runs.
const period = 250 * time.Millisecond

var adapters = []string{"deployments.apps", "replicasets.apps", "horizontalpodautoscalers.autoscaling"}

var (
	env *harness.Env
	ctx context.Context
)

func TestMetrics(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(2 * harness.Patience)
	SetDefaultEventuallyPollingInterval(50 * time.Millisecond)
	RunSpecs(t, "Trigger with metrics")
}

var _ = BeforeSuite(func() {
	ctx = context.Background()
	env = suite.Up(ctx, local.Options{Level: local.LevelMetrics, Audit: true, ExtraControllerManagerArgs: []string{
		"--horizontal-pod-autoscaler-sync-period=" + period.String(), "--horizontal-pod-autoscaler-downscale-stabilization=2s"}}, adapters...)
	usage, err := env.ServeUsage(ctx)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(usage.Close)
})

var monday = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

func hour(h float64) time.Time { return monday.Add(time.Duration(h * float64(time.Hour))) }

func start(h float64) *clocktesting.FakeClock {
	GinkgoHelper()
	clock := clocktesting.NewFakeClock(hour(h))
	suite.Start(ctx, env, harness.Options{Clock: clock}, adapters...)
	return clock
}

// web is a Deployment with little load. Its autoscaler would reduce it to one replica.
const web = `
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: NAMESPACE, name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations: {kwok.x-k8s.io/usage-cpu: 10m, kwok.x-k8s.io/usage-memory: 64Mi}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "example.com/app:1", resources: {requests: {cpu: 500m, memory: 128Mi}}}]
`

const autoscaler = `
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {namespace: NAMESPACE, name: web}
spec:
  minReplicas: 1
  maxReplicas: 10
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
`

// peaks is a Trigger on the autoscaler with a list of triggers.
const peaks = `
---
apiVersion: flyball.dev/v1alpha1
kind: Trigger
metadata: {namespace: NAMESPACE, name: peaks}
spec:
  target: {kinds: [{group: autoscaling, kind: HorizontalPodAutoscaler}], names: [web]}
  triggers: [TRIGGERS]
`

// apply makes the objects of the manifests.
func apply(namespace, manifests, triggers string) {
	GinkgoHelper()
	text := strings.NewReplacer("NAMESPACE", namespace, "TRIGGERS", triggers).Replace(manifests)
	Expect(env.Apply(ctx, []byte(text))).To(Succeed())
}

func replicas(namespace string) func(Gomega) int32 {
	return func(g Gomega) int32 {
		var d appsv1.Deployment
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, &d)).To(Succeed())
		return *d.Spec.Replicas
	}
}

// scaling waits until the autoscaler has metrics and has scaled by them.
func scaling(namespace string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		var h autoscalingv2.HorizontalPodAutoscaler
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, &h)).To(Succeed())
		g.Expect(h.Status.Conditions).To(ContainElement(And(HaveField("Type", autoscalingv2.ScalingActive),
			HaveField("Status", BeEquivalentTo("True")))))
	}).Should(Succeed())
}

// stays checks that a Deployment keeps its count while the autoscaler's controller looks at it four times.
func stays(namespace string, count int) {
	GinkgoHelper()
	suite.DuringRounds(env, namespace, 4, func(g Gomega) { g.Expect(replicas(namespace)(g)).To(BeEquivalentTo(count)) })
}

// film records every count of the Deployment from now on.
type film struct {
	mu   sync.Mutex
	seen []int32
}

func record(namespace string) *film {
	GinkgoHelper()
	c, err := client.NewWithWatch(env.Config, client.Options{Scheme: app.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	watching, stop := context.WithCancel(ctx)
	w, err := c.Watch(watching, &appsv1.DeploymentList{}, client.InNamespace(namespace))
	Expect(err).NotTo(HaveOccurred())
	f, done := &film{}, make(chan struct{})
	go func() {
		defer close(done)
		for event := range w.ResultChan() {
			if d, ok := event.Object.(*appsv1.Deployment); ok {
				f.add(*d.Spec.Replicas)
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

func (f *film) add(n int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.seen) == 0 || f.seen[len(f.seen)-1] != n {
		f.seen = append(f.seen, n)
	}
}

func (f *film) counts() []int32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]int32{}, f.seen...)
}

var _ = Describe("The autoscaler's controller", func() {
	It("follows a raised minimum within one period, through a hand-over without a dip, and back", func() {
		clock := start(7)
		const ns = "follows"
		apply(ns, web+autoscaler+peaks, `
  {name: early, window: {from: "08:00", to: "09:00"}, during: {min: 4, max: 10}},
  {name: late, window: {from: "09:00", to: "10:00"}, during: {min: 5, max: 10}}`)
		scaling(ns)
		f := record(ns)
		clock.SetTime(hour(8))
		Eventually(replicas(ns)).Should(BeEquivalentTo(4))
		stays(ns, 4)
		clock.SetTime(hour(9))
		Eventually(replicas(ns)).Should(BeEquivalentTo(5))
		stays(ns, 5)
		Eventually(f.counts).Should(Equal([]int32{1, 4, 5}))
		clock.SetTime(hour(10))
		Eventually(replicas(ns)).Should(BeEquivalentTo(1))
	})

	It("keeps control of a size that was set once", func() {
		clock := start(7)
		const ns = "once"
		apply(ns, web+autoscaler+peaks, `{name: peak, window: {from: "08:00", to: "11:00"}, during: {min: 2, max: 10, replicas: 6}}`)
		scaling(ns)
		f := record(ns)
		clock.SetTime(hour(8))
		Eventually(f.counts).Should(ContainElement(BeEquivalentTo(6)))
		Eventually(replicas(ns)).Should(BeEquivalentTo(2), "down to the minimum, by its own decision")
		stays(ns, 2) // nobody sets 6 again
		clock.SetTime(hour(11))
		Eventually(replicas(ns)).Should(BeEquivalentTo(1))
	})

	It("leaves a sleeping target with a raised minimum alone, and the target wakes inside the bounds at once", func() {
		clock := start(7)
		const ns = "asleep"
		apply(ns, web+autoscaler+peaks+`
---
apiVersion: flyball.dev/v1alpha1
kind: Schedule
metadata: {namespace: NAMESPACE, name: mornings}
spec:
  target: {kinds: [{group: apps, kind: Deployment}]}
  asleep: [{from: "08:00", to: "10:00"}]
`, `{name: peak, window: {from: "09:00", to: "11:00"}, during: {min: 5, max: 10}}`)
		scaling(ns)
		clock.SetTime(hour(8))
		Eventually(replicas(ns)).Should(BeEquivalentTo(0))
		clock.SetTime(hour(9))
		stays(ns, 0)
		f := record(ns)
		clock.SetTime(hour(10))
		Eventually(replicas(ns)).Should(BeEquivalentTo(5))
		stays(ns, 5)
		Eventually(f.counts).Should(Equal([]int32{0, 5}))
	})

	It("scales by a template's autoscaler, which is deleted with its Trigger", func() {
		start(9)
		const ns = "template"
		apply(ns, web+`
---
apiVersion: flyball.dev/v1alpha1
kind: Trigger
metadata: {namespace: NAMESPACE, name: peaks}
spec:
  target: {kinds: [{group: autoscaling, kind: HorizontalPodAutoscaler}], names: [web]}
  triggers: [{name: peak, window: {from: "08:00", to: "11:00"}, during: {min: 3, max: 10}}]
  template:
    apiVersion: autoscaling/v2
    kind: HorizontalPodAutoscaler
    spec:
      maxReplicas: 10
      scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
      metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
`, "")
		Eventually(replicas(ns)).Should(BeEquivalentTo(3))
		Eventually(func(g Gomega) {
			var h autoscalingv2.HorizontalPodAutoscaler
			key := client.ObjectKey{Namespace: ns, Name: "web"}
			g.Expect(env.Client.Get(ctx, key, &h)).To(Succeed())
			g.Expect(env.Client.Delete(ctx, &h)).To(Succeed())
			uid := h.UID
			g.Eventually(func(g Gomega) {
				g.Expect(env.Client.Get(ctx, key, &h)).To(Succeed())
				g.Expect(h.UID).NotTo(Equal(uid))
			}).Should(Succeed())
		}).Should(Succeed())
		t := &v1alpha1.Trigger{}
		t.Namespace, t.Name = ns, "peaks"
		Expect(env.Client.Delete(ctx, t)).To(Succeed())
		Eventually(func() error {
			return env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "web"}, &autoscalingv2.HorizontalPodAutoscaler{})
		}).Should(MatchError(ContainSubstring("not found")))
	})
})
