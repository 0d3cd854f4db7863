package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// deployment returns the manager's Deployment and fails on unknown fields.
func deployment(t *testing.T, all []*unstructured.Unstructured) (d appsv1.Deployment) {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(find(t, all, "Deployment", "flyball").Object, &d,
		true); err != nil {
		t.Fatal(err)
	}
	return d
}

// valuePaths returns every value of the chart in the form of --set, sections included.
func valuePaths(t *testing.T) (all []string) {
	t.Helper()
	var values map[string]any
	if err := yaml.Unmarshal([]byte(read(t, "deploy/helm/flyball/values.yaml")["../../deploy/helm/flyball/values.yaml"]),
		&values); err != nil {
		t.Fatal(err)
	}
	var walk func(at string, values map[string]any)
	walk = func(at string, values map[string]any) {
		for key, value := range values {
			path := at + strings.ReplaceAll(key, ".", `\.`)
			all = append(all, path)
			if section, ok := value.(map[string]any); ok && at+key != "adapters" {
				walk(path+".", section)
			}
		}
	}
	walk("", values)
	slices.Sort(all)
	return all
}

// TestTemplatesSurviveAbsentValues removes each value, as happens in an upgrade that keeps the values of an older
// version. A removed value must have its default, unless it is free-form.
func TestTemplatesSurviveAbsentValues(t *testing.T) {
	freeForm := regexp.MustCompile(`^(resources|affinity|nodeSelector)\b|ecurityContext\.`)
	want := must(t, "helm", "template", release, chart, "--namespace", namespace)
	paths := valuePaths(t)
	if len(paths) < 60 {
		t.Fatalf("found only %d values", len(paths))
	}
	for _, path := range paths {
		got, err := here.tool(t.Context(), "helm", "template", release, chart, "--namespace", namespace, "--set", path+"=null")
		if err != nil {
			t.Errorf("%s=null: %v", path, err)
			continue
		}
		if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" && !freeForm.MatchString(path) {
			t.Errorf("%s=null (-default +absent):\n%.2000s", path, diff)
		}
	}
	for _, container := range deployment(t, render(t, "--set", "resources=null")).Spec.Template.Spec.Containers {
		if container.Resources.Limits != nil {
			t.Errorf("what was set to null is there: %v", container.Resources)
		}
	}
}

// olderChart returns a copy of the chart as an older version with fewer values.
func olderChart(t *testing.T) string {
	t.Helper()
	older := t.TempDir()
	if err := os.CopyFS(older, os.DirFS(chart)); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(older, "values.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	for _, later := range []string{"health", "podSecurityContext", "securityContext", "hostNetwork", "networkPolicy", "flowControl",
		"uninstall"} {
		if _, ok := values[later]; !ok {
			t.Fatalf("there is no value %s", later)
		}
		delete(values, later)
	}
	values["manager"].(map[string]any)["workers"] = 7
	if text, err = yaml.Marshal(values); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return older
}

// TestValuesOfPods sets the values that differ between clusters: users chosen by OpenShift, a proxy, files of the site,
// the network of the node.
func TestValuesOfPods(t *testing.T) {
	standard := deployment(t, render(t)).Spec.Template.Spec
	if u := standard.SecurityContext.RunAsUser; u == nil || *u != 65532 || standard.HostNetwork || len(standard.Volumes) != 0 {
		t.Errorf("the standard pod runs as %v, hostNetwork %t, volumes %v", u, standard.HostNetwork, standard.Volumes)
	}
	openShift := render(t, "--set", "podSecurityContext.runAsUser=null,podSecurityContext.runAsGroup=null,podSecurityContext.fsGroup=null")
	for _, kind := range []string{"Deployment/flyball", "Job/flyball-uninstall"} {
		k, name, _ := strings.Cut(kind, "/")
		pod, _, err := unstructured.NestedMap(find(t, openShift, k, name).Object, "spec", "template", "spec", "securityContext")
		if want := map[string]any{"runAsNonRoot": true, "seccompProfile": map[string]any{"type": "RuntimeDefault"}}; err != nil ||
			!cmp.Equal(pod, want) {
			t.Errorf("%s: %v, want %v, %v", kind, pod, want, err)
		}
	}
	spec := deployment(t, render(t, "--set-json", `manager.env=[{"name":"HTTPS_PROXY","value":"http://proxy:3128"}]`,
		"--set-json", `manager.volumes=[{"name":"ca","configMap":{"name":"site-ca"}}]`,
		"--set-json", `manager.volumeMounts=[{"name":"ca","mountPath":"/ca","readOnly":true}]`,
		"--set", "webhook.certManager.enabled=true,hostNetwork=true,health.port=18081")).Spec
	pod := spec.Template.Spec
	container := pod.Containers[0]
	if !slices.ContainsFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == "HTTPS_PROXY" && e.Value != "" }) ||
		!slices.ContainsFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == "POD_NAMESPACE" }) {
		t.Errorf("environment %v", container.Env)
	}
	if len(pod.Volumes) != 2 || len(container.VolumeMounts) != 2 || pod.Volumes[1].Name != container.VolumeMounts[1].Name {
		t.Errorf("volumes %v, mounts %v", pod.Volumes, container.VolumeMounts)
	}
	if !pod.HostNetwork || pod.DNSPolicy != corev1.DNSClusterFirstWithHostNet || spec.Strategy.RollingUpdate.MaxSurge.IntValue() != 0 {
		t.Errorf("hostNetwork %t, DNS %s, strategy %v: a second pod finds no ports", pod.HostNetwork, pod.DNSPolicy, spec.Strategy.RollingUpdate)
	}
	if !slices.Contains(container.Args, "--health-probe-bind-address=:18081") {
		t.Errorf("arguments %v", container.Args)
	}
}

// TestNamesThatLookLikeNumbers installs under names that YAML would read as another type without quotes.
func TestNamesThatLookLikeNumbers(t *testing.T) {
	var walk func(at string, value any)
	walk = func(at string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for key, inner := range v {
				walk(at+"."+key, inner)
			}
		case []any:
			for _, inner := range v {
				walk(at, inner)
			}
		case string:
		default:
			if regexp.MustCompile(`(?i)(name|namespace|names|instance)$`).MatchString(at) {
				t.Errorf("%s is %v, a %T", at, v, v)
			}
		}
	}
	for _, text := range []string{
		must(t, "helm", "template", "1e3", chart, "--namespace", "123", "--set-string",
			"fullnameOverride=true,serviceAccount.name=42,priorityClassName=7"),
		must(t, "helm", "template", "null", chart, "--namespace", "0x1f", "--set",
			"webhook.certManager.enabled=true,metrics.serviceMonitor.enabled=true,"+
				"metrics.prometheusRule.enabled=true,metrics.dashboard.enabled=true"),
	} {
		seen := 0
		for document := range strings.SplitSeq(text, "\n---\n") {
			var obj map[string]any
			if err := yaml.Unmarshal([]byte(document), &obj); err != nil {
				t.Fatal(err)
			}
			if obj["kind"] != nil && obj["kind"] != "Adapter" {
				seen++
				walk(obj["kind"].(string), obj)
			}
		}
		if seen < 20 {
			t.Errorf("saw only %d objects", seen)
		}
	}
}

// TestLargeNumbers sets numbers in a file, where Helm reads them as floating point.
func TestLargeNumbers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte("manager: {workers: 1000000, kubeAPIBurst: 2000000}\nuninstall: {timeoutSeconds: 3000000}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	all := render(t, "--values", file)
	for _, arg := range []string{"--workers=1000000", "--kube-api-burst=2000000"} {
		if args := deployment(t, all).Spec.Template.Spec.Containers[0].Args; !slices.Contains(args, arg) {
			t.Errorf("there is no %s in %v", arg, args)
		}
	}
	if got, _, err := unstructured.NestedInt64(find(t, all, "Job", "flyball-uninstall").Object, "spec",
		"activeDeadlineSeconds"); got != 3000000 || err != nil {
		t.Errorf("the job ends after %d, %v", got, err)
	}
}

// TestRunbookOfAnotherSite checks that the alerts link to the runbook at a configured address. Without an address they
// have no link.
func TestRunbookOfAnotherSite(t *testing.T) {
	if text := must(t, "helm", "template", release, chart, "--set", "metrics.prometheusRule.enabled=true"); strings.Contains(text,
		"runbook_url") ||
		!strings.Contains(text, "alert: FlyballDown") {
		t.Error("without an address of the runbook, the alerts are missing or lead somewhere")
	}
	text := must(t, "helm", "template", release, chart, "--set",
		"metrics.prometheusRule.enabled=true,metrics.prometheusRule.runbookURL=https://wiki.example.com/flyball")
	if !strings.Contains(text, "runbook_url: https://wiki.example.com/flyball#flyballdown") ||
		strings.Contains(text, "flyball.dev/docs/runbook") {
		t.Error("the alerts do not lead to the other runbook")
	}
}
