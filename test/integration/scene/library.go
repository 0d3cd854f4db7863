package scene

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
)

// InstallCustomKinds installs the CRDs of the shipped adapters' kinds. It uses the project's own CRD if it is in a
// directory beside the repository, else crd.yaml beside the adapter, else a generated CRD that accepts any field.
func InstallCustomKinds(lib *harness.Env, shipped []v1alpha1.Adapter) {
	GinkgoHelper()
	for i := range shipped {
		target := shipped[i].Spec.Target
		if !strings.Contains(target.Group, ".") {
			continue // served by every API server
		}
		plural, _, _ := strings.Cut(shipped[i].Name, ".")
		files := []string{
			filepath.Join(lib.Root, "..", "shared", "third-party-crds", target.Group+"_"+plural+".yaml"),
			filepath.Join(lib.Root, "adapters", target.Group, target.Kind, "crd.yaml"),
		}
		at := slices.IndexFunc(files, func(file string) bool { _, err := os.Stat(file); return err == nil })
		if at >= 0 {
			Expect(lib.ApplyFiles(Ctx, files[at])).To(Succeed())
			continue
		}
		text, err := yaml.Marshal(anyCRD(plural, target))
		Expect(err).NotTo(HaveOccurred())
		Expect(lib.Apply(Ctx, text)).To(Succeed())
	}
	Expect(lib.AwaitCRDs(Ctx)).To(Succeed())
}

// anyCRD is the CRD of a kind that accepts any field.
func anyCRD(plural string, target v1alpha1.AdapterTarget) map[string]any {
	open := map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
	var versions []any
	for i, v := range target.Versions {
		versions = append(versions, map[string]any{
			"name": v, "served": true, "storage": i == 0,
			"subresources": map[string]any{"status": map[string]any{}},
			"schema":       map[string]any{"openAPIV3Schema": open},
		})
	}
	return map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": plural + "." + target.Group},
		"spec": map[string]any{
			"group": target.Group, "scope": "Namespaced", "versions": versions,
			"names": map[string]any{"plural": plural, "singular": strings.ToLower(target.Kind), "kind": target.Kind, "listKind": target.Kind +
				"List"},
		},
	}
}
