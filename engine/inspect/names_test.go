package inspect_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/restmapper"

	"flyball.dev/flyball/engine/workload"
)

// Autoscalers use client-go's RESTMapper. A reference names a kind exactly if that mapper resolves the reference to the
// kind's resource.
func TestNamesEqualsTheRESTMapper(t *testing.T) {
	mapper := restmapper.NewDiscoveryRESTMapper([]*restmapper.APIGroupResources{{
		Group: metav1.APIGroup{Name: "apps", Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: "apps/v1", Version: "v1"}}},
		VersionedResources: map[string][]metav1.APIResource{"v1": {
			{Name: "deployments", SingularName: "deployment", Kind: "Deployment", Namespaced: true},
			{Name: "postgresqls", SingularName: "postgresql", Kind: "postgresql", Namespaced: true},
		}},
	}})
	for _, kind := range []schema.GroupKind{{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "postgresql"}} {
		resource := map[string]string{"Deployment": "deployments", "postgresql": "postgresqls"}[kind.Kind]
		named := 0
		for _, group := range []string{"apps", "Apps", "extensions", ""} {
			for _, name := range []string{
				"Deployment", "deployment", "DEPLOYMENT", "deployMent", "deployments", "Deployments", "DeploymentList", " deployment", "deploy", "",
				"postgresql", "Postgresql", "postgresqls",
			} {
				reference := schema.GroupKind{Group: group, Kind: name}
				mapping, err := mapper.RESTMapping(reference)
				if err != nil && !meta.IsNoMatchError(err) {
					t.Fatal(err)
				}
				want := err == nil && mapping.Resource.Resource == resource
				if got := workload.Names(reference, kind); got != want {
					t.Errorf("%s names %s: %t, want %t", reference, kind, got, want)
				} else if got {
					named++
				}
			}
		}
		if named == 0 {
			t.Errorf("nothing names %s", kind)
		}
	}
}
