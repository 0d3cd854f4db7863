package deploy

import (
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestManagerGetsPrometheusServerTokenAndQueries checks that the manager gets the server, its token and custom
// queries, and none of them without a
// server.
func TestManagerGetsPrometheusServerTokenAndQueries(t *testing.T) {
	manager := func(args ...string) (d appsv1.Deployment) {
		t.Helper()
		obj := find(t, render(t, args...), "Deployment", "flyball")
		if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(obj.Object, &d, true); err != nil {
			t.Fatal(err)
		}
		return d
	}
	with := manager("--set", "prometheus.address=http://prometheus:9090,prometheus.tokenSecret.name=reader,prometheus.tokenSecret.key=jwt",
		"--set", "prometheus.tenantLabel=namespace",
		"--set-json", `prometheus.queries={"cpu":"a{b=\"$namespace\"} == 1"}`)
	c := with.Spec.Template.Spec.Containers[0]
	for _, arg := range []string{"--prometheus=http://prometheus:9090", "--prometheus-token-file=/prometheus/token",
		"--prometheus-tenant-label=namespace",
		`--prometheus-query=cpu=a{b="$namespace"} == 1`} {
		if !slices.Contains(c.Args, arg) {
			t.Errorf("%s is not in %q", arg, c.Args)
		}
	}
	v := with.Spec.Template.Spec.Volumes
	if len(v) != 1 || v[0].Secret.SecretName != "reader" || v[0].Secret.Items[0].Key != "jwt" || v[0].Secret.Items[0].Path != "token" ||
		c.VolumeMounts[0].MountPath != "/prometheus" {
		t.Errorf("of the token it has %v at %v", v, c.VolumeMounts)
	}
	without := manager("--set", "prometheus.tokenSecret.name=reader")
	for _, arg := range without.Spec.Template.Spec.Containers[0].Args {
		if len(arg) > 12 && arg[:12] == "--prometheus" {
			t.Errorf("without a server it has %s", arg)
		}
	}
	if len(without.Spec.Template.Spec.Volumes) > 0 {
		t.Errorf("without a server it has %v", without.Spec.Template.Spec.Volumes)
	}
}
