package source

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
)

func own(resource string) schema.GroupResource {
	return schema.GroupResource{Group: v1alpha1.GroupVersion.Group, Resource: resource}
}

// TestNamespaceQueryNeedsNoClusterWideRights checks that a query for a namespace can be answered without
// cluster-wide rights, but not without rights in
// the namespace.
func TestNamespaceQueryNeedsNoClusterWideRights(t *testing.T) {
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for _, tt := range []struct {
		reason    string
		namespace string
		right     Right
		want      bool
	}{
		{"policies of the namespace", "shop", Right{"list", own("schedules"), "shop"}, true},
		{"recommendations of the namespace", "shop", Right{"list", own("recommendations"), "shop"}, true},
		{"the namespace itself", "shop", Right{"get", namespaces.GroupResource(), "shop"}, true},
		{"Cluster policies", "shop", Right{"list", own("clusterschedules"), ""}, false},
		{"adapters", "shop", Right{"list", own("adapters"), ""}, false},
		{"calendars", "shop", Right{"list", own("calendars"), ""}, false},
		{"objects of one kind", "shop", Right{"list", deployments, "shop"}, false},
		{"objects of all namespaces", "", Right{"list", deployments, ""}, true},
		{"policies of all namespaces", "", Right{"list", own("schedules"), ""}, true},
		{"Cluster policies, for all namespaces", "", Right{"list", own("clusterschedules"), ""}, false},
	} {
		if got := (Query{Namespace: tt.namespace}).needs(tt.right); got != tt.want {
			t.Errorf("%s: needed is %v, want %v", tt.reason, got, tt.want)
		}
	}
}

// TestNoteIsOneLine checks that one line names every missing right and the role that grants them.
func TestNoteIsOneLine(t *testing.T) {
	if text := MissingRights(nil).Note(); text != "" {
		t.Errorf("a note although nothing is missing: %s", text)
	}
	got := MissingRights{{"list", own("adapters"), ""}, {"list", own("clusterschedules"), ""},
		{"list", schema.GroupResource{Group: "apps", Resource: "deployments"}, "shop"}}.Note()
	want := "left out, because you may not read: adapters.flyball.dev, clusterschedules.flyball.dev in all namespaces; deployments.apps " +
		"in namespace shop; " +
		"the ClusterRole flyball-cluster-view gives the rights on flyball.dev; the adapters that come with Flyball are used in place of the " +
		"cluster's"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	only := MissingRights{{"list", schema.GroupResource{Group: "apps", Resource: "deployments"}, "shop"}}.Note()
	if want := "left out, because you may not read: deployments.apps in namespace shop"; only != want {
		t.Errorf("got  %s\nwant %s", only, want)
	}
}
