package adapters

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/customkind"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// defineLooms installs a kind called Loom whose objects are stored as v2. The version v2 has a field .spec.color that
// v1 does not have. The parameter served is true if v2 is served. The parameter count is the name in v2 of the field
// .spec.replicas of v1.
func defineLooms(group string, served bool, count string) {
	GinkgoHelper()
	defineLoomsStored(group, served, count, false)
}

// defineLoomsStored installs the kind as defineLooms does. If asV1 is true, objects may still be stored as v1.
func defineLoomsStored(group string, served bool, count string, asV1 bool) {
	GinkgoHelper()
	name := "looms." + group
	Expect(scene.Env.Apply(scene.Ctx, fmt.Appendf(nil, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s}
spec:
  group: %[2]s
  scope: Namespaced
  names: {kind: Loom, listKind: LoomList, plural: looms, singular: loom}
  versions:
  - name: v1
    served: true
    storage: %[5]t
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {replicas: {type: integer}}}}}}
  - name: v2
    served: %[3]t
    storage: %[6]t
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {%[4]s: {type: integer}, color: {type: string}}}}}}
`, name, group, served, count, asV1, !asV1))).To(Succeed())
	DeferCleanup(func() {
		crd := &unstructured.Unstructured{}
		crd.SetAPIVersion("apiextensions.k8s.io/v1")
		crd.SetKind("CustomResourceDefinition")
		crd.SetName(name)
		Expect(client.IgnoreNotFound(scene.Env.Client.Delete(scene.Ctx, crd))).To(Succeed())
	})
	Expect(scene.Env.AwaitCRDs(scene.Ctx)).To(Succeed())
}

// loomAdapter returns an adapter of looms that knows only v1.
func loomAdapter(group string) *v1alpha1.Adapter {
	a := &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: "looms." + group}}
	a.Spec.Target = v1alpha1.AdapterTarget{Group: group, Kind: "Loom", Versions: []string{"v1"}}
	a.Spec.Scale = []v1alpha1.ScaleComponent{{Name: "main", Replicas: ".spec.replicas"}}
	return a
}

// heldWatch holds back the manager's lists and watches of one resource.
type heldWatch struct {
	of    string
	until chan struct{}
}

func (h *heldWatch) wrap(next http.RoundTripper) http.RoundTripper {
	return scene.RoundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && r.URL.Path == h.of {
			select {
			case <-h.until:
			case <-r.Context().Done():
				return nil, r.Context().Err()
			}
		}
		return next.RoundTrip(r)
	})
}

var _ = Describe("An adapter of a kind that is stored in another version", func() {
	It("uses that version, so that a night removes no field", func() {
		night := scene.ManagerAtNight()
		group := fmt.Sprintf("g%d.example.com", scene.Groups.Add(1))
		defineLooms(group, true, "replicas")
		ns := scene.NewNamespace()
		loom := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(3), "color": "red"}}}
		loom.SetAPIVersion(group + "/v2")
		loom.SetKind("Loom")
		loom.SetNamespace(ns)
		loom.SetName("web")
		Expect(scene.Env.Client.Create(scene.Ctx, loom)).To(Succeed())
		a := scene.Adapt(loomAdapter(group))
		scene.Nightly(ns, "nights")
		state := func(g Gomega) string {
			g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(loom), loom)).To(Succeed())
			color, _, _ := unstructured.NestedString(loom.Object, "spec", "color")
			return fmt.Sprint(customkind.Number(loom, ".spec.replicas"), " ", color)
		}
		Eventually(state).Should(Equal("0 red"))
		night.Clock.SetTime(scene.Monday.Add(21 * time.Hour))
		Eventually(state).Should(Equal("3 red"))
		Expect(scene.AdapterCondition(a.Name, v1alpha1.ConditionSchemaMatched)(Default)).To(scene.BeCondition(metav1.ConditionTrue, "Matched"))
		Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(a), a)).To(Succeed())
		Expect(a.Status.Version).To(Equal("v2"))
	})

	It("follows a change of the stored version while objects sleep, and restores fields written through the old version", func() {
		group := fmt.Sprintf("g%d.example.com", scene.Groups.Add(1))
		held, night := &heldWatch{of: "/apis/" + group + "/v2/looms", until: make(chan struct{})},
			&scene.Night{Config: rest.CopyConfig(scene.Env.Config)}
		night.Config.Wrap(held.wrap)
		night.Start()
		DeferCleanup(night.Stop)
		defineLoomsStored(group, true, "replicas", true)
		ns := scene.NewNamespace()
		loom := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(3)}}}
		loom.SetAPIVersion(group + "/v1")
		loom.SetKind("Loom")
		loom.SetNamespace(ns)
		loom.SetName("web")
		Expect(scene.Env.Client.Create(scene.Ctx, loom)).To(Succeed())
		a := scene.Adapt(loomAdapter(group))
		version := func(g Gomega) string {
			g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(a), a)).To(Succeed())
			return a.Status.Version
		}
		scene.Nightly(ns, "nights")
		loom.SetAPIVersion(group + "/v2")
		state := func(g Gomega) string {
			g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(loom), loom)).To(Succeed())
			color, _, _ := unstructured.NestedString(loom.Object, "spec", "color")
			return fmt.Sprint(customkind.Number(loom, ".spec.replicas"), " ", color)
		}
		Eventually(state).Should(Equal("0 "))
		Expect(version(Default)).To(Equal("v1"))

		defineLooms(group, true, "replicas")
		Eventually(version).Should(Equal("v2"))
		Eventually(func() error {
			return scene.Env.Client.Patch(scene.Ctx, loom.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"color":"red"}}`)))
		}).Should(Succeed())
		Eventually(state).Should(Equal("0 red"))
		night.Clock.SetTime(scene.Monday.Add(21 * time.Hour))
		Eventually(state).Should(Equal("3 red"), "before the watch of the new version is in sync")

		close(held.until)
		night.Clock.SetTime(scene.Monday.Add(33 * time.Hour))
		Eventually(state).Should(Equal("0 red"))
	})

	It("says that it does not know that version while Flyball may not read the definition, and speaks it once Flyball may", func() {
		const user = "flyball-no-definitions"
		few := strings.Replace(fmt.Sprintf(scene.Clerk, user), "[customresourcedefinitions], verbs: [list, watch]",
			"[customresourcedefinitions], verbs: [get]", 1)
		group := fmt.Sprintf("g%d.example.com", scene.Groups.Add(1))
		Expect(scene.Env.Apply(scene.Ctx, []byte(few))).To(Succeed())
		suite.AwaitRight(scene.Ctx, scene.Env, user, "list", "apiextensions.k8s.io", "customresourcedefinitions", false)
		Expect(scene.Env.Apply(scene.Ctx, fmt.Appendf(nil, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s-looms}
rules: [{apiGroups: [%[2]s], resources: [looms], verbs: [get, list, watch, patch]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s-looms}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s-looms}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: %[1]s}]
`, user, group))).To(Succeed())
		scene.AwaitClerk(user)
		suite.AwaitRight(scene.Ctx, scene.Env, user, "patch", group, "looms", true)
		defineLooms(group, true, "replicas")
		n := &scene.Night{Config: scene.Env.Cluster.Impersonate(user)}
		n.Start()
		DeferCleanup(n.Stop)
		a := scene.Adapt(loomAdapter(group))
		Eventually(scene.AdapterCondition(a.Name, v1alpha1.ConditionSchemaMatched)).Should(And(scene.BeCondition(metav1.ConditionTrue,
			"FieldsMayBeLost"),
			HaveField("Message", And(ContainSubstring("whether writes lose fields is not known"),
				ContainSubstring("cannot list resource \"customresourcedefinitions\"")))))
		Eventually(scene.AdapterCondition(a.Name, v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "Ready"))
		By("the right is granted")
		Expect(scene.Env.Apply(scene.Ctx, fmt.Appendf(nil, scene.Clerk, user))).To(Succeed())
		suite.AwaitRight(scene.Ctx, scene.Env, user, "list", "apiextensions.k8s.io", "customresourcedefinitions", true)
		Eventually(func(g Gomega) string {
			g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(a), a)).To(Succeed())
			return a.Status.Version
		}).Should(Equal("v2"))
		Expect(scene.AdapterCondition(a.Name, v1alpha1.ConditionSchemaMatched)(Default)).To(scene.BeCondition(metav1.ConditionTrue, "Matched"))
	})

	DescribeTable("names the fields that its writes would lose if it cannot use that version",
		func(served bool, count, why string) {
			scene.ManagerAtNight()
			group := fmt.Sprintf("g%d.example.com", scene.Groups.Add(1))
			defineLooms(group, served, count)
			a := scene.Adapt(loomAdapter(group))
			Eventually(scene.AdapterCondition(a.Name, v1alpha1.ConditionSchemaMatched)).Should(And(scene.BeCondition(metav1.ConditionTrue,
				"FieldsMayBeLost"),
				HaveField("Message", And(ContainSubstring("each write through v1 removes fields that only the stored version v2 has"),
					ContainSubstring(".spec.color"), ContainSubstring(why)))))
			Eventually(scene.AdapterCondition(a.Name, v1alpha1.ConditionReady)).Should(And(scene.BeCondition(metav1.ConditionTrue, "Ready"),
				HaveField("Message", ContainSubstring(".spec.color"))))
			By("the definition is repaired")
			defineLooms(group, true, "replicas")
			Eventually(scene.AdapterCondition(a.Name, v1alpha1.ConditionSchemaMatched)).Should(scene.BeCondition(metav1.ConditionTrue, "Matched"))
			Eventually(scene.AdapterCondition(a.Name, v1alpha1.ConditionReady)).Should(HaveField("Message", "in use"))
		},
		Entry("it is not served", false, "replicas", "set served: true for v2"),
		Entry("it lacks a path of the adapter", true, "count", ".spec.replicas is not in the schema of"),
	)
})
