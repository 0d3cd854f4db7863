package doctor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

func fromYAML(t *testing.T, text string) rawjson.Value {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return rawjson.ParseBytes(raw)
}

// managedBy returns managed fields in which a manager owns the count.
func managedBy(manager string) string {
	return `managedFields: [{manager: ` + manager + `, operation: Update, fieldsV1: {"f:spec": {"f:replicas": {}}}}]`
}

// TestDoctorFindsTheApplierOfATarget checks that doctor finds the object of the GitOps tool behind a target, and
// whether the tool applies the
// target's count.
func TestDoctorFindsTheApplierOfATarget(t *testing.T) {
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
		{"of Argo CD, whose create owns the default of a count that is not in Git", `{name: web, annotations: {
			argocd.argoproj.io/tracking-id: "shop:apps/Deployment:shop/web", kubectl.kubernetes.io/last-applied-configuration: '{"spec":{}}'}, ` +
			managedBy("argocd-controller") + `}`, application("", "shop"), false},
		{"of Argo CD, applied on the server after that", `{name: web, annotations: {
			argocd.argoproj.io/tracking-id: "shop:apps/Deployment:shop/web", kubectl.kubernetes.io/last-applied-configuration: '{"spec":{}}'}, ` +
			strings.Replace(managedBy("argocd-controller"), "Update", "Apply", 1) + `}`, application("", "shop"), true},
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
	const (
		respects = `syncPolicy: {syncOptions: [CreateNamespace=true, RespectIgnoreDifferences=true]}`
		ignores  = "resource.customizations.ignoreDifferences"
	)
	argo := func(rules string) string { return `{ignoreDifferences: [` + rules + `], ` + respects + `}` }
	for _, tc := range []struct {
		reason string
		by     schema.GroupKind
		spec   string
		// settings is the data of the ConfigMap argocd-cm. object is the metadata of the Deployment.
		settings, object string
		want             bool
		// unsure is a part of the reason why the answer is not known.
		unsure string
	}{
		{"nothing is set", applicationKind, `{}`, "", "", false, ""},
		{"ignored and respected", applicationKind, argo(`{group: "*", kind: "*", managedFieldsManagers: [flyball]}`), "", "", true, ""},
		{"ignored only", applicationKind, `{ignoreDifferences: [{group: "*", kind: "*", managedFieldsManagers: [flyball]}]}`, "", "", false, ""},
		{"respected only", applicationKind, argo(``), "", "", false, ""},
		{"another manager", applicationKind, argo(`{group: "*", kind: "*", managedFieldsManagers: [keda]}`), "", "", false, ""},
		{"of another kind", applicationKind, argo(`{group: apps, kind: StatefulSet, managedFieldsManagers: [flyball]}`), "", "", false, ""},
		{"of the core group, which an empty group means", applicationKind, argo(`{group: "", kind: "*", managedFieldsManagers: [flyball]}`),
			"", "", false, ""},
		{"of kinds by a pattern", applicationKind, argo(`{group: "app?", kind: "Deploy*", managedFieldsManagers: [flyball]}`), "", "", true, ""},
		{"of kinds by a regular expression, which Argo CD does not know", applicationKind,
			argo(`{group: apps, kind: "Deployment|StatefulSet", managedFieldsManagers: [flyball]}`), "", "", false, ""},
		{"of names by a pattern, which Argo CD does not know", applicationKind,
			argo(`{group: apps, kind: Deployment, name: "w*", managedFieldsManagers: [flyball]}`), "", "", false, ""},
		{"of kinds in braces", applicationKind, argo(`{group: apps, kind: "{Deployment,StatefulSet}", jsonPointers: [/spec/replicas]}`), "", "",
			false, "does not evaluate the pattern apps/{Deployment,StatefulSet}"},
		{"the field by its pointer", applicationKind, argo(`{group: apps, kind: Deployment, jsonPointers: [/spec/replicas]}`), "", "", true, ""},
		{"the field by jq", applicationKind, argo(`{group: apps, kind: Deployment, jqPathExpressions: [.spec.replicas]}`), "", "", false,
			"rules with jqPathExpressions, which doctor does not evaluate"},
		{"another kind's field by jq", applicationKind, argo(`{group: apps, kind: StatefulSet, jqPathExpressions: [.spec.replicas]}`), "", "",
			false, ""},
		{"the field by jq, not respected", applicationKind,
			`{ignoreDifferences: [{group: apps, kind: Deployment, jqPathExpressions: [.spec.replicas]}]}`, "", "", false, ""},
		{"jq, and trusted", applicationKind, argo(`{group: apps, kind: Deployment, jqPathExpressions: [.spec.paused]},
			{group: apps, kind: Deployment, managedFieldsManagers: [flyball]}`), "", "", true, ""},
		{"for all Applications", applicationKind, argo(``), `{` + ignores + `.all: "managedFieldsManagers: [flyball]"}`, "", true, ""},
		{"for all Deployments", applicationKind, argo(``), `{` + ignores + `.apps_Deployment: "managedFieldsManagers:\n- flyball\n"}`, "", true,
			""},
		{"for all, but not respected", applicationKind, `{}`, `{` + ignores + `.all: "managedFieldsManagers: [flyball]"}`, "", false, ""},
		{"a pointer for all Deployments", applicationKind, argo(``), `{` + ignores + `.apps_Deployment: "jsonPointers: [/spec/replicas]"}`, "",
			true, ""},
		{"a pointer for all StatefulSets", applicationKind, argo(``), `{` + ignores + `.apps_StatefulSet: "jsonPointers: [/spec/replicas]"}`, "",
			false, ""},
		{"jq for all Deployments", applicationKind, argo(``), `{` + ignores + `.apps_Deployment: "jqPathExpressions: [.spec.replicas]"}`, "",
			false, "jqPathExpressions"},
		{"a pointer in one text, by a pattern", applicationKind, argo(``),
			`{resource.customizations: "apps/*:\n  ignoreDifferences: |\n    jsonPointers: [/spec/replicas]\n"}`, "", true, ""},
		{"a manager in one text, by a pattern, which Argo CD does not read", applicationKind, argo(``),
			`{resource.customizations: "apps/*:\n  ignoreDifferences: |\n    managedFieldsManagers: [flyball]\n"}`, "", false, ""},
		{"settings that were not read", applicationKind, argo(``), "unread", "", false, "its rules for all Applications are not known"},
		{"settings that nothing reads, as on the pages", applicationKind, argo(``), "absent", "", false, "argocd-cm, with rules for all"},
		{"settings that were not read, and not respected", applicationKind, `{}`, "unread", "", false, ""},
		{"settings that were not read, and not needed", applicationKind, argo(`{group: "*", kind: "*", managedFieldsManagers: [flyball]}`),
			"unread", "", true, ""},
		{"a suspended Kustomization", kustomizationKind, `{suspend: true}`, "", "", true, ""},
		{"a Kustomization", kustomizationKind, `{prune: true}`, "", "", false, ""},
		{"ignored by a Kustomization", kustomizationKind, `{ignore: [{paths: [/spec/replicas], target: {kind: "Deployment|StatefulSet"}}]}`, "",
			"", true, ""},
		{"ignored everywhere", kustomizationKind, `{ignore: [{paths: [/spec/replicas]}]}`, "", "", true, ""},
		{"ignored by labels, which are not looked at", kustomizationKind, `{ignore: [{paths: [/spec/replicas], target: {labelSelector: a=b}}]}`,
			"", "", false, ""},
		{"another field is ignored", kustomizationKind, `{ignore: [{paths: [/spec/paused]}]}`, "", "", false, ""},
		{"applied once", kustomizationKind, `{}`, "", `{annotations: {kustomize.toolkit.fluxcd.io/ssa: IfNotPresent}}`, true, ""},
		{"merged, which overwrites all the same", kustomizationKind, `{}`, "", `{annotations: {kustomize.toolkit.fluxcd.io/ssa: Merge}}`, false,
			""},
		{"not reconciled", kustomizationKind, `{}`, "", `{labels: {kustomize.toolkit.fluxcd.io/reconcile: disabled}}`, true, ""},
		{"a HelmRelease without drift detection", helmReleaseKind, `{}`, "", "", true, ""},
		{"a HelmRelease that corrects drift", helmReleaseKind, `{driftDetection: {mode: enabled}}`, "", "", false, ""},
		{"a HelmRelease that ignores the field", helmReleaseKind,
			`{driftDetection: {mode: enabled, ignore: [{paths: [/spec/replicas], target: {kind: Deployment}}]}}`, "", "", true, ""},
	} {
		ref := workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"}
		o := applied{ref: ref, root: fromYAML(t, `{metadata: `+tc.object+`}`), by: workload.Ref{GroupKind: tc.by, Name: "shop"}}
		tools := GitOps{Appliers: [][]byte{[]byte(fromYAML(t, `{apiVersion: `+tc.by.Group+`/v1, kind: `+tc.by.Kind+
			`, metadata: {name: shop, namespace: argocd}, spec: `+tc.spec+`}`).Raw)}}
		settings := Settings{ConfigMap: []byte(fromYAML(t, `{data: `+tc.settings+`}`).Raw)}
		if tc.settings == "unread" {
			settings = Settings{Why: "its rules for all Applications are not known: no right"}
		}
		if tc.settings != "absent" {
			tools.Settings = map[string]Settings{"argocd": settings}
		}
		found, ok := tools.find(o.by)
		if !ok {
			t.Fatalf("%s: not found: %s", tc.reason, source.RefOf(tools.Appliers[0]))
		}
		got, unsure := found.leaves(o, []string{"/spec/replicas"})
		if got != tc.want || (unsure == "") != (tc.unsure == "") || !strings.Contains(unsure, tc.unsure) {
			t.Errorf("%s: got %v %q, want %v %q", tc.reason, got, unsure, tc.want, tc.unsure)
		}
	}
}

// owned is a world in which Flux applies the count of a Deployment that a schedule puts to sleep. The schedule of the
// Kustomization is put in for OWNER.
const owned = `
apiVersion: flyball.dev/v1alpha1
kind: ClusterSchedule
metadata: {name: nights}
spec: {upscale: "0 8 * * *", downscale: "0 20 * * *", target: {kinds: [{group: apps, kind: Deployment}], namespaces: [shop]}}
---
apiVersion: flyball.dev/v1alpha1
kind: ClusterSchedule
metadata: {name: owner}
spec:
  OWNER
  target: {kinds: [{group: GROUP, kind: KIND}], namespaces: [shop]}
---
apiVersion: GROUP/v1
kind: KIND
metadata: {name: apps, namespace: shop}
spec: SPEC
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  MARKS
  managedFields: [{manager: MANAGER, operation: Apply, fieldsV1: {"f:spec": {"f:replicas": {}}}}]
spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}
`

// TestOwnersThatSleepThemselves checks that an owner is no conflict while a policy suspends it, and is one in any
// other
// time in which the target sleeps.
func TestOwnersThatSleepThemselves(t *testing.T) {
	flux := []string{"GROUP", kustomizationKind.Group, "KIND", "Kustomization", "SPEC", `{prune: true}`, "MANAGER", "kustomize-controller",
		"MARKS",
		`labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: shop}`}
	argo := []string{"argoproj.io/v1\n", "argoproj.io/v1alpha1\n", "GROUP/v1\n", "argoproj.io/v1alpha1\n", "GROUP", "argoproj.io", "KIND",
		"Application", "SPEC", `{syncPolicy: {automated: {}}}`, "MANAGER", "argocd-controller", "MARKS",
		`annotations: {argocd.argoproj.io/tracking-id: "apps:apps/Deployment:shop/web"}`}
	for _, tc := range []struct {
		reason, owner string
		tool          []string
		want          Outcome
	}{
		{"the same nights", `{upscale: "0 8 * * *", downscale: "0 20 * * *"`, flux, OK},
		{"longer nights", `{upscale: "0 9 * * *", downscale: "0 19 * * *"`, flux, OK},
		{"shorter nights", `{upscale: "0 6 * * *", downscale: "0 20 * * *"`, flux, Problem},
		{"the weekend only", `{upscale: "0 8 * * 1", downscale: "0 20 * * 5"`, flux, Problem},
		{"the same nights", `{upscale: "0 8 * * *", downscale: "0 20 * * *"`, argo, OK},
		{"shorter nights", `{upscale: "0 6 * * *", downscale: "0 20 * * *"`, argo, Problem},
		{"held", `{upscale: "0 8 * * *", downscale: "0 20 * * *", asleepAs: {hold: true}`, argo, OK},
	} {
		times := strings.NewReplacer("{upscale", "upscale", `", downscale`, "\"\n  downscale", `", asleepAs`, "\"\n  asleepAs").Replace(tc.owner)
		memory := memoryOf(t, strings.NewReplacer(append([]string{"OWNER", times}, tc.tool...)...).Replace(owned))
		var tools GitOps
		memory.EachObject(func(ref workload.Ref) {
			if slices.Contains(ApplierKinds, ref.GroupKind) {
				tools.Appliers = append(tools.Appliers, memory.Raw(ref))
			}
		})
		var c Checkup
		if err := c.gitops(memory, tools, time.Date(2037, 5, 11, 12, 0, 0, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
		if got := c.Checks[0]; got.Outcome != tc.want {
			t.Errorf("%s of %s: %s %q, want %s", tc.reason, tc.tool[7], got.Outcome, got.Details, tc.want)
		}
	}
}

// TestOwnersOfOtherNamespaces checks that doctor of one namespace, which does not read an owner elsewhere, leaves open whether a
// policy holds the owner.
func TestOwnersOfOtherNamespaces(t *testing.T) {
	const target = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels: {kustomize.toolkit.fluxcd.io/name: apps, kustomize.toolkit.fluxcd.io/namespace: ops}
  managedFields: [{manager: kustomize-controller, operation: Apply, fieldsV1: {"f:spec": {"f:replicas": {}}}}]
spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}
---
apiVersion: flyball.dev/v1alpha1
`
	tools := GitOps{Appliers: [][]byte{[]byte(
		`{"apiVersion":"kustomize.toolkit.fluxcd.io/v1","kind":"Kustomization","metadata":{"namespace":"ops","name":"apps"},"spec":{}}`)}}
	for schedule, want := range map[string]Outcome{
		"kind: ClusterSchedule\nmetadata: {name: nights}\nspec: {holdOwner: true, target: {namespaces: [shop]}":     NotChecked,
		"kind: ClusterSchedule\nmetadata: {name: nights}\nspec: {holdOwner: false, target: {namespaces: [shop]}":    Problem,
		"kind: Schedule\nmetadata: {name: nights, namespace: shop}\nspec: {holdOwner: true, target: {names: [web]}": Problem,
	} {
		var c Checkup
		memory := memoryOf(t, target+schedule+`, upscale: "0 8 * * *", downscale: "0 20 * * *"}`)
		if err := c.gitops(memory, tools, time.Date(2037, 5, 11, 12, 0, 0, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
		if got := c.Checks[0]; got.Outcome != want {
			t.Errorf("%s: %s %q, want %s", schedule, got.Outcome, got.Details, want)
		}
	}
}

// TestHelmReleasesWithDriftDetection checks that a HelmRelease is not called harmless after the first night, when nobody
// owns the count any more.
func TestHelmReleasesWithDriftDetection(t *testing.T) {
	const world = `
apiVersion: flyball.dev/v1alpha1
kind: ClusterSchedule
metadata: {name: nights}
spec: {upscale: "0 8 * * *", downscale: "0 20 * * *", target: {kinds: [{group: apps, kind: Deployment}], namespaces: [shop]}}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: apps, namespace: flux-system}
spec: {driftDetection: {DRIFT}}
status: {inventory: {entries: [{id: INVENTORY, v: v1}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  namespace: shop
  labels: {helm.toolkit.fluxcd.io/name: apps, helm.toolkit.fluxcd.io/namespace: flux-system}
  managedFields: [{manager: helm-controller, operation: Apply, fieldsV1: {"f:spec": {"f:template": {}}}}, OTHER]
spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}}}
`
	counted := func(manager string) string {
		return `{manager: ` + manager + `, operation: Update, fieldsV1: {"f:spec": {"f:replicas": {}}}}`
	}
	const is = "shop_web_apps_Deployment"
	for _, tc := range []struct {
		reason, drift, inventory, other string
		want                            Outcome
	}{
		{"after a night", "mode: enabled", is, "", NotChecked},
		{"in a night", "mode: enabled", is, counted("flyball"), NotChecked},
		{"before the first night", "mode: enabled", is, counted("helm-controller"), Problem},
		{"the count is another's", "mode: enabled", is, counted("kube-controller-manager"), OK},
		{"drift is only reported", "mode: warn", is, "", OK},
		{"the field is ignored", "mode: enabled, ignore: [{paths: [/spec/replicas]}]", is, "", OK},
		{"of another HelmRelease", "mode: enabled", "shop_db_apps_Deployment", "", OK},
	} {
		memory := memoryOf(t, strings.NewReplacer("DRIFT", tc.drift, "INVENTORY", tc.inventory, "OTHER", tc.other).Replace(world))
		var tools GitOps
		memory.EachObject(func(ref workload.Ref) {
			if ref.GroupKind == helmReleaseKind {
				tools.Appliers = append(tools.Appliers, memory.Raw(ref))
			}
		})
		var c Checkup
		if err := c.gitops(memory, tools, time.Date(2037, 5, 11, 12, 0, 0, 0, time.UTC)); err != nil {
			t.Fatal(err)
		}
		if got := c.Checks[0]; got.Outcome != tc.want {
			t.Errorf("%s: %s %q, want %s", tc.reason, got.Outcome, got.Details, tc.want)
		}
	}
}
