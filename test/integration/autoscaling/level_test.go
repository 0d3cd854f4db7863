package autoscaling

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// pair is a Deployment with five replicas, and an autoscaler that wants just these five. A pod has the same usage with
// five replicas as with three. So the autoscaler must not remove a replica because of its measurements. New pods show
// too little usage for a moment, and the autoscaler would keep the lower count.
const pair = `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %[1]s, name: %[2]s}
spec:
  replicas: 5
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata:
      labels: {app: %[2]s}
      annotations: {kwok.x-k8s.io/usage-cpu: 400m, kwok.x-k8s.io/usage-memory: 64Mi}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "example.com/app:1", resources: {requests: {cpu: 500m, memory: 128Mi}}}]
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {namespace: %[1]s, name: %[2]s}
spec:
  minReplicas: 3
  maxReplicas: 10
  behavior: {scaleDown: {selectPolicy: Disabled}}
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %[2]s}
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
`

// A level leaves some replicas, so that the autoscaler goes on working on a Deployment that waits for its batch.
var _ = Describe("asleepAs replicas under a rate limit", func() {
	It("changes an autoscaler with its Deployment, and takes both back, one after the other", func() {
		const ns, delay = "level", time.Hour
		Expect(env.Apply(ctx, []byte("{apiVersion: v1, kind: Namespace, metadata: {name: level}}"))).To(Succeed())
		for _, name := range []string{"front", "back"} {
			Expect(env.Apply(ctx, fmt.Appendf(nil, pair, ns, name))).To(Succeed())
		}
		clock := startManager()
		Expect(env.Apply(ctx, []byte(`
apiVersion: flyball.dev/v1alpha1
kind: Schedule
metadata: {namespace: level, name: nights}
spec:
  upscale: "0 8 * * *"
  downscale: "0 20 * * *"
  asleepAs: {replicas: 2}
  upscaleRateLimit: {batchSize: 1, delayBetweenBatches: 1h}
  downscaleRateLimit: {batchSize: 1, delayBetweenBatches: 1h}
`))).To(Succeed())
		DeferCleanup(func() {
			s := &v1alpha1.Schedule{}
			s.Namespace, s.Name = ns, "nights"
			Expect(env.Client.Delete(ctx, s)).To(Succeed())
		})
		sizes := func(g Gomega) []int32 {
			var list appsv1.DeploymentList
			g.Expect(env.Client.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
			var out []int32
			for i := range list.Items {
				out = append(out, *list.Items[i].Spec.Replicas)
			}
			return out
		}
		Eventually(conditionOf("nights", ns)).Should(Equal("True"))

		one := ConsistOf(BeEquivalentTo(5), BeEquivalentTo(2))
		transition := func(at time.Duration, after OmegaMatcher) {
			GinkgoHelper()
			clock.SetTime(monday.Add(at))
			Eventually(sizes).Should(one)
			suite.DuringRounds(env, ns, rounds/8, func(g Gomega) { g.Expect(sizes(g)).To(one) })
			clock.SetTime(monday.Add(at + delay))
			Eventually(sizes).Should(after)
		}
		// Several nights make it likely that the autoscaler's controller runs while a change is only half done.
		for day := range 4 {
			night := time.Duration(day) * 24 * time.Hour
			transition(night+8*time.Hour, HaveEach(BeEquivalentTo(2)))
			transition(night+20*time.Hour, HaveEach(BeEquivalentTo(5)))
		}
		suite.DuringRounds(env, ns, rounds/4, func(g Gomega) { g.Expect(sizes(g)).To(HaveEach(BeEquivalentTo(5))) })
	})
})

// conditionOf reads the status of a Schedule's condition Ready.
func conditionOf(name, namespace string) func(Gomega) string {
	return func(g Gomega) string {
		var s v1alpha1.Schedule
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)).To(Succeed())
		for _, c := range s.Status.Conditions {
			if c.Type == v1alpha1.ConditionReady {
				return string(c.Status)
			}
		}
		return ""
	}
}
