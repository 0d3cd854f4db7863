package deploy

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	makes "flyball.dev/flyball/deploy/release"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/inspect"
)

var update = flag.Bool("update", false, "write the kustomize base instead of comparing with it")

// everything returns the values that enable every part of the chart.
func everything(t *testing.T) []string {
	t.Helper()
	enabled := map[string]any{}
	for _, a := range library(t) {
		enabled[a.Name] = map[string]any{"enabled": true}
	}
	text, err := json.Marshal(enabled)
	if err != nil {
		t.Fatal(err)
	}
	return []string{
		"--set-json", "adapters=" + string(text),
		"--set-json", `rbac.ownKinds=[{"group":"example.com","resource":"widgets","scale":true},{"resource":"things"}]`,
		"--set",
		"networkPolicy.enabled=true,metrics.serviceMonitor.enabled=true," +
			"metrics.prometheusRule.enabled=true,metrics.dashboard.enabled=true,evaluate.enabled=true,ui.enabled=true,ui.tlsSecret=pages",
		"--set", "prometheus.address=https://prometheus.monitoring:9090,prometheus.tokenSecret.name=prometheus,prometheus.queries.cpu=up",
		"--set", "priorityClassName=high,podLabels.team=platform,podAnnotations.note=x,nodeSelector.disk=ssd",
	}
}

func library(t *testing.T) []v1alpha1.Adapter {
	t.Helper()
	all, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestChartLints(t *testing.T) {
	must(t, "helm", "lint", "--strict", chart)
	must(t, "helm", append([]string{"lint", "--strict", chart}, everything(t)...)...)
}

// TestPackagedChart checks the chart of a release as Helm reads it: it lints, has the version, and renders the image of the release.
func TestPackagedChart(t *testing.T) {
	packed, err := makes.Options{Root: "../..", Version: "v1.2.3", Image: "registry.example.com/team/flyball", Time: evening}.Chart()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "flyball-1.2.3.tgz")
	if err := os.WriteFile(file, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	must(t, "helm", "lint", "--strict", file)
	if out := must(t, "helm", "show", "chart", file); !strings.Contains(out, "\nversion: 1.2.3\n") {
		t.Errorf("Helm reads the chart as\n%s", out)
	}
	all := objects(t, must(t, "helm", "template", release, file, "--namespace", namespace))
	if got, want := deployment(t, all).Spec.Template.Spec.Containers[0].Image, "registry.example.com/team/flyball:v1.2.3"; got != want {
		t.Errorf("the image is %s, want %s", got, want)
	}
}

func TestChartRefusesUnknownValues(t *testing.T) {
	for _, set := range []string{
		"replica=3", "replicas=0", "webhook.port=70000", "uninstall.timeout=5", "adapters.widgets.enabled=true", "image.digest=latest",
		// names of Services begin with a letter
		"prometheus.address=prometheus:9090", "prometheus.address=http://me:secret@prometheus:9090", "prometheus.query=up",
		"fullnameOverride=7up",
	} {
		if out, err := here.tool(t.Context(), "helm", "template", release, chart, "--set", set); err == nil {
			t.Errorf("--set %s is taken:\n%.200s", set, out)
		}
	}
}

// rules returns the RBAC rules of a role, and fails if the object cannot be decoded.
func rules(t *testing.T, obj *unstructured.Unstructured) []rbacv1.PolicyRule {
	t.Helper()
	var role rbacv1.ClusterRole
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &role); err != nil {
		t.Fatal(err)
	}
	return role.Rules
}

func TestNoWildcardInAnyRole(t *testing.T) {
	roles := 0
	for _, obj := range append(render(t, everything(t)...), objects(t, must(t, "kubectl", "kustomize", "../../deploy/kustomize/base"))...) {
		if kind := obj.GetKind(); kind != "ClusterRole" && kind != "Role" {
			continue
		}
		roles++
		for _, r := range rules(t, obj) {
			for _, word := range slices.Concat(r.APIGroups, r.Resources, r.Verbs, r.NonResourceURLs) {
				if strings.Contains(word, "*") {
					t.Errorf("%s %s has the wildcard %q", obj.GetKind(), obj.GetName(), word)
				}
			}
			if len(r.Verbs) == 0 || len(r.Resources) == 0 {
				t.Errorf("%s %s has a rule that gives nothing: %v", obj.GetKind(), obj.GetName(), r)
			}
			if slices.Contains(r.Verbs, "escalate") || slices.Contains(r.Verbs, "bind") || slices.Contains(r.Verbs, "impersonate") {
				t.Errorf("%s %s lets Flyball give itself rights: %v", obj.GetKind(), obj.GetName(), r)
			}
		}
	}
	if roles < 20 {
		t.Errorf("found only %d roles", roles)
	}
}

// TestAdapterRoles compares the role of each adapter with the rights that the manager needs for the adapter.
func TestAdapterRoles(t *testing.T) {
	all := render(t, everything(t)...)
	for _, a := range library(t) {
		compiled, errs := adapter.Compile(a.Name, a.Spec, adapter.Keys{})
		if len(errs) > 0 {
			t.Fatal(errs.ToAggregate())
		}
		plural, group, _ := strings.Cut(a.Name, ".")
		want := inspect.RulesOf(compiled, schema.GroupResource{Group: group, Resource: plural})
		if a.Name == "horizontalpodautoscalers.autoscaling" { // templates of Triggers
			want = append(want, rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{plural}, Verbs: []string{"create", "delete"}})
		}
		role := find(t, all, "ClusterRole", "flyball-adapter-"+a.Name)
		if diff := cmp.Diff(want, rules(t, role)); diff != "" {
			t.Errorf("rights needed (-) and given (+) for %s:\n%s", a.Name, diff)
		}
		if role.GetLabels()["flyball.dev/aggregate-to-manager"] != "true" {
			t.Errorf("the role of %s is not gathered into the manager's", a.Name)
		}
		find(t, all, "Adapter", a.Name)
	}
	for _, name := range []string{"flyball-own-widgets.example.com", "flyball-own-things"} {
		if len(rules(t, find(t, all, "ClusterRole", name))) == 0 {
			t.Errorf("%s gives nothing", name)
		}
	}
}

// TestValuesListTheLibrary checks that the values list each adapter of the library, enabled if every cluster has the
// kind.
func TestValuesListTheLibrary(t *testing.T) {
	var values struct {
		Adapters map[string]struct{ Enabled bool }
	}
	for _, text := range read(t, "deploy/helm/flyball/values.yaml") {
		if err := yaml.Unmarshal([]byte(text), &values); err != nil {
			t.Fatal(err)
		}
	}
	got, want := map[string]bool{}, map[string]bool{}
	for name, v := range values.Adapters {
		got[name] = v.Enabled
	}
	for _, a := range library(t) {
		want[a.Name] = slices.Contains([]string{"apps", "batch", "autoscaling"}, a.Spec.Target.Group)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("library (-) and values (+):\n%s", diff)
	}
}

// TestOwnKindsAreCovered checks that the manager's role covers every kind of a CRD.
func TestOwnKindsAreCovered(t *testing.T) {
	base := rules(t, find(t, render(t), "ClusterRole", "flyball-base"))
	given := func(resource, verb string) bool {
		return slices.ContainsFunc(base, func(r rbacv1.PolicyRule) bool {
			return slices.Contains(r.APIGroups, "flyball.dev") && slices.Contains(r.Resources, resource) && slices.Contains(r.Verbs, verb)
		})
	}
	for file, text := range read(t, "crds/*.yaml") {
		obj := objects(t, text)[0]
		plural, _, err := unstructured.NestedString(obj.Object, "spec", "names", "plural")
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		rights := [][2]string{{plural, "list"}, {plural, "watch"}, {plural + "/status", "patch"}}
		switch plural { // written beside targets; new pods' requests are watched
		case "recommendations":
			rights = [][2]string{{plural, "get"}, {plural, "watch"}, {plural, "create"}, {plural, "patch"}, {plural, "delete"},
				{plural + "/status", "patch"}}
		case "usagecheckpoints":
			rights = [][2]string{{plural, "get"}, {plural, "create"}, {plural, "patch"}, {plural, "delete"}}
		}
		for _, right := range rights {
			if !given(right[0], right[1]) {
				t.Errorf("%s: the manager may not %s %s", file, right[1], right[0])
			}
		}
	}
}

// TestKustomizeIsTheChart checks that the kustomize base equals the rendered chart. With -update it writes the base.
func TestKustomizeIsTheChart(t *testing.T) {
	want := plain(render(t))
	if *update {
		writeBase(t, want)
	}
	got := plain(objects(t, must(t, "kubectl", "kustomize", "../../deploy/kustomize/base")))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run go test ./test/deploy -run Kustomize -update; chart (-) and kustomize (+) differ:\n%s", diff)
	}
	for _, overlay := range []string{"cert-manager", "third-party-kinds"} {
		if len(objects(t, must(t, "kubectl", "kustomize", "../../deploy/kustomize/overlays/"+overlay))) <= len(want)+1 {
			t.Errorf("the overlay %s adds nothing", overlay)
		}
	}
}

// TestKustomizeImage builds the kustomization from the documents and checks the image of the Deployment.
func TestKustomizeImage(t *testing.T) {
	block := regexp.MustCompile(`(?ms)^\$ cat > kustomization.yaml <<EOF\n(.*?)^EOF$`).FindStringSubmatch(read(t,
		"docs/operations.md")["../../docs/operations.md"])
	if block == nil {
		t.Fatal("the documents have no kustomization")
	}
	// Kustomize reads only kustomizations outside the directory of its file.
	dir, err := os.MkdirTemp("../..", ".kustomize-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	text := strings.ReplaceAll(block[1], "deploy/kustomize/base", "../deploy/kustomize/base")
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	all := objects(t, must(t, "kubectl", "kustomize", dir))
	if got, want := deployment(t, all).Spec.Template.Spec.Containers[0].Image, "registry.example.com/flyball:dev"; got != want {
		t.Errorf("the image is %s, want %s", got, want)
	}
}

// plain returns the objects by kind and name, without Helm's own parts (hooks and labels), and without the adapters,
// which are created after the manager.
func plain(all []*unstructured.Unstructured) map[string]map[string]any {
	out := map[string]map[string]any{}
	for _, obj := range all {
		if obj.GetKind() == "Adapter" || obj.GetKind() == "Namespace" || obj.GetAnnotations()["helm.sh/hook"] != "" {
			continue
		}
		labels := obj.GetLabels()
		for _, key := range []string{"helm.sh/chart", "app.kubernetes.io/managed-by", "app.kubernetes.io/version"} {
			delete(labels, key)
		}
		obj.SetLabels(labels)
		out[obj.GetKind()+"/"+obj.GetName()] = obj.Object
	}
	return out
}

func writeBase(t *testing.T, all map[string]map[string]any) {
	t.Helper()
	text := "# What the chart renders, written by: go test ./test/deploy -run Kustomize -update\n"
	for _, key := range slices.Sorted(maps.Keys(all)) {
		obj, err := yaml.Marshal(all[key])
		if err != nil {
			t.Fatal(err)
		}
		text += "---\n" + string(obj)
	}
	if err := os.WriteFile("../../deploy/kustomize/base/flyball.yaml", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestLinksLead checks that every relative link in the documents leads to a file.
func TestLinksLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	for _, pattern := range []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "docs/*.md", "docs/*/*.md"} {
		for file, text := range read(t, pattern) {
			for _, m := range link.FindAllStringSubmatch(text, -1) {
				if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
					t.Errorf("%s links to %s: %v", file, m[1], err)
				}
			}
		}
	}
}
