package doctor

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/workload"
)

func fromYAML(t *testing.T, text string) gjson.Result {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return gjson.ParseBytes(raw)
}

// managedBy returns managed fields in which a manager owns the count.
func managedBy(manager string) string {
	return `managedFields: [{manager: ` + manager + `, operation: Update, fieldsV1: {"f:spec": {"f:replicas": {}}}}]`
}

// TestAppliers checks that doctor finds the object of the GitOps tool behind a target, and whether the tool applies the
// target's count.
func TestAppliers(t *testing.T) {
	application := func(namespace, name string) string {
		return "Application.argoproj.io/" + strings.TrimPrefix(namespace+"/"+name, "/")
	}
	for _, tc := range []struct {
		reason, metadata, want string
		declares               bool
	}{
		{"nobody's", `{name: web}`, "", false},
		{"of Argo CD, by annotation", `{name: web, annotations: {argocd.argoproj.io/tracking-id: "shop:apps/Deployment:shop/web"}, ` +
			managedBy("argocd-controller") + `}`, application("", "shop"), true},
		{"of an Application in a namespace of its own",
			`{name: web, annotations: {argocd.argoproj.io/tracking-id: "team_shop:apps/Deployment:shop/web"}}`,
			application("team", "shop"), false},
		{"a copy of the annotation", `{name: web-1, annotations: {argocd.argoproj.io/tracking-id: "shop:apps/Deployment:shop/web"}}`, "", false},
		{"of Argo CD, by label", `{name: web, labels: {app.kubernetes.io/instance: shop}, ` + managedBy("argocd-application-controller") + `}`,
			application("", "shop"), true},
		{"of Argo CD, by the last applied object", `{name: web, annotations: {argocd.argoproj.io/tracking-id: "shop:apps/Deployment:shop/web",
			kubectl.kubernetes.io/last-applied-configuration: '{"spec":{"replicas":3}}'}}`, application("", "shop"), true},
		{"of Argo CD, and the count is left out", `{name: web, annotations: {argocd.argoproj.io/tracking-id: "shop:apps/Deployment:shop/web",
			kubectl.kubernetes.io/last-applied-configuration: '{"spec":{}}'}, ` + managedBy("kube-controller-manager") + `}`,
			application("", "shop"), false},
		{"of Helm, whose label is the same", `{name: web, labels: {app.kubernetes.io/instance: shop}, ` + managedBy("helm") + `}`, "", false},
		{"of a Kustomization",
			`{name: web, labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}, ` +
				managedBy("kustomize-controller") + `}`, "Kustomization.kustomize.toolkit.fluxcd.io/flux-system/apps", true},
		{"of a Kustomization that leaves the count out", `{name: web,
			labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}, ` + managedBy("flyball") + `}`,
			"Kustomization.kustomize.toolkit.fluxcd.io/flux-system/apps", false},
		{"of a HelmRelease", `{name: web, labels: {helm.toolkit.fluxcd.io/name: shop, helm.toolkit.fluxcd.io/namespace: flux-system}, ` +
			managedBy("helm-controller") + `}`, "HelmRelease.helm.toolkit.fluxcd.io/flux-system/shop", true},
		{"of a controller, with copies of the owner's labels", `{name: web-1, ownerReferences: [{kind: Deployment, name: web, controller: true}],
			labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: flux-system}}`, "", false},
	} {
		root := fromYAML(t, `{metadata: `+tc.metadata+`}`)
		by, ok := applierOf(root)
		got := ""
		if ok {
			got = by.String()
		}
		if got != tc.want {
			t.Errorf("%s: applied by %q, want %q", tc.reason, got, tc.want)
		}
		if o := (applied{root: root, by: by}); o.declares("/spec/replicas") != tc.declares {
			t.Errorf("%s: declares the count: %v", tc.reason, !tc.declares)
		}
	}
}

// TestAppliersThatLeaveFields checks the settings by which a GitOps tool leaves the count of a Deployment to Flyball.
func TestAppliersThatLeaveFields(t *testing.T) {
	const respects = `syncPolicy: {syncOptions: [CreateNamespace=true, RespectIgnoreDifferences=true]}`
	for _, tc := range []struct {
		reason string
		by     schema.GroupKind
		spec   string
		// settings is the ConfigMap argocd-cm. object is the metadata of the Deployment.
		settings, object string
		want             bool
	}{
		{"nothing is set", applicationKind, `{}`, "", "", false},
		{"ignored and respected", applicationKind, `{ignoreDifferences: [{group: "*", kind: "*", managedFieldsManagers: [flyball]}], ` +
			respects + `}`,
			"", "", true},
		{"ignored only", applicationKind, `{ignoreDifferences: [{group: "*", kind: "*", managedFieldsManagers: [flyball]}]}`, "", "", false},
		{"respected only", applicationKind, `{` + respects + `}`, "", "", false},
		{"another manager", applicationKind, `{ignoreDifferences: [{group: "*", kind: "*", managedFieldsManagers: [keda]}], ` + respects + `}`,
			"", "", false},
		{"of another kind", applicationKind, `{ignoreDifferences: [{group: apps, kind: StatefulSet, managedFieldsManagers: [flyball]}], ` +
			respects + `}`,
			"", "", false},
		{"the field by its pointer", applicationKind, `{ignoreDifferences: [{group: apps, kind: Deployment, jsonPointers: [/spec/replicas]}], ` +
			respects + `}`,
			"", "", true},
		{"for all Applications", applicationKind, `{` + respects + `}`,
			`{resource.customizations.ignoreDifferences.all: "managedFieldsManagers: [flyball]"}`,
			"", true},
		{"for all Deployments", applicationKind, `{` + respects + `}`,
			`{resource.customizations.ignoreDifferences.apps_Deployment: "managedFieldsManagers:\n- flyball\n"}`, "", true},
		{"for all, but not respected", applicationKind, `{}`,
			`{resource.customizations.ignoreDifferences.all: "managedFieldsManagers: [flyball]"}`, "", false},
		{"a suspended Kustomization", kustomizationKind, `{suspend: true}`, "", "", true},
		{"a Kustomization", kustomizationKind, `{prune: true}`, "", "", false},
		{"ignored by a Kustomization", kustomizationKind, `{ignore: [{paths: [/spec/replicas], target: {kind: "Deployment|StatefulSet"}}]}`, "",
			"", true},
		{"ignored everywhere", kustomizationKind, `{ignore: [{paths: [/spec/replicas]}]}`, "", "", true},
		{"ignored by labels, which are not looked at", kustomizationKind, `{ignore: [{paths: [/spec/replicas], target: {labelSelector: a=b}}]}`,
			"", "", false},
		{"another field is ignored", kustomizationKind, `{ignore: [{paths: [/spec/paused]}]}`, "", "", false},
		{"applied once", kustomizationKind, `{}`, "", `{annotations: {kustomize.toolkit.fluxcd.io/ssa: IfNotPresent}}`, true},
		{"merged, which overwrites all the same", kustomizationKind, `{}`, "", `{annotations: {kustomize.toolkit.fluxcd.io/ssa: Merge}}`, false},
		{"not reconciled", kustomizationKind, `{}`, "", `{labels: {kustomize.toolkit.fluxcd.io/reconcile: disabled}}`, true},
		{"a HelmRelease without drift detection", helmReleaseKind, `{}`, "", "", true},
		{"a HelmRelease that corrects drift", helmReleaseKind, `{driftDetection: {mode: enabled}}`, "", "", false},
		{"a HelmRelease that ignores the field", helmReleaseKind,
			`{driftDetection: {mode: enabled, ignore: [{paths: [/spec/replicas], target: {kind: Deployment}}]}}`, "", "", true},
	} {
		ref := workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
		o := applied{ref: ref, root: fromYAML(t, `{metadata: `+tc.object+`}`), by: workload.Ref{GroupKind: tc.by, Name: "shop"}}
		tools := GitOps{Appliers: [][]byte{[]byte(fromYAML(t, `{apiVersion: `+tc.by.Group+`/v1, kind: `+tc.by.Kind+
			`, metadata: {name: shop, namespace: argocd}, spec: `+tc.spec+`}`).Raw)}}
		if tc.settings != "" {
			tools.Settings = [][]byte{[]byte(fromYAML(t, `{metadata: {name: argocd-cm, namespace: argocd}, data: `+tc.settings+`}`).Raw)}
		}
		found, ok := tools.find()(o.by)
		if !ok {
			t.Fatalf("%s: not found: %s", tc.reason, source.RefOf(tools.Appliers[0]))
		}
		if got := found.leaves(o, []string{"/spec/replicas"}); got != tc.want {
			t.Errorf("%s: got %v, want %v", tc.reason, got, tc.want)
		}
	}
}
