package scene

import (
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
)

// InstallCustomKinds installs crd.yaml beside each shipped adapter of a kind that not every API server serves.
func InstallCustomKinds(lib *harness.Env, shipped []v1alpha1.Adapter) {
	GinkgoHelper()
	for i := range shipped {
		target := shipped[i].Spec.Target
		if strings.Contains(target.Group, ".") {
			Expect(lib.ApplyFiles(Ctx, filepath.Join(lib.Root, "adapters", target.Group, target.Kind, "crd.yaml"))).To(Succeed())
		}
	}
	Expect(lib.AwaitCRDs(Ctx)).To(Succeed())
}
