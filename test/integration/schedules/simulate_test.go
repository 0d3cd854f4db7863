package schedules

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// demoFiles are the files of the demo's week that need only built-in kinds.
var demoFiles = []string{
	"samples/calendars/german-holidays.yaml", "test/demo/manifests/workloads.yaml", "test/demo/manifests/hpa.yaml",
	"test/demo/manifests/policies.yaml", "test/demo/manifests/shop.yaml", "test/demo/manifests/freeze.yaml",
}

// applyDemo applies the demo's objects in a namespace and returns them as the API server stores them.
func applyDemo(namespace string) []*unstructured.Unstructured {
	GinkgoHelper()
	var all []*unstructured.Unstructured
	for _, file := range demoFiles {
		text, err := os.ReadFile(filepath.Join(scene.Env.Root, file))
		Expect(err).NotTo(HaveOccurred())
		objects, err := harness.Objects(text)
		Expect(err).NotTo(HaveOccurred())
		for _, obj := range objects {
			if obj.GroupVersionKind().Group == "rbac.authorization.k8s.io" {
				continue
			}
			if obj.GetKind() != "Calendar" {
				obj.SetNamespace(namespace)
			}
			Expect(scene.Env.Client.Create(scene.Ctx, obj)).To(Succeed())
			all = append(all, obj)
		}
	}
	return all
}

// inMemory returns a world with the same objects.
func inMemory(namespace string, objects []*unstructured.Unstructured) *world.Memory {
	GinkgoHelper()
	lists := world.Lists{
		Scope:      world.Scope(harness.Namespace, nil),
		Namespaces: []*workload.Object{{Name: namespace, Labels: workload.Pairs{{Key: "kubernetes.io/metadata.name", Value: namespace}}}},
	}
	library, err := adapters.All()
	Expect(err).NotTo(HaveOccurred())
	for i := range library {
		if slices.Contains(scene.Builtin, library[i].Name) {
			lists.Adapters = append(lists.Adapters, &library[i])
		}
	}
	for _, obj := range objects {
		switch kind, isPolicy := kinds.Find(obj.GetKind()); {
		case isPolicy:
			typed := kind.New()
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, typed)).To(Succeed())
			lists.Policies = append(lists.Policies, typed)
		case obj.GetKind() == "Calendar":
			c := &v1alpha1.Calendar{}
			Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, c)).To(Succeed())
			lists.Calendars = append(lists.Calendars, c)
		default:
			raw, err := obj.MarshalJSON()
			Expect(err).NotTo(HaveOccurred())
			lists.Objects = append(lists.Objects, raw)
		}
	}
	m, err := world.NewMemory(lists)
	Expect(err).NotTo(HaveOccurred())
	return m
}

// essence returns the parts of an object that the manager writes: its spec and the ledger.
func essence(obj *unstructured.Unstructured) string {
	GinkgoHelper()
	text, err := json.Marshal(obj.Object["spec"])
	Expect(err).NotTo(HaveOccurred())
	return fmt.Sprintf("%s\n%s", text, obj.GetAnnotations()[v1alpha1.AnnotationLedger])
}

// completed returns an object of the simulation as the API server would complete it at the place of the live object.
func completed(raw []byte, live *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	obj := &unstructured.Unstructured{}
	Expect(obj.UnmarshalJSON(raw)).To(Succeed())
	obj.SetGroupVersionKind(live.GroupVersionKind())
	obj.SetResourceVersion(live.GetResourceVersion())
	Expect(scene.Env.Client.Update(scene.Ctx, obj, client.DryRunAll)).To(Succeed())
	return obj
}

var _ = Describe("A simulation in memory", func() {
	It("of the demo's week makes the same writes at the same instants as the manager", func() {
		berlin, err := time.LoadLocation("Europe/Berlin")
		Expect(err).NotTo(HaveOccurred())
		begin := time.Date(2037, 5, 11, 0, 0, 0, 0, berlin)
		end := begin.AddDate(0, 0, 7)
		ns := scene.NewNamespace()
		objects := applyDemo(ns)

		writes, err := decide.Simulate(inMemory(ns, objects), begin, end)
		Expect(err).NotTo(HaveOccurred())
		var instants []time.Time
		for _, w := range writes {
			if len(instants) == 0 || !instants[len(instants)-1].Equal(w.At) {
				instants = append(instants, w.At)
			}
		}
		Expect(len(instants)).To(BeNumerically(">", 15), "the week has transitions on every working day")

		clock := suite.NewClock(begin)
		m := scene.StartManagerAt(clock)
		for _, obj := range objects { // the policies are deleted before the manager ends, because it has to remove their finalizers
			if obj.GroupVersionKind().Group == v1alpha1.GroupVersion.Group {
				DeferCleanup(scene.Remove, obj)
			}
		}
		applied := func() int { // of the demo's policies alone, because policies of earlier specs may still give targets back
			families, err := m.Registry.Gather()
			Expect(err).NotTo(HaveOccurred())
			n := 0.0
			for _, f := range families {
				for _, series := range f.GetMetric() {
					labels := map[string]string{}
					for _, label := range series.GetLabel() {
						labels[label.GetName()] = label.GetValue()
					}
					if f.GetName() == "flyball_operations_total" && labels["result"] == "applied" && strings.HasPrefix(labels["policy"], ns+"/") {
						n += series.GetCounter().GetValue()
					}
				}
			}
			return int(n)
		}
		step, made := inMemory(ns, objects), 0
		for i, at := range instants {
			if i > 0 {
				clock.SetTime(at.Add(-time.Second))
				suite.Still(applied).Should(Equal(made), "nothing is written before %s", at)
			}
			clock.SetTime(at)
			again, err := decide.Simulate(step, at, at)
			Expect(err).NotTo(HaveOccurred())
			made += len(again)
			Eventually(applied).Should(Equal(made), "the writes at %s", at)
			step.EachObject(func(ref workload.Ref) {
				live := &unstructured.Unstructured{}
				live.SetGroupVersionKind(gvkIn(objects, ref.GroupKind))
				Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, live)).To(Succeed())
				Expect(essence(live)).To(Equal(essence(completed(step.Raw(ref), live))), "%s at %s", ref, at)
			})
		}
		Expect(made).To(Equal(len(writes)))
		clock.SetTime(end)
		suite.Still(applied).Should(Equal(made))
	})
})

func gvkIn(objects []*unstructured.Unstructured, gk schema.GroupKind) schema.GroupVersionKind {
	for _, obj := range objects {
		if obj.GroupVersionKind().GroupKind() == gk {
			return obj.GroupVersionKind()
		}
	}
	return schema.GroupVersionKind{}
}
