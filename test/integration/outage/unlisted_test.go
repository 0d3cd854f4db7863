package outage

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// The reports of a manager about a kind that it cannot list, because its CRD is damaged until the spec ends.
var _ = Describe("A manager that cannot read an object of Flyball's own", func() {
	It("names the kind and the reason, by readiness and by a metric, until the object is gone", func() {
		unchecked("schedules.flyball.dev")
		bad := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"priority": "high"}}}
		bad.SetAPIVersion("flyball.dev/v1alpha1")
		bad.SetKind("Schedule")
		bad.SetNamespace("default")
		bad.SetName("bad")
		Eventually(func() error { return env.Client.Create(ctx, bad.DeepCopy()) }).Should(Succeed())
		Eventually(cached()).Should(ContainElement("bad"),
			"a manager lists from the API server's cache when it starts, and that may lag behind")

		address := fmt.Sprintf("127.0.0.1:%d", suite.FreePort())
		m := env.Start(harness.Options{Health: address, Log: GinkgoWriter})
		DeferCleanup(func() { Expect(m.Stop()).To(Succeed()) })
		get := func(path string) func() string {
			return func() string {
				ask := http.Client{Timeout: harness.Patience}
				answer, err := ask.Get("http://" + address + path)
				if err != nil {
					return err.Error()
				}
				defer func() { _ = answer.Body.Close() }()
				text, _ := io.ReadAll(answer.Body)
				return fmt.Sprintf("%d %s", answer.StatusCode, text)
			}
		}
		Eventually(get("/readyz/kinds")).Should(And(HavePrefix("500 "), ContainSubstring("Schedule.flyball.dev cannot be listed"),
			ContainSubstring("priority")))
		Expect(get("/readyz")()).To(HavePrefix("500 "))
		Eventually(listed(m, "Schedule.flyball.dev")).Should(BeEquivalentTo(0))
		Eventually(listed(m, "Trigger.flyball.dev")).Should(BeEquivalentTo(1))

		Expect(env.Client.Delete(ctx, bad)).To(Succeed())
		Eventually(get("/readyz")).Should(HavePrefix("200 "))
		Eventually(listed(m, "Schedule.flyball.dev")).Should(BeEquivalentTo(1))

		By("a later object")
		Expect(env.Client.Create(ctx, bad.DeepCopy())).To(Succeed())
		Eventually(listed(m, "Schedule.flyball.dev")).Should(BeEquivalentTo(0))
		Expect(get("/readyz")()).To(HavePrefix("200 "), "the webhook has to let the repair through")
		Expect(env.Client.Delete(ctx, bad)).To(Succeed())
		Eventually(listed(m, "Schedule.flyball.dev")).Should(BeEquivalentTo(1))
	})
})

// unchecked makes the API server store specs of a kind with any content, until the spec ends.
func unchecked(crd string) {
	GinkgoHelper()
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("apiextensions.k8s.io/v1")
	obj.SetKind("CustomResourceDefinition")
	obj.SetName(crd)
	body := `[{"op":"replace","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec",
		"value":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}]`
	Expect(env.Client.Patch(ctx, obj, client.RawPatch(types.JSONPatchType, []byte(body)))).To(Succeed())
	DeferCleanup(func() {
		Expect(env.ApplyFiles(ctx, filepath.Join(env.Root, "crds", "flyball.dev_schedules.yaml"))).To(Succeed())
		Expect(env.AwaitCRDs(ctx)).To(Succeed())
	})
}

// cached lists the Schedules that the API server has in its cache.
func cached() func() ([]string, error) {
	return func() ([]string, error) {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion("flyball.dev/v1alpha1")
		list.SetKind("ScheduleList")
		err := env.Client.List(ctx, list, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}})
		names := make([]string, len(list.Items))
		for i := range list.Items {
			names[i] = list.Items[i].GetName()
		}
		return names, err
	}
}

// listed reads from the metrics whether a kind can be listed. It is -1 if the metrics do not say it.
func listed(m *harness.Manager, kind string) func(Gomega) float64 {
	return func(g Gomega) float64 {
		families, err := m.Registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		for _, f := range families {
			for _, s := range f.GetMetric() {
				if f.GetName() == "flyball_kind_listed" && s.GetLabel()[0].GetValue() == kind {
					return s.GetGauge().GetValue()
				}
			}
		}
		return -1
	}
}
