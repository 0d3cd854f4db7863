package scene

import (
	"encoding/json"
	"fmt"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/customkind"
	"flyball.dev/flyball/test/integration/suite"
)

var Groups atomic.Int32

// NewKind returns a kind in a group that no other spec uses. The kind is not installed yet. If it is installed, it is
// removed at the end of the spec.
func NewKind() customkind.Kind {
	k := customkind.Kind{Group: fmt.Sprintf("g%d.example.com", Groups.Add(1))}
	DeferCleanup(func() { Expect(k.Remove(Ctx, Env)).To(Succeed()) })
	return k
}

// InstallKind installs a new kind and waits until it is served.
func InstallKind() customkind.Kind {
	GinkgoHelper()
	k := NewKind()
	Expect(k.Install(Ctx, Env)).To(Succeed())
	return k
}

// Adapt creates an adapter. It is deleted at the end of the spec.
func Adapt(a *v1alpha1.Adapter) *v1alpha1.Adapter {
	GinkgoHelper()
	Expect(Env.Client.Create(Ctx, a)).To(Succeed())
	DeferCleanup(Remove, a)
	return a
}

// Press creates an object of a kind with one count at .spec.replicas.
func Press(k customkind.Kind, namespace, name string, replicas int64) *unstructured.Unstructured {
	GinkgoHelper()
	obj := k.Object(namespace, name, map[string]any{"replicas": replicas})
	Expect(Env.Client.Create(Ctx, obj)).To(Succeed())
	return obj
}

// PressCount reads a count of an object of a kind by its path; call it from Eventually or Consistently.
func PressCount(k customkind.Kind, namespace, name, path string) func(Gomega) int64 {
	return func(g Gomega) int64 {
		obj := k.Object(namespace, name, nil)
		g.Expect(Env.Client.Get(Ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		return customkind.Number(obj, path)
	}
}

// PressLedger reads the ledger of an object of a kind; empty if there is none.
func PressLedger(k customkind.Kind, namespace, name string) func(Gomega) string {
	return func(g Gomega) string {
		obj := k.Object(namespace, name, nil)
		g.Expect(Env.Client.Get(Ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		return obj.GetAnnotations()[v1alpha1.AnnotationLedger]
	}
}

// AdapterCondition reads one condition of an adapter, once the adapter's status is about its present spec.
func AdapterCondition(name, kind string) func(Gomega) metav1.Condition {
	return func(g Gomega) metav1.Condition {
		var a v1alpha1.Adapter
		g.Expect(Env.Client.Get(Ctx, client.ObjectKey{Name: name}, &a)).To(Succeed())
		c := meta.FindStatusCondition(a.Status.Conditions, kind)
		g.Expect(c).NotTo(BeNil(), "no condition %s", kind)
		g.Expect(c.ObservedGeneration).To(Equal(a.Generation), "condition %s speaks of another spec", kind)
		return *c
	}
}

// Finalizers reads the finalizers of an object.
func Finalizers(obj client.Object) func(Gomega) []string {
	return func(g Gomega) []string {
		g.Expect(Env.Client.Get(Ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		return obj.GetFinalizers()
	}
}

// Vanished returns a check that an object no longer exists.
func Vanished(obj client.Object) func() error {
	return func() error { return suite.Vanished(Ctx, Env, obj) }
}

// Annotate sets an annotation of a Deployment as a person would.
func Annotate(namespace, name, key, value string) {
	GinkgoHelper()
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{key: value}}})
	Expect(err).NotTo(HaveOccurred())
	Expect(Env.Patch(Ctx, Deployment(namespace, name, 0), string(body))).To(Succeed())
}

// ResourceVersion reads the version of a Deployment.
func ResourceVersion(namespace, name string) func(Gomega) string {
	return func(g Gomega) string {
		d := Deployment(namespace, name, 0)
		g.Expect(Env.Client.Get(Ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		return d.ResourceVersion
	}
}

// AsOwned returns an object without the counters of the API server.
func AsOwned(obj *unstructured.Unstructured) map[string]any {
	own := obj.DeepCopy()
	for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
		unstructured.RemoveNestedField(own.Object, "metadata", field)
	}
	return own.Object
}
