package workload_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// TestNamesOfObjectsThatBelongToTargets: the names of objects that belong to targets are valid and distinct.
func TestNamesOfObjectsThatBelongToTargets(t *testing.T) {
	ref := func(group, kind, name string) workload.Ref {
		return workload.Ref{GroupKind: schema.GroupKind{Group: group, Kind: kind}, Namespace: "shop", Name: name}
	}
	if got := workload.CompanionName(ref("apps", "Deployment", "web")); got != "deployment.apps-web" {
		t.Errorf("it is %s", got)
	}
	long := strings.Repeat("a", 250)
	one, other := workload.CompanionName(ref("apps", "Deployment", long+"1")), workload.CompanionName(ref("apps", "Deployment", long+"2"))
	if one == other || len(one) > 253 {
		t.Errorf("long names become %s and %s", one, other)
	}
	if workload.CompanionName(ref("apps", "Deployment", "web")) == workload.CompanionName(ref("example.com", "Deployment", "web")) {
		t.Error("kinds of two groups have one name")
	}
}
