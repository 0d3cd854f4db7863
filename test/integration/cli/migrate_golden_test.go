package cli

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// printedOutput has the specs of the manifests that migrate prints.
func printedOutput() {
	It("is accepted by the API server, its CEL rules and the webhook: every golden file", func() {
		ns := suite.Namespace(ctx, env)
		files, err := filepath.Glob(filepath.Join(env.Root, "cmd/kubectl-flyball/migrate/testdata/*/*.txt"))
		Expect(err).NotTo(HaveOccurred())
		Expect(len(files)).To(BeNumerically(">", 20))
		accepted := 0
		for _, file := range files {
			text, err := os.ReadFile(file)
			Expect(err).NotTo(HaveOccurred())
			printed, _, _ := strings.Cut(string(text), "\n=== taken over\n")
			objs, err := harness.Objects([]byte(printed))
			Expect(err).NotTo(HaveOccurred(), file)
			for _, obj := range objs {
				mapping, err := env.Client.RESTMapper().RESTMapping(obj.GroupVersionKind().GroupKind())
				Expect(err).NotTo(HaveOccurred(), file)
				if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
					obj.SetNamespace(ns) // the namespaces of the files are not there
				}
				Expect(client.NewDryRunClient(env.Client).Create(ctx, obj)).To(Succeed(), "%s: %s %s", file, obj.GetKind(), obj.GetName())
				accepted++
			}
		}
		Expect(accepted).To(BeNumerically(">", 50))
	})
}
