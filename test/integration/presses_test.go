package integration

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

var groups atomic.Int32

// newKind returns a kind in a group that no other spec uses. The kind is not installed yet. If it is installed, it is
// removed at the end of the spec.
func newKind() customkind.Kind {
	k := customkind.Kind{Group: fmt.Sprintf("g%d.example.com", groups.Add(1))}
	DeferCleanup(func() { Expect(k.Remove(ctx, env)).To(Succeed()) })
	return k
}

// installKind installs a new kind and waits until it is served.
func installKind() customkind.Kind {
	GinkgoHelper()
	k := newKind()
	Expect(k.Install(ctx, env)).To(Succeed())
	return k
}

// adapt creates an adapter. It is deleted at the end of the spec.
func adapt(a *v1alpha1.Adapter) *v1alpha1.Adapter {
	GinkgoHelper()
	Expect(env.Client.Create(ctx, a)).To(Succeed())
	DeferCleanup(remove, a)
	return a
}

// press creates an object of a kind with one count at .spec.replicas.
func press(k customkind.Kind, namespace, name string, replicas int64) *unstructured.Unstructured {
	GinkgoHelper()
	obj := k.Object(namespace, name, map[string]any{"replicas": replicas})
	Expect(env.Client.Create(ctx, obj)).To(Succeed())
	return obj
}

// pressCount reads a count of an object of a kind by its path; call it from Eventually or Consistently.
func pressCount(k customkind.Kind, namespace, name, path string) func(Gomega) int64 {
	return func(g Gomega) int64 {
		obj := k.Object(namespace, name, nil)
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		return customkind.Number(obj, path)
	}
}

// pressLedger reads the ledger of an object of a kind; empty if there is none.
func pressLedger(k customkind.Kind, namespace, name string) func(Gomega) string {
	return func(g Gomega) string {
		obj := k.Object(namespace, name, nil)
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		return obj.GetAnnotations()[v1alpha1.AnnotationLedger]
	}
}

// adapterCondition reads one condition of an adapter, once the adapter's status is about its present spec.
func adapterCondition(name, kind string) func(Gomega) metav1.Condition {
	return func(g Gomega) metav1.Condition {
		var a v1alpha1.Adapter
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Name: name}, &a)).To(Succeed())
		c := meta.FindStatusCondition(a.Status.Conditions, kind)
		g.Expect(c).NotTo(BeNil(), "no condition %s", kind)
		g.Expect(c.ObservedGeneration).To(Equal(a.Generation), "condition %s speaks of another spec", kind)
		return *c
	}
}

// finalizers reads the finalizers of an object.
func finalizers(obj client.Object) func(Gomega) []string {
	return func(g Gomega) []string {
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		return obj.GetFinalizers()
	}
}

// vanished returns a check that an object no longer exists.
func vanished(obj client.Object) func() error {
	return func() error { return suite.Vanished(ctx, env, obj) }
}

// annotate sets an annotation of a Deployment as a person would.
func annotate(namespace, name, key, value string) {
	GinkgoHelper()
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{key: value}}})
	Expect(err).NotTo(HaveOccurred())
	Expect(env.Patch(ctx, deployment(namespace, name, 0), string(body))).To(Succeed())
}

// resourceVersion reads the version of a Deployment.
func resourceVersion(namespace, name string) func(Gomega) string {
	return func(g Gomega) string {
		d := deployment(namespace, name, 0)
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(d), d)).To(Succeed())
		return d.ResourceVersion
	}
}

// asOwned returns an object without the counters of the API server.
func asOwned(obj *unstructured.Unstructured) map[string]any {
	own := obj.DeepCopy()
	for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
		unstructured.RemoveNestedField(own.Object, "metadata", field)
	}
	return own.Object
}
