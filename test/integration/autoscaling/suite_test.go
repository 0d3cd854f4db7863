// Package autoscaling tests schedules beside the real HorizontalPodAutoscaler controller of Kubernetes, on simulated usage
// and on an external metric that the tests serve.
package autoscaling

import (
	"context"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

var (
	env *harness.Env
	ctx context.Context
)

// round is the time between two rounds of the autoscaler's controller.
const round = 250 * time.Millisecond

func TestAutoscaling(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(2 * harness.Patience)
	SetDefaultEventuallyPollingInterval(200 * time.Millisecond)
	RunSpecs(t, "Autoscaling")
}

var _ = BeforeSuite(func() {
	ctx = context.Background()
	env = suite.Up(ctx, local.Options{
		Level: local.LevelMetrics, Audit: true, ExtraControllerManagerArgs: []string{"--horizontal-pod-autoscaler-downscale-stabilization=2s",
			"--horizontal-pod-autoscaler-sync-period=" + round.String()},
	}, "deployments.apps", "replicasets.apps", "horizontalpodautoscalers.autoscaling")
	usage, err := env.ServeUsage(ctx)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(usage.Close)
})

// web is a Deployment called web with an autoscaler of the same name, in a namespace of its own.
const web = `
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %[1]s, name: web}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: web}}
  template:
    metadata:
      labels: {app: web}
      annotations: {kwok.x-k8s.io/usage-cpu: 400m, kwok.x-k8s.io/usage-memory: 64Mi}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "example.com/app:1", resources: {requests: {cpu: 500m, memory: 128Mi}}}]
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {namespace: %[1]s, name: web}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, %[3]s}
`

// create creates the Deployment and the autoscaler.
func create(namespace string, replicas int, autoscaler string) {
	GinkgoHelper()
	Expect(env.Apply(ctx, fmt.Appendf(nil, web, namespace, replicas, autoscaler))).To(Succeed())
}

// replicas reads the Deployment's count.
func replicas(namespace string) func(Gomega) int32 {
	return func(g Gomega) int32 {
		var d appsv1.Deployment
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, &d)).To(Succeed())
		return *d.Spec.Replicas
	}
}

// seen returns the autoscaler of a namespace.
func seen(g Gomega, namespace string) *autoscalingv2.HorizontalPodAutoscaler {
	var h autoscalingv2.HorizontalPodAutoscaler
	g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, &h)).To(Succeed())
	return &h
}

// autoscaler reads the spec of the autoscaler.
func autoscaler(namespace string) func(Gomega) autoscalingv2.HorizontalPodAutoscalerSpec {
	return func(g Gomega) autoscalingv2.HorizontalPodAutoscalerSpec { return seen(g, namespace).Spec }
}

// conditions reads the statuses of the autoscaler's conditions.
func conditions(namespace string) func(Gomega) map[autoscalingv2.HorizontalPodAutoscalerConditionType]corev1.ConditionStatus {
	return func(g Gomega) map[autoscalingv2.HorizontalPodAutoscalerConditionType]corev1.ConditionStatus {
		out := map[autoscalingv2.HorizontalPodAutoscalerConditionType]corev1.ConditionStatus{}
		for _, c := range seen(g, namespace).Status.Conditions {
			out[c.Type] = c.Status
		}
		return out
	}
}

// desired reads the present and the desired count in the status of the autoscaler.
func desired(namespace string) func(Gomega) [2]int32 {
	return func(g Gomega) [2]int32 {
		h := seen(g, namespace)
		return [2]int32{h.Status.CurrentReplicas, h.Status.DesiredReplicas}
	}
}
