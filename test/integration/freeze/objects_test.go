package freeze

import (
	"fmt"
	"strings"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// customKinds are CRDs of kinds that the library adapts, accepting any field.
func customKinds() []string {
	crd := func(plural, group, kind, versions string) string {
		return fmt.Sprintf(`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.%[2]s}
spec:
  group: %[2]s
  scope: Namespaced
  names: {plural: %[1]s, singular: %[4]s, kind: %[3]s, listKind: %[3]sList}
  versions: [%[5]s]
`, plural, group, kind, strings.ToLower(kind), versions)
	}
	version := func(name string, storage bool, scale string) string {
		return fmt.Sprintf(
			`{name: %s, served: true, storage: %t, subresources: {status: {}%s}, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true, `+
				`properties: {spec: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {replicas: {type: integer}, instances: {type: integer}}}}}}}`, name, storage, scale)
	}
	const byReplicas = ", scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}"
	const byInstances = ", scale: {specReplicasPath: .spec.instances, statusReplicasPath: .status.instances}"
	return []string{
		crd("rollouts", "argoproj.io", "Rollout", version("v1alpha1", true, byReplicas)),
		crd("elasticsearches", "elasticsearch.k8s.elastic.co", "Elasticsearch", version("v1", true, "")+", "+version("v1beta1", false, "")),
		crd("clusters", "postgresql.cnpg.io", "Cluster", version("v1", true, byInstances)),
		crd("applications", "argoproj.io", "Application", version("v1alpha1", true, "")),
		crd("kustomizations", "kustomize.toolkit.fluxcd.io", "Kustomization", version("v1", true, "")),
		crd("helmreleases", "helm.toolkit.fluxcd.io", "HelmRelease", version("v2", true, "")),
	}
}

// specimen is a kind with an object of the kind, and an edit of the object for each action.
type specimen struct {
	kind string
	// object is YAML in which the namespace and the name are missing.
	object string
	// rollOut, scale and both are merge patches. A patch is empty if the kind has no such edit.
	rollOut, scale, both string
	// subresource is a merge patch of /scale.
	subresource string
	// labels are the actions of an edit of labels. owners are the actions, besides a deletion, of an edit of owner
	// references. Empty means no action.
	labels, owners []string
}

const (
	podTemplate = `template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: "registry.example.com/a:1"}]}}`
	newImage    = `"template":{"spec":{"containers":[{"name":"a","image":"registry.example.com/a:2"}]}}`
	toTwo       = `{"spec":{"replicas":2}}`
)

// foundByLabels changes a specimen of a kind whose owners find objects by labels. An owner that does not find its
// object creates another one.
func foundByLabels(s specimen) specimen {
	s.labels, s.owners = []string{"Create"}, []string{"Create"}
	return s
}

func specimens() []specimen {
	pods := func(kind, apiVersion, more string) specimen {
		return specimen{
			kind: kind,
			object: fmt.Sprintf(
				`{apiVersion: %s, kind: %s, metadata: {namespace: %%s, name: %%s}, spec: {replicas: 1, selector: {matchLabels: {app: a}}, %s%s}}`,
				apiVersion, kind, more, podTemplate),
			rollOut:     `{"spec":{` + newImage + `}}`,
			scale:       toTwo,
			both:        `{"spec":{"replicas":2,` + newImage + `}}`,
			subresource: toTwo,
		}
	}
	return []specimen{
		pods("Deployment", "apps/v1", ""),
		pods("StatefulSet", "apps/v1", "serviceName: a, "),
		foundByLabels(pods("ReplicaSet", "apps/v1", "")),
		pods("Rollout", "argoproj.io/v1alpha1", ""),
		{
			kind: "DaemonSet",
			object: `{apiVersion: apps/v1, kind: DaemonSet, metadata: {namespace: %s, name: %s}, spec: {selector: {matchLabels: {app: a}}, ` +
				podTemplate + `}}`,
			rollOut: `{"spec":{` + newImage + `}}`,
			scale:   `{"spec":{"template":{"spec":{"nodeSelector":{"flyball.dev/asleep":"true"}}}}}`,
			both:    `{"spec":{"template":{"spec":{"nodeSelector":{"flyball.dev/asleep":"true"},"priority":0,"containers":[{"name":"a","image":"registry.example.com/a:2"}]}}}}`,
		},
		{
			kind:    "CronJob",
			object:  `{apiVersion: batch/v1, kind: CronJob, metadata: {namespace: %s, name: %s}, spec: {schedule: "0 0 1 1 *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "registry.example.com/a:1"}]}}}}}}`,
			rollOut: `{"spec":{"jobTemplate":{"spec":{"backoffLimit":2}}}}`,
			scale:   `{"spec":{"suspend":true}}`,
			both:    `{"spec":{"suspend":true,"jobTemplate":{"spec":{"backoffLimit":2}}}}`,
		},
		{
			kind:   "Job",
			object: `{apiVersion: batch/v1, kind: Job, metadata: {namespace: %s, name: %s}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: "registry.example.com/a:1"}]}}}}`,
			scale:  `{"spec":{"parallelism":2}}`,
			owners: []string{"Create"},
		},
		{
			kind:   "HorizontalPodAutoscaler",
			object: `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {namespace: %s, name: %s}, spec: {minReplicas: 1, maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: nobody}}}`,
			scale:  `{"spec":{"minReplicas":2}}`,
		},
		{
			kind:    "Elasticsearch",
			object:  `{apiVersion: elasticsearch.k8s.elastic.co/v1, kind: Elasticsearch, metadata: {namespace: %s, name: %s}, spec: {version: 9.0.0, nodeSets: [{name: data, count: 3}]}}`,
			rollOut: `{"spec":{"version":"9.1.0"}}`,
			scale:   `{"spec":{"nodeSets":[{"name":"data","count":4}]}}`,
			both:    `{"spec":{"version":"9.1.0","nodeSets":[{"name":"data","count":4}]}}`,
		},
		{
			kind:        "Cluster",
			object:      `{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, metadata: {namespace: %s, name: %s}, spec: {instances: 3, imageName: "registry.example.com/pg:16"}}`,
			rollOut:     `{"spec":{"imageName":"registry.example.com/pg:17"}}`,
			scale:       `{"spec":{"instances":4}}`,
			both:        `{"spec":{"instances":4,"imageName":"registry.example.com/pg:17"}}`,
			subresource: `{"spec":{"replicas":4}}`,
		},
	}
}

// made creates an object of a specimen as the administrator.
func (s specimen) made(namespace, name string) *unstructured.Unstructured {
	obj := object(s.object, namespace, name)
	Expect(env.Client.Create(ctx, obj)).To(Succeed())
	return obj
}

// deployment is a Deployment of one replica.
func deployment(namespace, name string) *unstructured.Unstructured {
	return object(specimens()[0].object, namespace, name)
}

// patch merge-patches an object with a client. It does not change obj.
func patch(c client.Client, obj client.Object, body string, opts ...client.PatchOption) error {
	return c.Patch(ctx, obj.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(body)), opts...)
}

// patchScale merge-patches the /scale of an object as somebody.
func patchScale(c client.Client, obj client.Object, body string, opts ...client.SubResourcePatchOption) error {
	return c.SubResource("scale").Patch(ctx, obj.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, []byte(body)),
		opts...)
}

const restart = `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`
