package deploy

import (
	"reflect"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestPagesInTheCluster checks that the chart has no pages unless they are enabled, that their account may only review
// tokens, and that neither the manager's Service nor its policies reach their pod.
func TestPagesInTheCluster(t *testing.T) {
	for _, obj := range render(t) {
		if obj.GetName() == "flyball-ui" {
			t.Errorf("by default there is a %s of pages", obj.GetKind())
		}
	}
	on := []string{"--set", "ui.enabled=true,ui.tlsSecret=pages,ui.readOnly=true,ui.timeZone=Europe/Berlin"}
	all := render(t, on...)
	want := []rbacv1.PolicyRule{{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}}}
	if got := rules(t, find(t, all, "ClusterRole", "flyball-ui")); !reflect.DeepEqual(got, want) {
		t.Errorf("the rights of the pages are %+v", got)
	}
	for _, obj := range all {
		var binding rbacv1.ClusterRoleBinding
		if obj.GetKind() != "ClusterRoleBinding" && obj.GetKind() != "RoleBinding" {
			continue
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &binding); err != nil {
			t.Fatal(err)
		}
		for _, subject := range binding.Subjects {
			if subject.Name == "flyball-ui" && binding.RoleRef.Name != "flyball-ui" {
				t.Errorf("the account of the pages also has %s", binding.RoleRef.Name)
			}
		}
	}
	var pages appsv1.Deployment
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(find(t, all, "Deployment", "flyball-ui").Object, &pages); err != nil {
		t.Fatal(err)
	}
	pod := pages.Spec.Template
	if pod.Spec.ServiceAccountName != "flyball-ui" || !slices.Contains(pod.Spec.Containers[0].Args, "--read-only") ||
		!slices.Contains(pod.Spec.Containers[0].Args, "--time-zone=Europe/Berlin") || pod.Spec.Volumes[0].Secret.SecretName != "pages" {
		t.Errorf("the pod of the pages is %+v", pod.Spec)
	}
	if manager := deployment(t, all).Spec.Selector.MatchLabels; manager["app.kubernetes.io/name"] == pod.Labels["app.kubernetes.io/name"] {
		t.Errorf("the labels of the manager's pods select the pages: %v", manager)
	}
	for name, c := range map[string]corev1.Container{"pages": pod.Spec.Containers[0],
		"manager": deployment(t, all).Spec.Template.Spec.Containers[0]} {
		if !slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool {
			return v.Name == "GOMEMLIMIT" && v.ValueFrom.ResourceFieldRef.Resource == "limits.memory"
		}) {
			t.Errorf("the %s do not know their limit of memory: %+v", name, c.Env)
		}
	}
	for _, bad := range []string{"ui.enabled=true", "ui.enabled=true,ui.tlsSecret=a,ui.rights=all"} {
		if out, err := here.tool(t.Context(), "helm", "template", release, chart, "--set", bad); err == nil {
			t.Errorf("--set %s is taken:\n%.200s", bad, out)
		}
	}
}
