package inspect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/engine/inspect"
)

// watcherRules are the rights on other groups.
var watcherRules = []rbacv1.PolicyRule{
	{APIGroups: []string{"apiextensions.k8s.io"}, Resources: []string{"customresourcedefinitions"}, Verbs: []string{"list", "watch"}},
	{APIGroups: []string{"apiregistration.k8s.io"}, Resources: []string{"apiservices"}, Verbs: []string{"list", "watch"}},
}

func TestAuthorizeReportsMissingRules(t *testing.T) {
	client := kubernetes.NewForConfigOrDie(api.Config())
	bind(t, client, "reader", "sre", rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"},
		Verbs: []string{"get", "list", "watch"}})
	served, err := newInspector(t, api.Config()).Serve(t.Context(), "apps", "Deployment", []string{"v1"})
	if err != nil {
		t.Fatal(err)
	}
	scaled := compile(t, `
target: {group: apps, kind: Deployment, versions: [v1]}
scale: [{name: main, replicas: .spec.replicas, via: Scale}]
`)
	rules := append(inspect.RulesOf(scaled, served.GVR.GroupResource()), watcherRules...)
	const others = `- apiGroups: ["apps"]
  resources: ["deployments/scale"]
  verbs: ["patch"]
- apiGroups: ["apiextensions.k8s.io"]
  resources: ["customresourcedefinitions"]
  verbs: ["list", "watch"]
- apiGroups: ["apiregistration.k8s.io"]
  resources: ["apiservices"]
  verbs: ["list", "watch"]
`
	tests := []struct{ reason, user, want string }{
		{reason: "an administrator lacks nothing", user: "admin", want: ""},
		{reason: "a reader lacks exactly the other verbs", user: "sre", want: `- apiGroups: ["apps"]
  resources: ["deployments"]
  verbs: ["patch"]
` + others},
		{reason: "a user without rights lacks everything", user: "alice", want: `- apiGroups: ["apps"]
  resources: ["deployments"]
  verbs: ["get", "list", "watch", "patch"]
` + others},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			missing, err := newInspector(t, api.ConfigFor(tt.user)).Authorize(t.Context(), rules)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, inspect.RulesYAML(missing)); diff != "" {
				t.Errorf("missing rules (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("the printed rules, pasted, give all that was missing", func(t *testing.T) {
		bob := newInspector(t, api.ConfigFor("bob"))
		missing, err := bob.Authorize(t.Context(), rules)
		if err != nil {
			t.Fatal(err)
		}
		var pasted []rbacv1.PolicyRule
		if err := yaml.UnmarshalStrict([]byte(inspect.RulesYAML(missing)), &pasted); err != nil {
			t.Fatal(err)
		}
		bind(t, client, "pasted", "oncall", pasted...)
		eventually(t, "the pasted rules take effect", func() error {
			missing, err := bob.Authorize(t.Context(), rules)
			if err == nil && len(missing) > 0 {
				err = errNotYet
			}
			return err
		})
	})
}

func TestRulesOf(t *testing.T) {
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	kind := rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get", "list", "watch", "patch"}}
	tests := []struct {
		reason, spec string
		want         []rbacv1.PolicyRule
	}{
		{
			reason: "the kind alone",
			spec:   "{target: {group: apps, kind: Deployment, versions: [v1]}, scale: [{name: a, replicas: .spec.replicas}]}",
			want:   []rbacv1.PolicyRule{kind},
		},
		{
			reason: "nothing of pods for an adapter that merely knows where they are",
			spec:   deploymentSpec,
			want:   []rbacv1.PolicyRule{kind},
		},
		{
			reason: "the scale subresource",
			spec:   "{target: {group: apps, kind: Deployment, versions: [v1]}, scale: [{name: a, replicas: .spec.replicas, via: Scale}]}",
			want:   []rbacv1.PolicyRule{kind, {APIGroups: []string{"apps"}, Resources: []string{"deployments/scale"}, Verbs: []string{"patch"}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, inspect.RulesOf(compile(t, tt.spec), deployments)); diff != "" {
				t.Errorf("RulesOf (-want +got):\n%s", diff)
			}
		})
	}
}

// bind grants rules to a group in the whole cluster, for the length of the test.
func bind(t *testing.T, client kubernetes.Interface, name, group string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: "inspect-test-" + name}
	if _, err := client.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: group}},
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
