package inspect

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// Rules on one line are the same rules. The line is for a terminal, a condition or a copy into a ClusterRole.
func TestRulesLine(t *testing.T) {
	want := []rbacv1.PolicyRule{RuleOf(schema.GroupResource{Group: "apps", Resource: "deployments"}, "get", "patch"),
		RuleOf(schema.GroupResource{Group: "apps", Resource: "deployments/scale"}, "patch"),
		RuleOf(schema.GroupResource{Resource: "pods"}, "list")}
	line := RulesLine(want)
	if strings.ContainsAny(line, "\n\\") {
		t.Errorf("%q is no plain line", line)
	}
	var got []rbacv1.PolicyRule
	if err := yaml.UnmarshalStrict([]byte(line), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-) and pasted (+):\n%s", diff)
	}
}

// A read that gets no answer ends, so that the next adapter is checked.
func TestReadsEndWithoutAnAnswer(t *testing.T) {
	for config, want := range map[*rest.Config]time.Duration{
		{Host: "https://127.0.0.1"}:                       patience,
		{Host: "https://127.0.0.1", Timeout: time.Second}: time.Second,
	} {
		i, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		if got := i.groups.(*rest.RESTClient).Client.Timeout; got != want {
			t.Errorf("a read ends after %s, want %s", got, want)
		}
	}
}
