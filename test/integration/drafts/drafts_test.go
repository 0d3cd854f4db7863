// Package drafts lets kubectl flyball draft Adapters of custom kinds. It uses the drafts without edits, on a real
// Kubernetes API server with the real manager.
package drafts

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

var (
	env *harness.Env
	ctx context.Context
)

func TestDrafts(t *testing.T) { suite.Run(t, "Drafts of adapters") }

var _ = BeforeSuite(func() {
	ctx = context.Background()
	env = suite.Up(ctx, local.Options{Level: local.LevelAPI})
	suite.Start(ctx, env, harness.Options{})
})

// definitions applies files with CustomResourceDefinitions, waits until they are served, and returns their names.
func definitions(files []string) (names []string) {
	GinkgoHelper()
	for _, file := range files {
		text, err := os.ReadFile(file)
		Expect(err).NotTo(HaveOccurred())
		objects, err := harness.Objects(text)
		Expect(err).NotTo(HaveOccurred())
		for _, obj := range objects {
			if obj.GetKind() != "CustomResourceDefinition" {
				continue
			}
			one, err := yaml.Marshal(obj)
			Expect(err).NotTo(HaveOccurred())
			Expect(env.Apply(ctx, one)).To(Succeed())
			names = append(names, obj.GetName())
		}
	}
	Expect(env.AwaitCRDs(ctx)).To(Succeed())
	return names
}

// flyball runs a command line as the administrator.
func flyball(args ...string) (code int, out, errOut string) {
	GinkgoHelper()
	var o, e bytes.Buffer
	code = cli.Run(ctx, append(args, "--kubeconfig="+env.Cluster.Kubeconfig, "--cache-dir="+GinkgoT().TempDir()), factory.Env{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &o, ErrOut: &e}, Now: time.Now,
	})
	return code, o.String(), e.String()
}

// isReady returns nil if the manager uses a draft, and an error with the reason otherwise.
func isReady(name string) error {
	var a v1alpha1.Adapter
	if err := env.Client.Get(ctx, client.ObjectKey{Name: name}, &a); err != nil {
		return err
	}
	ready := meta.FindStatusCondition(a.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != a.Generation {
		return fmt.Errorf("the draft %s is not ready: %v", name, a.Status.Conditions)
	}
	return nil
}

// ready drafts an adapter of each kind and applies it without edits. It returns the number of adapters that become
// ready. For each other kind, the command must say which parts it could not find.
func ready(names []string) int {
	GinkgoHelper()
	var drafted []string
	for _, name := range names {
		code, out, errOut := flyball("adapter", "new", name)
		if code != 0 {
			Expect(errOut).To(Or(ContainSubstring("none of its numbers and switches has a name"),
				ContainSubstring("names no number and no switch")), name)
			AddReportEntry("nothing found in " + name)
			continue
		}
		Expect(out).To(ContainSubstring("# guessed "), name)
		Expect(env.Apply(ctx, []byte(out))).To(Succeed(), name)
		drafted = append(drafted, name)
	}
	for _, name := range drafted {
		Eventually(func() error { return isReady(name) }).Should(Succeed())
	}
	return len(drafted)
}

var _ = DescribeTable("At least two thirds of the drafts of adapters become ready unedited",
	func(find func() []string) {
		files := find()
		names := definitions(files)
		count := ready(names)
		AddReportEntry(fmt.Sprintf("%d of %d drafts are ready", count, len(names)))
		Expect(count*3).To(BeNumerically(">=", len(names)*2), "%d of %d", count, len(names))
	},
	Entry("of kinds that tests and samples of this repository have", func() []string {
		var files []string
		for _, name := range []string{
			"cmd/kubectl-flyball/cli/testdata/gizmo-crd.yaml", "engine/inspect/testdata/widgets.yaml", "samples/adapter-own-kind/1-crd.yaml",
		} {
			files = append(files, filepath.Join(env.Root, name))
		}
		return append(files, others("test/demo/manifests/*-crd.yaml")...)
	}),
	Entry("of the kinds of other projects, by the fields that their adapters use",
		func() []string { return others("adapters/*/*/crd.yaml") }),
)

// others returns the files that match a pattern below the repository's root.
func others(pattern string) []string {
	GinkgoHelper()
	files, err := filepath.Glob(filepath.Join(env.Root, pattern))
	Expect(err).NotTo(HaveOccurred())
	return files
}
