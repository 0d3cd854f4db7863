package controller

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// mapped is a client with a given RESTMapper.
type mapped struct {
	client.Client
	mapper meta.RESTMapper
}

func (m mapped) RESTMapper() meta.RESTMapper { return m.mapper }

// A namespaced policy never waits for cluster-scoped objects. They are in no namespace, and the API server answers a
// list in a namespace with "not found".
func TestClusterScopedObjectsDoNotHoldANamespacedPolicy(t *testing.T) {
	pools := schema.GroupVersionKind{Group: "karpenter.sh", Version: "v1", Kind: "NodePool"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{pools.GroupVersion()})
	mapper.Add(pools, meta.RESTScopeRoot)
	scheme := runtime.NewScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	pool := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "karpenter.sh/v1", Kind: "NodePool"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "spot", Annotations: map[string]string{v1alpha1.AnnotationLedger: `{"/spec/limits":{"set":0,"by":"ClusterSchedule/nights"}}`}}}
	going := pool.DeepCopy()
	going.Name, going.DeletionTimestamp = "going", &metav1.Time{Time: time.Unix(2e9, 0)}
	going.Annotations[v1alpha1.AnnotationLedger] = `{"/spec/limits":{"set":0,"by":"ClusterSchedule/weekends"}}`
	objects := fake.NewSimpleMetadataClient(scheme, pool, going)
	objects.PrependReactor("list", "nodepools", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if a.GetNamespace() != "" {
			return true, nil, apierrors.NewNotFound(schema.GroupResource{Group: pools.Group, Resource: "nodepools"}, "")
		}
		return false, nil, nil
	})
	c := &Policies{Client: mapped{mapper: mapper}, Objects: objects}
	a := &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: "nodepools.karpenter.sh"}}
	a.Spec.Target = v1alpha1.AdapterTarget{Group: pools.Group, Kind: pools.Kind, Versions: []string{pools.Version}}
	for _, test := range []struct {
		id   workload.Policy
		want string
	}{
		{workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}, ""},
		{workload.Policy{Kind: "ClusterSchedule", Name: "nights"}, "NodePool.karpenter.sh/spot"},
		{workload.Policy{Kind: "ClusterSchedule", Name: "days"}, ""},
		{workload.Policy{Kind: "ClusterSchedule", Name: "weekends"}, ""}, // the object is being deleted
	} {
		if got, err := c.usedBy(t.Context(), a, test.id); got != test.want || err != nil {
			t.Errorf("%s: %q, %v; want %q", test.id, got, err, test.want)
		}
	}
}
