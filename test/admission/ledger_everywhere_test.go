package admission_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/register"
)

// samples are objects of kinds of which a new API server has no objects.
const samples = `
{apiVersion: v1, kind: Pod, metadata: {name: sample, namespace: default}, spec: {containers: [{name: a, image: a}]}}
---
{apiVersion: v1, kind: Node, metadata: {name: sample}}
---
{apiVersion: v1, kind: ReplicationController, metadata: {name: sample, namespace: default}, spec: {replicas: 0, selector: {a: b},
	template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}
---
{apiVersion: v1, kind: PersistentVolume, metadata: {name: sample}, spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce],
	hostPath: {path: /tmp}}}
---
{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: sample, namespace: default}, spec: {accessModes: [ReadWriteOnce],
	resources: {requests: {storage: 1Gi}}}}
---
{apiVersion: v1, kind: ResourceQuota, metadata: {name: sample, namespace: default}, spec: {hard: {count/example.com: 1}}}
---
{apiVersion: apps/v1, kind: Deployment, metadata: {name: sample, namespace: default}, spec: {replicas: 0, selector: {matchLabels: {a: b}},
	template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}
---
{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: sample, namespace: default}, spec: {replicas: 0, selector: {matchLabels: {a: b}},
	template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}
---
{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: sample, namespace: default}, spec: {selector: {matchLabels: {a: b}},
	template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: sample, namespace: default}, spec: {replicas: 0, serviceName: a,
	selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}}
---
{apiVersion: batch/v1, kind: Job, metadata: {name: sample, namespace: default}, spec: {suspend: true,
	template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}
---
{apiVersion: batch/v1, kind: CronJob, metadata: {name: sample, namespace: default}, spec: {suspend: true, schedule: "0 0 * * *",
	jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}}
---
{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: sample, namespace: default}, spec: {maxReplicas: 2,
	scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: none}}}
---
{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: sample, namespace: default}, spec: {minAvailable: 0,
	selector: {matchLabels: {a: b}}}}
---
{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: sample, namespace: default}, spec: {defaultBackend: {service: {name: a,
	port: {number: 80}}}}}
---
{apiVersion: networking.k8s.io/v1, kind: ServiceCIDR, metadata: {name: sample}, spec: {cidrs: [10.99.0.0/24]}}
---
{apiVersion: storage.k8s.io/v1, kind: VolumeAttachment, metadata: {name: sample}, spec: {attacher: a, nodeName: a,
	source: {persistentVolumeName: sample}}}
---
{apiVersion: resource.k8s.io/v1, kind: ResourceClaim, metadata: {name: sample, namespace: default}, spec: {devices: {requests: [{name: a,
	exactly: {deviceClassName: a}}]}}}
`

// No subresource of any built-in kind accepts a ledger.
func TestNoSubresourceTakesALedger(t *testing.T) {
	clients, objects := kubernetes.NewForConfigOrDie(api.Config()), dynamic.NewForConfigOrDie(api.Config())
	opts := options(t, adapters(t))
	opts.Policies = true
	start(t, opts)
	lists, err := discovery.ServerPreferredResources(clients.Discovery())
	if err != nil {
		t.Fatal(err)
	}
	_, everything, err := clients.Discovery().ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	resources := map[schema.GroupKind]metav1.APIResource{}
	for _, list := range lists {
		gv, _ := schema.ParseGroupVersion(list.GroupVersion)
		for _, r := range list.APIResources {
			r.Group, r.Version = gv.Group, gv.Version
			resources[schema.GroupKind{Group: gv.Group, Kind: r.Kind}] = r
		}
	}
	makeSamples(t, objects, resources)
	const patch = `{"metadata":{"annotations":{"flyball.dev/ledger":"{}"}}}`
	eventually(t, "the policy is in force", func() error {
		_, err := clients.AppsV1().Deployments("default").Patch(t.Context(), "sample", types.MergePatchType, []byte(patch),
			metav1.PatchOptions{DryRun: []string{"All"}}, "status")
		if !apierrors.IsForbidden(err) {
			return fmt.Errorf("not refused: %w", err)
		}
		return nil
	})
	tried := 0
	for _, list := range everything {
		gv, _ := schema.ParseGroupVersion(list.GroupVersion)
		for _, r := range list.APIResources {
			parent, subresource, is := strings.Cut(r.Name, "/")
			if !is || subresource == "proxy" || gv.Group == v1alpha1.GroupVersion.Group || !slices.Contains(r.Verbs, "patch") &&
				!slices.Contains(r.Verbs, "update") {
				continue
			}
			client := objects.Resource(gv.WithResource(parent))
			found, err := client.List(t.Context(), metav1.ListOptions{})
			if err != nil || len(found.Items) == 0 {
				t.Logf("no object of %s %s: %v", gv, parent, err)
				continue
			}
			tried++
			name, namespace := found.Items[0].GetName(), found.Items[0].GetNamespace()
			var got *unstructured.Unstructured
			if slices.Contains(r.Verbs, "patch") {
				got, err = client.Namespace(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(patch),
					metav1.PatchOptions{DryRun: []string{"All"}}, subresource)
			} else {
				edited := found.Items[0].DeepCopy()
				edited.SetAnnotations(map[string]string{"flyball.dev/ledger": "{}"})
				got, err = client.Namespace(namespace).Update(t.Context(), edited, metav1.UpdateOptions{DryRun: []string{"All"}}, subresource)
			}
			if err == nil && got.GetAnnotations()["flyball.dev/ledger"] != "" {
				t.Errorf("%s %s takes a ledger", gv, r.Name)
			}
			if err != nil && !strings.Contains(err.Error(), register.LedgerPolicyName) {
				t.Errorf("%s %s: %v", gv, r.Name, err)
			}
		}
	}
	if tried < 25 {
		t.Errorf("tried only %d subresources", tried)
	}
	tryBindings(t, clients)
}

// tryBindings binds a Pod, because a Binding copies its own annotations to the Pod.
func tryBindings(t *testing.T, clients kubernetes.Interface) {
	t.Helper()
	binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "sample", Namespace: "default",
		Annotations: map[string]string{"flyball.dev/ledger": "{}"}}, Target: corev1.ObjectReference{Kind: "Node", Name: "sample"}}
	if err := clients.CoreV1().Pods("default").Bind(t.Context(), binding, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		pod, _ := clients.CoreV1().Pods("default").Get(t.Context(), "sample", metav1.GetOptions{})
		t.Errorf("a binding with a ledger: %v; the pod has %v", err, pod.Annotations)
	}
	binding.Annotations = map[string]string{"a": "b"}
	if err := clients.CoreV1().Pods("default").Bind(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Errorf("a binding without: %v", err)
	}
}

// makeSamples creates the samples and deletes them at the end of the test.
func makeSamples(t *testing.T, objects dynamic.Interface, resources map[schema.GroupKind]metav1.APIResource) {
	t.Helper()
	for _, text := range strings.Split(samples, "---\n") {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
			t.Fatal(err)
		}
		r := resources[obj.GroupVersionKind().GroupKind()]
		client := objects.Resource(obj.GroupVersionKind().GroupVersion().WithResource(r.Name)).Namespace(obj.GetNamespace())
		if _, err := client.Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
			t.Fatalf("%s: %v", obj.GetKind(), err)
		}
		t.Cleanup(func() { _ = client.Delete(t.Context(), obj.GetName(), *metav1.NewDeleteOptions(0)) })
	}
}
