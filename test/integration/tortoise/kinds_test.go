package tortoise

import (
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// template is the template of pods with one container, with annotations that simulate their usage.
const template = `
    metadata:
      labels: {app: db}
      annotations: {kwok.x-k8s.io/usage-cpu: 300m, kwok.x-k8s.io/usage-memory: 100Mi}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "example.com/app:1", resources: {requests: {cpu: "1", memory: 1Gi}, limits: {memory: 2Gi}}}]
`

const statefulSet = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {namespace: %s, name: db}
spec:
  replicas: 3
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: db}}
  template:` + template

const rollout = `
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {namespace: %s, name: db}
spec:
  replicas: 3
  selector: {matchLabels: {app: db}}
  template:` + template

// replicaSet is a ReplicaSet as the controller of Rollouts would create it.
const replicaSet = `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {namespace: %s, name: db-1}
spec:
  replicas: 3
  selector: {matchLabels: {app: db}}
  template:` + template

const postgres = `
apiVersion: postgresql.cnpg.io/v1
kind: Cluster
metadata: {namespace: %s, name: db}
spec:
  instances: 1
  resources: {requests: {cpu: "1", memory: 1Gi}, limits: {memory: 2Gi}}
`

// instance is a pod as the operator of CloudNativePG would create it.
const instance = `
apiVersion: v1
kind: Pod
metadata:
  namespace: %s
  name: db-1
  annotations: {kwok.x-k8s.io/usage-cpu: 300m, kwok.x-k8s.io/usage-memory: 100Mi}
spec:
  terminationGracePeriodSeconds: 0
  containers: [{name: postgres, image: "example.com/postgres:1", resources: {requests: {cpu: "1", memory: 1Gi}, limits: {memory: 2Gi}}}]
`

// made applies a manifest. If above is given, it is the owner of the object.
func made(namespace, manifest string, above *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	all, err := harness.Objects(fmt.Appendf(nil, manifest, namespace))
	Expect(err).NotTo(HaveOccurred())
	obj := all[0]
	if above != nil {
		obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(above, above.GroupVersionKind())})
	}
	Expect(env.Client.Create(ctx, obj)).To(Succeed())
	return obj
}

var _ = Describe("A Tortoise over kinds that only adapters describe", func() {
	resources := func(obj *unstructured.Unstructured, path ...string) map[string]any {
		GinkgoHelper()
		spec, _, err := unstructured.NestedMap(obj.Object, path...)
		Expect(err).NotTo(HaveOccurred())
		if list, found := spec["containers"].([]any); found {
			spec = list[0].(map[string]any)
		}
		return spec["resources"].(map[string]any)
	}
	DescribeTable("sets the recommendation, and restores the originals exactly",
		func(manifest, container, below string, path ...string) {
			ns := suite.Namespace(ctx, env)
			obj := made(ns, manifest, nil)
			if below != "" {
				made(ns, below, obj)
			}
			get := func(g Gomega) *unstructured.Unstructured {
				now := obj.NewEmptyInstance().(*unstructured.Unstructured)
				now.SetGroupVersionKind(obj.GroupVersionKind())
				g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(obj), now)).To(Succeed())
				return now
			}
			text := func(g Gomega) string {
				now := get(g)
				raw, err := json.Marshal([]any{now.Object["spec"], now.GetLabels(), now.GetAnnotations()})
				g.Expect(err).NotTo(HaveOccurred())
				return string(raw)
			}
			before := text(Default)
			gvk := obj.GroupVersionKind()
			t := tortoiseOf(ns, v1alpha1.TortoiseAuto)
			t.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: gvk.Group, Kind: gvk.Kind}}
			learner := learnerOf(t)
			for at := noon.Add(-4 * 24 * time.Hour); !at.After(noon); at = at.Add(2 * time.Minute) {
				learner.Observe(used(at, container))
			}
			rememberFor(v1alpha1.TunedTarget{Group: gvk.Group, Kind: gvk.Kind, Name: "db"}, obj, learner)
			start(clocktesting.NewFakeClock(noon.Add(time.Minute)))
			Expect(env.Client.Create(ctx, t)).To(Succeed())
			DeferCleanup(func() { suite.Remove(ctx, env, t) })

			Eventually(func(g Gomega) {
				now := resources(get(g), path...)
				requests, _, err := unstructured.NestedStringMap(now, "requests")
				g.Expect(err).NotTo(HaveOccurred())
				memory := resource.MustParse(requests["memory"])
				g.Expect(memory.Cmp(resource.MustParse("1Gi"))).To(Equal(-1), "%v", now)
				limit, _, err := unstructured.NestedString(now, "limits", "memory")
				g.Expect(err).NotTo(HaveOccurred())
				most := resource.MustParse(limit)
				g.Expect(most.Value()).To(Equal(2 * memory.Value()))
			}).Should(Succeed())
			suite.Remove(ctx, env, t)
			Eventually(text).Should(MatchJSON(before))
		},
		Entry("a StatefulSet", statefulSet, "main", "", "spec", "template", "spec"),
		Entry("a Rollout", rollout, "main", replicaSet, "spec", "template", "spec"),
		Entry("a CloudNativePG cluster", postgres, "postgres", instance, "spec"),
	)
})
